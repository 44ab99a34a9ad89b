"""Local git history as units: one merged change each, with what it changed against its first parent.

Messages, the commit graph and the changed paths come from one pass of git each, read token by token between NULs, so
that no commit message and no file name can be mistaken for structure.
"""

import os
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.mining.changes import LINK_MODE, SUBMODULE_MODE, PathChange, read_changes
from codegate.mining.graph import CommitGraph, read_graph
from codegate.mining.messages import Landing, UnitKind, is_long_lived, is_revert, read_landing, series_title
from codegate.mining.pulls import Landed, match_pulls, read_pull_heads
from codegate.mining.references import closing_references
from codegate.suite import GitError, git

__all__ = ["LINK_MODE", "SUBMODULE_MODE", "PathChange", "Unit", "UnitKind", "check_repository", "read_units"]

_FORMAT: Final = "%x00".join(("%H", "%P", "%an", "%ae", "%at", "%cI", "%s", "%B"))
_FIELDS: Final = 8
_MESSAGE_CHARACTERS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Unit:
    """One merged change: a merge against its first parent, a squash, a series of commits, or a direct commit.

    Attributes:
        commit: the commit whose tree has the fix; ``base`` is the first parent of it, or of the series' first commit.
        branch: name of the merged branch as the message gives it, or empty.
        merges_forward: a long-lived branch, tag or remote branch was merged into this one.
        title: the change's own first line (of a pull request: its title, where the message has it).
        message: local text: of a merge, its body and the subjects of the merged commits; of a series, all messages.
        closes: numbers of the issues that the text says it closes.
        tickets: keys of other trackers that it says so of.
        merge_base: where the merged branch left the base's history; None where that is not known.
    """

    commit: str
    base: str
    kind: UnitKind
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
    tickets: tuple[str, ...] = ()
    merge_base: str | None = None


def check_repository(repository: Path, branch: str | None = None) -> str:
    """Return the commit that mining starts from: the tip of ``branch``, or HEAD.

    Raises:
        UsageError: there is no git, no repository, no commit, no such branch, or only a shallow history.
    """
    if not repository.is_dir():
        raise UsageError(f"{repository} is not a folder.", "Give the path of a git repository.")
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


def read_units(
    repository: Path, branch: str | None = None, since: date | None = None, cache: Path | None = None
) -> list[Unit]:
    """Return the first-parent history of ``branch`` (default HEAD) as units, newest first.

    The root commit is no unit: it has no base. Where the clone has heads of pull requests (``refs/pull/*/head`` and
    the like), they name merges whose message does not, and find the commits that a pull request was rebased or
    squashed into. Neighbours that land one pull request are one unit.

    Args:
        repository: a clone with its history.
        branch: whose history.
        since: leave out commits before this day.
        cache: folder to keep line counts in, which are most of the work; None: nowhere.

    Raises:
        UsageError: as ``check_repository``, or git failed.
    """
    tip = check_repository(repository, branch)
    records = _first_parents(repository, tip, since)
    graph = read_graph(repository, tip, records[-1].parents[:1] if records else ())
    drafts = _drafts(records, graph)
    _mark_long_lived(repository, drafts)
    _name_pulls(repository, tip, drafts, graph)
    drafts = _fuse(drafts)
    file = None if cache is None else cache / f"{sha256(os.fsencode(_folder(repository)))[:32]}.linecounts"
    changes = read_changes(repository, [(draft.commit, draft.base) for draft in drafts], file)
    name = _name(repository)
    return [_unit(draft, changes[draft.commit, draft.base], name) for draft in drafts]


@dataclass(frozen=True, slots=True)
class _Record:
    """One commit of the first-parent history, as git has it."""

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: str
    date: str
    subject: str
    message: str


@dataclass(slots=True)
class _Draft:
    """A unit under way; ``records`` are its commits of the first-parent history, newest first."""

    records: list[_Record]
    kind: UnitKind
    landing: Landing
    number: int | None
    forward: bool
    brought: tuple[str, ...]
    subjects: tuple[str, ...]
    merge_base: str | None

    @property
    def commit(self) -> str:
        return self.records[0].commit

    @property
    def base(self) -> str:
        return self.records[-1].parents[0]


