"""Hypothesis strategies for trees with all that git allows in them."""

from hypothesis import strategies as st

from codegate.suite import Changes, Tree, TreeFile, is_plain_path
from codegate.suite.tree import FileMode

_NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "c.py", "a b", " a", "b ", 'q"q', "'", "-x", "ä", "日本", "\udcff", "\udcc3x", "a\u2028b", "#", "*"]
    ),
    st.text(min_size=1, max_size=6).filter(lambda name: "/" not in name and is_plain_path(name)),
)
# Git cannot read its own header `diff --git a/x /y b/x /y` when no line with `---` or `+++` follows.
_FOLDERS = _NAMES.filter(lambda name: not name.endswith(" "))
_LINES = st.lists(
    st.sampled_from(
        [b"one\n", b"two\n", b"three\r\n", b"\n", b" \n", b"-- x\n", b"+++ b/c\n", b"\xff\n", b"diff --git a/a b/a\n"]
    ),
    max_size=8,
).map(b"".join)
_DATA = st.one_of(
    _LINES,
    st.tuples(_LINES, st.sampled_from([b"end", b"\r", b" ", b"\\ No newline at end of file"])).map(b"".join),
    st.binary(max_size=40),
    st.binary(max_size=20).map(lambda data: b"\0" + data * 30),
)
_MODES: st.SearchStrategy[FileMode] = st.sampled_from(["100644", "100755"])


def paths() -> st.SearchStrategy[str]:
    """Plain paths: blanks, quotes, other scripts, undecodable bytes."""
    return st.tuples(st.lists(_FOLDERS, max_size=2), _NAMES).map(lambda parts: "/".join([*parts[0], parts[1]]))


def files() -> st.SearchStrategy[TreeFile]:
    """Text with all kinds of line ends, binary, empty; executable or not."""
    return st.builds(TreeFile, _DATA, _MODES)


def trees() -> st.SearchStrategy[Tree]:
    """Trees in which no file is in the way of a folder."""
    return st.dictionaries(paths(), files(), max_size=6).map(_consistent)


@st.composite
def changes_of(draw: st.DrawFn, base: Tree) -> Changes:
    """Changes of ``base``: of its files, deletions, and new files."""
    changes: dict[str, TreeFile | None] = {}
    for path in base:
        if draw(st.booleans()):
            changes[path] = draw(st.one_of(st.none(), files(), st.just(base[path])))
    new = _consistent(draw(st.dictionaries(paths(), files(), max_size=3)))
    for path, file in new.items():
        if not any(_clash(path, other) for other, kept in changes.items() if kept is not None):
            changes[path] = file
    return changes


def _consistent(entries: dict[str, TreeFile]) -> Tree:
    kept: dict[str, TreeFile] = {}
    for path, file in entries.items():
        if not any(_clash(path, other) for other in kept):
            kept[path] = file
    return Tree(kept)


def _clash(one: str, two: str) -> bool:
    return one.startswith(f"{two}/") or two.startswith(f"{one}/")
