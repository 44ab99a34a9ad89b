"""The commits behind a branch as a graph in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegate.suite import git

MESSAGE_CHARACTERS: Final = 1 << 16
"""What is read of a message; longer ones are machine-made."""

_FORMAT: Final = "%x00".join(("%H", "%P", "%an", "%ae", "%at", "%cI", "%s", "%B"))
_FIELDS: Final = 8


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One commit, as git has it."""

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: str
    date: str
    subject: str
    message: str


class CommitGraph:
    """Commits below a tip, children first, and which are merged.

    Attributes:
        parents: of each commit.
        order: position of each commit; no commit is an ancestor of one with a higher position.
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
        """Mark commits below ``starts`` as merged; return new ones, newest first."""
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
        """Return first parents from the merged ones to ``start``, oldest first."""
        line: list[str] = []
        while start in self.parents and start not in self._merged:
            line.append(start)
            above = self.parents[start]
            if not above:
                break
            start = above[0]
        return line[::-1]


def read_graph(repository: Path, tip: str, without: Sequence[str] = ()) -> CommitGraph:
    """Return the commits below ``tip`` and not below ``without``."""
    log = git(
        repository, "log", "-z", "--topo-order", "--no-color", "--no-mailmap", "--no-show-signature", "--no-notes",
        "--encoding=UTF-8", f"--format={_FORMAT}", tip, *(f"^{commit}" for commit in without), "--",
    )  # fmt: skip
    tokens = log.decode("utf-8", "surrogateescape").split("\0")
    return CommitGraph(tokens[: len(tokens) // _FIELDS * _FIELDS])
