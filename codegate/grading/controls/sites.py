"""What is found in hidden tests: where they can be instrumented.

A *receipt* is a call behind an assertion: a test that reports success without it did not pass the assertion. A
*value* is a literal that the test reads from a table, so that its text does not give the answer away. A *mutant* makes
one assertion expect something else: no correct program passes both a test and its mutant.

All offsets are in bytes of the file's UTF-8 text. In an edit's text ``$receipt$``, ``$guard$``, ``$value$`` and
``$change$`` stand for the names of functions that the test driver brings, ``$token$`` for a random word, and
``$choice$`` for a mutant's text.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from codegate.grading.grade import file_of
from codegate.languages import path_language

Edit = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)], str]
"""Start, end, and the text that takes the place of what is between them."""


class _Site(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str


class Receipt(_Site):
    """A call that shows that an assertion was passed.

    Attributes:
        test: the function, by its name within the file as the runner's ids have it (without parameters).
        order: where the assertion ends.
        required: a test that passes has run it, whatever the code under test does.
    """

    kind: Literal["receipt"]
    test: str
    order: int
    required: bool
    edits: tuple[Edit, ...]


class Value(_Site):
    """A literal to hide; ``text`` is how the language writes it."""

    kind: Literal["value"]
    edits: tuple[Edit, ...]
    text: str


class Mutant(_Site):
    """A change of one assertion, after which a right answer fails its test.

    Attributes:
        test: as of a receipt.
        order: the offset of the first place where the change can take effect.
        assertion: where the assertion ends that has to fail; null where that is unknown.
        row: the change is for the test's row of parameters with this number; null: for all of its ids.
        edits: applied to the file's text.
        value: number of the file's value that has ``text`` instead; null: the edits alone make the change.
        text: what ``$choice$`` stands for in the edits.
        turn: 0 for the first of the changes of one place, 1 for the second and so on.
        weak: it asks for another exception or none, or inverts a condition: fewer cheats fail it than a changed value.
        name: of the place and the change, given by the search; the same whenever the same file is searched.
    """

    test: str
    order: int
    assertion: int | None = None
    row: int | None = None
    edits: tuple[Edit, ...] = ()
    value: int | None = None
    text: str
    turn: int = 0
    weak: bool = False
    name: str


@dataclass(frozen=True)
class FileSites:
    """What was found in one file, in the order of its text."""

    data: bytes
    receipts: tuple[Receipt, ...] = ()
    values: tuple[Value, ...] = ()
    mutants: tuple[Mutant, ...] = ()

    def function(self, test: str) -> str:
        """Return the function that the test id ``test`` is written as, by its name within the file."""
        path, _, name = test.partition("::")
        language = path_language(path)
        if language is not None and language.parameters:
            name = name.partition(language.parameters)[0]
        elif name not in self._names:
            name = max((known for known in self._names if _may_be(known, name)), key=len, default=name)
        return name

    @cached_property
    def mutants_by_function(self) -> dict[str, tuple[Mutant, ...]]:
        """The mutants of each function, in the order of its text."""
        found: dict[str, list[Mutant]] = {}
        for mutant in sorted(self.mutants, key=lambda mutant: mutant.order):
            found.setdefault(mutant.test, []).append(mutant)
        return {function: tuple(mutants) for function, mutants in found.items()}

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset([*(site.test for site in self.receipts), *(site.test for site in self.mutants)])


Sites = dict[str, FileSites]
"""By path of the test file; a file in which nothing can be found is not there."""

Function = tuple[str, str]
"""The path of a test's file, and the name in it of the function that the test is written as."""


def function_of(test: str, sites: Sites) -> Function:
    """Return the function of the test id ``test``; it has no name in a file without sites."""
    path = file_of(test)
    return path, sites[path].function(test) if path in sites else ""


def mutants_of(sites: Sites, function: Function) -> tuple[Mutant, ...]:
    """Return the mutants of one function, in the order of its text."""
    path, name = function
    return sites[path].mutants_by_function.get(name, ()) if path in sites else ()


def _may_be(known: str, name: str) -> bool:
    """Return whether ``name`` is a title that ``known`` stands for: the character 0 is whatever a run put there."""
    first, *parts = known.split("\0")
    if not parts or not (name.startswith(first) and name.endswith(parts[-1])):
        return False
    at, end = len(first), len(name) - len(parts[-1])
    for part in parts[:-1]:
        found = name.find(part, at, max(end, 0))
        if found < 0:
            return False
        at = found + len(part)
    return at <= end
