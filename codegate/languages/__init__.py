"""Programming languages, one folder each.

Source files are read as text and never executed.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from codegate.languages.contract import FileRules, LanguagePack, PathClass
from codegate.languages.declarations import Declaration, NameReader, Uses, names_used
from codegate.languages.files import PathClassifier
from codegate.languages.registry import languages, path_language
from codegate.languages.syntax import IDENTIFIER, Grammar, added_lines, captures, decode, parse
from codegate.suite import TreeFile

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = [
    "IDENTIFIER",
    "Declaration",
    "FileRules",
    "LanguagePack",
    "PathClass",
    "PathClassifier",
    "Uses",
    "added_lines",
    "decode",
    "languages",
    "path_for_imports",
    "path_language",
    "read",
]

_NAME: Final = re.compile(r"[#$\w]+")
_MAX_BYTES: Final = 1 << 19


@dataclass(frozen=True)
class SourceFile:
    """The syntax tree of one source file."""

    path: str
    grammar: Grammar
    reader: NameReader
    root: "Node"

    def declarations(self, place: str = "") -> list[Declaration]:
        """Return the file's declarations.

        ``place``, such as a module's dotted path, precedes names in signatures.
        """
        found = self.reader.declarations(self.root, self.path, place)
        return [each for each in found if _NAME.fullmatch(each.name)]

    def uses(self, lines: Collection[int] | None = None) -> Uses:
        """Return the names that ``lines`` use (from 1; None: all)."""
        return names_used(captures(self.root, self.grammar, self.reader.uses), lines)


def grammar_of(suffix: str) -> Grammar | None:
    """Return the grammar of files with this suffix, or None."""
    reader = _readers().get(suffix)
    return reader.grammars[suffix] if reader is not None else None


def read(path: str, file: TreeFile | None) -> SourceFile | None:
    """Return a file's syntax tree; None if not parsed.

    A file without a grammar, a link, a binary file and one above 512 KiB are not parsed.
    """
    suffix = PurePosixPath(path).suffix
    reader = _readers().get(suffix)
    if reader is None or file is None or file.is_link or len(file.data) > _MAX_BYTES or b"\0" in file.data:
        return None
    grammar = reader.grammars[suffix]
    return SourceFile(path, grammar, reader, parse(decode(file.data), grammar))


def path_for_imports(path: str) -> str | None:
    """Return the path by which other files import ``path``.

    None if its language is unknown, or does not import files by path.
    """
    reader = _readers().get(PurePosixPath(path).suffix)
    return reader.module(path) if reader is not None and reader.module is not None else None


@cache
def _readers() -> dict[str, NameReader]:
    return {suffix: reader for language in languages() for reader in language.readers for suffix in reader.grammars}
