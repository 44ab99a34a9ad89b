import base64
import string
import subprocess
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import ExitCode, InfrastructureError
from codegate.suite import MAX_CHANGED_BYTES, PatchError, Tree, TreeFile, apply_patch, make_patch, object_id
from tests.kit.repository import run_git

from .trees import changes_of, trees

BASE = Tree(
    {
        "src/a.py": TreeFile(b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"),
        "src/crlf.py": TreeFile(b"one\r\ntwo\r\n"),
        "src/tail.py": TreeFile(b"one\ntwo"),
        "tool.sh": TreeFile(b"#!/bin/sh\n", "100755"),
        "link": TreeFile(b"src", "120000"),
        "out": TreeFile(b"/tmp", "120000"),
        "logo.png": TreeFile(bytes(range(256)) * 8),
        "näme.py": TreeFile(b"x = 1\n"),
        "empty": TreeFile(b""),
    }
)
EDIT = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"


def new_file(name: str, mode: str = "100644", text: str = "x") -> str:
    head = f"diff --git a/{name} b/{name}\nnew file mode {mode}\n"
    return f"{head}--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{text}\n"


@pytest.mark.requirement("F2")
@given(st.data())
def test_a_patch_brings_back_the_changes_that_it_was_made_of(data: st.DataObject) -> None:
    base = data.draw(trees())
    changes = data.draw(changes_of(base))
    assert apply_patch(base, make_patch(base, changes)) == base.changes_to(base.overlay(changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"src/a.py": TreeFile(b"all\nnew\n")},
        {"src/crlf.py": TreeFile(b"one\r\nzwei\r\n")},
        {"src/crlf.py": TreeFile(b"one\ntwo\n")},
        {"src/tail.py": TreeFile(b"one\ntwo\n")},
        {"src/a.py": TreeFile(BASE["src/a.py"].data.rstrip(b"\n"))},
        {"src/a.py": TreeFile(BASE["src/a.py"].data, "100755")},
        {"tool.sh": TreeFile(b"#!/bin/sh\n")},
        {"logo.png": TreeFile(bytes(range(255, -1, -1)) * 8)},
        {"logo.png": TreeFile(b"\0" + BASE["logo.png"].data)},
        {"logo.png": None, "empty": None, "src/a.py": None},
        {"new/empty.py": TreeFile(b"")},
        {"new/ü \"quoted\" 'n' blank .py": TreeFile(b"\xff\xfe\n")},
        {'new/"quoted" and empty': TreeFile(b""), "new/b": TreeFile(b"")},
        {"new/\udcff\udcc3.py": TreeFile(b"x\n"), "näme.py": None},
        {"näme.py": TreeFile("x = 'ä'\n".encode("latin-1"))},
        {"src/a.py": TreeFile(b"-- a/x\n++ b/x\n@@ -1 +1 @@\n\nGIT binary patch\nliteral 5\n")},
        {"blank": TreeFile(b"\n\n \n\t\n")},
        {"link": TreeFile(b"no link\n")},
        {"link": None, "link/x": TreeFile(b"folder now\n")},
        {"src/a.py": None, "src/crlf.py": None, "src/tail.py": None, "src": TreeFile(b"file now\n")},
    ],
)
def test_round_trip(changes: dict[str, TreeFile | None]) -> None:
    patch = make_patch(BASE, {"empty": BASE["empty"], "not/there": None, **changes})
    assert apply_patch(BASE, patch) == changes


def test_no_change_is_an_empty_patch() -> None:
    assert make_patch(BASE, {"src/a.py": BASE["src/a.py"], "not/there": None}) == ""
    assert apply_patch(BASE, "") == apply_patch(BASE, " \n\n") == {}


def test_the_patch_is_the_one_that_people_know() -> None:
    patch = make_patch(BASE, {"src/a.py": TreeFile(BASE["src/a.py"].data.replace(b"two", b"zwei"))})
    assert patch.startswith("diff --git a/src/a.py b/src/a.py\nindex ")
    assert "\n-two\n+zwei\n" in patch


def test_patches_of_strangers_in_the_usual_shapes_apply() -> None:
    edited = TreeFile(BASE["src/a.py"].data.replace(b"two", b"zwei"))
    assert apply_patch(BASE, EDIT) == {"src/a.py": edited}
    assert apply_patch(BASE, EDIT.rstrip("\n")) == {"src/a.py": edited}
    assert apply_patch(BASE, f"Here you are:\n\n{EDIT}\n\n\n") == {"src/a.py": edited}
    moved = EDIT.replace("@@ -1,3 +1,3 @@", "@@ -4,3 +4,3 @@")
    assert apply_patch(BASE, moved) == {"src/a.py": edited}
    empty_context = "--- a/blank\n+++ b/blank\n@@ -1,3 +1,3 @@\n-a\n+b\n\n\n"
    assert apply_patch(Tree({"blank": TreeFile(b"a\n\n\n")}), empty_context) == {"blank": TreeFile(b"b\n\n\n")}


