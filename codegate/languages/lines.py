"""Tests as lines: the statements that one runs one after the other up to what it checks, as text.

A test function is written out as one line for each row of its tables and each of its subtests. A step of a line is a
statement, or what stood in the place of an assertion: the expressions that it checked.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, cast

from codegate.languages.registry import path_language
from codegate.languages.syntax import Grammar, arguments_of, edited, field, parse, text_of, walk
from codegate.plugins import load_part

if TYPE_CHECKING:
    from tree_sitter import Node

MARK: Final = "codegate-probe:"
"""Stands in the message of the failure that a probe ends with, before its records."""

Value = tuple[str, str]
"""What kind of thing an expression gave, and its text.

Kinds are ``e``: an error as a value; ``s``: a text; ``x``: an error that was raised; ``v``: anything else.
"""

_MAX_DEPTH: Final = 6
_MAX_ROWS: Final = 60


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
    """

    test: str
    steps: tuple[Step, ...]
    replaced: int = 0
    renamed: Mapping[str, str] = attribute(default_factory=dict)
    own: tuple[Step, ...] = ()
    frame: str = ""
    fixtures: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """Return what is executed, a statement after the other."""
        return code_of(self.steps)


def code_of(steps: Iterable[Step]) -> str:
    """Return what steps execute, a statement after the other."""
    return "\n".join(step.text for step in steps if step.text)


def joined(context: str, code: str) -> str:
    """Return imports and definitions with the code after them."""
    return ("\n\n" if context.endswith("}") else "\n").join(filter(None, (context, code)))


@dataclass(frozen=True)
class Branch:
    """One run through a statement: a row, a subtest or a block."""

    bound: tuple[Step, ...]
    body: str


class Shown(NamedTuple):
    """Code, an expression, and its values before and after the fix."""

    code: str
    expression: str
    observed: str
    expected: str


@dataclass(frozen=True)
class Reader(ABC):
    """Reads the statements of one test.

    Attributes:
        base: the file before the fix.
        helpers: functions that assert something, by the name in their calls.
    """

    grammar: Grammar
    base: str
    helpers: "Mapping[str, Node]"
    error_wanted: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    """Found in an assertion that asks for an error."""

    def parse(self, text: str) -> "Node":
        """Return the syntax tree of statements."""
        return parse(text, self.grammar)

    @abstractmethod
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | Sequence[Branch | Step] | None":
        """Return the step or branches of a statement, or None.

        Branches leave the line here; a step beside them stays in it.
        """

    @abstractmethod
    def assigned(self, root: "Node", name: str) -> "Node | None":
        """Return the value that statements assign to a name."""

    def named(self, name: str, before: tuple[Step, ...]) -> "Node | None":
        """Return the value last assigned to a name."""
        values = (self.assigned(self.parse(step.text), name) for step in reversed(before) if name in step.text)
        return next((value for value in values if value is not None), None)

    def value(self, table: "Node | None", before: tuple[Step, ...]) -> "Node | None":
        """Return a table, or the value of its name."""
        is_name = table is not None and table.type == "identifier"
        return self.named(text_of(table), before) if is_name else table

    def check(self, assertion: "Node", checked: Iterable[str]) -> Step:
        """Return the step of an assertion on some expressions."""
        return Step(checked=tuple(dict.fromkeys(checked)), raises=bool(self.error_wanted.search(text_of(assertion))))


