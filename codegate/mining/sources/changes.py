"""What commits changed, path by path: blob ids and modes from git's trees, line counts from a cache or from git.

Comparing trees is cheap and is done anew each time. Counting lines reads every changed file and is most of a scan's
cost; counts are therefore kept on disk under the two commits that they lie between. The cache is only a cache: it
says nothing about which paths changed, one that is damaged or does not fit is counted anew, and a rewritten history
has other commits, hence no counts in it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import starmap, zip_longest
from pathlib import Path
from typing import Any, Final, Literal, cast

from codegate.mining.sources.scancache import read_cache, write_cache
from codegate.suite import GitError, git

ChangeStatus = Literal["A", "M", "D", "T"]
Range = tuple[str, str]
"""A commit and the commit that it is compared with."""

SUBMODULE_MODE: Final = "160000"
LINK_MODE: Final = "120000"

_CACHE_SCHEMA: Final = "codegate.linecounts/1"
_LFS_BYTES: Final = 1024
_PROCESSES: Final = 2
_WORTH_A_PROCESS: Final = 64
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NUMSTAT: Final = re.compile(r"(-|\d+)\t(-|\d+)\t")
_DIFF_TREE: Final = (
    "diff-tree", "--stdin", "-r", "--no-renames", "--no-abbrev", "--no-color", "--ignore-submodules=none",
    "--diff-algorithm=myers",
)  # fmt: skip

_Counts = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that a unit changed: blob ids are git's; line counts are None for binary files."""

    path: str
    status: ChangeStatus
    old_mode: str
    new_mode: str
    old_blob: str
    new_blob: str
    added: int | None = None
    removed: int | None = None


def read_changes(
    repository: Path, ranges: Sequence[Range], cache: Path | None = None
) -> dict[Range, tuple[PathChange, ...]]:
    """Return what each range changed, with line counts.

    Args:
        repository: where the commits are.
        ranges: pairs of a commit and the one to compare it with; each commit in one of them only.
        cache: file to keep line counts in; None: none.

    Raises:
        GitError: git failed.
    """
    plain = compare(repository, ranges)
    known = _load(cache) if cache is not None else {}
    missing = [pair for pair, changes in plain.items() if changes and len(known.get(pair, ())) != len(changes)]
    if missing:
        known.update(dict.fromkeys(missing, ()) | _count_what_is_there(repository, missing, plain))
        if cache is not None:
            _store(cache, known)
    return {
        pair: tuple(starmap(_with_counts, zip_longest(changes, known.get(pair, ())))) for pair, changes in plain.items()
    }


def compare(repository: Path, ranges: Iterable[Range]) -> dict[Range, tuple[PathChange, ...]]:
    """Return what each range changed, without line counts: no file is read.

    Raises:
        GitError: git failed.
    """
    wanted = dict(ranges)
    found: dict[Range, tuple[PathChange, ...]] = dict.fromkeys(wanted.items(), ())
    for commit, tokens in _diff_tree(repository, wanted.items(), "--raw"):
        changes = [_path_change(tokens[at], tokens[at + 1]) for at in range(0, len(tokens) - 1, 2)]
        found[commit, wanted[commit]] = tuple(changes)
    return found


def patch_ids(repository: Path, ranges: Iterable[Range], paths: Sequence[str] = ()) -> dict[str, str]:
    """Return, by commit, what `git patch-id --stable` says of each range: the same for the same change elsewhere.

    Each commit may be in one range only. Those without a textual change have no patch id.

    Args:
        repository: where the commits are.
        ranges: pairs of a commit and the one to compare it with.
        paths: look at these only; none: at all.

    Raises:
        GitError: git failed.
    """
    stdin = "".join(f"{commit} {base}\n" for commit, base in ranges).encode("ascii")
    if not stdin:
        return {}
    specs = [f":(top,literal){path}" for path in paths]
    patches = git(repository, *_DIFF_TREE, "-p", "--full-index", "--", *specs, stdin=stdin)
    lines = git(repository, "patch-id", "--stable", stdin=patches).decode("ascii").splitlines()
    return {commit: patch for patch, commit in (line.split(" ") for line in lines)}


def is_lfs_pointer(data: bytes) -> bool:
    """Return whether a file's bytes only say where Git LFS keeps the real ones (its specification's version 1)."""
    return len(data) < _LFS_BYTES and data.startswith(b"version https://git-lfs.github.com/spec/v1\n")