def test_mode_only_copy_and_rename_patches_apply() -> None:
    mode = "diff --git a/src/a.py b/src/a.py\nold mode 100644\nnew mode 100755\n"
    assert apply_patch(BASE, mode) == {"src/a.py": TreeFile(BASE["src/a.py"].data, "100755")}
    head = "diff --git a/src/a.py b/src/b.py\nsimilarity index 100%\n"
    rename = f"{head}rename from src/a.py\nrename to src/b.py\n"
    assert apply_patch(BASE, rename) == {"src/a.py": None, "src/b.py": BASE["src/a.py"]}
    copy = f"{head}copy from src/a.py\ncopy to src/b.py\n"
    assert apply_patch(BASE, copy) == {"src/b.py": BASE["src/a.py"]}
    renamed_and_edited = rename.replace("100%", "80%") + EDIT.replace("+++ b/src/a.py", "+++ b/src/b.py")
    assert apply_patch(BASE, renamed_and_edited)["src/a.py"] is None


def test_lines_added_after_an_end_without_newline_are_lines_of_their_own() -> None:
    base = Tree({"a.py": TreeFile(b"x = 1\ny = 2")})
    for lines in (" x = 1\n y = 2\n+z = 3\n", " x = 1\n y = 2\n+\n+z = 3\n"):
        added = lines.partition("2\n")[2].replace("+", "")
        patch = f"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,{lines.count(chr(10))} @@\n{lines}"
        assert apply_patch(base, patch)["a.py"] == TreeFile(f"x = 1\ny = 2\n{added}".rstrip("\n").encode())


def test_links_are_made_moved_and_pointed_elsewhere() -> None:
    end = "\\ No newline at end of file\n"
    made = new_file("newlink", "120000", "src/a.py") + end
    assert apply_patch(BASE, made) == {"newlink": TreeFile(b"src/a.py", "120000")}
    short = {"gitmod~1": TreeFile(b"src/a.py", "120000")}  # a name that only git on Windows refuses
    assert apply_patch(BASE, make_patch(BASE, short)) == short
    pointed = f"--- a/link\n+++ b/link\n@@ -1 +1 @@\n-src\n{end}+docs\n{end}"
    assert apply_patch(BASE, pointed) == {"link": TreeFile(b"docs", "120000")}
    moved = "diff --git a/link b/other\nsimilarity index 100%\nrename from link\nrename to other\n"
    assert apply_patch(BASE, moved) == {"link": None, "other": BASE["link"]}


@pytest.mark.parametrize("options", [(), ("--no-prefix", "--src-prefix=a/", "--dst-prefix=b/"), ("-M", "-C")])
def test_what_git_diff_prints_for_people_applies(tmp_path: Path, options: tuple[str, ...]) -> None:
    run_git(tmp_path, "init", "-q")
    names = {"näme.py": b"x = 1\n" * 9, 'q"q.py': b"a\n", "sp ace": b"b\n", "bin": b"\0\1" * 50}
    for name, data in names.items():
        (tmp_path / name).write_bytes(data)
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-qm", "x")
    (tmp_path / "näme.py").rename(tmp_path / "ümgezogen.py")
    (tmp_path / 'q"q.py').write_bytes(b"a\nb\n")
    (tmp_path / "sp ace").unlink()
    (tmp_path / "bin").write_bytes(b"\0\2" * 50)
    run_git(tmp_path, "add", "-A")
    # Names outside of ASCII come out quoted, as octal escapes.
    done = subprocess.run(
        ["git", "diff", "--cached", "--binary", *options], cwd=tmp_path, capture_output=True, check=True
    )  # fmt: skip
    assert rb'"a/n\303\244me.py' in done.stdout or b"-M" in [option.encode() for option in options]
    base = Tree({name: TreeFile(data) for name, data in names.items()})
    expected = {"näme.py": None, "ümgezogen.py": base["näme.py"], 'q"q.py': TreeFile(b"a\nb\n"), "sp ace": None}
    assert apply_patch(base, done.stdout.decode()) == {**expected, "bin": TreeFile(b"\0\2" * 50)}


