"""Read local git history as merged changes (units).

Messages, commit graph and changed paths come from a few passes of git. Their tokens are separated by NULs, so that no
commit message and no file name can be mistaken for structure.
"""

import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.mining.sources.changes import PathChange, read_changes
from codegate.mining.sources.messages import (
    MergeKind,
    ParsedMessage,
    closed_issues,
    is_long_lived,
    is_revert,
    parse_message,
    series_title,
)
from codegate.mining.sources.pulls import MainlineCommit, match_pulls, read_pull_heads
from codegate.suite import GitError, git, repository_path
from codegate.suite.git import origin_address, origin_place

_DEPTH: Final = 100
MESSAGE_CHARACTERS: Final = 1 << 16
"""Most characters that are read of a message; longer messages are machine-made."""

_FORMAT: Final = "%x00".join(("%H", "%P", "%an", "%ae", "%at", "%cI", "%s", "%B"))
_FIELDS: Final = 8


@dataclass(frozen=True, slots=True)
class MergedChange:
    """One merged change.

    It is a merge compared with its first parent, a squash, a series of commits, or a direct commit.

    Attributes:
        commit: the commit whose tree has the fix.
        base: first parent of ``commit``, or of the first commit of a series.
        branch: name of the merged branch, if the message has it, or empty.
        merges_forward: it merges a long-lived branch, a tag or a remote branch.
        title: subject of the change; for a pull request its title, if the message has it.
        message: text from git: of a merge, its body and the subjects of the merged commits; of a series, all messages.
        closes: numbers of the issues that the text says it closes.
    """

    commit: str
    base: str
    kind: MergeKind
    pull_request: int | None
    branch: str
    merges_forward: bool
    title: str
    message: str
    author: str
    email: str
    date: datetime
    changes: tuple[PathChange, ...]
    closes: tuple[int, ...] = ()


def check_repository(repository: Path, branch: str | None = None) -> str:
    """Return the commit at ``branch`` or HEAD, after checks.

    Raises:
        UsageError: there is no git, no repository, no commit, no such branch, or only a shallow history.
    """
    if not repository.is_dir():
        raise UsageError(f"{repository} is not a folder.", "Give the path of a git repository.")
    if (repository / "suite.yml").is_file() and not (repository / ".git").exists():
        raise UsageError(
            f"{repository} is a suite, not a repository.",
            f"Give the repository it was mined from; `--out {repository} --refresh` adds its newest fixes.",
        )
    git(repository, "--version")
    try:
        git(repository, "rev-parse", "--git-dir")
    except UsageError as error:
        raise UsageError(
            f"{repository} is not a git repository.", "Give the path of a clone that has the history to mine."
        ) from error
    if git(repository, "rev-parse", "--is-shallow-repository").strip() == b"true":
        raise UsageError(
            f"{repository} is a shallow clone: its history was cut off.",
            "Run `git fetch --unshallow` there, or in a GitHub workflow give actions/checkout `fetch-depth: 0`.",
        )
    if branch is not None and (branch.startswith("-") or not branch.strip()):
        raise UsageError(f"{branch!r} is not the name of a branch.")
    try:
        return git(repository, "rev-parse", "--verify", "--quiet", f"{branch or 'HEAD'}^{{commit}}").decode().strip()
    except UsageError as error:
        if branch is not None:
            raise UsageError(f"{repository} has no branch or commit {branch!r}.") from error
        branches = git(repository, "for-each-ref", "--count=5", "--format=%(refname:short)", "refs/heads").decode()
        raise UsageError(
            f"{repository} has no commits on its current branch: its history is empty.",
            f"Choose one of its branches: {', '.join(branches.split())}."
            if branches.strip()
            else "Mine a repository with merged bug fixes.",
        ) from error


def path_from(suite: Path, repository: Path) -> str | None:
    """Return the repository's path relative to a suite, or None.

    A suite may name only a repository that contains it or lies beside it.
    """
    bare = git(repository, "rev-parse", "--is-bare-repository").strip() == b"true"
    kind = "--absolute-git-dir" if bare else "--show-toplevel"
    return repository_path(Path(os.fsdecode(git(repository, "rev-parse", kind).rstrip(b"\n"))), suite)


