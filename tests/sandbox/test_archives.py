"""Environments in archives: what is exported is what is imported, and nothing else gets in."""

import io
import json
import os
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from codegate.durable import sha256
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox import (
    INDEX,
    AgentRecipe,
    export_environments,
    import_environments,
    prune_environments,
    read_index,
)
from codegate.sandbox.environment import PARTS, build_environment
from codegate.sandbox.packing import pack
from tests.running.world import codegate

KEY = "a" * 64


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return what makes this machine another one, without environments."""

    def other(name: str) -> Path:
        monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / name))
        return tmp_path / name / "environments"

    return other


def listing(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mode & 0o777, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_what_was_not_used_for_a_while_is_removed(tmp_path: Path) -> None:
    environments = tmp_path / "environments"
    for key, days in ((KEY, 31), ("b" * 64, 29)):
        (environments / key / "site").mkdir(parents=True)
        (environments / key / "site" / "one.py").write_text("1\n")
        (environments / key / "complete").write_text("")
        used = time.time() - days * 24 * 3600
        os.utime(environments / key / "complete", (used, used))
    own = {"CODEGATE_CACHE": str(tmp_path)}
    done = codegate("environments", "prune", "--json", cwd=tmp_path, environment=own)
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout)["removed"] == 1
    assert [folder.name for folder in environments.iterdir()] == ["b" * 64]
    assert codegate("environments", "prune", "--days", "0", cwd=tmp_path, environment=own).code == 0
    assert not any(environments.iterdir())


def test_an_environment_that_is_found_again_counts_as_used(machine: Callable[[str], Path], locked: AgentRecipe) -> None:
    folder = machine("first") / build_environment(locked).key
    os.utime(folder / "complete", (1, 1))
    build_environment(locked)
    assert prune_environments(1) == (0, 0)


@pytest.mark.requirement("S4")
def test_a_machine_with_imported_environments_builds_nothing(
    machine: Callable[[str], Path], tmp_path: Path, locked: AgentRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = machine("first")
    built = build_environment(locked)
    digests = export_environments(tmp_path / "kept")
    assert digests == {built.key: built.content} == dict(read_index(tmp_path / "kept" / INDEX).sha256)
    assert sha256((tmp_path / "kept" / f"{built.key}.tar").read_bytes()) == built.content

    second = machine("second")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert import_environments(tmp_path / "kept", digests) == (1, ())
    found = build_environment(locked)
    assert (found.key, found.content) == (built.key, built.content)
    assert listing(second / found.key) == listing(first / built.key)
    assert import_environments(tmp_path / "kept", digests) == (0, ())
    assert export_environments(tmp_path / "kept again") == digests


def test_the_command_moves_them_and_prints_how_many(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "environments" / KEY
    for part in PARTS:
        (folder / part).mkdir(parents=True)
    (folder / "site" / "one.py").write_text("1\n")
    (folder / "packages" / "link").symlink_to("../site/one.py")
    (folder / "complete").write_text(pack(folder, PARTS))
    kept = tmp_path / "kept"
    done = codegate("environments", "export", kept, "--json", cwd=tmp_path,
                    environment={"CODEGATE_CACHE": str(tmp_path / "cache")})  # fmt: skip
    assert done.code == 0, done.stderr
    assert json.loads(done.stdout) == {"schema": "codegate.environments-moved/1", "exported": 1}
    done = codegate("environments", "import", kept, "--index", kept / INDEX, cwd=tmp_path,
                    environment={"CODEGATE_CACHE": str(tmp_path / "other")})  # fmt: skip
    assert done.code == 0, done.stderr
    assert "1 environment taken from" in done.stdout
    taken = tmp_path / "other" / "environments" / KEY
    assert (taken / "packages" / "link").read_text() == "1\n"


def archive(folder: Path, *entries: tuple[str, bytes, str]) -> dict[str, str]:
    """Write an archive with these entries (name, kind, target of a link) besides an environment's folders.

    Returns its key and SHA-256.
    """
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        for part in PARTS:
            made = tarfile.TarInfo(part)
            made.type = tarfile.DIRTYPE
            file.addfile(made)
        for name, kind, target in entries:
            made = tarfile.TarInfo(name)
            made.type, made.linkname = kind, target
            file.addfile(made)
    folder.mkdir(exist_ok=True)
    (folder / f"{KEY}.tar").write_bytes(stream.getvalue())
    return {KEY: sha256(stream.getvalue())}


@pytest.mark.parametrize(
    "entry",
    [
        ("../outside", tarfile.REGTYPE, ""),
        ("/tmp/outside", tarfile.REGTYPE, ""),
        ("site/../../outside", tarfile.REGTYPE, ""),
        ("complete", tarfile.REGTYPE, ""),
        ("site/link", tarfile.SYMTYPE, "../../outside"),
        ("site/link", tarfile.SYMTYPE, "/etc/passwd"),
        ("site/link", tarfile.LNKTYPE, "site"),
        ("site/device", tarfile.CHRTYPE, ""),
        ("site/pipe", tarfile.FIFOTYPE, ""),
    ],
)
def test_an_archive_writes_nothing_outside_of_its_environment(
    machine: Callable[[str], Path], tmp_path: Path, entry: tuple[str, bytes, str]
) -> None:
    root = machine("here")
    count, refused = import_environments(tmp_path / "kept", archive(tmp_path / "kept", entry))
    assert (count, len(refused)) == (0, 1)
    assert "outside of the environment's folders" in refused[0] or "neither a file nor a folder" in refused[0]
    assert not list(root.iterdir())
    assert not (tmp_path / "outside").exists()


def test_nothing_is_written_through_a_link_of_the_archive(machine: Callable[[str], Path], tmp_path: Path) -> None:
    machine("here")
    entries = (("site/a", tarfile.SYMTYPE, "../tools"), ("site/a/b", tarfile.REGTYPE, ""))
    count, refused = import_environments(tmp_path / "kept", archive(tmp_path / "kept", *entries))
    assert (count, len(refused)) == (0, 1)


@pytest.mark.parametrize(
    "entries",
    [
        [("etc/passwd", tarfile.SYMTYPE, "../site/deep/er/up/../../../outside")],
        [("site/out", tarfile.SYMTYPE, "deep/er/up/../../.."), ("site/out/outside", tarfile.SYMTYPE, "../x")],
    ],
)
def test_links_that_lead_outside_together_are_refused(
    machine: Callable[[str], Path], tmp_path: Path, entries: list[tuple[str, bytes, str]]
) -> None:
    root = machine("here")
    deep = [("site/deep", tarfile.DIRTYPE, ""), ("site/deep/er", tarfile.DIRTYPE, "")]
    up = ("site/deep/er/up", tarfile.SYMTYPE, "../../../etc")
    for order in ([up, *entries], [*entries, up]):
        count, refused = import_environments(tmp_path / "kept", archive(tmp_path / "kept", *deep, *order))
        assert (count, len(refused)) == (0, 1)
        assert not list(root.iterdir())
        assert not [path for path in tmp_path.rglob("outside") if path.is_symlink()]


def test_only_an_archive_of_the_recorded_digest_is_taken(machine: Callable[[str], Path], tmp_path: Path) -> None:
    root = machine("here")
    digests = archive(tmp_path / "kept")
    (tmp_path / "kept" / f"{'b' * 64}.tar").write_bytes(b"of another digest")
    (tmp_path / "kept" / f"{'c' * 64}.tar").write_bytes((tmp_path / "kept" / f"{KEY}.tar").read_bytes())
    trusted = {"b" * 64: "1" * 64, **digests, "d" * 64: "1" * 64}
    refused = (f"{'b' * 64}.tar does not have the recorded SHA-256",)
    assert import_environments(tmp_path / "kept", trusted) == (1, refused)
    assert [folder.name for folder in root.iterdir()] == [KEY]


def test_the_command_takes_what_a_trusted_index_names(tmp_path: Path) -> None:
    kept, trusted = tmp_path / "kept", tmp_path / "trusted.json"
    for digests, code in ((archive(kept), 0), ({KEY: "1" * 64}, 2)):
        trusted.write_text(json.dumps({"schema": "codegate.environments/1", "sha256": digests}))
        done = codegate("environments", "import", kept, "--index", trusted, "--json", cwd=tmp_path,
                        environment={"CODEGATE_CACHE": str(tmp_path / str(code))})  # fmt: skip
        assert (done.code, json.loads(done.stdout)["imported"]) == (code, 1 if code == 0 else 0), done.stderr


def test_an_environment_that_was_changed_after_it_was_built_is_not_exported(
    machine: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = machine("here") / KEY
    import_environments(tmp_path / "kept", archive(tmp_path / "kept"))
    (folder / "site" / "poison.py").write_text("")
    with pytest.raises(InfrastructureError, match="has changed since it was built"):
        export_environments(tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "codegate.environments/1", "sha256": {"../x": "0"}}'])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / INDEX).write_text(text)
    with pytest.raises(UsageError):
        read_index(tmp_path / "kept" / INDEX)