@pytest.mark.parametrize(
    "patch",
    [
        new_file("../evil.py"),
        new_file("a/../b.py"),
        new_file(".git/config"),
        new_file("git~1/config"),
        new_file("back\\slash"),
        '--- /dev/null\n+++ "b/\\056\\056/evil.py"\n@@ -0,0 +1 @@\n+x\n',
        '--- /dev/null\n+++ "b/\\056git/config"\n@@ -0,0 +1 @@\n+x\n',
        '--- /dev/null\n+++ "b/new\\nline.py"\n@@ -0,0 +1 @@\n+x\n',
        '--- /dev/null\n+++ "b/es\\033[2Jcape.py"\n@@ -0,0 +1 @@\n+x\n',
        "diff --git a/tab b/tab\nnew file mode 100644\n--- /dev/null\n+++ \"b/t\\tab\"\n@@ -0,0 +1 @@\n+x\n",
        new_file("module", "160000", "Subproject commit " + "a" * 40),
        "diff --git a/src/a.py b/../a.py\nsimilarity index 100%\nrename from src/a.py\nrename to ../a.py\n",
        "diff --git a/src/a.py b/a.py\nsimilarity index 100%\nrename from src/a.py\nrename to /etc/a.py\n",
        new_file("link/through.py"),
        new_file("out/passwd"),
        '--- /dev/null\n+++ "b/\\157ut/passwd"\n@@ -0,0 +1 @@\n+x\n',
        new_file("src/a.py"),
        '--- /dev/null\n+++ "b/src/\\141.py"\n@@ -0,0 +1 @@\n+x\n',
        new_file("src/a.py/below"),
        new_file("src"),
        EDIT.replace("-two", "-2wo"),
        EDIT.replace(" one\n", " 1ne\n"),
        EDIT.replace("src/a.py", "src/missing.py"),
        EDIT + EDIT,
        EDIT.replace("three", "three\0"),
        "garbage",
        "```diff\n+++\n```",
        "diff --git a/x b/x\n",
        "\ud800\udfff",
        "\udcff\udcfe\0\0",
        "GIT binary patch\nliteral 3\nKcmZQz\n\n",
        "diff --git a/empty b/empty\nindex e69de29..0000000\nGIT binary patch\nliteral 3\nzzzz\n\n",
        "@@ -1 +1 @@\n" * 10000,
    ],
)  # fmt: skip
def test_a_hostile_or_broken_patch_is_refused_in_one_line(patch: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_patch(BASE, patch)
    message = str(caught.value)
    assert message.count("\n") == 0
    assert len(message) < 700
    assert tempfile.gettempdir() not in message
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("name", ["/etc/passwd", "//etc/passwd", "b//etc/passwd", "b/./x", "b/x//y"])
def test_an_absolute_or_odd_name_never_leaves_the_tree(name: str) -> None:
    patch = f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n"
    try:
        changes = apply_patch(BASE, patch)
    except PatchError:
        return
    assert BASE.overlay(changes)
    assert set(changes) <= {"etc/passwd", "x/y"}


@given(st.data())
def test_a_damaged_patch_is_refused_or_stays_in_the_tree(data: st.DataObject) -> None:
    patch = make_patch(BASE, {"src/a.py": TreeFile(b"1\n2\n"), "logo.png": TreeFile(b"\0\1"), "n.py": TreeFile(b"n\n")})
    start = data.draw(st.integers(0, len(patch)))
    end = data.draw(st.integers(start, min(len(patch), start + 30)))
    filling = data.draw(st.sampled_from(["", "../", "/", ".git/", "120000", "\n", "+", "9", "\udcff", '"']))
    damaged = patch[:start] + filling + patch[end:]
    try:
        changes = apply_patch(BASE, damaged)
    except PatchError:
        return
    assert BASE.overlay(changes)


def test_too_large_a_patch_is_refused_before_git_sees_it() -> None:
    with pytest.raises(PatchError, match="8388608 are allowed"):
        apply_patch(BASE, new_file("big", text="x" * (8 << 20)))


def test_a_patch_of_very_many_files_applies() -> None:
    many = "".join(new_file(f"{'d' * 200}/{number}") for number in range(1000))
    assert len(apply_patch(BASE, EDIT + many)) == 1001


def delta_patch(name: str, source: bytes, delta: bytes) -> str:
    """Return a patch of one binary file, with a delta that git does not write."""
    packed = zlib.compress(delta, 9)
    length = (string.ascii_uppercase + string.ascii_lowercase)[len(packed) - 1]  # it fits into one line
    head = f"diff --git a/{name} b/{name}\nindex {object_id(source)}..{'1' * 40} 100644\n"
    digits = base64.b85encode(packed, pad=True).decode("ascii")
    return f"{head}GIT binary patch\ndelta {len(delta)}\n{length}{digits}\n\n"


def test_binary_patches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CHANGED_BYTES == 64 << 20
    monkeypatch.setattr("codegate.suite.patch.MAX_CHANGED_BYTES", 1 << 20)
    with pytest.raises(PatchError, match="more than 1 MiB"):
        apply_patch(BASE, make_patch(BASE, {"new.bin": TreeFile(bytes((1 << 20) + 1))}))
    # A delta that copies the same 16 MiB until there are many gigabytes: git's memory is what bounds it.
    source = b"\0" * 0xFFFFFF
    sizes = b"\xff\xff\xff\x07" + b"\xf0\xfc\xff\xff\x18"  # of the source, and of 400 copies
    copy = b"\xf0\xff\xff\xff"  # copy from offset 0, size 0xffffff
    with pytest.raises(PatchError, match="memory"):
        apply_patch(Tree({"big.bin": TreeFile(source)}), delta_patch("big.bin", source, sizes + copy * 400))


def test_a_full_disk_is_not_the_patch_s_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(InfrastructureError, match="TMPDIR"):
        apply_patch(BASE, EDIT)
    with pytest.raises(InfrastructureError, match="TMPDIR"):
        make_patch(BASE, {"src/a.py": None})
