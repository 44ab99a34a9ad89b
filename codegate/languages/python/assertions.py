"""How an assertion of a Python test can be made to expect something else.

A mutant changes data, or inverts the question. Where an expected value is written out decides what is changed: in the
assertion, where its name was bound, or in the row of a parametrized test. No right answer passes a mutant, though it
may have more than a test looks for, raise what is of two classes, or be anywhere within a tolerance.
"""

import builtins
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from codegate.languages.mutation import Edit, Finder, Place, below, some
from codegate.languages.python.expressions import (
    arguments,
    bound,
    called,
    cell,
    constants,
    literals,
    name_of,
    names,
    names_in,
    number_of,
    parts,
    plain,
    rows_of,
    taken,
    tolerance_of,
    value_of,
)
from codegate.languages.python.names import BUILTINS
from codegate.languages.python.operators import (
    APART,
    ASKING,
    COMPARISONS,
    EMPTY,
    EQUAL,
    ERRORS,
    EXPECTING,
    LOOKING,
    OPEN_CONTEXTS,
    OPPOSITE,
    SELDOM,
    UNEQUAL,
    WARNINGS,
)
from codegate.languages.syntax import field, text_of
from codegate.languages.values import far, near, strange

if TYPE_CHECKING:
    from tree_sitter import Node

Tolerance = tuple[float, float] | None


