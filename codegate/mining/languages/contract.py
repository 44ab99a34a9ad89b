"""What a programming language is to mining: its test runner, its environments, its limits, and what is mere layout."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from typing import Final, Protocol

from codegate.suite import Language, LockedEnvironment, ProblemLimits, RunnerName, Tree

_SUFFIXES: Final[dict[str, Language]] = {
    ".py": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"), "javascript"),
    ".go": "go",
}


@dataclass(frozen=True)
class RunnerSettings:
    """What runs a tree's tests.

    Attributes:
        runner: one of ``codegate.grading.runners``.
        command: for the runner ``junit``, its program and arguments.
        reports: for the runner ``junit``, the files that the command writes.
    """

    runner: RunnerName
    command: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


class LanguageSupport(Protocol):
    """What mining asks of a language. Thread-safe."""

    @property
    def language(self) -> Language:
        """Return the name that problems carry."""
        ...

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """Return what runs the tests of ``tree``; None when it is nothing known here."""
        ...

    def environments(self, base: Tree, fixed: Tree, committed: date) -> Iterator[LockedEnvironment]:
        """Yield the environments that may fit, best first, each once; resolved only when asked for the next.

        Args:
            base: the tree before the fix.
            fixed: the tree after it: what its tests need is declared there.
            committed: the day of the fix; nothing newer is needed.

        Raises:
            InfrastructureError: a package index cannot be reached, or its client cannot be run.
        """
        ...

    def worked(self, environment: LockedEnvironment, committed: date) -> None:
        """Take note that a unit of that day was validated in ``environment``: its neighbours may be too."""
        ...

    def unresolved(self, fixed: Tree, committed: date) -> str:
        """Return why nothing that ``fixed`` declares could be resolved, or an empty text."""
        ...

    def python_path(self, tree: Tree) -> tuple[str, ...]:
        """Return the import roots of ``tree``; empty outside of Python."""
        ...

    def limits(self) -> ProblemLimits:
        """Return what a sandbox may use while a unit is validated."""
        ...

    def same_syntax(self, old: bytes, new: bytes) -> bool:
        """Return whether two versions of a file differ in layout alone; False where that is not certain."""
        ...


def language_of(sources: Iterable[str], tests: Iterable[str] = ()) -> Language | None:
    """Return the language of a change, or None when it is none that is known here.

    Args:
        sources: the source files it changes.
        tests: the test files it changes: of several languages, the one with tests can show something.
    """
    found = _counted(sources)
    tested = _counted(tests)
    candidates = [language for language in found if language in tested] or list(found)
    return max(candidates, key=lambda language: (found[language], language), default=None)


def path_language(path: str) -> Language | None:
    """Return the language of one file by its name, or None."""
    return _SUFFIXES.get(PurePosixPath(path).suffix)


def _counted(paths: Iterable[str]) -> dict[Language, int]:
    counts: dict[Language, int] = {}
    for path in paths:
        language = path_language(path)
        if language is not None:
            counts[language] = counts.get(language, 0) + 1
    return counts
