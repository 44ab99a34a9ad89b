import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.solving import answer
from codegate.solving.workspace import UnsafePathError, Workspace, WorkspaceError
from codegate.suite import Tree, TreeFile, apply_patch
from tests.solving.worlds import BUGGY, FIXED, small_tree

UNSAFE = [
    "../x.py", "a/../../x.py", "/etc/passwd", "", ".", "./", "..", "src/./x.py", "src//x.py", ".git/config",
    "src/.GIT/hooks/pre-commit", "a\0b.py", "a\nb.py", "a\\b.py", "src/\u202egpj.py", "src/e\u0301.py",
    "src/\ud800.py",
    "x" * 5000,
    "a/" * 3000 + "b",
    "src/out/x.py",
    "src/out",
    "src/pkg/link.py",
    "src/pkg/maths.py/x.py",
    "src/pkg",
]  # fmt: skip


@pytest.mark.parametrize("path", UNSAFE)
def test_unsafe_paths_are_refused_and_remembered(path: str) -> None:
    workspace = Workspace(small_tree())
    with pytest.raises(UnsafePathError):
        workspace.write(path, "x")
    with pytest.raises(WorkspaceError):
        workspace.delete(path)
    with pytest.raises(WorkspaceError):
        workspace.read(path)
    assert workspace.tree() == small_tree()
    patches = workspace.patches()
    assert patches.patch == ""
    assert [drop.reason for drop in patches.dropped] == ["unsafe"]
    assert len(patches.dropped[0].path) <= 200
    patches.dropped[0].model_dump_json()


@given(
    st.one_of(st.text(max_size=30), st.sampled_from(UNSAFE), st.text(alphabet="./a\\", max_size=12)),
    st.text(max_size=30),
)
def test_whatever_is_written_stays_in_the_tree(path: str, text: str) -> None:
    base = small_tree()
    workspace = Workspace(base)
    try:
        workspace.write(path, text)
    except WorkspaceError:
        assert workspace.tree() == base
        return
    after = workspace.tree()  # a Tree refuses any path that is not a plain one
    changes = base.changes_to(after)
    assert len(changes) <= 1
    for name, file in changes.items():
        assert file is not None
        assert not file.is_link
        assert file.data == text.encode("utf-8", "replace")
        folders = name.split("/")
        assert not any("/".join(folders[:depth]) in base for depth in range(1, len(folders)))


def test_only_source_crosses() -> None:
    workspace = Workspace(small_tree())
    others = {"pyproject.toml", "README.md", ".github/workflows/ci.yml"}
    tests = {"tests/test_maths.py", "tests/conftest.py", "conftest.py"}
    for path in others | tests:
        workspace.write(path, "changed = 1\n")
    workspace.write("src/pkg/maths.py", FIXED)
    workspace.write("src/pkg/dos.py", "a = 1\r\nb = 2\r\n")
    patches = workspace.patches()
    assert {drop.path: drop.reason for drop in patches.dropped} == {
        **dict.fromkeys(tests, "test"),
        **dict.fromkeys(others, "configuration"),
        "src/pkg/dos.py": "unchanged",
    }
    assert list(apply_patch(small_tree(), patches.patch)) == ["src/pkg/maths.py"]


def test_modes_and_encodings_stay() -> None:
    workspace = Workspace(small_tree())
    workspace.write("src/pkg/run.py", "print(2)\n")
    workspace.write("src/pkg/latin.py", "name = 'ü'\n")
    workspace.write("src/pkg/new.py", "name = 'ü'\n", executable=True)
    tree = workspace.tree()
    assert tree["src/pkg/run.py"].mode == tree["src/pkg/new.py"].mode == "100755"
    assert tree["src/pkg/latin.py"].data == b"name = '\xfc'\n"
    assert workspace.search("ü") == ("src/pkg/latin.py:1: name = 'ü'", "src/pkg/new.py:1: name = 'ü'")
    with pytest.raises(WorkspaceError, match="not in UTF-8, and the text has '"):
        workspace.write("src/pkg/latin.py", "name = '€'\n")
    workspace.delete("src/pkg/latin.py")
    workspace.apply({"src/pkg/data.bin": TreeFile(b"\0\xff")})
    for touch in (workspace.read, workspace.content, lambda path: workspace.write(path, "x")):
        with pytest.raises(WorkspaceError, match="binary"):
            touch("src/pkg/data.bin")


