"""Local git history as units: one merged change each, with what it changed against its first parent.

Everything comes from two passes of ``git log``, read token by token between NULs, so that no commit message and
no file name can be mistaken for structure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, Literal, cast

from codegate.errors import UsageError
from codegate.suite import git

UnitKind = Literal["merge", "squash", "direct"]
ChangeStatus = Literal["A", "M", "D", "T"]

SUBMODULE_MODE: Final = "160000"
LINK_MODE: Final = "120000"

_RECORD: Final = "commit"
_FORMAT: Final = f"%x00{_RECORD}%x00%H%x00%P%x00%an%x00%ae%x00%cI%x00%B%x00"
_NUMSTAT: Final = re.compile(r"(-|\d+)\t(-|\d+)\t")

_MERGE_HEADS: Final = (
    re.compile(r"Merge (?:pull request|PR|pr) (?:'.*' )?\(?[#!](?P<number>\d+)\)?(?: from (?P<branch>\S+))?"),
    re.compile(r"Merged in (?P<branch>\S+) \(pull request #(?P<number>\d+)\)"),
    re.compile(r"Merged PR (?P<number>\d+):?"),
    re.compile(r"(?:Auto merge of|Auto merge|[Mm]erge) #(?P<number>\d+)(?: - (?P<branch>[^,\s]+))?"),
)
_GITEA_TITLE: Final = re.compile(r"Merge pull request '(?P<title>.*)' \(#\d+\)")
_GITLAB: Final = re.compile(r"^See merge request (?:\S*)!(?P<number>\d+)\s*$", re.MULTILINE)
_BRANCH_MERGE: Final = re.compile(
    r"Merge(?:d)? (?P<what>remote-tracking branch(?:es)?|branch(?:es)?|tag|commit) '?(?P<branch>[^'\s]+)'?"
)
_SQUASH: Final = re.compile(r"\([#!](?P<number>\d+)\)\s*$")
_BORS_TITLE: Final = re.compile(r"^\d+: (?P<title>.+?)(?: r=\S+)?(?: a=\S+)?$")
_LONG_LIVED: Final = re.compile(
    r"(?:(?:origin|upstream)/)?"
    r"(?:main|master|trunk|develop|development|dev|next|stable|staging|production|prod|default"
    r"|(?:stable|release|releases|rel|maint|maintenance|hotfixes)[-/].+|v?\d+(?:\.(?:\d+|x))*(?:[-/.](?:x|maintenance|maint|branch|stable|line))?)"
)


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


@dataclass(frozen=True, slots=True)
class Unit:
    """One merged change: a merge against its first parent, a squash, or a direct commit.

    Attributes:
        commit: the commit whose tree has the fix; ``base`` is its first parent.
        branch: name of the merged branch as the message gives it, or empty.
        merges_forward: a long-lived branch, tag or remote branch was merged into this one.
        title: the change's own first line (of a pull request: its title, where the message has it).
        message: all local text: of a merge, its body and the subjects of the merged commits.
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


def read_units(repository: Path, branch: str | None = None, since: date | None = None) -> list[Unit]:
    """Return the first-parent history of ``branch`` (default HEAD) as units, newest first.

    The root commit is no unit: it has no base.

    Raises:
        UsageError: as ``check_repository``, or git failed.
    """
    tip = check_repository(repository, branch)
    bounds = [] if since is None else [f"--since={since.isoformat()}T00:00:00Z"]
    log = git(
        repository, "log", "-z", "--first-parent", "--diff-merges=first-parent", "--raw", "--numstat", "--no-abbrev",
        "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--no-mailmap", "--no-show-signature",
        "--no-notes", "--ignore-submodules=none", "--encoding=UTF-8", f"--format={_FORMAT}", *bounds, tip, "--",
    )  # fmt: skip
    records = list(_parse(log.decode("utf-8", "surrogateescape").split("\0")))
    subjects = _branch_subjects(repository, tip, records)
    return [_unit(record, subjects.get(record.commit, ())) for record in records if record.parents]


@dataclass(frozen=True, slots=True)
class _Record:
    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    message: str
    changes: tuple[PathChange, ...]


def _parse(tokens: list[str]) -> Iterator[_Record]:
    position, end = 0, len(tokens)
    while position < end:
        if tokens[position].strip("\n") != _RECORD:
            position += 1
            continue
        commit, parents, author, email, when, message = tokens[position + 1 : position + 7]
        position += 7
        changes: dict[str, PathChange] = {}
        while position < end and tokens[position].strip("\n") != _RECORD:
            token = tokens[position].lstrip("\n")
            if token.startswith(":"):
                path = tokens[position + 1]
                changes[path] = _path_change(token, path)
                position += 2
                continue
            counts = _NUMSTAT.match(token)
            if counts is not None:
                _add_counts(changes, token[counts.end() :], counts)
            position += 1
        yield _Record(commit, tuple(parents.split()), author, email, when, message, tuple(changes.values()))


