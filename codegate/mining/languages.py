"""The interface of a programming language for mining."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Final, cast

from codegate.languages import LanguagePack, languages, path_language, read
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
    """How a tree's tests are run.

    Attributes:
        command: words of the command that runs the tests; for ``junit``, the program and its arguments.
        reports: for the runner ``junit``, the files that the command writes.
        folder: where the tests run, relative to the tree.
        before: command lines that run before the tests.
    """

    runner: RunnerName
    command: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    folder: str = ""
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class LanguageSupport:
    """Mining's support for one language. Thread-safe."""

    pack: LanguagePack
    parts: ClassVar[bool] = False
    """Whether ``runner`` can read a part of a repository (a ``Subtree``)."""

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """Return the test runner of ``tree``, or None."""
        names = {PurePosixPath(path).name for path in tree}
        found = (runner for file, runner in self.pack.manifests.items() if file in names)
        return next(map(RunnerSettings, found), None)

    def narrowed(self, tests: Mapping[str, TreeFile | None], message: str) -> Mapping[str, TreeFile]:  # noqa: ARG002
        """Return test files without the parts that do not compile.

        The declarations that the compiler's ``message`` names are removed. Only changed files are returned. The result
        is empty for languages in which a broken file does not stop the tests of other files.
        """
        return {}

    def python_path(self, tree: Tree) -> tuple[str, ...]:  # noqa: ARG002
        """Return the import roots of ``tree``, relative to the repository."""
        return ()


NameOf = Callable[[str], Language | None]


def known_languages() -> dict[Language, LanguageSupport]:
    """Return every language by its name."""
    own = [(pack, load_part(pack.environments) if pack.environments else LanguageSupport) for pack in languages()]
    return {pack.name: cast("type[LanguageSupport]", support)(pack) for pack, support in own}


def same_code(path: str, old: bytes, new: bytes) -> bool:
    """Return whether two versions of ``path`` have the same code.

    They may differ in layout and comments. False if that is uncertain. The path's suffix decides the language.
    """
    language = path_language(path)
    if language is not None and language.same_layout is not None:
        return language.same_layout(old, new)
    before, after = (read(path, TreeFile(data)) for data in (old, new))
    if before is None or after is None or before.root.has_error or after.root.has_error:
        return False
    return all(one == other for one, other in zip_longest(_leaves(before.root), _leaves(after.root)))


def _leaves(root: "Node") -> Iterator[tuple[str, str, int]]:
    for node in walk(root):
        plain = node.type.endswith("comment") and not _DIRECTIVE.match(text_of(node))
        if not plain and node.type not in _LINE_ENDS:
            children = sum(not each.type.endswith("comment") and each.type not in _LINE_ENDS for each in node.children)
            yield node.type, "" if node.children else text_of(node), children


def language_name(path: str) -> Language | None:
    """Return the name of a file's language, or None."""
    language = path_language(path)
    return language.name if language is not None else None


def language_namer(*, reports: bool) -> NameOf:
    """Return the function that names a file's language.

    ``reports``: the recipe's command writes reports. It then runs tests of all languages, so every file gets a
    language.
    """
    return (lambda path: language_name(path) or "junit") if reports else language_name


def runs(runner: RunnerName, language: Language) -> bool:
    """Return whether a runner runs a language's tests."""
    return runner == "junit" or any(runner in one.runners for one in languages() if one.name == language)


def language_of(sources: Iterable[str], tests: Iterable[str], name: NameOf = language_name) -> Language | None:
    """Return a change's main language, None if unknown.

    It is the language of most ``sources``, preferably one that ``tests`` have too; both are paths. ``name`` returns a
    file's language.
    """
    found, tested = (Counter(filter(None, map(name, paths))) for paths in (sources, tests))
    unknown: list[Language] = (
        ["junit"] if "junit" in tested else []
    )  # report files may be about sources of any language
    candidates = [language for language in found if language in tested] or unknown or list(found)
    return max(candidates, key=lambda language: (found[language], language), default=None)
