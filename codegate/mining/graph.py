"""The commits behind a branch as a graph in memory: what a merge brought in, and where its branch began."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codegate.suite import git


@dataclass
class CommitGraph:
    """Commits that can be reached from a tip, children first, and what is known to be merged so far.

    Attributes:
        parents: of each commit.
        subjects: the first line of each commit's message.
        order: position of each commit; no commit is an ancestor of one with a higher position.
    """

    parents: dict[str, tuple[str, ...]]
    subjects: dict[str, str]
    order: dict[str, int]
    _merged: set[str] = field(default_factory=set)

    def __contains__(self, commit: object) -> bool:
        return commit in self.parents

    def merge(self, starts: Iterable[str]) -> list[str]:
        """Merge what can be reached from ``starts`` and return what was not merged before, newest first."""
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

    def fork(self, branch: Iterable[str], parents: dict[str, tuple[str, ...]] | None = None) -> str | None:
        """Return the newest commit outside of ``branch`` that one of its commits has for a parent.

        That is the merge base of the branch and of what it was merged into: no other such parent descends from it.

        Args:
            branch: commits.
            parents: of these commits, where they are not this graph's own.
        """
        own = set(branch)
        edges = self.parents if parents is None else parents
        outside = {parent for commit in own for parent in edges[commit]} - own
        if len(outside) == 1:
            return outside.pop()
        inside = [commit for commit in outside if commit in self.order]
        return min(inside, key=self.order.__getitem__, default=None)


def read_graph(repository: Path, tip: str, without: Sequence[str] = ()) -> CommitGraph:
    """Return the commits that can be reached from ``tip`` and not from ``without``.

    Raises:
        GitError: git failed.
    """
    log = git(
        repository, "log", "-z", "--topo-order", "--no-color", "--no-show-signature", "--no-notes", "--encoding=UTF-8",
        "--format=%H%x00%P%x00%s", tip, *(f"^{commit}" for commit in without), "--",
    )  # fmt: skip
    tokens = log.decode("utf-8", "surrogateescape").split("\0")
    commits = tokens[0:-2:3] if len(tokens) > 2 else []
    parents = dict(zip(commits, map(_words, tokens[1::3]), strict=False))
    subjects = dict(zip(commits, tokens[2::3], strict=False))
    return CommitGraph(parents, subjects, {commit: at for at, commit in enumerate(commits)})


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())
