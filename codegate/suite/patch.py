"""Make patches, and apply them exactly.

Patches apply without fuzz and without three-way merges. Git works in the object store and index of a temporary
repository, where no file is checked out, so a tree's names, links and attributes have no effect.
"""

import re
from pathlib import Path
from typing import Final, cast

from codegate.suite.git import GitError, git, object_id, read_blobs
from codegate.suite.gitstore import open_store, set_index, store_trees
from codegate.suite.repair import (
    PatchError,
    is_exact,
    prefix_depth,
    read_sections,
    repair_patch,
    unquoted_names,
    without_carriage_returns,
)
from codegate.suite.tree import Changes, FileMode, Tree, TreeFile, is_plain_path

MAX_PATCH_BYTES: Final = 8 << 20
_MANY_HEADERS: Final = 512 << 10
MAX_CHANGED_BYTES: Final = 64 << 20
_APPLY_SECONDS: Final = 60.0
_APPLY_MEMORY: Final = 1 << 30

_HEADERS: Final = re.compile(r"^(?:diff --git |--- |\+\+\+ |rename |copy )[^\n]*", re.MULTILINE)


def make_patch(base: Tree, changes: Changes) -> str:
    """Return git's diff for ``changes`` to ``base``, with binary hunks.

    Bytes that are not UTF-8 become surrogate escapes, which ``apply_patch`` turns back.
    """
    real = base.changes_to(base.overlay(changes))
    if not real:
        return ""
    before = Tree({path: base[path] for path in real if path in base})
    with open_store() as store:
        store_trees(store, [before, before.overlay(real)])
        options = ("-p", "-r", "--binary", "--no-renames", "--full-index")
        patch = git(store, "diff-tree", *options, "tree-0", "tree-1")
    return patch.decode("utf-8", "surrogateescape")


def apply_patch(base: Tree, patch: str) -> dict[str, TreeFile | None]:
    """Return the changes that ``patch`` makes to ``base``, by path.

    None stands for a deleted file.

    Raises:
        PatchError: the patch is malformed or too large, does not apply exactly, leaves the tree, or makes a submodule.
    """
    try:
        raw = patch.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        raw = patch.encode("utf-8", "replace")
    if len(raw) > MAX_PATCH_BYTES:
        raise PatchError(f"the patch has {len(raw)} bytes; {MAX_PATCH_BYTES} are allowed.")
    if not raw.strip():
        return {}
    text = without_carriage_returns(raw.decode("utf-8", "surrogateescape"))
    headers = "\n".join(part for line in _HEADERS.findall(text) for part in (line, *unquoted_names(line)))
    # The index has every path of the base, so that a patch conflicts as in a checkout. Only files that the patch may
    # name are stored with their bytes, unless its headers are too long to search for every path.
    few = len(headers) <= _MANY_HEADERS
    named = Tree({path: file for path, file in base.items() if path in headers}) if few else base
    entries = {path: (file.mode, object_id(file.data)) for path, file in base.items()}
    sections = read_sections(text)
    depth = prefix_depth(sections, base)
    with open_store() as store:
        store_trees(store, [named])
        set_index(store, entries)
        try:
            if not is_exact(sections, base, depth):
                raise PatchError("the patch does not apply: the counts of a hunk are wrong, or it has no context.")
            _apply(store, text.encode("utf-8", "surrogateescape"), depth)
        except PatchError:
            _apply(store, repair_patch(text, sections, base, depth), depth, "--unidiff-zero")
        return _changes(store, base, entries)


def _apply(store: Path, patch: bytes, depth: int, *options: str) -> None:
    try:
        git(
            store, "apply", "--cached", "--whitespace=nowarn", f"-p{depth}", *options, "-",
            stdin=patch if patch.endswith(b"\n") else patch + b"\n", timeout=_APPLY_SECONDS, memory=_APPLY_MEMORY,
        )  # fmt: skip
    except GitError as error:
        raise PatchError(_reason(error)) from error


def _changes(store: Path, base: Tree, before: dict[str, tuple[FileMode, str]]) -> dict[str, TreeFile | None]:
    """Return how git's index differs from ``base``, by path.

    ``before`` has the index's entries for ``base``. None stands for a deleted file.
    """
    after: dict[str, tuple[FileMode, str]] = {}
    for entry in git(store, "ls-files", "-s", "-z").split(b"\0")[:-1]:
        facts, _, raw_path = entry.partition(b"\t")
        mode, name, _stage = facts.decode("ascii").split(" ")
        path = raw_path.decode("utf-8", "surrogateescape")
        if mode == "160000":
            raise PatchError(f"the patch makes a submodule of {path[:200]!a}.")
        after[path] = (cast("FileMode", mode), name)
    changed = {path: entry for path, entry in after.items() if before.get(path) != entry}
    for path in changed:
        if not is_plain_path(path):
            raise PatchError("the patch names a path that is not a plain relative path.")
    known = {name: base[path].data for path, (_, name) in before.items()}
    try:
        new = read_blobs(store, {name for _, name in changed.values() if name not in known}, MAX_CHANGED_BYTES)
    except GitError as error:
        raise PatchError(f"the patch makes more than {MAX_CHANGED_BYTES >> 20} MiB of changes.") from error
    blobs = {**known, **new}
    files = {path: TreeFile(blobs[name], mode) for path, (mode, name) in changed.items()}
    return dict(sorted({**{path: None for path in before if path not in after}, **files}.items()))


def _reason(error: GitError) -> str:
    faults = [fault.strip(" .") for fault in re.split("(?:error|fatal): ", error.cause)[1:]]
    words = "; ".join(fault for fault in faults if fault)[:500] or f"no result within {_APPLY_SECONDS:.0f} s"
    return f"the patch does not apply: {words}."
