import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.suite import Tree, TreeFile, check_path, is_plain_path
from codegate.suite.tree import FileMode

from .trees import changes_of, trees

HOSTILE = [
    "", "/", ".", "..", "/etc/passwd", "a//b", "a/", "a/./b", "a/../b", "../a", "a/..", "~/../x/..",
    ".git", ".git/config", "a/.git/hooks/x", ".GIT/config", ".Git", "a/.gIt", "git~1", "GIT~1/config", ".git ", ".git.",
    ".git . .", ".git::$INDEX_ALLOCATION/x", ".g\u200cit/config", "\ufeff.git", ".git\u200d", "a\\b", "..\\a", "C:\\x",
    "a\nb", "a\tb", "a\0b", "a\x7fb", "a\x1b[2Jb", "a\x85b", "a\x9bb", "\ud800", "a/\udfff", "x" * 256, "é" * 128,
    "/".join(["abcdefg"] * 600),
]  # fmt: skip
PLAIN = [
    "a", "a/b.py", ".gitignore", ".github/workflows/ci.yml", "a/git", "..a", "a..b", "...", "a b", " a", "a ", "-rf",
    "$x", "ä/ö", "日本/語.py", "a\udcffb", 'a"b', "a'b", "a:b", "gıt", ".git-blame-ignore-revs", "git~2",
    "\u200e", "x" * 255,
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_is_not_plain_is_refused_everywhere(path: str) -> None:
    assert not is_plain_path(path)
    with pytest.raises(UsageError) as caught:
        check_path(path)
    assert str(caught.value).isprintable()
    with pytest.raises(UsageError):
        Tree({path: TreeFile(b"")})
    with pytest.raises(UsageError):
        Tree().overlay({path: TreeFile(b"")})


@pytest.mark.parametrize("path", PLAIN)
def test_a_plain_path_is_accepted(path: str) -> None:
    check_path(path)
    assert list(Tree({path: TreeFile(b"")})) == [path]


@given(
    st.one_of(
        st.text(),
        st.text(st.sampled_from("./\\gitGIT~1 :\0\n\t\x85\u200c\udcff\ud800a"), max_size=12),
        st.lists(st.sampled_from([".git", "..", ".", "a", ".GiT", "", "b\udcc3"]), max_size=4).map("/".join),
    )
)
@example("a/../../b")
def test_no_accepted_path_can_escape(path: str) -> None:
    if not is_plain_path(path):
        return
    segments = path.split("/")
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(segments)
    assert ".git" not in {segment.lower() for segment in segments}
    assert "\\" not in path
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in path)
    encoded = path.encode("utf-8", "surrogateescape")  # every surrogate stands for an undecodable byte
    assert len(encoded) <= 4096
    assert all(len(segment) <= 255 for segment in encoded.split(b"/"))


@given(trees(), trees())
def test_overlay_undoes_what_changes_to_tells(old: Tree, new: Tree) -> None:
    changes = old.changes_to(new)
    assert old.overlay(changes) == new
    assert old.changes_to(old) == {}
    assert (old.overlay(changes).digest() == old.digest()) == (old == new)


@given(st.data())
def test_overlay_holds_every_change(data: st.DataObject) -> None:
    base = data.draw(trees())
    changes = data.draw(changes_of(base))
    after = base.overlay(changes)
    assert all(after.get(path) == file for path, file in changes.items())
    above = {path[:i] for path in changes for i, character in enumerate(path) if character == "/"}
    for path, file in base.items():
        blocked = path in above or any(path.startswith(f"{name}/") for name in changes)
        assert path in changes or blocked or after[path] == file


def test_a_file_takes_the_place_of_a_folder_and_the_other_way_round() -> None:
    one, two = TreeFile(b"1"), TreeFile(b"2")
    assert Tree({"a": one, "b": one}).overlay({"a/x/y": two}) == Tree({"a/x/y": two, "b": one})
    assert Tree({"a/x/y": one, "a/z": one, "ab": one}).overlay({"a": two}) == Tree({"a": two, "ab": one})
    assert Tree({"a": one}).overlay({"a": None, "a/b": two}) == Tree({"a/b": two})
    assert Tree({"a": one}).overlay({"a/b": None, "c": None}) == Tree({"a": one})


def test_no_tree_has_a_file_and_a_folder_of_one_name() -> None:
    with pytest.raises(UsageError, match="file and a folder"):
        Tree({"a": TreeFile(b""), "a/b": TreeFile(b"")})
    with pytest.raises(UsageError, match="file and a folder"):
        Tree().overlay({"a/b": TreeFile(b""), "a/b/c": TreeFile(b"")})


def test_the_digest_covers_path_mode_and_bytes_and_not_the_order() -> None:
    file = TreeFile(b"x")
    base = Tree({"a": file, "b": TreeFile(b"y")})
    assert base.digest() == Tree({"b": TreeFile(b"y"), "a": file}).digest()
    modes: list[FileMode] = ["100755", "120000"]
    others = [Tree({"a": file}), base.overlay({"a": TreeFile(b"z")}), Tree({"c": file, "b": TreeFile(b"y")})]
    others += [base.overlay({"a": TreeFile(b"x", mode)}) for mode in modes]
    assert len({tree.digest() for tree in (base, *others)}) == 6
