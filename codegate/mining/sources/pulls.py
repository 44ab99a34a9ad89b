"""Heads of pull requests in a clone: they name what messages leave unnamed, with git alone and no API.

A pull request that was merged has its head among the commits that the merge brought in. One that was rebased has its
commits again, under other ids: same author, author's date and subject, or the same patch id. One that was squashed
has its whole change again as one commit, with the same patch id.
"""

import contextlib
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegate.durable import digest
from codegate.errors import InfrastructureError, UsageError
from codegate.mining.sources.changes import compare, patch_ids
from codegate.mining.sources.graph import CommitGraph
from codegate.mining.sources.messages import UnitKind
from codegate.mining.sources.scancache import read_cache, write_cache
from codegate.suite import GitError, git

PULL_REFS: Final = "refs/codegate/pr/"
MAX_PULL_COMMITS: Final = 250
"""A pull request with more commits of its own is merged, if at all: forges rebase at most 100."""

_CACHE_SCHEMA: Final = "codegate.pulls/1"
_SINGLE_KINDS: Final = ("rebase", "squash", "direct")
_MAX_ALIKE: Final = 20
_MAX_SQUASHED: Final = 5000
_FETCH_SECONDS: Final = 1800.0
_PROGRAM: Final = re.compile(
    r"^(credential\..*helper|core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|remote\..*\.(vcs|uploadpack)|"
    r"uploadpack\.packobjectshook)$",
    re.IGNORECASE | re.DOTALL,
)
"""Settings whose values git runs when it fetches."""
_HEAD_REF: Final = re.compile(
    r"refs/(?:codegate/pr/|pull/|merge-requests/|remotes/[^/]+/(?:pr|pull|merge-requests)/)(\d{1,9})(?:/head)?"
)


@dataclass(frozen=True, slots=True)
class Landed:
    """One commit of a first-parent history, as far as pull requests are concerned.

    Attributes:
        number: the pull request that its message names, or None.
        brought: the commits that a merge brought in.
        signature: author's address, author's date and subject, which a rebase keeps.
    """

    commit: str
    parents: tuple[str, ...]
    number: int | None
    brought: tuple[str, ...]
    signature: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class PullMatch:
    """The pull request that a commit was found to belong to, and how it landed."""

    number: int
    kind: UnitKind


def read_pull_heads(repository: Path) -> dict[int, str]:
    """Return the commits that pull requests end in, by number, from the refs that the clone has.

    Raises:
        GitError: git failed.
    """
    listing = git(
        repository, "for-each-ref", "--format=%(objecttype) %(objectname) %(refname)",
        "refs/pull", "refs/merge-requests", "refs/remotes", PULL_REFS.rstrip("/"),
    )  # fmt: skip
    heads: dict[int, str] = {}
    for line in listing.decode("utf-8", "surrogateescape").splitlines():
        kind, commit, ref = line.split(" ", 2)
        match = _HEAD_REF.fullmatch(ref)
        if match is not None and kind == "commit":
            heads[int(match[1])] = commit
    return heads


