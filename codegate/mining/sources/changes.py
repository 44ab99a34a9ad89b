"""Read the changes of commits from git, path by path."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final, Literal, cast

from codegate.suite import GitError, Tree, git
from codegate.suite.declared import read_ini

ChangeStatus = Literal["A", "M", "D", "T"]
Range = tuple[str, str]
"""A commit and the commit that it is compared with."""

SUBMODULE_MODE: Final = "160000"
LINK_MODE: Final = "120000"

_LFS_BYTES: Final = 1024
_MOST_NAMED: Final = 3
_DIFF_TREE: Final = (
    "diff-tree", "--stdin", "-r", "--no-renames", "--no-abbrev", "--no-color", "--ignore-submodules=none",
    "--diff-algorithm=myers",
)  # fmt: skip

_Counts = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class PathChange:
    """One changed path; binary files have no line counts."""

    path: str
    status: ChangeStatus
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    added: int | None = None
    removed: int | None = None


def read_changes(repository: Path, ranges: Sequence[Range]) -> dict[Range, tuple[PathChange, ...]]:
    """Return the changed paths of each range of commits.

    A range is a commit and the commit that it is compared with; each commit may be in one range only. There are no line
    counts if objects are missing or damaged.
    """
    try:
        return _changes(repository, ranges, "--raw", "--numstat")
    except GitError:
        if len(ranges) <= 1:
            return _changes(repository, ranges, "--raw")
        half = len(ranges) // 2
        return read_changes(repository, ranges[:half]) | read_changes(repository, ranges[half:])


def _changes(repository: Path, ranges: Sequence[Range], *forms: str) -> dict[Range, tuple[PathChange, ...]]:
    bases = dict(ranges)
    found: dict[Range, tuple[PathChange, ...]] = dict.fromkeys(ranges, ())
    for commit, tokens in _diff_tree(repository, ranges, *forms):
        raw = list(takewhile(lambda fact: fact.startswith(":"), tokens[::2]))
        counts = dict(map(_numstat, tokens[2 * len(raw) :]))
        changes = zip(raw, tokens[1::2], strict=False)
        found[commit, bases[commit]] = tuple(_path_change(facts, path, counts) for facts, path in changes)
    return found


def patch_ids(repository: Path, ranges: Iterable[Range], paths: Sequence[str]) -> dict[str, str]:
    """Return, by a range's commit, the stable `git patch-id`.

    Only changes of ``paths`` count. Equal changes have equal ids, also on other branches. Each commit may be in one
    range only; ranges without a textual change are left out.
    """
    stdin = "".join(f"{commit} {base}\n" for commit, base in ranges).encode("ascii")
    if not stdin:
        return {}
    specs = [f":(top,literal){path}" for path in paths]
    patches = git(repository, *_DIFF_TREE, "-p", "--full-index", "--", *specs, stdin=stdin)
    lines = git(repository, "patch-id", "--stable", stdin=patches).decode("ascii").splitlines()
    return {commit: patch for patch, commit in (line.split(" ") for line in lines)}


def is_lfs_pointer(data: bytes) -> bool:
    """Return whether a file is a Git LFS pointer."""
    return len(data) < _LFS_BYTES and data.startswith(b"version https://git-lfs.github.com/spec/v1\n")


def absent_parts(tree: Tree) -> str:
    """Return absent submodules and LFS files as text, or ""."""
    found = [f"the submodule {of['path']}" for of in read_ini(tree, ".gitmodules").values() if "path" in of]
    found += [f"{path}, which is in LFS," for path, file in tree.items() if is_lfs_pointer(file.data)]
    named = [*found[:_MOST_NAMED], *([f"{len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else [])]
    return " and ".join(named)


def _diff_tree(repository: Path, ranges: Iterable[Range], *forms: str) -> Iterator[tuple[str, list[str]]]:
    """Yield, for each range, its commit and git's output.

    A range is a commit and its base; one without a change is left out. The output is split at NULs. ``forms`` are
    options of ``git diff-tree``, such as ``--raw``.
    """
    stdin = "".join(f"{commit} {base}\n" for commit, base in ranges).encode("ascii")
    if not stdin:
        return
    tokens = git(repository, *_DIFF_TREE, "-z", *forms, stdin=stdin).decode("utf-8", "surrogateescape").split("\0")
    commit, start, position = "", 0, 0
    while position < len(tokens):
        token = tokens[position]
        if token.startswith(":"):
            position += 2  # a path follows, which may look like anything
            continue
        if "\t" not in token:
            if commit:
                yield commit, tokens[start:position]
            commit, start = token, position + 1
        position += 1


def _path_change(facts: str, path: str, counts: Mapping[str, _Counts]) -> PathChange:
    old_mode, new_mode, old_blob, new_blob, status = facts[1:].split(" ")
    added, removed = counts.get(path) or (None, None)
    return PathChange(path, cast("ChangeStatus", status[0]), old_mode, new_mode, old_blob, new_blob, added, removed)


def _numstat(token: str) -> tuple[str, _Counts]:
    added, removed, path = token.split("\t", 2)
    return path, None if "-" in (added, removed) else (int(added), int(removed))
