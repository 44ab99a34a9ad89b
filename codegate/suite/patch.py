"""Patches: derived from a change of a tree for people and for export, and applied strictly.

Git does both, in the object store and index of a throw-away repository: no file of the tree is ever checked
out, so its names, links and attributes have nothing to act on. No fuzz, no three-way guesses: a patch applies
or it does not.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codegate.errors import CodegateError
from codegate.suite.git import GitError, git, read_commit
from codegate.suite.tree import Changes, Tree, TreeFile

MAX_PATCH_BYTES: Final = 8 << 20
_LINK_OR_SUBMODULE: Final = (b"120000", b"160000")


class PatchError(CodegateError):
    """The patch does not apply to the base tree, or it changes what a patch may not change."""


def make_patch(base: Tree, changes: Changes) -> str:
    """Return the unified diff (git's format, binary hunks included) that makes ``changes`` to ``base``.

    Bytes that are not UTF-8 come out as surrogate escapes, which ``apply_patch`` turns back.
    """
    real = {path: file for path, file in changes.items() if base.get(path) != file}
    if not real:
        return ""
    before = Tree({path: base[path] for path in real if path in base})
    with _store() as store:
        _import(store, [before, before.overlay(real)])
        options = ("-p", "-r", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index")
        patch = git(store, "diff-tree", *options, "tree-0", "tree-1")
    return patch.decode("utf-8", "surrogateescape")


def apply_patch(base: Tree, patch: str) -> dict[str, TreeFile | None]:
    """Return the changes that ``patch`` makes to ``base``.

    Raises:
        PatchError: it is malformed or over 8 MiB, does not apply exactly, leaves the tree, or makes a link.
    """
    raw = patch.encode("utf-8", "surrogateescape" if _escapes_only(patch) else "replace")
    if len(raw) > MAX_PATCH_BYTES:
        raise PatchError(f"the patch has {len(raw)} bytes; {MAX_PATCH_BYTES} are allowed.")
    if not raw.strip():
        return {}
    # A superset of the files that the patch names: git quotes the names that this comparison cannot see.
    touched = Tree({p: f for p, f in base.items() if p in patch or not p.isascii() or '"' in p})
    with _store() as store:
        _import(store, [touched])
        git(store, "read-tree", "tree-0")
        try:
            git(store, "apply", "--cached", "--whitespace=nowarn", "-", stdin=raw.rstrip(b"\n") + b"\n")
        except GitError as error:
            raise PatchError(_reason(error)) from error
        entries = git(store, "ls-files", "-s", "-z").split(b"\0")
        before = {path for path, file in touched.items() if file.is_link}
        for entry in entries:
            facts, _, name = entry.partition(b"\t")
            if facts[:6] in _LINK_OR_SUBMODULE and name.decode("utf-8", "surrogateescape") not in before:
                raise PatchError("the patch makes a symbolic link or a submodule.")
        written = git(store, "write-tree").decode("ascii").strip()
        return touched.changes_to(_read(store, written, len(entries)))


def _read(store: Path, tree: str, entries: int) -> Tree:
    result = read_commit(store, tree)
    if len(result) != entries - 1:
        raise PatchError("the patch names a path that is not a plain relative path.")
    return result


@contextmanager
def _store() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="codegate-patch-") as name:
        folder = Path(name)
        git(folder, "init", "--quiet", "--bare", "--template=", ".")
        yield folder


def _import(store: Path, trees: list[Tree]) -> None:
    """Store each tree as the branch ``tree-<index>``."""
    stream = bytearray()
    for index, tree in enumerate(trees):
        stream += b"commit refs/heads/tree-%d\n" % index
        stream += b"committer codegate <codegate> 0 +0000\ndata 0\n"
        for path, file in tree.items():
            stream += b"M %s inline %s\n" % (file.mode.encode("ascii"), _quoted(path))
            stream += b"data %d\n%s\n" % (len(file.data), file.data)
        stream += b"\n"
    git(store, "fast-import", "--quiet", stdin=bytes(stream))


def _quoted(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    return b'"' + raw.replace(b'"', b'\\"') + b'"'


def _escapes_only(text: str) -> bool:
    """Whether every surrogate in ``text`` stands for an undecodable byte."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: GitError) -> str:
    lines = [part.splitlines()[0].strip(" .") for part in str(error).split("error: ")[1:] if part.strip()]
    return f"the patch does not apply: {'; '.join(lines)[:500]}." if lines else "the patch does not apply."
