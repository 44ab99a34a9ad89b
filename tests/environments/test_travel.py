"""Recorded builds between machines: what is exported is what is imported, and nothing else gets in."""

import json
import os
import platform
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from codegate.durable import sha256
from codegate.environments import INDEX, Built, Recipe, export_built, import_built, prune_built, read_index
from codegate.environments.store import LayerFile, TreeOrigin, find_built, new_archive, store_built
from codegate.errors import UsageError
from codegate.sandbox.cache import layers_folder
from codegate.sandbox.tools import RUFF_VERSION, program_place
from tests.running.world import codegate

ORIGIN = TreeOrigin(date(2026, 6, 1), "b" * 64)
INPUTS = "1" * 64


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return what makes this machine another one, without environments."""
    return lambda name: monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path / name))


def built(data: bytes = b"an archive") -> Built:
    described = LayerFile(
        sha256=sha256(data), inputs=INPUTS, asked=INPUTS, day=ORIGIN.day, tree=ORIGIN.tree, rebuilt=None,
        recipe=Recipe(setup=("make",)), resolved="six 1\n",
        variables={"PATH": "/opt/env/bin"}, python="", interpreter="3.11", image=None, toolchains={"go": "1.26.2"},
        seconds=1.0, steps=(("make", 1.0),), hosts={}, notes=(),
    )  # fmt: skip
    with new_archive() as archive:
        archive.write_bytes(data)
        return store_built(archive, described)


@pytest.mark.requirement("S4")
def test_a_recorded_build_is_taken_whole_and_found_again(machine: Callable[[str], None], tmp_path: Path) -> None:
    machine("first")
    one = built()
    digests = export_built(tmp_path / "moved")
    assert export_built(tmp_path / "moved") == digests
    machine("second")
    assert find_built(INPUTS, ORIGIN.tree) is None
    assert read_index(tmp_path / "moved" / INDEX).sha256 == digests
    assert import_built(tmp_path / "moved", digests) == (1, ())
    assert import_built(tmp_path / "moved", digests) == (0, ())
    found = find_built(INPUTS, ORIGIN.tree, "six 1\n")
    assert found is not None
    assert found.layer.archive.read_bytes() == b"an archive"
    assert (found.layer.sha256, found.layer.variables) == (one.layer.sha256, one.layer.variables)


@pytest.mark.parametrize("part", [".tar", ".json"])
def test_what_the_lock_does_not_name_is_refused_and_built_anew(
    machine: Callable[[str], None], tmp_path: Path, part: str
) -> None:
    machine("first")
    built()
    ((key, digest),) = export_built(tmp_path / "moved").items()
    (tmp_path / "moved" / f"{key}{part}").write_bytes(b"{}")
    machine("second")
    count, refused = import_built(tmp_path / "moved", {key: digest})
    assert count == 0
    assert refused[0].startswith(f"{key}.tar does not ")
    assert find_built(INPUTS, ORIGIN.tree) is None
    assert import_built(tmp_path / "moved", {}) == (0, ())


def test_a_recorded_build_that_nothing_used_is_removed(machine: Callable[[str], None]) -> None:
    machine("first")
    for data, used in ((b"old", 1), (b"new", None)):
        place = layers_folder() / f"{built(data).layer.sha256}.json"
        if used:
            os.utime(place, (used, used))
        sealed = layers_folder() / sha256(data) / "env" / "sealed"  # as bubblewrap unpacks it
        (sealed / "below").mkdir(parents=True)
        sealed.chmod(0o555)  # Go's modules are like this: a plain user cannot simply remove them
    assert prune_built(30) == (1, 6)  # the archive, and as much unpacked
    assert [path.name for path in layers_folder().iterdir() if path.is_dir()] == [sha256(b"new")]
    assert [path.read_bytes() for path in layers_folder().glob("*.tar")] == [b"new"]


def test_builds_that_were_used_least_recently_make_room_and_those_in_use_stay(
    machine: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    machine("first")
    monkeypatch.setenv("CODEGATE_CACHE_GB", "20e-9")
    in_use = built(b"in use")
    for data in (b"first", b"second"):
        built(data)
    for number, data in enumerate((b"in use", b"first", b"second")):
        os.utime(layers_folder() / f"{sha256(data)}.json", (number, number))
    with caplog.at_level("INFO", "codegate"):
        built(b"the third")
    assert {path.read_bytes() for path in layers_folder().glob("*.tar")} == {b"in use", b"the third"}
    assert f"environment {sha256(b'first')[:12]} is removed" in caplog.text
    assert "CODEGATE_CACHE_GB" in caplog.text
    assert prune_built(0) == (1, len(b"the third"))
    assert in_use.layer.archive.is_file()
    monkeypatch.setenv("CODEGATE_CACHE_GB", "much")
    with pytest.raises(UsageError, match="no number of gigabytes"):
        built(b"another")


@pytest.mark.requirement("S4")
def test_the_linter_travels_too_where_its_digest_is_trusted(machine: Callable[[str], None], tmp_path: Path) -> None:
    def place() -> Path:
        return program_place("ruff", RUFF_VERSION, platform.machine())

    machine("first")
    place().parent.mkdir(parents=True)
    place().write_bytes(b"a linter")
    ((key, digest),) = export_built(tmp_path / "moved").items()
    machine("second")
    assert import_built(tmp_path / "moved", {}) == (0, ())
    count, (refused,) = import_built(tmp_path / "moved", {key: "1" * 64})
    assert (count, place().exists()) == (0, False)
    assert refused == f"{key}.ruff does not have the recorded SHA-256"
    assert import_built(tmp_path / "moved", {key: digest}) == (0, ())
    assert place().read_bytes() == b"a linter"
    assert os.access(place(), os.X_OK)


def test_the_commands_move_and_remove_them_and_print_how_many(machine: Callable[[str], None], tmp_path: Path) -> None:
    def run(name: str, *words: str) -> tuple[int | None, dict[str, object]]:
        own = {"CODEGATE_CACHE": str(tmp_path / name)}
        done = codegate("environments", *words, "--json", cwd=tmp_path, environment=own)
        return done.code, json.loads(done.stdout)

    machine("first")
    built()
    moved = {"schema": "codegate.environments-moved/1"}
    assert run("first", "export", "kept") == (0, {**moved, "exported": 1})
    assert run("second", "import", "kept") == (0, {**moved, "imported": 1, "refused": []})
    (key,) = read_index(tmp_path / "kept" / INDEX).sha256
    trusted = tmp_path / "trusted.json"
    trusted.write_text(json.dumps({"schema": "codegate.environments/1", "sha256": {key: "1" * 64}}))
    code, told = run("third", "import", "kept", "--index", str(trusted))
    assert (code, told["imported"]) == (2, 0)
    code, told = run("second", "prune", "--days", "0")
    assert (code, told["removed"]) == (0, 1)


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "codegate.environments/1", "sha256": {"../x": "0"}}'])
def test_an_index_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(UsageError):
        read_index(tmp_path / INDEX)
