"""Tests as lines: the statements that one runs one after the other up to what it checks, as text.

A test function is written out as one line for each row of its tables and each of its subtests. A step of a line is a
statement, or what stood in the place of an assertion: the expressions that it checked.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, cast

from codegate.languages.registry import path_language
from codegate.languages.syntax import Grammar, field, parse, text_of, walk
from codegate.plugins import load_part

if TYPE_CHECKING:
    from tree_sitter import Node

MARK: Final = "codegate-probe:"
"""Stands in the message of the failure that a probe ends with, before its records."""

MOCK: Final = "a mock for "
"""How ``Dialect.given`` begins what a mock is; what the mock replaces follows."""

Value = tuple[str, str]
"""What kind of thing an expression gave, and its text.

Kinds are ``e``: an error as a value; ``s``: a text; ``x``: an error that was raised; ``v``: anything else.
"""


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
        replaced: how many literals are others than the test's.
        renamed: the test's own words and numbers, by those in their place.
        own: the steps with the test's own literals.
        frame: what they run in, where a language has more than one; it says what that is.
        fixtures: names that the test's framework gives the steps.
        public: the file before the fix has the whole test, such as one that is expected to fail.
    """

    test: str
    steps: tuple[Step, ...]
    replaced: int = 0
    renamed: Mapping[str, str] = attribute(default_factory=dict)
    own: tuple[Step, ...] = ()
    frame: str = ""
    fixtures: tuple[str, ...] = ()
    public: bool = False

    @property
    def code(self) -> str:
        """Return what is executed, a statement after the other."""
        return code_of(self.steps)

    @property
    def text(self) -> str:
        """Return what is executed, with the expressions that are checked."""
        return "\n".join(text for step in self.steps for text in (step.text, *step.checked) if text)


def code_of(steps: Iterable[Step]) -> str:
    """Return what steps execute, a statement after the other."""
    return "\n".join(step.text for step in steps if step.text)


def joined(context: str, code: str) -> str:
    """Return imports and definitions with the code after them."""
    return ("\n\n" if context.endswith("}") else "\n").join(filter(None, (context, code)))


class Shown(NamedTuple):
    """Code, an expression, and its values before and after the fix."""

    code: str
    expression: str
    observed: str
    expected: str