def test_replace_needs_one_occurrence() -> None:
    workspace = Workspace(small_tree())
    workspace.replace("src/pkg/maths.py", "// 3", "// 2")
    assert workspace.content("src/pkg/maths.py") == FIXED
    for old, reason in (("n", "more than once"), ("zzz", "does not occur"), ("", "empty")):
        with pytest.raises(WorkspaceError, match=reason):
            workspace.replace("src/pkg/maths.py", old, "x")
    workspace.write("src/pkg/a.py", "aaa")
    with pytest.raises(WorkspaceError, match="more than once"):
        workspace.replace("src/pkg/a.py", "aa", "b")
    workspace.replace("src/pkg/dos.py", "a = 1\nb", "a = 2\nb")
    assert workspace.content("src/pkg/dos.py") == "a = 2\r\nb = 2\r\n"


def test_caps() -> None:
    big = "x" * ((1 << 20) + 1)
    workspace = Workspace(small_tree())
    with pytest.raises(WorkspaceError, match="1048577 bytes"):
        workspace.write("src/pkg/big.py", big)
    assert [(d.path, d.reason) for d in workspace.patches().dropped] == [("src/pkg/big.py", "too_large")]
    for number in range(4):
        workspace.write(f"src/pkg/f{number}.py", big[:-1])
    workspace.write("src/pkg/f0.py", big[:-1])
    with pytest.raises(WorkspaceError, match="all changes together"):
        workspace.write("src/pkg/f4.py", "x")
    with pytest.raises(WorkspaceError, match="can be read at once"):
        workspace.read("src/pkg/f0.py")
    many = Workspace(small_tree())
    for number in range(500):
        many.write(f"n{number}.py", "")
    with pytest.raises(WorkspaceError, match="500 files"):
        many.write("one_more.py", "")
    for number in range(200):
        with pytest.raises(UnsafePathError):
            many.write(f"../{number}", "")
    assert sum(drop.reason == "unsafe" for drop in many.patches().dropped) <= 50


def test_lines_listing_and_search() -> None:
    workspace = Workspace(small_tree())
    assert workspace.read("./src/pkg/maths.py") == BUGGY
    assert workspace.read_lines("src/pkg/maths.py", 2, 9) == "    return n // 3\n"
    with pytest.raises(WorkspaceError, match="contains none"):
        workspace.read_lines("src/pkg/maths.py", 3, 4)
    assert workspace.list("tests") == workspace.list("./tests/") == ("tests/conftest.py", "tests/test_maths.py")
    assert workspace.list() == tuple(small_tree())
    assert workspace.list("test") == ()
    assert workspace.search("half(") == (
        "src/pkg/maths.py:1: def half(n):",
        "tests/test_maths.py:5:     assert half(0) == 0",
    )
    assert workspace.search("half(", "tests") == ("tests/test_maths.py:5:     assert half(0) == 0",)
    assert workspace.search("passwd") == ()  # a link's target is not its content
    assert workspace.search("(a+)+$") == ()
    for text in ("", "a\nb"):
        with pytest.raises(WorkspaceError):
            workspace.search(text)
    workspace.write("src/pkg/long.py", "needle\n" * 500)
    assert len(workspace.search("needle")) == 100
    workspace.delete("src/pkg/maths.py")
    assert "src/pkg/maths.py" not in workspace.tree()
    with pytest.raises(WorkspaceError, match="no file"):
        workspace.read("src/pkg/maths.py")
    assert apply_patch(small_tree(), workspace.patches().patch)["src/pkg/maths.py"] is None


def test_the_base_is_never_changed() -> None:
    base = Tree({"a.py": TreeFile(b"1\n")})
    workspace = Workspace(base)
    workspace.write("a.py", "2\n")
    assert base["a.py"].data == b"1\n"
    workspace.write("a.py", "1\n")
    assert workspace.tree() == base


def test_changed_tests_are_kept_in_a_patch_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace(small_tree())
    workspace.write("src/pkg/new.py", "x = 1\n")
    workspace.write("tests/test_new.py", "def test_new(): pass\n")
    workspace.write("tests/data.txt", "1\n")
    patches = workspace.patches()
    assert set(apply_patch(small_tree(), patches.patch)) == {"src/pkg/new.py"}
    assert set(apply_patch(small_tree(), patches.tests)) == {"tests/test_new.py", "tests/data.txt"}
    assert {drop.path: drop.reason for drop in patches.dropped} == {
        "tests/test_new.py": "test",
        "tests/data.txt": "test",
    }
    workspace.write("tests/test_new.py", "#" * 2000)
    monkeypatch.setattr(answer, "MAX_PATCH_BYTES", 1000)
    assert (workspace.patches().patch, workspace.patches().tests) == (patches.patch, "")


def test_empty_files_count_in_a_patch_that_is_over_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "MAX_PATCH_BYTES", 1000)
    files = {f"src/pkg/m{number}.py": TreeFile(b"") for number in range(20)}
    patches = answer.answer_patches(small_tree(), files, ())
    kept = apply_patch(small_tree(), patches.patch)
    assert 0 < len(kept) < len(files)
    assert sorted([*kept, *(drop.path for drop in patches.dropped)]) == sorted(files)
