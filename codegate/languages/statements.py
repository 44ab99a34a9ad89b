"""Read a test's statements as lines (see ``lines``).

Each table row, each subtest and each block has its own line.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from codegate.languages.lines import Step
from codegate.languages.syntax import Grammar, arguments_of, edited, field, parse, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DEPTH: Final = 6
_MAX_ROWS: Final = 60
_AROUND_CALLS: Final = frozenset({"await", "await_expression", "parenthesized_expression", "unary_expression"})


@dataclass(frozen=True)
class Branch:
    """One way through a statement: a row, subtest or block.

    Attributes:
        bound: steps in front of the body, such as assignments of the row's values.
        body: source of the statements inside; empty if there are none.
    """

    bound: tuple[Step, ...]
    body: str


@dataclass(frozen=True)
class StatementReader(ABC):
    """Turns the statements of one test into steps and branches.

    Attributes:
        base: text of the test's file before the fix; it shows which table rows are new.
        helpers: syntax trees of functions that contain assertions, by the name that calls use.
    """

    grammar: Grammar
    base: str
    helpers: "Mapping[str, Node]"
    error_wanted: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    """Matches an assertion that expects an error."""

    def parse(self, text: str) -> "Node":
        """Return the syntax tree of statements."""
        return parse(text, self.grammar)

    @abstractmethod
    def read(self, statement: "Node", before: tuple[Step, ...]) -> "Step | Sequence[Branch | Step] | None":
        """Return a statement as a step or as branches.

        ``before`` are the steps that lead to it. Each branch becomes a line of its own; a step in the same sequence
        stays in the current line. None: the statement is left out.
        """

    @abstractmethod
    def assigned(self, root: "Node", name: str) -> "Node | None":
        """Return the value that ``root`` assigns to a name."""

    def last_value(self, name: str, before: tuple[Step, ...]) -> "Node | None":
        """Return the value that ``before`` last assigned to ``name``.

        ``before`` are the steps that lead to a statement.
        """
        values = (self.assigned(self.parse(step.text), name) for step in reversed(before) if name in step.text)
        return next((value for value in values if value is not None), None)

    def value(self, table: "Node | None", before: tuple[Step, ...]) -> "Node | None":
        """Return ``table``; for a variable, its last value.

        ``before`` are the steps that lead to a statement. None if no value is found.
        """
        is_name = table is not None and table.type == "identifier"
        return self.last_value(text_of(table), before) if is_name else table

    def is_new_call(self, call: "Node", arguments: "Iterable[Node]", before: tuple[Step, ...]) -> bool:
        """Return whether the file before the fix lacks a call.

        True also if the earlier steps ``before`` mention one of its ``arguments``, which can then have another value.
        """
        local = "\n".join(step.text for step in before)
        given = any(re.search(rf"\b{re.escape(text_of(each))}\b", local) for each in arguments)
        return given or is_new(call, self.base)

    def check(self, assertion: "Node", checked: Iterable[str]) -> Step:
        """Return the step of an assertion that checks expressions."""
        return Step(checked=tuple(dict.fromkeys(checked)), raises=bool(self.error_wanted.search(text_of(assertion))))


class TypedReader(StatementReader):
    """Reads tests of languages whose parameters have types."""

    results: ClassVar[frozenset[str]]
    """Node types of calls."""

    @abstractmethod
    def is_computed(self, node: "Node") -> bool:
        """Return whether an argument may depend on the tested code."""

    @abstractmethod
    def parameters(self, function: "Node") -> list[tuple[str, str]]:
        """Return name and type of a function's parameters."""

    @abstractmethod
    def declare(self, name: str, kind: str, value: str) -> str:
        """Return code that declares ``name``, of type ``kind``, with ``value``."""

    def text(self, node: "Node") -> str:
        """Return an expression's source for use in a step."""
        return text_of(node)

    def read_helper_call(self, helper: "Node", call: "Node", before: tuple[Step, ...]) -> "Step | list[Branch] | None":
        """Return what ``call``, a call of the function ``helper``, checks.

        It is a step that checks the arguments, or a branch with the function's body. None if the file has the same call
        before the fix, and the earlier steps ``before`` mention no argument.
        """
        arguments = arguments_of(call)
        made = [each for each in arguments if self.is_computed(each)]
        results = [each for each in made if any(node.type in self.results for node in walk(each))]
        if results:
            return self.check(call, map(self.text, results))
        parameters = self.parameters(helper)
        pairs = list(zip(parameters, map(self.text, arguments), strict=False))
        names = {name for name, _ in parameters}
        mixed = any(names.intersection(re.findall(r"\w+", text)) - {name} for (name, _), text in pairs)
        if len(parameters) != len(arguments) or mixed or not self.is_new_call(call, made, before):
            return None  # a value would use a parameter that is declared before it
        steps = tuple(Step(self.declare(name, kind, text)) for (name, kind), text in pairs if name != text)
        return [Branch(steps, text_of(field(helper, "body"))[1:-1])]


