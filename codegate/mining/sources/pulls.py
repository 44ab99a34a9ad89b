"""Find pull requests that no commit message names, by git.

The head commit of a merged pull request is among the commits that the merge brought in. The commits of a rebased pull
request exist again under other ids, with the same author, author's date and subject.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegate.candidates.providers import key_variables
from codegate.errors import InfrastructureError, UsageError
from codegate.host_program import run_program
from codegate.mining.sources.messages import MergeKind
from codegate.suite import GitError, git

PULL_REFS: Final = "refs/codegate/pr/"
MAX_PULL_COMMITS: Final = 250
"""Most commits of a pull request whose rebased copies are searched for; forges rebase at most 100."""

Signature = tuple[str, str, str]
"""A commit's author address, author date and subject; a rebase keeps all three."""

_FETCH_SECONDS: Final = 1800.0
_PROGRAM: Final = re.compile(
    r"^(credential\..*helper|core\.(sshcommand|gitproxy|askpass|alternaterefscommand)|remote\..*\.(vcs|uploadpack)|"
    r"uploadpack\.packobjectshook)$",
    re.IGNORECASE | re.DOTALL,
)
"""Names of settings whose values git runs as programs when it fetches."""
_HEAD_REF: Final = re.compile(
    r"refs/(?:codegate/pr/|pull/|merge-requests/|remotes/[^/]+/(?:pr|pull|merge-requests)/)(\d{1,9})(?:/head)?"
)


@dataclass(frozen=True, slots=True)
class MainlineCommit:
    """One commit of a first-parent history, for matching pull requests.

    Attributes:
        number: the pull request that its message names, or None.
        brought: the commits that it merged.
    """

    commit: str
    parents: tuple[str, ...]
    number: int | None
    brought: tuple[str, ...]
    signature: Signature


@dataclass(frozen=True, slots=True)
class PullMatch:
    """A commit's pull request, and the way it was merged."""

    number: int
    kind: MergeKind


def read_pull_heads(repository: Path) -> dict[int, str]:
    """Return the clone's head commits of pull requests, by number."""
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


def fetch_pull_heads(repository: Path) -> int:
    """Fetch the heads of all pull requests; return their number.

    They are fetched from ``origin`` into ``refs/codegate/pr/``. Git uses the user's configuration, credentials and
    proxy, without prompts. Nothing is checked out, and no branch, tag or FETCH_HEAD changes. A repository whose own
    configuration names a program to run is refused.

    Raises:
        UsageError: git is not installed, there is no such remote, or the repository's configuration names programs.
        InfrastructureError: the remote could not be reached, or refused.
    """
    git(repository, "--version")
    try:
        known = git(repository, "remote").decode("utf-8", "surrogateescape").split()
    except GitError as error:
        raise UsageError(f"{repository} is not a git repository.") from error
    if "origin" not in known:
        raise UsageError(
            f"{repository} has no remote 'origin' to fetch pull requests from.",
            f"It has: {', '.join(known)}." if known else "Add one with `git remote add`, or mine without them.",
        )
    programs = [name for name in _own_settings(repository) if _PROGRAM.search(name)]
    if programs:
        raise UsageError(
            f"the git configuration of {repository} itself names a program to run: {', '.join(programs[:5])}.",
            "Look at it, and move it to your own configuration (git config --global) if you trust it.",
        )
    command = [
        "git", "-C", str(repository.resolve()), "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
        "-c", "gc.auto=0", "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
        "--no-auto-gc", "--no-recurse-submodules", "--upload-pack=git-upload-pack", "origin",
        f"+refs/pull/*/head:{PULL_REFS}*", f"+refs/merge-requests/*/head:{PULL_REFS}*",
    ]  # fmt: skip
    keys = key_variables()  # other tokens stay: a credential helper may need one
    environment = {
        **{name: value for name, value in os.environ.items() if name not in keys and not name.endswith("_KEY")},
        "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh", "LC_ALL": "C.UTF-8",
        "GIT_SSH_COMMAND": os.environ.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
    }  # fmt: skip
    try:
        done = run_program(command, env=environment, seconds=_FETCH_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(
            f"fetching pull requests from 'origin' took longer than {_FETCH_SECONDS:.0f} s."
        ) from error
    if done.returncode != 0:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())[:500]
        raise InfrastructureError(
            f"pull requests could not be fetched from 'origin': {words or f'exit {done.returncode}'}.",
            "Check the network and your git credentials, or mine without them: only what names no pull request "
            "in its message goes unnamed.",
        )
    return len(git(repository, "for-each-ref", "--format=x", PULL_REFS.rstrip("/")).split())


