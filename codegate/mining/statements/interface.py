"""The names that hidden tests use and only the fix has: what a statement must say, or the problem cannot be solved."""

import re
from dataclasses import dataclass
from typing import Final

from codegate.mining.cut import Cut
from codegate.mining.statements.newnames import NewName, python_names
from codegate.mining.statements.patternnames import go_names, javascript_names
from codegate.mining.statements.scrub import normalise

_MAX_SIGNATURES: Final = 40
_MAX_SIGNATURE: Final = 300
_HEADING: Final = "## Interface"
_INTRODUCTION: Final = "The tests use these names, which the code does not have yet:"


@dataclass(frozen=True)
class Interface:
    """What the hidden tests take for granted.

    Attributes:
        signatures: of names that the fix adds and the hidden tests use: no bodies, and of defaults the plain ones only.
        names: the plain names in ``signatures``; no statement masks them.
        unresolvable: names that the tests use and only the fix has, and for which no signature can be given.
    """

    signatures: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    unresolvable: tuple[str, ...] = ()

    def block(self) -> str:
        """Return the statement's block of signatures, with its heading; empty when there are none."""
        if not self.signatures:
            return ""
        return "\n".join([_HEADING, "", _INTRODUCTION, "", *(f"- `{line}`" for line in self.signatures)]) + "\n"

    def undisclosed(self, text: str) -> tuple[str, ...]:
        """Return those of ``unresolvable`` that the statement ``text`` does not mention either."""
        said = set(re.findall(r"\w+", text))
        return tuple(name for name in self.unresolvable if name not in said)


NO_INTERFACE: Final = Interface()


def interface_of(cut: Cut) -> Interface:
    """Return the names that the fix of ``cut`` adds and its hidden tests use, with their signatures.

    Python is read by its syntax: functions, classes, methods, parameters, attributes, constants, command-line options
    and environment variables. JavaScript, TypeScript and Go are read by careful patterns: exports and methods, and
    top-level declarations, methods and fields. Other languages have no interface.
    """
    found: list[NewName] = []
    unresolvable: set[str] = set()
    for read in (python_names, javascript_names, go_names):
        new, unknown = read(cut)
        found += new
        unresolvable |= unknown
    shown = [(name.name, _line(name.signature)) for name in found]
    signatures = tuple(sorted({line for _, line in shown}))[:_MAX_SIGNATURES]
    names = frozenset(name for name, line in shown if line in signatures)
    return Interface(signatures, names, unresolvable=tuple(sorted(unresolvable - names)))


def _line(signature: str) -> str:
    """Return a signature that fits into one code span, whose end a back quote would be."""
    return " ".join(normalise(signature, 4 * _MAX_SIGNATURE).replace("`", "'").split())[:_MAX_SIGNATURE]