class Assertions(Finder):
    """Finds the mutants of assertions.

    Attributes:
        looped: what is searched stands in a loop, and may be passed before it fails.
        swallowed: what fails here need not fail the test.
        known_names: names that are not of the code under test.
    """

    looped = False
    swallowed = False
    known_names: set[str]
    ends: set[int]

    def texts(self) -> Iterable[str]:
        """See ``Finder.texts``."""
        for node in below(self.root, {"string", "concatenated_string"}):
            value = value_of(node)
            if isinstance(value, str):
                yield value
            elif node.type in {"string", "concatenated_string"} and value is ...:
                yield from (text_of(part) for part in below(node) if part.type == "string_content")

    def begin(self, function: "Node", body: "Node") -> None:
        """Begin with a test; ``function``: with its decorators."""
        self.columns, self.rows = rows_of(function)
        statements = [each for each in parts(self.root) if each.type == "expression_statement"]
        self.bodies = [body, *(each for each in statements if parts(each) and parts(each)[0].type == "assignment")]
        self.count = 0
        self.odd: list[tuple[int, Node]] = []  # changes that no author would write
        self.uses = [text_of(node) for node in names(function)]

    def finish(self) -> None:
        """Add the mutants that are recognisable by their form, where the test has no others."""
        for at, node in self.odd if not self.count else ():
            self._mutate(
                at,
                ["not"],
                (node.start_byte, node.start_byte, "$choice$ ("),
                (node.end_byte, node.end_byte, ")"),
                weak=True,
            )

    def _mutate(
        self, at: int, choices: Sequence[str], *edits: Edit, value: int | None = None, row: int | None = None,
        order: int | None = None, weak: bool = False,
    ) -> None:  # fmt: skip
        """Add a mutant of the assertion that ends at ``at``."""
        self.count += 1
        place = Place(min([order or at, at, *(edit[0] for edit in edits)]), None if self.looped else at, row)
        self.mutant(place, choices, *edits, value=value, weak=weak)

    def _literal(
        self, at: int, node: "Node", row: int | None = None, tolerance: Tolerance = None, *, part: bool = False
    ) -> None:
        """Find the mutant of one literal: far from what it is, where there is a tolerance or it is a ``part``."""
        value, start = value_of(node), node.start_byte
        others = strange(value) if part else near(value, self.words) if tolerance is None else far(value, tolerance)
        choices = [repr(other) for other in others]
        if choices and start in self.hidden:
            self._mutate(at, choices, value=self.hidden[start], row=row, order=start)
        elif choices:
            self._mutate(at, choices, (start, node.end_byte, "$choice$"), row=row)

    def _equal(self, at: int, sides: Sequence["Node"], tolerance: Tolerance = None) -> None:
        """Find the mutants of two sides that have to be equal, but for a tolerance."""
        for side in sides:
            tolerance = tolerance_of(side) if tolerance is None else tolerance
        for side in reversed(sides):
            if side.type == "identifier" and self._named(at, side, tolerance):
                return
            found = literals(side)
            for node in some(found):
                self._literal(at, node, tolerance=tolerance)
            if not found and text_of(side) in EMPTY:
                self._mutate(at, EMPTY[text_of(side)], (side.start_byte, side.end_byte, "$choice$"))
                return
            if found:
                return
        before = self.count
        known = [side for side in reversed(sides) if names_in(side) <= self.known_names]
        for side in known:  # what is put in decides what comes out, where the patch does not compute it
            for node in some(constants(side)):
                self._literal(at, node, tolerance=tolerance)
            if self.count > before:
                return
        # The side that is computed without the code under test, if there is one: else nothing of it would be compared.
        side = (*known, sides[-1])[0]
        start, end = side.start_byte, side.end_byte
        number = self.value("0", (start, start, '$change$("$token$", '), (end, end, ")"))
        self._mutate(at, ["1"], value=number, weak=True)  # who reads the text can try the call

    def _named(self, at: int, name: "Node", tolerance: Tolerance) -> bool:
        """Find the mutants of a name's value, where it is written out; return whether there are some.

        A name that is used for something else too would change both sides of the comparison.
        """
        before, text = self.count, text_of(name)
        if self.uses.count(text) > (1 if text in self.columns else 2):
            return False
        if text in self.columns:
            for number, row in enumerate(self.rows):
                for node in some(literals(cell(row, self.columns, text))):
                    self._literal(at, node, number, tolerance)
        else:
            for value in some(bound(text, self.bodies, name.start_point.row)):
                for node in some(literals(value)):
                    self._literal(at, node, tolerance=tolerance)
        return self.count > before

    def condition(self, at: int, test: "Node") -> None:
        """Find the mutants of something that has to be true."""
        start = test.start_byte
        if test.type == "boolean_operator" and text_of(field(test, "operator")) == "and":
            for name in ("left", "right"):
                if (part := plain(field(test, name))) is not None:
                    self.condition(at, part)
            return
        if test.type == "comparison_operator" and self._comparison(at, test):
            return
        operand = field(test, "argument")
        if test.type == "not_operator" and operand is not None and operand.type != "parenthesized_expression":
            self._mutate(at, [""], (start, operand.start_byte, "$choice$"))
            return
        args = arguments(test)
        if called(test) == "isinstance" and len(args) == 2 and name_of(args[1]) in APART:
            others = [other for other in APART if other != name_of(args[1])]
            self._mutate(at, others, (args[1].start_byte, args[1].end_byte, "$choice$"))
        elif test.type in {"call", "identifier", "attribute", "subscript"}:
            asking = test.type == "call" and self._asked(at, test)
            self._mutate(at, ["not"], (start, start, "$choice$ "), weak=asking)
        else:
            self.odd.append((at, test))

    def _asked(self, at: int, call: "Node") -> bool:
        """Find the mutants of what a question is about; return whether it is one that is usually answered with yes."""
        name, args = called(call), arguments(call)
        if name == "all" and args and args[0].type in {"generator_expression", "list_comprehension"}:
            for clause in [part for part in parts(args[0]) if part.type == "for_in_clause"]:
                for node in some(
                    self._answers(clause, plain(field(args[0], "body"))) or literals(field(clause, "right")), 16
                ):
                    self._literal(at, node)
            return True
        for arg in args if name in ASKING else ():
            for node in some(literals(arg)):
                self._literal(at, node, tolerance=tolerance_of(call), part=name in LOOKING)
        return name in ASKING

    def _answers(self, clause: "Node", asked: "Node | None") -> list["Node"]:
        """Return the literals that what is computed for each element is compared with."""
        if asked is None or asked.type != "comparison_operator" or [text for _, text in _operators(asked)] != ["=="]:
            return []
        line, target, rows = asked.start_point.row, field(clause, "left"), plain(field(clause, "right"))
        sides = [text_of(side) for side in parts(asked) if side.type == "identifier"]
        values = [value for side in sides for value in taken(side, target, rows, self.bodies, line)]
        return [literal for value in values for literal in literals(value)]

    def _comparison(self, at: int, test: "Node") -> bool:
        """Find the mutants of a comparison; return whether there are some."""
        sides, operators, before = parts(test), _operators(test), self.count
        kinds = [text for _, text in operators]
        if len(sides) > 2:
            low, high, first = number_of(sides[0]), number_of(sides[-1]), self.hidden.get(sides[0].start_byte)
            if len(sides) == 3 and low is not None and high is not None and first is not None:
                empty = max(low, high) + 1 if kinds[0] in {"<", "<="} else min(low, high) - 1
                self._mutate(at, [repr(empty)], value=first)  # a range that nothing is in
            if set(kinds) == {"=="}:
                self._equal(at, sides)
        elif kinds == ["=="]:
            self._equal(at, sides)
        elif kinds == ["is"] and sides[1].type in {"true", "false"}:
            self._literal(at, sides[1])
        elif kinds and kinds[0] in COMPARISONS:
            for node in some(literals(sides[0])) if kinds == ["in"] else ():
                self._literal(at, node, part=True)
            token = operators[0][0]
            self._mutate(
                at, COMPARISONS[kinds[0]], (token.start_byte, token.end_byte, "$choice$"), weak=kinds[0] in SELDOM
            )
        return self.count > before

    def call(self, at: int, call: "Node") -> None:
        """Find the mutants of an assertion that is a call."""
        name, function, args = called(call), field(call, "function"), arguments(call)
        if EXPECTING.fullmatch(name):
            self.expectation(call)
        elif name in OPPOSITE and function is not None and function.type == "attribute":
            asking = self._asked(at, call)
            if name == "assertTrue" and args and args[0].type == "call":
                asking = self._asked(at, args[0])
            edit = (function.end_byte - len(name), function.end_byte, "$choice$")
            self._mutate(at, [OPPOSITE[name]], edit, weak=asking or name == "assertNotEqual")
        elif EQUAL.search(name) and not UNEQUAL.search(name):
            args = [arg for arg in args if arg.type != "list_splat"]
            if name.endswith(("_with", "_calls")):
                for literal in some([literal for arg in args for literal in literals(arg)]):
                    self._literal(at, literal)
            elif args:
                self._equal(at, args[:2], tolerance_of(call))

    def expectation(self, call: "Node", *, block: bool = False) -> None:
        """Find the mutants of ``raises`` and the like: nothing is expected to be raised, or something of another class.

        Both are weak: a patch that raises whatever it is asked for passes them, one that refuses everything fails them.
        """
        warns, at, args = "warns" in called(call).lower(), call.end_byte, arguments(call)
        if block and not warns:
            self._mutate(at, OPEN_CONTEXTS, (call.start_byte, at, "$choice$"), weak=True)
        if args and args[0].type in {"identifier", "attribute", "tuple"}:
            named = parts(args[0]) if args[0].type == "tuple" else [args[0]]
            classes = [getattr(builtins, name_of(name), None) for name in named if name_of(name) in BUILTINS]
            choices = [name for name in (WARNINGS if warns else ERRORS) if not _is_related(name, classes)]
            if choices:
                self._mutate(at, choices, (args[0].start_byte, args[0].end_byte, "$choice$"), weak=True)


def _operators(test: "Node") -> list[tuple["Node", str]]:
    """Return the operators of a comparison, each with how it is written."""
    return [(each, " ".join(text_of(each).split())) for each in test.children_by_field_name("operators")]


def _is_related(name: str, classes: Iterable[object]) -> bool:
    """Return whether an exception class and one of ``classes`` are derived from each other."""
    one = getattr(builtins, name)
    kinds = [kind for kind in classes if isinstance(kind, type)]
    return any(issubclass(one, kind) or issubclass(kind, one) for kind in kinds)