def _diff_tree(repository: Path, ranges: Iterable[Range], form: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each commit that differs from what it is compared with, and git's words on it."""
    stdin = "".join(f"{commit} {base}\n" for commit, base in ranges).encode("ascii")
    if not stdin:
        return
    tokens = git(repository, *_DIFF_TREE, "-z", form, stdin=stdin).decode("utf-8", "surrogateescape").split("\0")
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


def _path_change(facts: str, path: str) -> PathChange:
    old_mode, new_mode, old_blob, new_blob, status = facts[1:].split(" ")
    return PathChange(path, cast("ChangeStatus", status[0]), old_mode, new_mode, old_blob, new_blob)


def _count_what_is_there(
    repository: Path, ranges: list[Range], plain: dict[Range, tuple[PathChange, ...]]
) -> dict[Range, tuple[_Counts, ...]]:
    """Count lines; where objects are missing or damaged, those of the other ranges."""
    try:
        return _count(repository, ranges, plain)
    except GitError:
        blobs = {name for pair in ranges for change in plain[pair] for name in (change.old_blob, change.new_blob)}
        request = "".join(f"{name}\n" for name in sorted(blobs)).encode("ascii")
        answer = git(repository, "cat-file", "--batch-check=%(objectname)", stdin=request).decode("ascii")
        absent = {line.split(" ")[0] for line in answer.splitlines() if line.endswith(" missing")}
        absent -= {name for name in absent if not name.strip("0")}
        whole = [pair for pair in ranges if not any({each.old_blob, each.new_blob} & absent for each in plain[pair])]
        if len(whole) == len(ranges):
            raise
        return _count(repository, whole, plain) if whole else {}


def _count(
    repository: Path, ranges: list[Range], plain: dict[Range, tuple[PathChange, ...]]
) -> dict[Range, tuple[_Counts, ...]]:
    """Count lines, with a git on each of two processors when there is much to count."""
    shares = [ranges[start::_PROCESSES] for start in range(_PROCESSES)] if len(ranges) > _WORTH_A_PROCESS else [ranges]
    bases = dict(ranges)
    counted: dict[Range, tuple[_Counts, ...]] = {}
    with ThreadPoolExecutor(len(shares)) as pool:
        for stats in pool.map(lambda share: list(_diff_tree(repository, share, "--numstat")), shares):
            for commit, tokens in stats:
                pair = (commit, bases[commit])
                by_path = dict(map(_numstat, tokens))
                counted[pair] = tuple(by_path.get(change.path) for change in plain[pair])
    return counted


def _numstat(token: str) -> tuple[str, _Counts]:
    counts = _NUMSTAT.match(token)
    if counts is None:
        return token, None
    path = token[counts.end() :]
    return path, None if "-" in counts.group(1, 2) else (int(counts[1]), int(counts[2]))


def _with_counts(plain: PathChange, counts: _Counts) -> PathChange:
    if counts is None:
        return plain
    return PathChange(
        plain.path, plain.status, plain.old_mode, plain.new_mode, plain.old_blob, plain.new_blob, *counts
    )  # fmt: skip


def _load(cache: Path) -> dict[Range, tuple[_Counts, ...]]:
    """Return the cache's counts; nothing when one of them is not of their form."""
    content = read_cache(cache, _CACHE_SCHEMA)
    try:
        return {_checked_range(name): tuple(map(_checked, counts)) for name, counts in content.items()}
    except (ValueError, TypeError):
        return {}


def _checked_range(name: str) -> Range:
    commit, _, base = name.partition(" ")
    if not _COMMIT.fullmatch(commit) or not _COMMIT.fullmatch(base):
        raise ValueError(name)
    return commit, base


def _checked(counts: Any) -> _Counts:
    if counts is None:
        return None
    added, removed = counts
    if type(added) is not int or type(removed) is not int or not 0 <= added < 1 << 40 or not 0 <= removed < 1 << 40:
        raise ValueError(counts)
    return added, removed


def _store(cache: Path, counts: dict[Range, tuple[_Counts, ...]]) -> None:
    rows = {f"{commit} {base}": list(entry) for (commit, base), entry in counts.items() if entry}
    write_cache(cache, _CACHE_SCHEMA, rows)
