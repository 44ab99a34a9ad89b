import os
import threading
import zlib
from pathlib import Path

import pytest

from codegate.suite import GitError, TreeFile, git, read_commit
from codegate.suite import git as run_sealed
from codegate.suite.git import read_blobs
from tests.kit.repository import make_repository, run_git

FILES = {
    "src/add.py": b"x = 1\r\ny = '\xff'\n",
    'näme "q".txt': b"\0\1\2",
    "VERSION": b"$Format:%H$\n",
    "secret.txt": b"kept\n",
    "photo.raw": b"raw bytes\n",
    ".gitattributes": (
        b"VERSION export-subst\nsecret.txt export-ignore\n*.raw filter=evil diff=evil\n*.py text eol=crlf ident\n"
    ),
}


def plant(repository: Path, marker: Path) -> None:
    """Give the repository every configuration that is known to make git run something."""
    script = marker.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\necho $0 $@ >> {marker}\ncat\n")
    script.chmod(0o755)
    hooks = marker.parent / "hooks"
    hooks.mkdir()
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        for folder in (hooks, repository / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / hook).write_bytes(script.read_bytes())
            (folder / hook).chmod(0o755)
    programs = (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor",
        "core.alternateRefsCommand", "diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.smudge",
        "filter.evil.clean", "pager.log", "pager.ls-tree", "gpg.program", "interactive.diffFilter",
        "uploadpack.packObjectsHook",
    )  # fmt: skip
    commands = dict.fromkeys(("alias.ls-tree", "alias.cat-file", "credential.helper"), f"!{script}")
    places = {"core.hooksPath": str(hooks), "core.attributesFile": f"{hooks}/none", "trace2.eventTarget": str(marker)}
    values = {**dict.fromkeys(programs, str(script)), **commands, **places, "log.showSignature": "true"}
    for key, value in values.items():
        run_git(repository, "config", key, value)


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, str, Path]:
    repository = tmp_path / "repository"
    commit = make_repository(repository, FILES)
    run_git(repository, "checkout", "-q", "-f", "main")  # attributes are read from the work tree
    marker = tmp_path / "marker"
    plant(repository, marker)
    return repository, commit, marker


def signed(repository: Path, commit: str) -> str:
    """Return a commit like ``commit`` that has a signature, for `gpg.program` to check."""
    head, _, message = run_git(repository, "cat-file", "commit", commit).partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    raw = f"{head}\n{signature}\n\n{message}\n".encode()
    return run_git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)


def test_reading_a_hostile_repository_runs_nothing_and_gives_exact_bytes(hostile: tuple[Path, str, Path]) -> None:
    repository, commit, marker = hostile
    commit = signed(repository, commit)
    assert dict(read_commit(repository, commit)) == {path: TreeFile(data) for path, data in FILES.items()}
    git(repository, "log", "-p", "--root", commit)
    git(repository, "show", commit)
    git(repository, "diff", commit, git(repository, "hash-object", "-t", "tree", "/dev/null").decode().strip())
    assert not marker.exists()


def test_neither_hooks_nor_a_file_system_monitor_are_asked(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"a.py": b"x\n"})
    plant(tmp_path / "r", tmp_path / "marker")
    git(tmp_path / "r", "status", "--porcelain")
    git(tmp_path / "r", "update-ref", "refs/heads/other", "main")
    assert not (tmp_path / "marker").exists()
    run_git(tmp_path / "r", "update-ref", "refs/heads/third", "main")
    assert (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("log", "-p", "--root", "--ext-diff", "--no-textconv"),
        ("show", "--textconv"),
        ("diff", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "--textconv"),
        ("log", "--show-signature"),
    ],
)
def test_the_plant_does_run_where_git_is_not_sealed(hostile: tuple[Path, str, Path], command: tuple[str, ...]) -> None:
    repository, commit, marker = hostile
    run_git(repository, "update-ref", "refs/heads/main", signed(repository, commit))
    run_git(repository, *command)
    assert marker.exists()


def test_replaced_and_grafted_objects_change_nothing(tmp_path: Path) -> None:
    commit = make_repository(tmp_path / "r", {"a.py": b"true\n"})
    blob = run_git(tmp_path / "r", "rev-parse", f"{commit}:a.py")
    other = run_git(tmp_path / "r", "hash-object", "-w", "--stdin", stdin=b"false\n")
    run_git(tmp_path / "r", "replace", blob, other)
    (tmp_path / "r/.git/info").mkdir(exist_ok=True)
    (tmp_path / "r/.git/info/grafts").write_text(f"{commit} {commit}\n")
    assert run_git(tmp_path / "r", "cat-file", "-p", blob) == "false"
    assert read_commit(tmp_path / "r", commit)["a.py"].data == b"true\n"
    assert git(tmp_path / "r", "rev-list", "--parents", commit) == f"{commit}\n".encode()


def test_modes_links_and_odd_paths(tmp_path: Path) -> None:
    home = tmp_path / "r"
    first = make_repository(home, {"x": b"x\n"})
    blob = run_git(home, "hash-object", "-w", "--stdin", stdin=b"target")
    entries = [f"100644 blob {blob}\tplain", f"100755 blob {blob}\ttool", f"120000 blob {blob}\tlink"]
    entries += [f"160000 commit {first}\tmodule", f"100644 blob {blob}\tt\tab", f"100644 blob {blob}\tback\\slash"]
    inner = run_git(home, "mktree", "-z", stdin="\0".join(entries).encode() + b"\0")
    evil = b"".join(
        b"%s %s\0%s" % (mode, name, bytes.fromhex(target))
        for mode, name, target in sorted(
            [
                (b"40000", b"..", inner),
                (b"40000", b".git", inner),
                (b"100664", b"old", blob),
                (b"100644", b"\xff", blob),
                (b"40000", b"ok", inner),
            ],
            key=lambda entry: entry[1],
        )
    )
    tree = run_git(home, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=evil)
    plain = TreeFile(b"target")
    assert dict(read_commit(home, tree)) == {
        "ok/plain": plain, "ok/tool": TreeFile(b"target", "100755"), "ok/link": TreeFile(b"target", "120000"),
        "old": plain, "\udcff": plain,
    }  # fmt: skip