def _own_settings(repository: Path) -> list[str]:
    found: list[str] = []
    for scope in ("--local", "--worktree"):
        with contextlib.suppress(GitError):  # the scope has no file, or a broken one
            listed = git(repository, "config", scope, "--includes", "--name-only", "--null", "--list")
            found += [name.decode("utf-8", "replace") for name in listed.split(b"\0") if name]
    return list(dict.fromkeys(found))


def match_pulls(
    repository: Path, tip: str, landed: Sequence[MainlineCommit], heads: Mapping[int, str]
) -> dict[str, PullMatch]:
    """Return, by commit, the pull request that it comes from.

    Only commits whose messages name no pull request are returned. ``landed`` is the history of ``tip``. ``heads`` has
    the head commits of pull requests, by number. A pull request's commits are in the history themselves, or as copies
    with other ids after a rebase.
    """
    named = {entry.number for entry in landed}
    heads = {number: commit for number, commit in sorted(heads.items()) if number not in named}
    found = _by_head(landed, heads)
    taken = {match.number for match in found.values()}
    heads = {number: commit for number, commit in heads.items() if number not in taken}
    loose = {
        entry.signature: at
        for at, entry in enumerate(landed)
        if entry.number is None and len(entry.parents) == 1 and entry.commit not in found
    }
    if loose and heads:
        with contextlib.suppress(GitError):  # a pull request lacks objects: mining goes on without its name
            for number, run in _rebased(_own_commits(repository, tip, heads), loose):
                commits = [landed[at].commit for at in run]
                if found.keys().isdisjoint(commits):
                    found |= dict.fromkeys(commits, PullMatch(number, "rebase"))
    return found


def _by_head(landed: Sequence[MainlineCommit], heads: Mapping[int, str]) -> dict[str, PullMatch]:
    """Return, by commit, the pull request whose head it merged.

    ``heads`` has the head commits of pull requests, by number.
    """
    numbers = {commit: number for number, commit in sorted(heads.items(), reverse=True)}
    found: dict[str, PullMatch] = {}
    for entry in landed:
        if entry.number is not None:
            continue
        if len(entry.parents) == 1:
            number = numbers.get(entry.commit)
        else:
            inside = [numbers[commit] for commit in entry.brought if commit in numbers]
            number = numbers.get(entry.parents[1], inside[0] if len(inside) == 1 else None)
        if number is not None:
            found[entry.commit] = PullMatch(number, "merge" if len(entry.parents) > 1 else "direct")
    return found


def _own_commits(repository: Path, tip: str, heads: Mapping[int, str]) -> dict[int, list[Signature]]:
    """Return, by pull request, the signatures of its unmerged commits.

    They are ancestors of the pull request's head in ``heads``, and not in the history of ``tip``.
    """
    stdin = "".join(f"{commit}\n" for commit in [*heads.values(), f"^{tip}"]).encode("ascii")
    log = git(repository, "log", "-z", "--no-color", "--no-mailmap", "--no-show-signature", "--no-notes",
              "--encoding=UTF-8", "--format=%H%x00%P%x00%ae%x00%at%x00%s", "--stdin", stdin=stdin)  # fmt: skip
    tokens = log.decode("utf-8", "surrogateescape").split("\0")
    rows = zip(*(tokens[at::5] for at in range(5)), strict=False)
    known = {
        commit: (parents.split(), (email, authored, subject)) for commit, parents, email, authored, subject in rows
    }
    found: dict[int, list[Signature]] = {}
    for number, head in heads.items():
        own: dict[str, None] = {}
        queue = [head]
        while queue and len(own) <= MAX_PULL_COMMITS:
            commit = queue.pop()
            if commit in known and commit not in own:
                own[commit] = None
                queue += known[commit][0]
        if not queue:
            found[number] = [known[commit][1] for commit in own if len(known[commit][0]) == 1]
    return found


def _rebased(pulls: Mapping[int, list[Signature]], landed: Mapping[Signature, int]) -> Iterator[tuple[int, list[int]]]:
    """Yield rebased pull requests, with the positions of their commits.

    ``pulls`` has the signatures of each pull request's commits, and ``landed`` the positions of commits, by signature.
    """
    # At least half of a pull request's commits must have copies. Complete pull requests come first, and of stacked ones
    # the smallest.
    series: list[tuple[bool, int, int, list[int]]] = []
    for number, own in pulls.items():
        best: list[int] = []
        run: list[int] = []
        for at in sorted({landed[signature] for signature in own if signature in landed}):
            run = [*run, at] if run and at == run[-1] + 1 else [at]
            best = max(best, run, key=len)
        if best and 2 * len(best) >= len(own):
            series.append((len(best) < len(own), len(own), number, best))
    for _, _, number, best in sorted(series):
        yield number, best