def fetch_pull_heads(repository: Path, remote: str = "origin") -> int:
    """Fetch the heads of all pull requests from ``remote`` into ``refs/codegate/pr/`` and return how many there are.

    This is git as the user has it: their credentials, their proxy, no prompt. Nothing is checked out, and no branch,
    tag or FETCH_HEAD changes. A repository whose own configuration names a program to run is refused.

    Raises:
        UsageError: git is not installed, there is no such remote, or the repository's configuration names programs.
        InfrastructureError: the remote could not be reached, or refused.
    """
    program = shutil.which("git")
    if program is None:
        raise UsageError("git is not installed or not on PATH.", "Install it (for example `apt-get install git`).")
    try:
        known = git(repository, "remote").decode("utf-8", "surrogateescape").split()
    except GitError as error:
        raise UsageError(f"{repository} is not a git repository.") from error
    if remote not in known:
        raise UsageError(
            f"{repository} has no remote {remote!r} to fetch pull requests from.",
            f"It has: {', '.join(known)}." if known else "Add one with `git remote add`, or mine without them.",
        )
    programs = [name for name in _own_settings(repository) if _PROGRAM.search(name)]
    if programs:
        raise UsageError(
            f"the git configuration of {repository} itself names a program to run: {', '.join(programs[:5])}.",
            "Look at it, and move it to your own configuration (git config --global) if you trust it.",
        )
    command = [
        program, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0",
        "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc",
        "--no-recurse-submodules", "--upload-pack=git-upload-pack", remote,
        f"+refs/pull/*/head:{PULL_REFS}*", f"+refs/merge-requests/*/head:{PULL_REFS}*",
    ]  # fmt: skip
    environment = {
        **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
        "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh", "LC_ALL": "C.UTF-8",
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    }  # fmt: skip
    try:
        done = subprocess.run(
            command, cwd=repository, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_FETCH_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(
            f"fetching pull requests from {remote!r} took longer than {_FETCH_SECONDS:.0f} s."
        ) from error
    if done.returncode != 0:
        words = _without_userinfo(" ".join(done.stderr.decode("utf-8", "replace").split()))[:500]
        raise InfrastructureError(
            f"pull requests could not be fetched from {remote!r}: {words or f'exit {done.returncode}'}.",
            "Check the network and your git credentials, or mine without them: only what names no pull request "
            "in its message goes unnamed.",
        )
    return len(git(repository, "for-each-ref", "--format=x", PULL_REFS.rstrip("/")).split())


def _own_settings(repository: Path) -> list[str]:
    """Return the names of the settings that a repository brings along, without its user's and the system's."""
    found: list[str] = []
    for scope in ("--local", "--worktree"):
        with contextlib.suppress(GitError):  # there is none, or it is no list of settings
            listed = git(repository, "config", scope, "--includes", "--name-only", "--null", "--list")
            found += [name.decode("utf-8", "replace") for name in listed.split(b"\0") if name]
    return list(dict.fromkeys(found))


def match_pulls(
    repository: Path,
    tip: str,
    landed: Sequence[Landed],
    heads: Mapping[int, str],
    graph: CommitGraph,
    cache: Path | None = None,
) -> dict[str, PullMatch]:
    """Return, for commits whose message names no pull request, the one that they landed.

    Args:
        repository: where the commits are.
        tip: what ``landed`` was read from.
        landed: a first-parent history, newest first.
        heads: where the pull requests end.
        graph: the commits behind ``tip``.
        cache: file that keeps what was found for the same history and the same heads; None: none.

    Raises:
        GitError: git failed.
    """
    key = digest([tip, landed[-1].commit if landed else "", sorted(heads.items())])
    kept = read_cache(cache, _CACHE_SCHEMA) if cache is not None else {}
    found = _checked(kept.get("found"), landed, heads) if kept.get("key") == key else None
    if found is None:
        found = _match(repository, tip, landed, heads, graph)
        if cache is not None:
            rows = {commit: [match.number, match.kind] for commit, match in found.items()}
            write_cache(cache, _CACHE_SCHEMA, {"key": key, "found": rows})
    return found


def _checked(rows: Any, landed: Sequence[Landed], heads: Mapping[int, str]) -> dict[str, PullMatch] | None:
    """Return what a cache file says, or None when it says anything that could not have been found."""
    parents = {entry.commit: len(entry.parents) for entry in landed if entry.number is None}
    found: dict[str, PullMatch] = {}
    for commit, row in rows.items() if isinstance(rows, dict) else [(None, None)]:
        if commit not in parents or not isinstance(row, list) or len(row) != 2 or type(row[0]) is not int:
            return None
        if row[0] not in heads or row[1] not in (_SINGLE_KINDS if parents[commit] == 1 else ("merge",)):
            return None
        found[commit] = PullMatch(row[0], row[1])
    return found


def _match(
    repository: Path, tip: str, landed: Sequence[Landed], heads: Mapping[int, str], graph: CommitGraph
) -> dict[str, PullMatch]:
    named = {entry.number for entry in landed if entry.number is not None}
    heads = {number: commit for number, commit in sorted(heads.items()) if number not in named}
    found = _by_head(landed, heads)
    taken = {match.number for match in found.values()}
    loose = [entry for entry in landed if _is_loose(entry) and entry.commit not in found]
    open_heads = {number: head for number, head in heads.items() if number not in taken and head not in graph}
    if not loose or not open_heads:
        return found
    try:
        pulls = _Pulls.read(repository, tip, open_heads)
        found |= _by_rebase(repository, landed, loose, pulls)
        taken = {match.number for match in found.values()}
        loose = [entry for entry in loose if entry.commit not in found]
        found |= _by_squash(repository, loose, pulls, taken, graph)
    except GitError:  # objects of some pull request are missing or damaged: names are worth having, no more
        pass
    return found


def _is_loose(entry: Landed) -> bool:
    return entry.number is None and len(entry.parents) == 1


def _by_head(landed: Sequence[Landed], heads: Mapping[int, str]) -> dict[str, PullMatch]:
    """Match merges that brought one head in, and commits that are a head as it was pushed."""
    numbers: dict[str, int] = {}
    for pull, commit in heads.items():
        numbers.setdefault(commit, pull)
    found: dict[str, PullMatch] = {}
    for entry in landed:
        if entry.number is not None:
            continue
        if len(entry.parents) == 1:
            number = numbers.get(entry.commit)
        else:
            number = numbers.get(entry.parents[1])
            inside = [numbers[commit] for commit in entry.brought if commit in numbers]
            number = inside[0] if number is None and len(inside) == 1 else number
        if number is not None:
            found[entry.commit] = PullMatch(number, "merge" if len(entry.parents) > 1 else "direct")
    return found


@dataclass(frozen=True)
class _Pulls:
    """The commits that only pull requests have."""

    heads: Mapping[int, str]
    parents: dict[str, tuple[str, ...]]
    signatures: dict[str, tuple[str, str, str]]

    @classmethod
    def read(cls, repository: Path, tip: str, heads: Mapping[int, str]) -> "_Pulls":
        stdin = "".join(f"{commit}\n" for commit in [*heads.values(), f"^{tip}"]).encode("ascii")
        log = git(repository, "log", "-z", "--no-color", "--no-mailmap", "--no-show-signature", "--no-notes",
                  "--encoding=UTF-8", "--format=%H%x00%P%x00%ae%x00%at%x00%s", "--stdin", stdin=stdin)  # fmt: skip
        tokens = log.decode("utf-8", "surrogateescape").split("\0")
        parents: dict[str, tuple[str, ...]] = {}
        signatures: dict[str, tuple[str, str, str]] = {}
        for at in range(0, len(tokens) - 4, 5):
            commit, above, email, authored, subject = tokens[at : at + 5]
            parents[commit] = tuple(above.split())
            signatures[commit] = (email, authored, subject)
        return cls(heads, parents, signatures)

    def commits(self, number: int) -> list[str]:
        """Return a pull request's own commits, or nothing when they are too many."""
        own: dict[str, None] = {}
        queue = [self.heads[number]]
        while queue:
            commit = queue.pop()
            if commit in own or commit not in self.parents:
                continue
            own[commit] = None
            if len(own) > MAX_PULL_COMMITS:
                return []
            queue.extend(self.parents[commit])
        return list(own)

    def numbers_of(self, commits: Iterable[str]) -> set[int]:
        """Return the pull requests that have one of ``commits``."""
        children: dict[str, list[str]] = defaultdict(list)
        for commit, parents in self.parents.items():
            for parent in parents:
                children[parent].append(commit)
        above: set[str] = set()
        queue = list(commits)
        while queue:
            commit = queue.pop()
            if commit not in above:
                above.add(commit)
                queue.extend(children.get(commit, ()))
        return {number for number, head in self.heads.items() if head in above}


def _by_rebase(
    repository: Path, landed: Sequence[Landed], loose: Sequence[Landed], pulls: _Pulls
) -> dict[str, PullMatch]:
    twins = _twins(repository, loose, pulls)
    position = {entry.commit: at for at, entry in enumerate(landed)}
    landed_as: dict[str, list[str]] = defaultdict(list)
    for commit, alike in twins.items():
        for original in alike:
            landed_as[original].append(commit)
    series: list[tuple[bool, int, int, list[str]]] = []
    for number in pulls.numbers_of(landed_as):
        own = [commit for commit in pulls.commits(number) if len(pulls.parents[commit]) == 1]
        again = {commit for original in own for commit in landed_as.get(original, ())}
        run = _longest_run(sorted(again, key=position.__getitem__), position)
        if 2 * len(run) >= len(own) > 0 and run:
            series.append((len(run) < len(own), len(own), number, run))
    found: dict[str, PullMatch] = {}
    for _, _, number, run in sorted(series):  # whole ones first; of stacked pull requests the smallest
        if not any(commit in found for commit in run):
            found.update(dict.fromkeys(run, PullMatch(number, "rebase")))
    return found


def _twins(repository: Path, loose: Sequence[Landed], pulls: _Pulls) -> dict[str, list[str]]:
    """Return, for commits that are a pull request's commit again, the commits that they could be."""
    alike: dict[object, list[str]] = defaultdict(list)
    for commit, signature in pulls.signatures.items():
        if len(pulls.parents[commit]) == 1:
            alike[signature[:2]].append(commit)
            alike[signature[2]].append(commit)
    pairs = {
        entry: list(dict.fromkeys([*alike.get(entry.signature[:2], ()), *alike.get(entry.signature[2], ())]))
        for entry in loose
    }
    pairs = {entry: candidates[:_MAX_ALIKE] for entry, candidates in pairs.items() if candidates}
    unsure = {commit for candidates in pairs.values() for commit in candidates}
    ranges = {entry.commit: entry.parents[0] for entry in pairs}
    ranges |= {commit: pulls.parents[commit][0] for commit in unsure}
    patches = patch_ids(repository, ranges.items())
    twins: dict[str, list[str]] = {}
    for entry, candidates in pairs.items():
        patch = patches.get(entry.commit)
        same = [
            commit
            for commit in candidates
            if pulls.signatures[commit] == entry.signature or (patch is not None and patches.get(commit) == patch)
        ]
        if same:
            twins[entry.commit] = same
    return twins


def _longest_run(commits: list[str], position: Mapping[str, int]) -> list[str]:
    best: list[str] = []
    run: list[str] = []
    for commit in commits:
        run = [*run, commit] if run and position[commit] == position[run[-1]] + 1 else [commit]
        best = max(best, run, key=len)
    return best


def _by_squash(
    repository: Path, loose: Sequence[Landed], pulls: _Pulls, taken: set[int], graph: CommitGraph
) -> dict[str, PullMatch]:
    whole: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for number in [number for number in sorted(pulls.heads, reverse=True) if number not in taken][:_MAX_SQUASHED]:
        own = pulls.commits(number)
        fork = graph.fork(own, pulls.parents) if own else None
        if fork is not None:
            whole[pulls.heads[number]] = fork
            numbers[pulls.heads[number]] = number
    if not whole:
        return {}
    single = {entry.commit: entry.parents[0] for entry in loose}
    paths = {pair[0]: frozenset(change.path for change in changes)
             for pair, changes in compare(repository, [*whole.items(), *single.items()]).items()}  # fmt: skip
    shared = {paths[commit] for commit in whole} & {paths[commit] for commit in single} - {frozenset[str]()}
    ranges = {commit: base for commit, base in (whole | single).items() if paths[commit] in shared}
    patches = patch_ids(repository, ranges.items())
    by_patch: dict[str, int] = {}
    for head, number in numbers.items():
        if head in patches:
            by_patch[patches[head]] = number  # of several alike the oldest, which comes last
    return {
        commit: PullMatch(by_patch[patches[commit]], "squash")
        for commit in single
        if commit in patches and patches[commit] in by_patch
    }


def _without_userinfo(text: str) -> str:
    """Take out user names and passwords of addresses, which git may repeat."""
    return re.sub(r"(\w+://)[^\s/@]+@", r"\1", text)
