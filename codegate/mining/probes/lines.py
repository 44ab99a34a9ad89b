"""Lines: the statements that a test runs one after the other up to what it checks, as text with other literals.

A test function is written out as one line for each row of its tables and each of its subtests. A step of a line is a
statement, or what stood in the place of an assertion: the expressions that it checked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Final, Protocol

from codegate.languages.syntax import IDENTIFIER, edited, text_of, walk
from codegate.mining.probes.example import Example
from codegate.mining.probes.literals import Choose, Pieces, is_free, word_by_word
from codegate.suite import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

Value = tuple[str, str]
"""What kind of thing an expression gave, and its text.

Kinds are ``e``: an error as a value; ``s``: a text; ``x``: an error that was raised; ``v``: anything else.
"""

_DECLARES: Final = re.compile(r"(?:const|let|var)\s[^=;]*=|[\w, ]+:=")
_CHANGED: Final = re.compile(r"(?:^|&)([A-Za-z_]\w*)")
_LITERAL: Final = "\0"
_MAX_SINGLE: Final = 3
_SHORT: Final = 2
_MAX_LINES: Final = 24
_MAX_DEPTH: Final = 6
_MAX_PROBES: Final = 80


@dataclass(frozen=True)
class Step:
    """One statement, or one assertion without its expectation.

    Attributes:
        text: what is executed; empty where there is an assertion only.
        checked: expressions whose values an assertion compares, after ``text``.
        raises: the assertion asks for an error.
        panics: it asks for an error that is thrown, or for a panic.
        depth: how many blocks it is in; names of an inner block hide those of an outer one.
    """

    text: str = ""
    checked: tuple[str, ...] = ()
    raises: bool = False
    panics: bool = False
    depth: int = 0


@dataclass(frozen=True)
class Line:
    """Steps of one test.

    Attributes:
        test: the function's name, or the titles, that the steps are of.
        steps: in the order they run.
        replaced: how many literals are others than the test's.
        renamed: the test's own words and numbers, by those in their place.
        own: the steps with the test's own literals.
    """

    test: str
    steps: tuple[Step, ...]
    replaced: int = 0
    renamed: Mapping[str, str] = field(default_factory=dict)
    own: tuple[Step, ...] = ()

    @property
    def code(self) -> str:
        """Return what is executed, as a reader is shown it."""
        return "\n".join(step.text for step in self.steps if step.text)


@dataclass(frozen=True)
class Branch:
    """What a statement with assertions in it runs: for each of its rows, or of its subtests, another one."""

    bound: tuple[Step, ...]
    body: str


class Reader(Protocol):
    """Reads the statements of a test."""

    def parse(self, text: str) -> "Node":
        """Return the syntax tree of statements."""
        ...

    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | list[Branch] | None":
        """Return what a statement of a test is to its line; None: nothing."""
        ...


class Dialect(Protocol):
    """How the tests of one language are written. Stateless."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return those of files whose words are names of the language's programs."""
        ...

    def parse(self, text: str) -> "Node":
        """Return the syntax tree of a file, or of statements."""
        ...

    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        """Yield the lines of those tests (ids without their file) that can be written out.

        Of a table's rows those are taken that ``base``, the file before the fix, does not have. What asserts something
        may stand in the test files ``beside`` it.
        """
        ...

    def literals(self, node: "Node") -> Iterator["Node"]:
        """Yield the texts and numbers in a node, texts without quotes and escapes."""
        ...

    def declared(self, text: str) -> frozenset[str]:
        """Return the names that a definition of a file is of."""
        ...

    def bound(self, text: str) -> frozenset[str]:
        """Return the names that a statement declares or assigns to."""
        ...

    def used(self, text: str) -> frozenset[str]:
        """Return the names that a statement or expression mentions."""
        ...

    def named(self, probe: str) -> str:
        """Return the name of a probe's test."""
        ...

    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        """Return the files, by path, whose tests run ``probes`` (by name) and record what they check.

        They run in place of the tests in ``source``, or ``beside`` them.
        """
        ...

    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        """Return imports and definitions of a test file that ``names`` need; None where nothing has one of them."""
        ...

    def example(self, path: str, code: str, expression: str, before: Value, after: Value) -> Example:
        """Return two values of an expression in a test file, as a reader is shown them."""
        ...

    def tidy(self, steps: tuple[Step, ...], expression: str) -> tuple[Step, ...]:
        """Return the steps that lead to an expression as they are written when nothing follows."""
        ...

    def failed(self, path: str, source: str, message: str) -> frozenset[str]:
        """Return the probes in ``source`` that a compiler's ``message`` is about."""
        ...


