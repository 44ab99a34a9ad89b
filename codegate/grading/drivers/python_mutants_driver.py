"""Finds how an assertion of a Python test can be made to expect something else.

``python_sites_driver.py`` brings this text along. A mutant changes data, or inverts the question. Where an expected
value is written out decides what is changed: in the assertion, where its name was bound, or in the row of a
parametrized test. No right answer passes a mutant, though it may have more than a test looks for, raise what is of two
classes, or be anywhere within a tolerance.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from codegate.grading.drivers.python_tolerance_driver import number_of, tolerance_of
from codegate.grading.drivers.python_written_driver import (
    EXPECTING,
    bound,
    cell,
    constants,
    literals,
    name_of,
    names_in,
    rows_of,
    some,
    taken,
)
from codegate.languages.values import far, near, strange

#: Methods of unittest and of mocks with the one that holds exactly when it does not.
OPPOSITE = {
    "assertTrue": "assertFalse", "assertFalse": "assertTrue", "assertIn": "assertNotIn", "assertNotIn": "assertIn",
    "assertIs": "assertIsNot", "assertIsNot": "assertIs", "assertIsNone": "assertIsNotNone",
    "assertIsNotNone": "assertIsNone", "assertGreater": "assertLessEqual", "assertLessEqual": "assertGreater",
    "assertLess": "assertGreaterEqual", "assertGreaterEqual": "assertLess", "assertNotEqual": "assertEqual",
    "assertIsInstance": "assertNotIsInstance", "assertNotIsInstance": "assertIsInstance",
    "assertRegex": "assertNotRegex", "assertNotRegex": "assertRegex",
    "assert_called": "assert_not_called", "assert_called_once": "assert_not_called",
    "assert_not_called": "assert_called",
}  # fmt: skip
#: How an operator is written, and what does not hold where it does.
OPERATORS = {
    ast.NotEq: (rb"!=", ["=="]), ast.Eq: (rb"==", ["!="]), ast.Lt: (rb"<", [">=", ">"]), ast.GtE: (rb">=", ["<"]),
    ast.Gt: (rb">", ["<=", "<"]), ast.LtE: (rb"<=", [">"]), ast.In: (rb"\bin\b", ["not in"]),
    ast.NotIn: (rb"\bnot\s+in\b", ["in"]), ast.Is: (rb"\bis\b", ["is not"]), ast.IsNot: (rb"\bis\s+not\b", ["is"]),
}  # fmt: skip
#: How empty containers are written, and what has something in it.
EMPTY = {"[]": ["[0]", "['']"], "()": ["(0,)", "('',)"], "{}": ["{0: 0}", "{'': ''}"]}
EQUAL = re.compile(r"equal|same|close|assertCountEqual|_with$|_calls$", re.IGNORECASE)
UNEQUAL = re.compile(r"not|un(?=equal)", re.IGNORECASE)
#: Classes that no exception or warning is of beside another one.
ERRORS = ("ArithmeticError", "EOFError", "BufferError", "OSError", "RuntimeError", "ReferenceError")
WARNINGS = ("ImportWarning", "SyntaxWarning", "BytesWarning", "UnicodeWarning", "ResourceWarning")
#: Classes of which no value is of two.
APART = ("int", "float", "str", "bytes", "list", "dict", "tuple", "set")
#: Contexts that wait for no exception.
OPEN_CONTEXTS = ("open(__file__)", "memoryview(b'')")
#: Questions whose usual answer is yes: what they ask for is changed, since "not" alone tells what stood there.
ASKING = frozenset({"startswith", "endswith", "isclose", "search", "match", "fullmatch", "assertIn", "assertRegex"})

#: Those of them that are about a part of something: there may be more in it than a test looks for.
LOOKING = frozenset({"search", "match", "assertIn", "assertRegex"})


class Mutants:
    """Finds the mutants of one test function.

    Args:
        file: the file and what was found in it; see ``python_sites_driver.File``.
        tree: the module.
        function: the test.
        words: what the texts of the file are made of.
        known: names that are not of the code under test.
    """

    def __init__(self, file: Any, tree: Any, function: Any, words: list[str], known: set[str]) -> None:
        self.file, self.words, self.known = file, words, known
        self.names, self.rows = rows_of(function)
        self.bodies = [function.body, [node for node in tree.body if isinstance(node, ast.Assign)]]
        self.count = 0
        self.looped = False  # what stands in a loop may be passed before it fails
        self.swallowed = False  # what fails here need not fail the test
        self.odd: list[tuple[int, list[list[Any]], list[str]]] = []  # changes that no author would write
        self.uses = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]

    def add(
        self, at: int, edits: list[list[Any]], choices: list[str], value: Any = None, row: Any = None, **more: Any
    ) -> None:
        """Add a mutant of the assertion that ends at ``at``."""
        self.count += 1
        order = min([at, *(edit[0] for edit in edits)])
        self.file.add(
            kind="mutant", test=self.file.test, order=order, assertion=None if self.looped else at, edits=edits,
            choices=choices, value=value, row=row, **more,
        )  # fmt: skip

    def literal(self, at: int, node: Any, row: Any = None, tolerance: Any = None, *, part: bool = False) -> None:
        """Find the mutant of one literal: far from what it is, where there is a tolerance or it is a ``part``."""
        start = self.file.start(node)
        if part:
            choices = strange(node.value)
        elif tolerance is None:
            choices = near(node.value, self.words)
        else:
            choices = far(node.value, tolerance)
        if not choices:
            return
        texts = [repr(choice) for choice in choices]
        if start in self.file.hidden:
            self.add(at, [], texts, self.file.hidden[start], row)
            self.file.found[-1]["order"] = min(at, start)
        else:
            self.add(at, [[start, self.file.end(node), "$choice$"]], texts, None, row)

    def operator(self, at: int, sides: list[Any], kind: Any) -> bool:
        """Find the mutant of an operator between two sides; return whether it is there."""
        pattern, opposites = OPERATORS[kind]
        start, end = self.file.end(sides[0]), self.file.start(sides[1])
        found = re.search(pattern, self.file.data[start:end])
        # Few ask whether things are equal that differ in what they are given.
        asking = kind in (ast.In, ast.NotIn, ast.NotEq)
        for node in some(literals(sides[0])) if kind is ast.In else ():
            self.literal(at, node, part=True)
        if found is not None:
            self.add(at, [[start + found.start(), start + found.end(), "$choice$"]], opposites, weak=asking)
        return found is not None

    def equal(self, at: int, sides: list[Any], tolerance: Any = None) -> None:
        """Find the mutants of two sides that have to be equal, but for a tolerance."""
        for side in sides:
            tolerance = tolerance_of(side) if tolerance is None else tolerance
        for side in reversed(sides):
            if isinstance(side, ast.Name) and self.named(at, side, tolerance):
                return
            found = literals(side)
            for node in some(found):
                self.literal(at, node, tolerance=tolerance)
            if not found and self.file.text_of(side) in EMPTY:
                start, end = self.file.start(side), self.file.end(side)
                self.add(at, [[start, end, "$choice$"]], EMPTY[self.file.text_of(side)])
                return
            if found:
                return
        before = self.count
        for side in reversed(sides):  # what is put in decides what comes out, where the patch does not compute it
            for node in some(constants(side) if names_in(side) <= self.known else []):
                self.literal(at, node, tolerance=tolerance)
            if self.count > before:
                return
        # The side that is computed without the code under test, if there is one: else nothing of it would be compared.
        side = next((side for side in reversed(sides) if names_in(side) <= self.known), sides[-1])
        start, end = self.file.start(side), self.file.end(side)
        number = self.file.value([[start, start, '$change$("$token$", '], [end, end, ")"]], "0")
        self.add(at, [], ["1"], number, weak=True)  # who reads the text can try the call

    def bound(self, name: Any) -> list[Any]:
        """Return the expressions that a name may stand for."""
        return bound(name.id, self.bodies, name.lineno)

    def named(self, at: int, name: Any, tolerance: Any = None) -> bool:
        """Find the mutants of a name's value, where it is written out; return whether there are some.

        A name that is used for something else too would change both sides of the comparison.
        """
        before = self.count
        if self.uses.count(name.id) > (1 if name.id in self.names else 2):
            return False
        if name.id in self.names:
            for number, row in enumerate(self.rows):
                found = literals(cell(row, self.names, name.id))
                for node in some(found):
                    self.literal(at, node, number, tolerance)
        else:
            for value in some(self.bound(name)):
                for node in some(literals(value)):
                    self.literal(at, node, tolerance=tolerance)
        return self.count > before

    def of_assert(self, node: Any) -> None:
        """Find the mutants of an ``assert``."""
        self.of_condition(self.file.end(node), node.test)

    def of_condition(self, at: int, test: Any) -> None:
        """Find the mutants of something that has to be true."""
        start, end = self.file.start(test), self.file.end(test)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for part in test.values:
                self.of_condition(at, part)
            return
        if isinstance(test, ast.Compare) and self.of_compare(at, test):
            return
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.file.start(test.operand)
            if self.file.data[start:inner].strip() == b"not":
                self.add(at, [[start, inner, "$choice$"]], [""])
                return
        if isinstance(test, ast.Call) and name_of(test.func) == "isinstance" and len(test.args) == 2:
            kind = name_of(test.args[1])
            if kind in APART:
                at_kind = [self.file.start(test.args[1]), self.file.end(test.args[1]), "$choice$"]
                self.add(at, [at_kind], [other for other in APART if other != kind])
                return
        if isinstance(test, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
            asking = isinstance(test, ast.Call) and self.asked(at, test)
            self.add(at, [[start, start, "$choice$ "]], ["not"], weak=asking)
            return
        self.odd.append((at, [[start, start, "$choice$ ("], [end, end, ")"]], ["not"]))

    def asked(self, at: int, call: Any) -> bool:
        """Find the mutants of what a question is about; return whether it is one that is usually answered with yes."""
        name = name_of(call.func)
        if name == "all" and call.args and isinstance(call.args[0], (ast.GeneratorExp, ast.ListComp)):
            for generator in call.args[0].generators:
                for node in some(self.answers(generator, call.args[0].elt) or literals(generator.iter)):
                    self.literal(at, node)
            return True
        for arg in call.args if name in ASKING else ():
            for node in some(literals(arg)):
                self.literal(at, node, tolerance=tolerance_of(call), part=name in LOOKING)
        return name in ASKING

    def answers(self, generator: Any, asked: Any) -> list[Any]:
        """Return the literals that what is computed for each element is compared with."""
        if not (isinstance(asked, ast.Compare) and len(asked.ops) == 1 and isinstance(asked.ops[0], ast.Eq)):
            return []
        sides = [side for side in (asked.left, asked.comparators[0]) if isinstance(side, ast.Name)]
        line = asked.lineno
        values = [one for side in sides for one in taken(side.id, generator.target, generator.iter, self.bodies, line)]
        return [literal for value in values for literal in literals(value)]

    def of_compare(self, at: int, test: Any) -> bool:
        """Find the mutants of a comparison; return whether there are some."""
        sides, before = [test.left, *test.comparators], self.count
        if len(sides) > 2:
            low, high = number_of(sides[0]), number_of(sides[-1])
            first = self.file.hidden.get(self.file.start(sides[0]))
            if len(sides) == 3 and None not in (low, high, first):  # a range that nothing is in
                rising = type(test.ops[0]) in (ast.Lt, ast.LtE)
                self.add(at, [], [repr(max(low, high) + 1 if rising else min(low, high) - 1)], first)
            if all(type(op) is ast.Eq for op in test.ops):
                self.equal(at, sides)
            return self.count > before
        kind, other = type(test.ops[0]), sides[1]
        if kind is ast.Eq:
            self.equal(at, sides)
        elif kind is ast.Is and isinstance(other, ast.Constant) and type(other.value) is bool:
            self.literal(at, other)
        else:
            self.operator(at, sides, kind)
        return self.count > before

    def of_call(self, node: Any, call: Any) -> None:
        """Find the mutants of an assertion that is a call."""
        name, at = name_of(call.func), self.file.end(node)
        if EXPECTING.match(name):
            self.of_expectation(call)
        elif name in OPPOSITE and isinstance(call.func, ast.Attribute):
            end, asking = self.file.end(call.func), self.asked(at, call)
            if name == "assertTrue" and call.args and isinstance(call.args[0], ast.Call):
                asking = self.asked(at, call.args[0])
            asking = asking or name == "assertNotEqual"
            self.add(at, [[end - len(name), end, "$choice$"]], [OPPOSITE[name]], weak=asking)
        elif EQUAL.search(name) and not UNEQUAL.search(name):
            args = [arg for arg in call.args if not isinstance(arg, ast.Starred)]
            if name.endswith(("_with", "_calls")):
                for literal in some([literal for arg in args for literal in literals(arg)]):
                    self.literal(at, literal)
            elif args:
                self.equal(at, args[:2], tolerance_of(call))

    def of_expectation(self, call: Any, block: list[Any] | None = None) -> None:
        """Find the mutants of ``raises`` and the like: nothing is expected to be raised, or something of another class.

        Both are weak: a patch that raises whatever it is asked for passes them, one that refuses everything fails them.
        """
        warns = "warns" in name_of(call.func).lower()
        at = self.file.end(call)
        if block is not None and not warns:
            self.add(at, [[self.file.start(call), at, "$choice$"]], list(OPEN_CONTEXTS), weak=True)
        if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Tuple)):
            start, end = self.file.start(call.args[0]), self.file.end(call.args[0])
            named = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            classes = [getattr(builtins, name_of(name), None) for name in named]
            choices = [
                name
                for name in (WARNINGS if warns else ERRORS)
                if not any(related(getattr(builtins, name), one) for one in classes)
            ]
            if choices:
                self.add(at, [[start, end, "$choice$"]], choices, weak=True)

    def finish(self) -> None:
        """Add the mutants that can be told by their form, where there are no others."""
        if not self.count:
            for at, edits, choices in self.odd:
                self.add(at, edits, choices, weak=True)


def related(one: Any, other_class: Any) -> bool:
    """Return whether one of two exception classes is derived from the other."""
    if not isinstance(other_class, type):
        return False
    return issubclass(one, other_class) or issubclass(other_class, one)