class TypedReader(Reader):
    """Read tests whose asserting functions have typed parameters."""

    results: ClassVar[frozenset[str]]
    """Types of expressions that call something."""

    @abstractmethod
    def is_made(self, node: "Node") -> bool:
        """Return whether the code under test may make a value."""

    @abstractmethod
    def parameters(self, function: "Node") -> list[tuple[str, str]]:
        """Return the names of a function's parameters, with their types."""

    @abstractmethod
    def declare(self, name: str, kind: str, value: str) -> str:
        """Return the declaration of a typed name with its value."""

    def text(self, node: "Node") -> str:
        """Return an expression as a line shows it."""
        return text_of(node)

    def helped(self, helper: "Node", call: "Node", before: tuple[Step, ...]) -> "Step | list[Branch] | None":
        """Return what a call of an asserting function checks or runs.

        A call that the base has too counts only if the test itself made what it is given.
        """
        arguments = arguments_of(call)
        made = [each for each in arguments if self.is_made(each)]
        results = [each for each in made if any(node.type in self.results for node in walk(each))]
        if results:
            return self.check(call, map(self.text, results))
        local = "\n".join(step.text for step in before)
        given = any(re.search(rf"\b{re.escape(text_of(each))}\b", local) for each in made)
        steps = written_out(self.parameters(helper), list(map(self.text, arguments)), self.declare)
        if steps is None or not (given or is_fresh(call, self.base)):
            return None
        return [Branch(steps, text_of(field(helper, "body"))[1:-1])]


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
    """

    grammar: Grammar
    fence: str
    suffixes: tuple[str, ...]
    remark: str = "//"
    ending: str = ""
    raising: ClassVar[str] = "throws"
    probe: ClassVar[str]
    place: ClassVar[str] = ""
    assignments: ClassVar[frozenset[str]] = frozenset()

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
        """Return the names that definitions of a file are of."""
        return frozenset(name for node in self.parse(text).named_children for name in self.names(node))

    def bound(self, text: str) -> frozenset[str]:
        """Return the names that statements declare or change."""
        changed = (each for each in walk(self.parse(text)) if each.type in self.assignments)
        targets = (walk(left) for each in changed if (left := field(each, "left")) is not None)
        firsts = (next((each for each in target if each.type == "identifier"), None) for target in targets)
        return self.declared(text) | {text_of(first) for first in firsts if first is not None}

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

    @abstractmethod
    def context(self, source: str, names: frozenset[str]) -> list[str] | None:
        """Return the imports and definitions that ``names`` need, or None."""

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


def lines_through(reader: Reader, body: str, before: tuple[Step, ...], depth: int = 0) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of each line through statements."""
    steps, branches = before, list[tuple[tuple[Step, ...], Branch]]()
    for statement in reader.parse(body).named_children:
        read, outer = reader.read(statement, steps), steps
        for found in (read,) if isinstance(read, Step) else read or ():
            if isinstance(found, Branch):
                branches.append((outer, found))
            else:
                steps = (*steps, replace(found, text=_uncommented(reader, found.text), depth=depth))
    if any(step.checked for step in steps[len(before) :]):
        yield steps
    for outer, branch in branches if depth < _MAX_DEPTH else ():
        bound = (*outer, *(replace(step, depth=depth + 1) for step in branch.bound))
        if not branch.body:
            yield bound
        yield from lines_through(reader, branch.body, bound, depth + 1)


def _uncommented(reader: Reader, text: str) -> str:
    """Return code without comments, which tell what tests want."""
    root = reader.parse(text)
    comments = [node for node in walk(root) if node.type.endswith("comment")]
    if not comments:
        return text
    text = edited(root, dict.fromkeys(comments, "\0"))
    return re.sub(r"[ \t]*\0", "", re.sub(r"\n[ \t]*\0(?=\n)", "", text))


def is_fresh(node: "Node", base: str) -> bool:
    """Return whether the base file lacks a piece of code."""
    return not appears(text_of(node), base)


def appears(text: str, base: str) -> bool:
    """Return whether a file has code, whatever its layout."""
    return re.sub(r"\s", "", text) in re.sub(r"\s", "", base)


def fresh(rows: "Iterable[Node]", base: str) -> "list[Node]":
    """Return a table's first new rows, or its first rows."""
    given = list(rows)
    return ([row for row in given if is_fresh(row, base)] or given)[:_MAX_ROWS]


def asserting(
    functions: "Mapping[str, Node]", fails: "Callable[[Node], bool]", called: "Callable[[Node], Iterable[str]]"
) -> "dict[str, Node]":
    """Return the functions that assert something, also by other functions."""
    found = {name: node for name, node in functions.items() if fails(node)}
    while more := {
        name: node for name, node in functions.items()
        if name not in found and any(each in found for each in called(node))
    }:  # fmt: skip
        found |= more
    return found


def written_out(
    parameters: Sequence[tuple[str, str]], arguments: Sequence[str], declared: Callable[[str, str, str], str]
) -> tuple[Step, ...] | None:
    """Return declarations of parameters (names, types) with values, or None.

    None where one uses the name of another: they are assigned one after the other.
    """
    names = {name for name, _ in parameters}
    if len(parameters) != len(arguments):
        return None
    pairs = list(zip(parameters, arguments, strict=True))
    if any((set(re.findall(r"\w+", text)) & names) - {name} for (name, _), text in pairs):
        return None
    return tuple(Step(declared(name, kind, text)) for (name, kind), text in pairs if name != text)


def in_blocks(line: Line, write: Callable[[int, Step, int], Iterable[str]]) -> str:
    """Return the steps of a line as code in braces.

    Args:
        line: its steps.
        write: gets the place of a step, the step, and the number of the first expression that it checks.
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