def lines_through(reader: Reader, body: str, before: tuple[Step, ...], depth: int = 0) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of each line through the statements ``body``, after the steps ``before``."""
    steps, branches = before, list[tuple[tuple[Step, ...], Branch]]()
    for statement in reader.parse(body).named_children:
        found = reader.read(statement, steps)
        if isinstance(found, list):
            branches += [(steps, branch) for branch in found]
        elif found is not None:
            steps = (*steps, replace(found, depth=depth))
    if any(step.checked for step in steps[len(before) :]):
        yield steps
    for outer, branch in branches if depth < _MAX_DEPTH else ():
        bound = tuple(replace(step, depth=depth + 1) for step in branch.bound)
        yield from lines_through(reader, branch.body, (*outer, *bound), depth + 1)


def is_fresh(node: "Node", base: str) -> bool:
    """Return whether a file did not have a piece of code before, whatever its layout."""
    return not appears(text_of(node), base)


def appears(text: str, base: str) -> bool:
    """Return whether a file has a piece of code, whatever its layout."""
    return re.sub(r"\s", "", text) in re.sub(r"\s", "", base)


def fresh(rows: "Iterable[Node]", base: str) -> "list[Node]":
    """Return the rows of a table that a file did not have before; all where it had all of them."""
    given = list(rows)
    return [row for row in given if is_fresh(row, base)] or given


def literals_of(dialect: Dialect, text: str) -> frozenset[str]:
    """Return the texts and numbers that code writes out."""
    return frozenset(text_of(node) for node in dialect.literals(dialect.parse(text)))


def shape_of(dialect: Dialect, text: str) -> str:
    """Return code without its literals: of two examples that are alike, one is enough."""
    root = dialect.parse(text)
    shape = edited(root, dict.fromkeys(dialect.literals(root), _LITERAL))
    return re.sub(rf"(?:{_LITERAL}|\\.)+", _LITERAL, shape)


def probes_of(dialect: Dialect, lines: Iterable[Line], known: frozenset[str], seed: str) -> list[Line]:
    """Return lines with other literals.

    One way of every line comes before the next way of any: which of them shows the difference is not known. Before its
    first way comes the line itself, to be compared with.

    Args:
        dialect: the language.
        lines: as the tests have them.
        known: words that the base's source uses; they are names and options, and stay as they are if they can.
        seed: what the drawn literals follow from.
    """
    given = [line for line, _ in zip(lines, range(_MAX_LINES), strict=False)]
    seen = {line.steps for line in given}
    found: list[Line] = []
    for number, ways in enumerate(zip_longest(*(_variants(dialect, line, known, seed) for line in given))):
        for line, own in zip(ways, given, strict=True):
            found += [own] if number == 0 else []
            if line is not None and line.steps not in seen and len(found) < _MAX_PROBES:
                seen.add(line.steps)
                found.append(line)
    return found


def _variants(dialect: Dialect, line: Line, known: frozenset[str], seed: str) -> Iterator[Line]:
    """Yield a line with other literals, those first that are others in most places."""
    whole = "\n".join(text for step in line.steps for text in (step.text, *step.checked))
    written = [text_of(node) for node in dialect.literals(dialect.parse(whole))]
    original = frozenset(written)
    parts = {part for name in dialect.used(whole) for part in (name, *name.split("_"))}

    def other(word: str) -> bool:
        return len(word) != _SHORT and word not in parts and word.lower() not in parts

    def unused(word: str) -> bool:
        return is_free(word) and other(word)

    def free(word: str) -> bool:
        return len(word) > _SHORT and word not in known and unused(word)

    def way(words: Choose, *, numbers: bool = True, only: int | None = None, least: int = 2) -> Line:
        draws = Random(f"{seed}{line.test}")  # noqa: S311 (a choice to repeat, not a secret)
        pieces = Pieces(draws, words, numbers, avoid=original, only=only, least=least)
        steps = tuple(
            replace(
                step,
                text=_replaced(dialect, step.text, pieces),
                checked=tuple(_replaced(dialect, text, pieces) for text in step.checked),
            )
            for step in line.steps
        )
        return replace(line, steps=steps, replaced=max(pieces.count, 1), renamed=pieces.renamed, own=line.steps)

    yield way(free)
    yield way(unused)
    yield way(free, numbers=False)
    yield way(unused, numbers=False)
    yield way(lambda _word: False)
    yield way(free, least=1)
    for one in word_by_word(written, other):
        yield way(one, numbers=False)
    for only in range(_MAX_SINGLE):
        yield way(unused, only=only)


def _replaced(dialect: Dialect, text: str, pieces: Pieces) -> str:
    if not text:
        return text
    root, edits = dialect.parse(text), dict["Node", str]()
    for node in dialect.literals(root):
        if pieces.due():
            old = text_of(node)
            new = pieces.text(old) if _quoted(node) else pieces.number(old)
            pieces.count += new != old
            edits[node] = new
    return edited(root, edits)


def _quoted(node: "Node") -> bool:
    return not node.type.endswith(("number", "int_literal", "float_literal"))


def slices(dialect: Dialect, line: Line, step: int, expression: str) -> list[Line]:
    """Return what of a line leads to one expression that it checks, the shortest first.

    The first has the statements alone that the names in the expression need; the second has all that came before,
    the calls of earlier assertions included, but for names that nobody uses; the third has those too that are used
    together with a name that the expression needs.

    Args:
        dialect: the language.
        line: the whole.
        step: the place of the step that checks the expression, or that raises.
        expression: what is checked; empty where the step itself raises.
    """
    last = replace(line.steps[step], checked=(expression,) if expression else ())
    local = frozenset(name for each in line.steps[: step + 1] for name in dialect.bound(each.text))
    named = dialect.used("\n".join([last.text, expression])) & local
    connected = _connected(dialect, line.steps[:step], named, local)
    found: list[Line] = []
    for everything, needed in ((False, named), (True, named), (True, connected)):
        kept = [last]
        for before in reversed(line.steps[:step]):
            text = before.text
            if everything and not text:
                text = "\n".join(checked for checked in before.checked if _acts(dialect, checked, local))
            bound, used = dialect.bound(text), dialect.used(text)
            if text and (bound & needed if bound else everything or used & needed):
                # What a declaration gives a value needs none from before.
                anew = bound if not everything and _DECLARES.match(text) else frozenset[str]()
                needed = (needed - anew) | (used - anew) & local  # noqa: PLW2901 (grows on the way)
                kept.insert(0, replace(before, text=text, checked=()))
        shorter = replace(line, steps=dialect.tidy(tuple(kept), expression))
        found += [shorter] if shorter not in found else []
    return found


def _connected(
    dialect: Dialect, steps: tuple[Step, ...], names: frozenset[str], local: frozenset[str]
) -> frozenset[str]:
    """Return ``names`` and all that steps bind or use together with them; such a step may change their values."""
    mentioned = [(dialect.bound(step.text) | dialect.used(step.text)) & local for step in steps]
    while found := frozenset().union(*(each for each in mentioned if each & names)) - names:
        names |= found
    return names


def _acts(dialect: Dialect, expression: str, local: frozenset[str]) -> bool:
    """Return whether an expression calls a method of what the line itself made, or is given a pointer to it."""
    calls = (text_of(node) for node in walk(dialect.parse(expression)) if node.type == "call_expression")
    return any(not local.isdisjoint(_CHANGED.findall(call)) for call in calls)


def known_words(base: Tree, public_tests: Iterable[str], suffixes: tuple[str, ...]) -> frozenset[str]:
    """Return the words that source files of the base use."""
    tests = frozenset(public_tests)
    return frozenset(
        word for path, file in base.items() if path.endswith(suffixes) and path not in tests and not file.is_link
        for word in IDENTIFIER.findall(file.data.decode("utf-8", "replace"))
    )  # fmt: skip
