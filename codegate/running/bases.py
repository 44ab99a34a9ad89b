"""Base trees of a run's problems: that the repository has them, and which of them stay in memory."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from codegate.suite import Problem, Suite, Tree, find_repository, git, load_base

MOST_KEPT_BYTES: Final = 256 << 20


def check_bases(suite: Suite, problems: Sequence[Problem], repository: Path | None) -> None:
    """Raise UsageError where the repository lacks a problem's base commit; no tree is read."""
    mined = [problem for problem in problems if problem.manifest.base.commit is not None]
    if not mined:
        return
    home = find_repository(suite, repository)
    names = "".join(f"{problem.manifest.base.commit}^{{tree}}\n" for problem in mined)
    answers = git(home, "cat-file", "--batch-check", stdin=names.encode("ascii")).splitlines()
    for problem, answer in zip(mined, answers, strict=True):
        if answer.endswith(b" missing"):
            load_base(suite, problem, repository)  # raises with cause and remedy


class BaseTrees:
    """The base trees of a suite's problems, by problem id. Thread-safe.

    A run comes back to every problem once a sample, so the trees read first are kept, as many as there is room for.
    Of the others the ``recent`` last ones are.
    """

    def __init__(self, suite: Suite, repository: Path | None, recent: int) -> None:
        problems = {problem.id: problem for problem in suite.problems}
        self._read: Callable[[str], Tree] = lru_cache(recent)(
            lambda problem: load_base(suite, problems[problem], repository)
        )
        self._kept: dict[str, Tree] = {}
        self._room = MOST_KEPT_BYTES
        self._lock = threading.Lock()

    def __call__(self, problem: str) -> Tree:
        """Return the base tree of ``problem``; raises as ``load_base``."""
        if (kept := self._kept.get(problem)) is not None:
            return kept
        tree = self._read(problem)
        size = sum(len(file.data) for file in tree.values())
        with self._lock:
            if problem not in self._kept and size <= self._room:
                self._kept[problem] = tree
                self._room -= size
        return tree