def lines_through(
    reader: StatementReader, body: str, before: tuple[Step, ...], depth: int = 0
) -> Iterator[tuple[Step, ...]]:
    """Yield the lines through the statements in ``body``.

    Each line has the steps ``before``, then those of one way through ``body``; ways that check nothing are left out.
    ``depth`` is the number of blocks around ``body``.
    """
    before = before if depth else _uncommented(before, reader)
    steps, branches = before, list[tuple[tuple[Step, ...], Branch]]()
    for statement in reader.parse(body).named_children:
        read, outer = reader.read(statement, steps), steps
        for found in (read,) if isinstance(read, Step) else read or ():
            if isinstance(found, Branch):
                branches.append((outer, found))
            else:
                steps = (*steps, *_uncommented([replace(found, depth=depth)], reader))
    if any(step.checked for step in steps[len(before) :]):
        yield steps
    for outer, branch in branches if depth < _MAX_DEPTH else ():
        bound = (*outer, *_uncommented((replace(step, depth=depth + 1) for step in branch.bound), reader))
        if not branch.body:
            yield bound
        yield from lines_through(reader, branch.body, bound, depth + 1)


def _uncommented(steps: Iterable[Step], reader: StatementReader) -> tuple[Step, ...]:
    return tuple(replace(step, text=without_comments(step.text, reader.parse)) for step in steps)


def whole_call(statement: "Node") -> "Node | None":
    """Return the call that a statement consists of, or None."""
    whole = statement.type in {"expression_statement", "return_statement"} and statement.named_children
    return call_in(statement.named_children[0]) if whole else None


def call_in(value: "Node") -> "Node | None":
    """Return the call node of a call expression, or None.

    ``await``, brackets and unary operators around the call are ignored.
    """
    while value.type in _AROUND_CALLS and value.named_children:
        value = value.named_children[0]
    return value if value.type in {"call", "call_expression"} else None


def operand(node: "Node") -> "Node":
    """Return an expression without surrounding brackets and unary operators."""
    while node.type in {"parenthesized_expression", "unary_expression"} and node.named_children:
        node = node.named_children[-1]
    return node


def without_comments(text: str, parse: "Callable[[str], Node]") -> str:
    """Return code without comments, which may reveal expected results.

    ``parse`` returns the root of its syntax tree.
    """
    root = parse(text)
    comments = [node for node in walk(root) if node.type.endswith("comment")]
    if not comments:
        return text
    text = edited(root, dict.fromkeys(comments, "\0"))
    return re.sub(r"[ \t]*\0", "", re.sub(r"\n[ \t]*\0(?=\n)", "", text))


def is_new(node: "Node", base: str) -> bool:
    """Return whether ``base``, a file's text, lacks a node's code."""
    return not appears(text_of(node), base)


def appears(text: str, base: str) -> bool:
    """Return whether ``base`` has the code ``text``, ignoring whitespace."""
    return re.sub(r"\s", "", text) in re.sub(r"\s", "", base)


def new_rows(rows: "Iterable[Node]", base: str) -> "list[Node]":
    """Return the table rows that ``base`` lacks, at most 60.

    If ``base`` has all rows, return the first 60.
    """
    given = list(rows)
    return ([row for row in given if is_new(row, base)] or given)[:_MAX_ROWS]


def asserting_functions(
    functions: "Mapping[str, Node]", asserts: "Callable[[Node], bool]", calls: "Callable[[Node], Iterable[str]]"
) -> "dict[str, Node]":
    """Return the functions that assert, directly or through others.

    ``asserts`` tells whether a function contains an assertion, and ``calls`` returns the names that it calls.
    """
    found = {name: node for name, node in functions.items() if asserts(node)}
    while more := {
        name: node for name, node in functions.items()
        if name not in found and any(each in found for each in calls(node))
    }:  # fmt: skip
        found |= more
    return found
