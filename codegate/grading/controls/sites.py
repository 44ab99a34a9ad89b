"""What is found in hidden tests: where they can be instrumented.

A *receipt* is a call behind an assertion: a test that reports success without it did not pass the assertion. A
*value* is a literal that the test reads from a table, so that its text does not give the answer away. An *aside* is
what the text says to people, and no run has. A *mutant* makes one assertion expect something else: no correct program
passes both a test and its mutant.

All offsets are in bytes of the file's UTF-8 text. In an edit's text ``$receipt$``, ``$guard$``, ``$value$`` and
``$change$`` stand for the names of functions that the test driver brings, ``$token$`` for a random word, and
``$choice$`` for one of a mutant's choices. Where a choice or an edit reads ``$copy$12-34``, it is what the file has at
these offsets.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from codegate.grading.grade import file_of

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


class Aside(_Site):
    """A comment or a message, which may give an answer away.

    Attributes:
        text: what people see where a run prints its token.
    """

    kind: Literal["aside"]
    edits: tuple[Edit, ...]
    text: str


Likeness = Literal["", "case", "signs", "size"]


class Mutant(_Site):
    """A change of one assertion: edits, or another value in place of the file's value of number ``value``.

    Attributes:
        test: as of a receipt.
        order: the first place that the change can be felt at; receipts before it are left all the same.
        assertion: where the assertion ends that has to fail; null where that cannot be said.
        row: the change is for the test's row of parameters with this number; null: for all of its ids.
        also: values that are others at the same time, by number.
        donors: by choice, where that is a copy: the function that it is from, if what it takes the place of can stand
            there instead; else empty.
        loose: what is right may pass one of its choices as well, but hardly two: classes that something raised is
            of besides the right one, words that a message has besides those that are looked for.
        weak: another exception is waited for, or none. Who raises what is right wherever a test waits for something
            passes the test and fails this one, and need not know which inputs are wrong.
        like: what all choices have in common with what is expected: its letters but for their ``case``, all of it but
            for its ``signs``, its ``size`` but for one, or nothing in particular; see ``likeness.py``.
        name: its file and what it changes, in short; the search gives it. The same whenever the same file is searched,
            whatever else is found there: what was said of a mutant is said of no other.
    """

    kind: Literal["mutant"]
    test: str
    order: int
    assertion: int | None = None
    row: int | None = None
    edits: tuple[Edit, ...] = ()
    choices: tuple[str, ...] = Field(min_length=1)
    value: int | None = None
    also: tuple[tuple[int, str], ...] = ()
    donors: tuple[str, ...] = ()
    loose: bool = False
    weak: bool = False
    like: Likeness = ""
    name: str = ""


class Alias(_Site):
    """The test ``test`` is written as the function ``of``."""

    kind: Literal["alias"]
    test: str
    of: str


@dataclass(frozen=True)
class FileSites:
    """What was found in one file, in the order of its text."""

    data: bytes
    receipts: tuple[Receipt, ...] = ()
    values: tuple[Value, ...] = ()
    asides: tuple[Aside, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    aliases: tuple[Alias, ...] = ()

    def function(self, test: str) -> str:
        """Return the function that the test id ``test`` is written as, by its name within the file."""
        path, _, name = test.partition("::")
        if path.endswith(".py"):
            name = name.partition("[")[0]
        elif path.endswith(".go"):
            name = name.partition("/")[0]
        elif name not in self._names:
            name = max((known for known in self._names if _may_be(known, name)), key=len, default=name)
        return self._written.get(name, name)

    @cached_property
    def mutants_by_function(self) -> dict[str, tuple[Mutant, ...]]:
        """The mutants of each function, in the order of its text."""
        found: dict[str, list[Mutant]] = {}
        for mutant in sorted(self.mutants, key=lambda mutant: mutant.order):
            found.setdefault(mutant.test, []).append(mutant)
        return {function: tuple(mutants) for function, mutants in found.items()}

    @cached_property
    def _written(self) -> dict[str, str]:
        return {alias.test: alias.of for alias in reversed(self.aliases)}

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
