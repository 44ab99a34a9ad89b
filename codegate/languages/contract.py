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
    """Return whether a file's folders include test or fixture folders."""
    return not {*TEST_FOLDERS, "fixtures"}.isdisjoint(path.split("/")[:-1])


class FileRules:
    """One language's rules for which files are tests, by path.

    ``tree`` is the repository. Most rules can also classify a path that the repository lacks.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def has(self, path: str, pattern: re.Pattern[bytes], *, absent: bool) -> bool:
        """Return whether the content of a file matches ``pattern``.

        Return ``absent`` if there is no file at ``path``.
        """
        file = self.tree.get(path)
        return absent if file is None else not file.is_link and pattern.search(file.data[:_MOST_READ]) is not None

    def classify(self, path: str) -> PathClass | None:
        """Return a path's class, or None to leave it undecided."""
        return None

    def is_test(self, path: str) -> bool:
        """Return whether this language's test runner would collect the file."""
        return False

    def is_test_area(self, path: str) -> bool:
        """Return whether a file only serves tests.

        Files in folders of ``TEST_FOLDERS`` need no rule here.
        """
        return False

    def is_product(self, folder: str) -> bool:
        """Return whether a folder named like tests has product code."""
        return False

    def is_package(self, folder: str) -> bool:
        """Return whether a folder has source code despite its name.

        The name is one that folders of documentation, third-party code or build output usually have.
        """
        return False

    def is_module(self, path: str) -> bool:
        """Return whether a file named like configuration is source."""
        return False


@dataclass(frozen=True)
class LanguagePack:
    """One language: everything that differs between programming languages.

    Attributes:
        name: name in problems and reports.
        suffixes: suffixes of the files that are mined.
        files: the rules for which files are tests.
        runners: by name, the ``codegate.grading.runners.Runner`` that runs tests.
        manifests: by file name, the runner of a project that has such a file; the first one found counts.
        environments: a subclass of ``codegate.mining.languages.LanguageSupport``; empty: ``manifests`` are enough.
        readers: readers of the names that files declare and use, with their grammars.
        controls: the ``codegate.languages.controls.TestSyntax`` of test files; empty: no problem has controls.
        lines: by suffix of a test file, its ``codegate.languages.lines.Dialect``; empty: no examples.
        alone: runners whose test files cannot hold copies of tests, because after one failing test the status of the
            others is unknown.
        untyped: by suffix of a test file, a first line that turns off type checks, because inserted calls have no
            types.
        compiled: suffixes of the files that ``codegate.grading.grader`` compiles one by one, before any code runs.
        varies: conditions that can differ between runs of its tests: ``clock``, ``isolation`` (each test in its own
            process), ``load``, ``order``, ``random`` (by repetition), ``seed`` (of hashes, which decides for example
            the order of Python's sets), ``timezone``.
        parameters: the character that begins the parameters in a test's id; empty: ids have no parameters.
        same_layout: function that returns whether two versions of a file differ only in layout and comments; None:
            syntax trees are compared.
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
