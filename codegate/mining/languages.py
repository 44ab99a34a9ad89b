"""What a programming language is to mining: its test runner, and what is mere layout."""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Final, cast

from codegate.languages import languages, path_language, read
from codegate.languages.syntax import text_of, walk
from codegate.plugins import load_part
from codegate.suite import Language, RunnerName, Tree, TreeFile

if TYPE_CHECKING:
    from tree_sitter import Node

#: Comments that compilers and type checkers read.
_DIRECTIVE: Final = re.compile(r"//(?:line |export |\s*\+build|[a-z]+:[a-z])|/\*line |/[/*]\s*@")
_LINE_ENDS: Final = frozenset({"\n", ";"})


@dataclass(frozen=True)
class RunnerSettings:
    """What runs a tree's tests.

    Attributes:
        runner: its name.
        command: for the runner ``junit``, its program and arguments; for others, the project's own command.
        reports: for the runner ``junit``, the files that the command writes.
        folder: where the tests run, relative to the tree.
        before: command lines that come before the tests.
    """

    runner: RunnerName
    command: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    folder: str = ""
    before: tuple[str, ...] = ()


class LanguageSupport(ABC):
    """What mining asks of a language. Thread-safe."""

    language: ClassVar[Language]
    parts: ClassVar[bool] = False
    """Whether the trees that it is given may be a ``Part`` of a repository."""

    @abstractmethod
    def runner(self, tree: Tree) -> RunnerSettings | None:
        """Return what runs the tests of ``tree``; None when it is nothing known here."""

    def narrowed(self, tests: Mapping[str, TreeFile | None], said: str) -> Mapping[str, TreeFile]:  # noqa: ARG002
        """Return the ``tests`` that do not compile, each without the declarations that the compiler's message names.

        Args:
            tests: test files by their paths.
            said: the compiler's message.

        Empty where one file's errors keep no other test from running.
        """
        return {}

    def python_path(self, tree: Tree) -> tuple[str, ...]:  # noqa: ARG002
        """Return the import roots of ``tree``, from the repository's root; empty outside of Python."""
        return ()


NameOf = Callable[[str], Language | None]
SupportOf = Callable[[], LanguageSupport]


def known_languages() -> dict[Language, LanguageSupport]:
    """Return every language that can be mined, by its name."""
    supports = {language.name: load_part(language.environments) for language in languages() if language.environments}
    return {name: cast("SupportOf", support)() for name, support in supports.items()}


def same_layout(path: str, old: bytes, new: bytes) -> bool:
    """Return whether two versions of a file differ in layout and comments alone; False where that is not certain."""
    language = path_language(path)
    if language is not None and language.same_layout is not None:
        return language.same_layout(old, new)
    before, after = (read(path, TreeFile(data)) for data in (old, new))
    if before is None or after is None or before.root.has_error or after.root.has_error:
        return False
    return all(one == other for one, other in zip_longest(_leaves(before.root), _leaves(after.root)))


def _leaves(root: "Node") -> Iterator[tuple[str, str, int]]:
    """Yield the nodes of a tree, with the text of those that have no others in them, without plain comments."""
    for node in walk(root):
        plain = node.type.endswith("comment") and not _DIRECTIVE.match(text_of(node))
        if not plain and node.type not in _LINE_ENDS:
            children = sum(not each.type.endswith("comment") and each.type not in _LINE_ENDS for each in node.children)
            yield node.type, "" if node.children else text_of(node), children


def name_of(path: str) -> Language | None:
    """Return the name of a file's language, or None when it is none that is known here."""
    language = path_language(path)
    return language.name if language is not None else None


def names_by(*, reports: bool) -> NameOf:
    """Return what says of which language a file is: with a recipe that writes ``reports``, there is one for all."""
    return (lambda path: name_of(path) or "junit") if reports else name_of


def runs(runner: RunnerName, language: Language) -> bool:
    """Return whether a test runner runs tests of a language; what writes reports runs any."""
    return runner == "junit" or any(runner in one.runners for one in languages() if one.name == language)


def language_of(sources: Iterable[str], tests: Iterable[str] = (), name: NameOf = name_of) -> Language | None:
    """Return the language of a change, or None when it is none that is known here.

    Args:
        sources: the source files it changes.
        tests: the test files it changes: of several languages, the one with tests can show something.
        name: says of which language a file is.
    """
    found, tested = (Counter(filter(None, map(name, paths))) for paths in (sources, tests))
    unknown: list[Language] = ["junit"] if "junit" in tested else []  # a command's reports are about any source
    candidates = [language for language in found if language in tested] or unknown or list(found)
    return max(candidates, key=lambda language: (found[language], language), default=None)
