"""The interface of a programming language.

A language is one folder here, or a package with an entry point. If a part belongs to another room (running tests,
mining), the language names its object as ``module:object``, and the room loads it when it is needed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from codegate.languages.declarations import NameReader
from codegate.suite import Tree

PathClass = Literal["source", "test", "test_support", "configuration", "dependencies", "docs", "ci", "generated"]

_MOST_READ: Final = 4 << 20
TEST_FOLDERS: Final = frozenset(
    {"test", "tests", "testdata", "test_data", "__snapshots__", "__tests__", "__mocks__", "__fixtures__"}
)
"""Names of folders that hold tests in every language."""


def is_test_data(path: str) -> bool:
    """Return whether a file is in a folder for tests.

    The folder may also be one for fixtures.
    """
    return not {*TEST_FOLDERS, "fixtures"}.isdisjoint(path.split("/")[:-1])


class FileRules:
    """Classify paths, also absent ones, by one language's conventions."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def has(self, path: str, pattern: re.Pattern[bytes], *, absent: bool) -> bool:
        """Return whether a file's text matches ``pattern``.

        Return ``absent`` if there is no such file.
        """
        file = self.tree.get(path)
        return absent if file is None else not file.is_link and pattern.search(file.data[:_MOST_READ]) is not None

    def classify(self, path: str) -> PathClass | None:
        """Return a file's class, or None if uncertain."""
        return None

    def is_test(self, path: str) -> bool:
        """Return whether this language's test runner would collect the file."""
        return False

    def is_test_area(self, path: str) -> bool:
        """Return whether a file is for tests.

        Test folders are recognised elsewhere.
        """
        return False

    def is_product(self, folder: str) -> bool:
        """Return whether the product imports a test-named folder."""
        return False

    def is_package(self, folder: str) -> bool:
        """Return whether a folder named like documentation is code."""
        return False

    def is_module(self, path: str) -> bool:
        """Return whether a file named like configuration is code."""
        return False


@dataclass(frozen=True)
class LanguagePack:
    """Everything that differs between programming languages.

    Attributes:
        name: as problems and reports write it.
        suffixes: of the files that are mined.
        files: which files are tests.
        runners: by name, the ``codegate.grading.runners.Runner`` that runs tests.
        manifests: by name of a file, the runner of a project that has the file; the first one found counts.
        environments: a subclass of ``codegate.mining.languages.LanguageSupport``; empty: ``manifests`` are enough.
        readers: grammars, and how declarations and uses of names are read.
        controls: the ``codegate.languages.controls.TestSyntax`` of test files; empty: no problem has controls.
        lines: by suffix of a test file, its ``codegate.languages.lines.Dialect``; empty: no examples.
        alone: runners whose test files cannot hold copies: if one test fails, the status of the others is unknown.
        untyped: by suffix of a test file, its first line that turns off type checks, because marks have no types.
        compiled: suffixes of the files that ``codegate.grading.inspection`` compiles one by one, before anything runs.
        varies: what a run of its tests can vary: ``clock``, ``isolation`` (tests by themselves), ``load``, ``order``,
            ``random`` (chance, by repetition), ``seed`` (of hashes, which decides for example the order of Python's
            sets), ``timezone``.
        parameters: the character that begins the parameters in a test's id; empty: tests have titles and no parameters.
        same_layout: returns whether two versions of a file differ in layout and comments alone; None: compare syntax
            trees.
    """

    name: str
    suffixes: tuple[str, ...]
    files: type[FileRules]
    runners: Mapping[str, str]
    manifests: Mapping[str, str] = field(default_factory=dict)
    environments: str = ""
    readers: tuple[NameReader, ...] = ()
    controls: str = ""
    lines: str = ""
    alone: frozenset[str] = frozenset()
    untyped: Mapping[str, str] = field(default_factory=dict)
    compiled: tuple[str, ...] = ()
    varies: frozenset[str] = frozenset()
    parameters: str = ""
    same_layout: Callable[[bytes, bytes], bool] | None = None