def _first_parents(repository: Path, tip: str, since: date | None) -> list[_Record]:
    bounds = [] if since is None else [f"--since={since.isoformat()}T00:00:00Z"]
    log = git(repository, "log", "-z", "--first-parent", "--no-color", "--no-mailmap", "--no-show-signature",
              "--no-notes", "--encoding=UTF-8", f"--format={_FORMAT}", *bounds, tip, "--")  # fmt: skip
    tokens = log.decode("utf-8", "surrogateescape").split("\0")
    records: list[_Record] = []
    for at in range(0, len(tokens) - _FIELDS + 1, _FIELDS):
        commit, parents, author, email, authored, when, subject, message = tokens[at : at + _FIELDS]
        text = message[:_MESSAGE_CHARACTERS].strip("\n")
        records.append(_Record(commit, tuple(parents.split()), author, email, authored, when, subject, text))
    return records


def _drafts(records: list[_Record], graph: CommitGraph) -> list[_Draft]:
    """Return a draft for each commit that has a parent, newest first."""
    drafts: list[_Draft] = []
    for record in reversed(records):
        if not record.parents:
            graph.merge([record.commit])
            continue
        graph.merge(record.parents[:1])
        brought = tuple(graph.merge(record.parents[1:]))
        graph.merge([record.commit])
        subjects = tuple(graph.subjects[commit] for commit in brought)
        landing = read_landing(record.message, len(record.parents) > 1, subjects)
        fork = graph.fork(brought) if len(record.parents) == 2 and brought else None
        drafts.append(_Draft([record], landing.kind, landing, landing.number, landing.forward, brought, subjects, fork))
    return drafts[::-1]


def _mark_long_lived(repository: Path, drafts: list[_Draft]) -> None:
    """Mark merges that name no pull request and whose second parent a long-lived branch went through."""
    unsure = [draft for draft in drafts if draft.kind == "merge" and draft.number is None and not draft.forward]
    if not unsure:
        return
    refs = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
    names = [ref for ref in refs.decode("utf-8", "surrogateescape").splitlines() if _is_long_lived_ref(ref)]
    if not names:
        return
    stdin = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    passed = set(git(repository, "rev-list", "--first-parent", "--stdin", stdin=stdin).decode("ascii").split())
    passed -= {draft.commit for draft in drafts}
    for draft in unsure:
        draft.forward = any(parent in passed for parent in draft.records[0].parents[1:])


def _is_long_lived_ref(ref: str) -> bool:
    parts = ref.split("/", 3 if ref.startswith("refs/remotes/") else 2)
    return is_long_lived(parts[-1])


def _name_pulls(repository: Path, tip: str, drafts: list[_Draft], graph: CommitGraph) -> None:
    """Name what only the clone's heads of pull requests name."""
    heads = read_pull_heads(repository)
    if not heads or all(draft.number is not None for draft in drafts):
        return
    landed = [
        Landed(draft.commit, record.parents, draft.number, () if draft.forward else draft.brought,
               (record.email, record.authored, record.subject))
        for draft in drafts for record in draft.records
    ]  # fmt: skip
    matches = match_pulls(repository, tip, landed, heads, graph)
    for draft in drafts:
        match = matches.get(draft.commit)
        if match is not None and not draft.forward:
            draft.number, draft.kind = match.number, match.kind


def _fuse(drafts: list[_Draft]) -> list[_Draft]:
    """Make one draft of neighbours that land one pull request."""
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
        newer.merge_base = draft.merge_base
    return fused


def _unit(draft: _Draft, changes: tuple[PathChange, ...], name: str) -> Unit:
    newest, oldest = draft.records[0], draft.records[-1]
    text = "\n\n".join(record.message for record in reversed(draft.records))
    if draft.subjects:
        text = "\n".join([text, *(f"* {subject}" for subject in draft.subjects)])
    text = text[:_MESSAGE_CHARACTERS]
    closes = closing_references(text, name)
    return Unit(
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
        date=datetime.fromisoformat(newest.date).astimezone(UTC),
        changes=changes,
        closes=closes.issues,
        tickets=closes.tickets,
        merge_base=draft.merge_base,
    )


def _folder(repository: Path) -> str:
    """Return the folder that all work trees of a repository share."""
    common = git(repository, "rev-parse", "--git-common-dir").decode("utf-8", "surrogateescape").rstrip("\n")
    return str((repository / common).resolve())


def _name(repository: Path) -> str:
    """Return the name that forges know the repository by: of its origin, or of its folder."""
    try:
        address = git(repository, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
    except GitError:
        address = _folder(repository).removesuffix("/.git")
    return address.rstrip("/").removesuffix(".git").replace("\\", "/").rpartition("/")[2]
