"""Caches of base trees and of prompt contexts."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from codegate.solving import ShowContext, show_context
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


def _kept(make: Callable[[Key], Value], size: Callable[[Value], int], most_bytes: int) -> Callable[[Key], Value]:
    # A run returns to every problem once per sample, so the values made first are kept. Thread-safe.
    kept: dict[Key, Value] = {}
    lock = threading.Lock()
    room = most_bytes

    def get(key: Key) -> Value:
        nonlocal room
        if (found := kept.get(key)) is not None:
            return found
        value = make(key)
        with lock:
            if key not in kept and size(value) <= room:
                kept[key] = value
                room -= size(value)
        return value

    return get


def base_trees(suite: Suite, repository: Path | None, recent: int) -> Callable[[str], Tree]:
    """Return a function that loads base trees by problem id.

    The function caches the trees that it loads first, up to 256 MB in all, and the last ``recent`` trees.
    """
    problems = {problem.id: problem for problem in suite.problems}
    read = lru_cache(recent)(lambda problem: load_base(suite, problems[problem], repository))
    return _kept(read, lambda tree: sum(len(file.data) for file in tree.values()), 256 << 20)


def cached_contexts(suite: Suite, base: Callable[[str], Tree]) -> ShowContext:
    """Return a caching version of ``show_context``.

    ``base`` loads a problem's base tree by its id.
    """
    problems = {problem.id: problem for problem in suite.problems}

    def show(key: tuple[str, int | None]) -> str:
        return show_context(problems[key[0]], base(key[0]), key[1])

    shown = _kept(show, len, 64 << 20)
    return lambda problem, _, most: shown((problem.id, most))