def read_merged_changes(repository: Path, branch: str | None = None, since: date | None = None) -> list[MergedChange]:
    """Return first-parent history as merged changes, newest first.

    It is the history of ``branch`` (default HEAD). The changes of a merged long-lived branch (a maintenance branch, or
    the same branch of another clone) are returned as well, each compared with its own first parent. The root commit is
    no change, because it has no base.

    Raises:
        UsageError: there is no repository, commit or such branch, only a shallow history, or git failed.
    """
    tip = check_repository(repository, branch)
    bounds = [] if since is None else [f"--since={since.isoformat()}T00:00:00Z"]
    mainline = git(repository, "rev-list", "--first-parent", *bounds, tip, "--").decode("ascii").split()
    if not mainline:
        return []
    oldest = git(repository, "rev-list", "--parents", "--max-count=1", mainline[-1], "--").decode("ascii").split()
    graph = read_graph(repository, tip, oldest[1:2])
    drafts = list(_drafts(reversed(mainline), graph, _long_lived(repository, mainline)))[::-1]
    if since is not None:
        drafts = [draft for draft in drafts if draft.date.date() >= since]
    _name_pulls(repository, tip, drafts)
    drafts = _fuse(drafts)
    changes = read_changes(repository, [(draft.commit, draft.base) for draft in drafts])
    name = project_name(repository)
    return [_unit(draft, changes[draft.commit, draft.base], name) for draft in drafts]


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """Facts about one commit, from git."""

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: str
    date: str
    subject: str
    message: str


class CommitGraph:
    """A commit and its ancestors, optionally marked as merged.

    Attributes:
        parents: by commit, its parents.
        order: by commit, its position; a commit's ancestors have higher positions.
    """

    def __init__(self, tokens: list[str]) -> None:
        commits = tokens[0::_FIELDS] if len(tokens) >= _FIELDS else []
        self._tokens = tokens
        self.order = {commit: at for at, commit in enumerate(commits)}
        self.parents = dict(zip(commits, (tuple(each.split()) for each in tokens[1::_FIELDS]), strict=False))
        self._merged: set[str] = set()

    def record(self, commit: str) -> CommitRecord:
        """Return all facts about a commit of the graph."""
        at = self.order[commit] * _FIELDS
        author, email, authored, date, subject, message = self._tokens[at + 2 : at + _FIELDS]
        text = message[:MESSAGE_CHARACTERS].strip("\n")
        return CommitRecord(commit, self.parents[commit], author, email, authored, date, subject, text)

    def subject(self, commit: str) -> str:
        """Return the first line of a commit's message."""
        return self._tokens[self.order[commit] * _FIELDS + 6]

    def merge(self, starts: Iterable[str]) -> list[str]:
        """Mark commits and their ancestors as merged.

        Return the newly marked commits, the newest first.
        """
        found: list[str] = []
        queue = [start for start in starts if start not in self._merged]
        while queue:
            commit = queue.pop()
            if commit in self._merged or commit not in self.parents:
                continue
            self._merged.add(commit)
            found.append(commit)
            queue.extend(parent for parent in reversed(self.parents[commit]) if parent not in self._merged)
        return found

    def line(self, start: str) -> list[str]:
        """Return ``start`` and its unmerged first parents, oldest first."""
        line: list[str] = []
        while start in self.parents and start not in self._merged:
            line.append(start)
            above = self.parents[start]
            if not above:
                break
            start = above[0]
        return line[::-1]