def _path_change(token: str, path: str) -> PathChange:
    old_mode, new_mode, old_blob, new_blob, status = token[1:].split(" ")
    return PathChange(path, cast("ChangeStatus", status[0]), old_mode, new_mode, old_blob, new_blob)


def _add_counts(changes: dict[str, PathChange], path: str, counts: re.Match[str]) -> None:
    change = changes.get(path)
    if change is None or "-" in counts.group(1, 2):
        return
    changes[path] = PathChange(
        path, change.status, change.old_mode, change.new_mode, change.old_blob, change.new_blob,
        int(counts.group(1)), int(counts.group(2)),
    )  # fmt: skip


def _branch_subjects(repository: Path, tip: str, records: list[_Record]) -> dict[str, tuple[str, ...]]:
    """Return, for each merge, the subjects of the commits that it brought in, newest first."""
    merges = [record for record in records if len(record.parents) > 1]
    if not merges:
        return {}
    log = git(repository, "log", "-z", "--no-show-signature", "--no-notes", "--encoding=UTF-8",
              "--format=%H%x00%P%x00%s", tip, "--")  # fmt: skip
    tokens = log.decode("utf-8", "surrogateescape").split("\0")
    graph = {tokens[i]: (tuple(tokens[i + 1].split()), tokens[i + 2]) for i in range(0, len(tokens) - 2, 3)}
    known: set[str] = set()
    _reach(graph, records[-1].parents[:1], known)
    brought: dict[str, tuple[str, ...]] = {}
    for record in reversed(records):
        known.add(record.commit)
        if record.parents:
            _reach(graph, record.parents[:1], known)
            found = _reach(graph, record.parents[1:], known)
            brought[record.commit] = tuple(graph[commit][1] for commit in found)
    return brought


def _reach(graph: dict[str, tuple[tuple[str, ...], str]], starts: tuple[str, ...], known: set[str]) -> list[str]:
    """Add to ``known`` what is reachable from ``starts``, and return what was new."""
    found: list[str] = []
    queue = [start for start in starts if start not in known]
    while queue:
        commit = queue.pop()
        if commit in known or commit not in graph:
            continue
        known.add(commit)
        found.append(commit)
        queue.extend(parent for parent in reversed(graph[commit][0]) if parent not in known)
    return found


def _unit(record: _Record, subjects: tuple[str, ...]) -> Unit:
    message = record.message.strip("\n")
    head, _, rest = message.partition("\n")
    kind: UnitKind = "merge" if len(record.parents) > 1 else "direct"
    number, branch, forward, title = None, "", False, head.strip()
    body = rest.strip()
    match = next((found for pattern in _MERGE_HEADS if (found := pattern.match(head))), None)
    gitlab = _GITLAB.search(rest)
    branch_merge = _BRANCH_MERGE.match(head)
    squash = _SQUASH.search(head)
    if match is not None and (kind == "merge" or not squash):
        number, branch = int(match["number"]), match.groupdict().get("branch") or ""
        title = _merge_title(head, body, match, subjects)
        kind = "merge" if kind == "merge" else "squash"
    elif gitlab is not None:
        number = int(gitlab["number"])
        branch = branch_merge["branch"] if branch_merge else ""
        title = _first_line(_GITLAB.sub("", body)) or title
        kind = "merge" if kind == "merge" else "squash"
    elif branch_merge is not None and kind == "merge":
        branch = branch_merge["branch"]
        remote = branch_merge["what"].startswith(("remote", "tag", "commit"))
        forward = remote or _LONG_LIVED.fullmatch(branch) is not None
        title = _first_line(body) or (subjects[0] if len(subjects) == 1 else title)
    elif squash is not None:
        number, kind = int(squash["number"]), "squash" if kind == "direct" else kind
        title = head[: squash.start()].strip()
    elif kind == "merge":
        title = _first_line(body) if head.startswith("Merge") and body else title
    if kind == "merge" and branch and _LONG_LIVED.fullmatch(branch.partition(":")[2] or branch):
        forward = forward or number is None
    text = "\n".join([message, *(f"* {subject}" for subject in subjects)]) if subjects else message
    return Unit(
        record.commit, record.parents[0], kind, number, branch, forward, title[:500], text, record.author,
        record.email, datetime.fromisoformat(record.date).astimezone(UTC), record.changes,
    )  # fmt: skip


def _merge_title(head: str, body: str, match: re.Match[str], subjects: tuple[str, ...]) -> str:
    gitea = _GITEA_TITLE.match(head)
    if gitea is not None:
        return gitea["title"].strip()
    after = head[match.end() :].strip(" :")
    if head.startswith("Merged PR") and after:
        return after
    line = _first_line(body)
    bors = _BORS_TITLE.match(line)
    if bors is not None:
        return bors["title"]
    if line:
        return line
    return subjects[0] if len(subjects) == 1 else (match.groupdict().get("branch") or head)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
