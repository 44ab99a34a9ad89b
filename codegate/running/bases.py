"""Caches of base trees and of prompt contexts."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from codegate.solving import Shown, show_context
from codegate.suite import Problem, Suite, Tree, find_repository, git, load_base

Key = TypeVar("Key")
Value = TypeVar("Value")


def check_bases(suite: Suite, problems: Sequence[Problem], repository: Path | None) -> None:
    """Raise UsageError if a problem's base commit is missing."""
    mined = [problem for problem in problems if problem.manifest.base.commit is not None]
    if not mined:
        return
    home = find_repository(suite, repository)
    names = "".join(f"{problem.manifest.base.commit}^{{tree}}\n" for problem in mined)
    answers = git(home, "cat-file", "--batch-check", stdin=names.encode("ascii")).splitlines()
    for problem, answer in zip(mined, answers, strict=True):
        if answer.endswith(b" missing"):
            load_base(suite, problem, repository)  # raises with cause and remedy


class ProblemCache(Generic[Key, Value]):
    """A cache of one value per problem. Thread-safe.

    A run returns to every problem once per sample, so the values made first are kept, up to ``most_bytes`` in all.
    """

    def __init__(self, make: Callable[[Key], Value], size: Callable[[Value], int], most_bytes: int) -> None:
        self._make, self._size = make, size
        self._kept: dict[Key, Value] = {}
        self._room = most_bytes
        self._lock = threading.Lock()

    def __call__(self, key: Key) -> Value:
        """Return the value of ``key``, cached or made now."""
        if (kept := self._kept.get(key)) is not None:
            return kept
        value = self._make(key)
        size = self._size(value)
        with self._lock:
            if key not in self._kept and size <= self._room:
                self._kept[key] = value
                self._room -= size
        return value


def base_trees(suite: Suite, repository: Path | None, recent: int) -> ProblemCache[str, Tree]:
    """Return a cache that loads base trees by problem id.

    The last ``recent`` trees are kept even if the cache is full.
    """
    problems = {problem.id: problem for problem in suite.problems}
    read = lru_cache(recent)(lambda problem: load_base(suite, problems[problem], repository))
    return ProblemCache(read, lambda tree: sum(len(file.data) for file in tree.values()), 256 << 20)


def cached_contexts(suite: Suite, base: Callable[[str], Tree]) -> Shown:
    """Return a function that writes prompt contexts, with a cache.

    ``base`` loads a problem's base tree by its id.
    """
    problems = {problem.id: problem for problem in suite.problems}
    shown: ProblemCache[tuple[str, int | None], str] = ProblemCache(
        lambda key: show_context(problems[key[0]], base(key[0]), key[1]), len, 64 << 20
    )
    return lambda problem, _, most: shown((problem.id, most))