def read_graph(repository: Path, tip: str, without: Sequence[str]) -> CommitGraph:
    """Return ``tip`` and its ancestors, except ancestors of ``without``."""
    log = git(
        repository, "log", "-z", "--topo-order", "--no-color", "--no-mailmap", "--no-show-signature", "--no-notes",
        "--encoding=UTF-8", f"--format={_FORMAT}", tip, *(f"^{commit}" for commit in without), "--",
    )  # fmt: skip
    tokens = log.decode("utf-8", "surrogateescape").split("\0")
    return CommitGraph(tokens[: len(tokens) // _FIELDS * _FIELDS])


@dataclass(slots=True)
class _Draft:
    """A merged change under construction, commits newest first."""

    records: list[CommitRecord]
    kind: MergeKind
    landing: ParsedMessage
    number: int | None
    forward: bool
    brought: tuple[str, ...]
    subjects: tuple[str, ...]

    @property
    def commit(self) -> str:
        return self.records[0].commit

    @property
    def date(self) -> datetime:
        return datetime.fromisoformat(self.records[0].date).astimezone(UTC)

    @property
    def base(self) -> str:
        return self.records[-1].parents[0]


def _drafts(commits: Iterable[str], graph: CommitGraph, passed: Container[str], depth: int = 0) -> Iterator[_Draft]:
    """Yield a draft of each non-root commit's change, oldest first.

    ``commits`` are a line of first parents. If a commit merges a long-lived branch, or a branch into which pull
    requests were merged, the drafts of that branch's commits come first; the merge's own draft is marked ``forward``,
    unless it is a pull request. ``passed`` are commits of long-lived branches; ``depth`` counts branches merged into
    branches.
    """
    for commit in commits:
        record = graph.record(commit)
        if not record.parents:
            graph.merge([commit])
            continue
        graph.merge(record.parents[:1])
        landing = parse_message(record.message, len(record.parents) > 1, ())
        lines = [graph.line(parent) for parent in record.parents[1:]]
        pulls = any(_lands_a_pull(graph.record(each)) for line in lines for each in line)
        forward = landing.forward or (
            landing.number is None and (pulls or any(parent in passed for parent in record.parents[1:]))
        )
        if depth < _DEPTH and (forward or pulls or is_long_lived(landing.branch.rpartition("/")[2])):
            for merged in lines:
                yield from _drafts(merged, graph, passed, depth + 1)
        brought = tuple(graph.merge(record.parents[1:]))
        graph.merge([commit])
        subjects = tuple(map(graph.subject, brought))
        if subjects:
            landing = parse_message(record.message, merge=True, subjects=subjects)
        yield _Draft([record], landing.kind, landing, landing.number, forward, brought, subjects)


def _lands_a_pull(record: CommitRecord) -> bool:
    return len(record.parents) > 1 and parse_message(record.message, merge=True, subjects=()).number is not None


def _long_lived(repository: Path, mainline: Sequence[str]) -> set[str]:
    """Return the commits of long-lived branches that ``mainline`` lacks."""
    refs = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
    found = refs.decode("utf-8", "surrogateescape").splitlines()
    names = [ref for ref in found if is_long_lived(ref.split("/", 3 if ref.startswith("refs/remotes/") else 2)[-1])]
    stdin = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    if not names:
        return set()
    return set(git(repository, "rev-list", "--first-parent", "--stdin", stdin=stdin).decode("ascii").split()) - set(
        mainline
    )


def _name_pulls(repository: Path, tip: str, drafts: list[_Draft]) -> None:
    """Set missing pull request numbers from the clone's refs."""
    heads = read_pull_heads(repository)
    if not heads or all(draft.number is not None for draft in drafts):
        return
    landed = [
        MainlineCommit(draft.commit, record.parents, draft.number, () if draft.forward else draft.brought,
               (record.email, record.authored, record.subject))
        for draft in drafts for record in draft.records
    ]  # fmt: skip
    matches = match_pulls(repository, tip, landed, heads)
    for draft in drafts:
        match = matches.get(draft.commit)
        if match is not None and not draft.forward:
            draft.number, draft.kind = match.number, match.kind


def _fuse(drafts: list[_Draft]) -> list[_Draft]:
    """Join neighbouring drafts of a pull request; return all drafts."""
    fused: list[_Draft] = []
    for draft in drafts:
        newer = fused[-1] if fused else None
        if (
            newer is None
            or newer.number is None
            or newer.number != draft.number
            or newer.base != draft.commit
            or newer.forward != draft.forward
            or any(is_revert(each.landing.title) for each in (newer, draft))
        ):
            fused.append(draft)
            continue
        newer.records += draft.records
        newer.kind = "merge" if "merge" in (newer.kind, draft.kind) else "rebase"
        titles = (draft.landing.title, newer.landing.title)
        newer.landing = replace(newer.landing, title=series_title(titles))
        newer.brought += draft.brought
        newer.subjects += draft.subjects
    return fused


def _unit(draft: _Draft, changes: tuple[PathChange, ...], name: str) -> MergedChange:
    oldest = draft.records[-1]
    text = "\n\n".join(record.message for record in reversed(draft.records))
    if draft.subjects:
        text = "\n".join([text, *(f"* {subject}" for subject in draft.subjects)])
    text = text[:MESSAGE_CHARACTERS]
    return MergedChange(
        commit=draft.commit,
        base=draft.base,
        kind=draft.kind,
        pull_request=draft.number,
        branch=draft.landing.branch,
        merges_forward=draft.forward,
        title=draft.landing.title,
        message=text,
        author=oldest.author,
        email=oldest.email,
        date=draft.date,
        changes=changes,
        closes=closed_issues(text, name),
    )


def project_name(repository: Path) -> str:
    """Return the repository's name, from its origin or folder."""
    address = origin_address(repository)
    if not address:
        try:
            common = git(repository, "rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape").rstrip("\n")
        except GitError:  # no repository: reading its history raises an error
            common = "."
        address = str((repository / common).resolve()).removesuffix("/.git")
    return re.split(r"[/\\:]", re.split("[?#]", address)[0].rstrip("/").removesuffix(".git"))[-1].rpartition("@")[2]


def project_page(repository: Path) -> str | None:
    """Return the origin's web address without credentials, or None."""
    found = origin_place(repository)
    return f"https://{found[0]}/{found[1]}" if found is not None else None