@dataclass(frozen=True)
class Dialect(ABC):
    """How the tests of one language are written. Stateless.

    Attributes:
        fence: what a block of its code is marked with in Markdown.
        suffixes: those of files whose words are names of the language's programs.
        remark: what begins a comment.
        ending: what ends a statement; empty where the end of its line does.
        raising: what stands before an error that is shown.
        probe: what the name of a probe's test begins with.
        place: pattern of a place in a compiler's message, with ``{}`` for the file and the line as its group; empty:
            one that is no program is left out before anything runs.
        assignments: types of nodes that change the value of their left side.
        apart: what a reader is shown runs without the rest of its test file, and of other hidden files.
    """

    grammar: Grammar
    fence: str
    suffixes: tuple[str, ...]
    remark: ClassVar[str] = "//"
    ending: ClassVar[str] = ""
    raising: ClassVar[str] = "throws"
    probe: ClassVar[str]
    place: ClassVar[str] = ""
    assignments: ClassVar[frozenset[str]] = frozenset()
    apart: ClassVar[bool] = False

    def parse(self, text: str) -> "Node":
        """Return the syntax tree of a file, or of statements."""
        return parse(text, self.grammar)

    @abstractmethod
    def lines(self, source: str, tests: Iterable[str], base: str, beside: Iterable[str] = ()) -> Iterator[Line]:
        """Yield the lines of tests, given by ids without files.

        Of a table's rows those are taken that ``base``, the file before the fix, does not have. What asserts something
        may stand in the test files ``beside`` it.
        """

    @abstractmethod
    def literals(self, node: "Node") -> Iterator["Node"]:
        """Yield a node's numbers and the contents of its texts."""

    @abstractmethod
    def names(self, node: "Node") -> set[str]:
        """Return the names that a statement or definition declares."""

    def declared(self, text: str) -> frozenset[str]:
        """Return the names that a file's definitions declare."""
        return frozenset(name for node in self.parse(text).named_children for name in self.names(node))

    def bound(self, text: str) -> frozenset[str]:
        """Return the names that statements declare or change."""
        changed = (each for each in walk(self.parse(text)) if each.type in self.assignments)
        names = (next((one for one in walk(field(each, "left")) if one.type == "identifier"), None) for each in changed)
        return self.declared(text) | {text_of(name) for name in names if name is not None}

    def needed(self, nodes: "Sequence[Node]", names: Iterable[str]) -> list[str]:
        """Return the definitions that ``names`` need, in the file's order."""
        shown: list[Node] = []
        wanted, before = set(names), -1
        while len(shown) != before:
            before = len(shown)
            for node in nodes:
                if node not in shown and self.names(node) & wanted:
                    shown.append(node)
                    wanted |= self.used(text_of(node))
        return [text_of(node) for node in nodes if node in shown]

    @abstractmethod
    def used(self, text: str) -> frozenset[str]:
        """Return the names that a statement or expression mentions."""

    def named(self, probe: str, line: Line) -> str:  # noqa: ARG002
        """Return the name of a probe's test in its file."""
        return f"{self.probe}{probe}"

    @abstractmethod
    def files(self, path: str, source: str, probes: Mapping[str, Line], *, beside: bool = False) -> dict[str, str]:
        """Return the files, by path, whose tests run ``probes``.

        They run in place of the tests in ``source``, or ``beside`` them.
        """

    def alone(self, path: str, source: str, base: str, probes: Mapping[str, Line]) -> dict[str, str]:  # noqa: ARG002
        """Return files whose probes run with what a reader sees, and nothing else, where they can be ``apart``.

        ``base`` is the file before the fix.
        """
        return self.files(path, source, probes)

    @abstractmethod
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        """Return the imports and definitions that ``names`` need, or None."""

    def outside(self, source: str, line: Line) -> frozenset[str]:
        """Return the names that a line has from its file: not its own, nor those that a framework gives it."""
        own = frozenset(name for step in line.steps for name in self.bound(step.text)) | {*line.fixtures, "self"}
        defined = {name for name in line.fixtures if self.context(source, frozenset({name})) is not None}
        return self.used(line.text) - (own - defined)

    def surroundings(self, source: str, line: Line) -> list[str] | None:
        """Return the imports and definitions of its file that a line needs, or None."""
        return self.context(source, self.outside(source, line))

    def given(self, source: str, line: Line) -> dict[str, str] | None:  # noqa: ARG002
        """Return what fixtures and the like are, or None if unknown."""
        return {}

    def shown(
        self,
        path: str,  # noqa: ARG002
        context: str,
        steps: Sequence[Step],
        expression: str,
        before: Value,
        after: Value,
    ) -> "Shown":
        """Return two values of an expression as readers see them."""
        old, new = (self.value(*each) for each in (before, after))
        return Shown(joined(context, code_of(steps)), expression, old, new)

    def value(self, kind: str, text: str) -> str:
        """Return a value as a reader is shown it."""
        return f"{self.raising} {text}" if kind == "x" else text

    def tidy(self, steps: tuple[Step, ...], expression: str) -> tuple[Step, ...]:  # noqa: ARG002
        """Return the steps without what only later code needed."""
        return steps

    def failed(self, path: str, source: str, message: str) -> frozenset[str]:
        """Return the probes that a compiler's ``message`` is about."""
        place = re.compile(self.place.format(re.escape(path.rpartition("/")[2])), re.MULTILINE | re.DOTALL)
        head, lines, found = re.compile(rf".*\b{self.probe}(\w+)\("), source.splitlines(), set[str]()
        for number in set(map(int, place.findall(message) if self.place else ())):
            heads = (match[1] for line in reversed(lines[:number]) if (match := head.match(line)) is not None)
            found.update(islice(heads, 1))
        return frozenset(found)


def dialect_of(path: str) -> Dialect | None:
    """Return the dialect of a test file, or None."""
    language = path_language(path)
    if language is None or not language.lines:
        return None
    return cast("Mapping[str, Dialect]", load_part(language.lines)).get(PurePosixPath(path).suffix)


def in_blocks(line: Line, write: Callable[[int, Step, int], Iterable[str]]) -> str:
    """Return the steps of a line as code in braces.

    ``write`` gets a step's place, the step, and the number of its first checked expression.
    """
    parts, depth, number = list[str](), 0, 0
    for at, step in enumerate(line.steps):
        parts += [*"{" * (step.depth - depth), *write(at, step, number)]
        depth, number = step.depth, number + len(step.checked)
    return "\n".join([*parts, *"}" * depth])


def steps_for(dialect: Dialect, shared: Sequence[Step], text: str, own: frozenset[str]) -> tuple[Step, ...]:
    """Return the ``shared`` steps that a test's text needs."""
    kept: list[Step] = []
    wanted = dialect.used(text) - own
    for step in reversed(shared):
        bound, used = dialect.bound(step.text), dialect.used(step.text)
        if wanted & bound or (not bound and wanted & used):
            kept.insert(0, step)
            wanted |= used - own
    return tuple(kept)


def literals_of(dialect: Dialect, text: str) -> frozenset[str]:
    """Return the texts and numbers that code writes out."""
    return frozenset(text_of(node) for node in dialect.literals(dialect.parse(text)))