@pytest.mark.parametrize("commit", ["a" * 40, "main:missing", "--help", "-z", "nothing", ""])
def test_a_commit_that_is_not_there_names_the_remedy(tmp_path: Path, commit: str) -> None:
    make_repository(tmp_path / "r")
    with pytest.raises(GitError, match="unshallow"):
        read_commit(tmp_path / "r", commit)


@pytest.mark.parametrize("how", ["--filter=blob:none", "--filter=tree:0"])
def test_a_partial_clone_says_so_and_fetches_nothing(tmp_path: Path, how: str) -> None:
    commit = make_repository(tmp_path / "r", FILES)
    run_git(tmp_path / "r", "config", "uploadpack.allowFilter", "true")
    run_git(tmp_path, "clone", "-q", "--no-checkout", how, f"file://{tmp_path}/r", "partial")
    with pytest.raises(GitError, match=r"partial clone.*--refetch"):
        read_commit(tmp_path / "partial", commit)
    assert "src/add.py" in run_git(tmp_path / "partial", "ls-tree", "-r", commit)  # unsealed, it would have worked


@pytest.mark.parametrize("url", ["ext::sh -c {script}", "file://{here}/r", "{here}/r"])
def test_a_partial_clone_cannot_run_its_remote_s_command(tmp_path: Path, url: str) -> None:
    commit = make_repository(tmp_path / "r", FILES)
    run_git(tmp_path / "r", "config", "uploadpack.allowFilter", "true")
    run_git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{tmp_path}/r", "partial")
    marker, script = tmp_path / "marker", tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho run >> {marker}\n")
    script.chmod(0o755)
    partial = tmp_path / "partial"
    run_git(partial, "config", "remote.origin.url", url.format(script=script, here=tmp_path))
    run_git(partial, "config", "remote.origin.uploadpack", str(script))
    for protocol in ("ext", "file"):
        run_git(partial, "config", f"protocol.{protocol}.allow", "always")
    with pytest.raises(GitError):
        read_commit(partial, commit)
    assert not marker.exists()
    with pytest.raises(Exception, match="cat-file"):  # the same without the seal: the command does run
        run_git(partial, "cat-file", "-p", f"{commit}:VERSION")
    assert marker.exists()


@pytest.mark.parametrize("content", [b"not zlib", zlib.compress(b"blob 5\0other"), zlib.compress(b"blob 9\0x"), b""])
def test_a_damaged_object_is_one_clear_line_and_never_other_bytes(tmp_path: Path, content: bytes) -> None:
    commit = make_repository(tmp_path / "r", {"a": b"given"})
    blob = run_git(tmp_path / "r", "rev-parse", "main:a")
    loose = tmp_path / "r/.git/objects" / blob[:2] / blob[2:]
    loose.chmod(0o600)
    loose.write_bytes(content)
    with pytest.raises(GitError) as caught:
        read_commit(tmp_path / "r", commit)
    assert "\n" not in str(caught.value)


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"big": b"\0" * (2 << 20)})
    blob = run_git(tmp_path / "r", "rev-parse", "main:big")
    assert read_blobs(tmp_path / "r", [blob], 2 << 20)[blob] == b"\0" * (2 << 20)
    with pytest.raises(GitError, match="more than 1 MiB"):
        read_blobs(tmp_path / "r", [blob], 1 << 20)


def bomb(repository: Path) -> str:
    """Return the id of a tree of ten objects that stands for a hundred million files."""
    entry = "100644 blob " + run_git(repository, "hash-object", "-w", "--stdin", stdin=b"x")
    for level in range(8):
        entries = "".join(f"{entry}\t{level}{name}\n" for name in "abcdefghij")
        tree = run_git(repository, "mktree", stdin=entries.encode())
        entry = f"040000 tree {tree}"
    return tree


@pytest.mark.timeout(60)
def test_a_tree_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"a": b""})
    with pytest.raises(GitError, match=r"git ls-tree in .* wrote more than 128 MiB"):
        read_commit(tmp_path / "r", bomb(tmp_path / "r"))


def test_a_process_that_does_not_read_its_input_is_no_trouble(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"a": b""})
    assert git(tmp_path / "r", "rev-parse", "--git-dir", stdin=b"x" * (4 << 20)) == b".git\n"
    with pytest.raises(GitError, match="failed"):
        git(tmp_path / "r", "cat-file", "blob", "nothing", stdin=b"x" * (4 << 20))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="No such file"):
        git(tmp_path / "missing", "status")
    with pytest.raises(GitError, match="not a git repository"):
        read_commit(tmp_path, "a" * 40)


def test_a_git_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(GitError, match=r"took longer than 0 s"):
        run_sealed(tmp_path, "status", timeout=0.3)


def test_no_thread_is_started_that_a_signal_could_leave_half_started(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"a": b""})
    started: list[str] = []
    threading.setprofile(lambda frame, event, _: started.append(f"{event} {frame.f_code.co_name}"))
    try:
        git(tmp_path / "r", "rev-parse", "--git-dir", stdin=b"x" * (1 << 20))
    finally:
        threading.setprofile(None)
    assert started == []


def test_the_machine_s_configuration_does_not_reach_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.email")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "a@example.com")
    assert b"user." not in git(tmp_path, "config", "--list")
