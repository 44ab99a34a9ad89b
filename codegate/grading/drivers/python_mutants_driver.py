"""Finds how an assertion of a Python test can be made to expect something else.

``python_sites_driver.py`` brings this text along. A mutant must not look like
one: it changes data, or says the opposite in words that an author could have chosen. So where an expected value is
written out decides what is changed: in the assertion, where its name was bound, or in the row of a parametrized test.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

from codegate.grading.drivers.python_context_driver import EXPECTING, Context, name_of
from codegate.grading.drivers.python_tolerance_driver import number_of, tolerance_of
from codegate.grading.drivers.python_values_driver import far, near, near_texts
from codegate.grading.drivers.python_ways_driver import constants, other_ways, pieces
from codegate.grading.drivers.python_written_driver import bound, cell, lists, literals, rows_of, some, taken

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
#: The other way round is written as often.
MIRRORED = {"assertGreater": "assertLess", "assertLess": "assertGreater"}
#: How an operator is written, and what does not hold where it does.
OPERATORS = {
    ast.NotEq: (rb"!=", ["=="]), ast.Eq: (rb"==", ["!="]), ast.Lt: (rb"<", [">=", ">"]), ast.GtE: (rb">=", ["<"]),
    ast.Gt: (rb">", ["<=", "<"]), ast.LtE: (rb"<=", [">"]), ast.In: (rb"\bin\b", ["not in"]),
    ast.NotIn: (rb"\bnot\s+in\b", ["in"]), ast.Is: (rb"\bis\b", ["is not"]), ast.IsNot: (rb"\bis\s+not\b", ["is"]),
}  # fmt: skip
EQUAL = re.compile(r"equal|same|close|assertCountEqual|_with$|_calls$", re.IGNORECASE)
UNEQUAL = re.compile(r"not|un(?=equal)", re.IGNORECASE)
ERRORS = (
    "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "RuntimeError", "OSError", "LookupError",
    "ArithmeticError", "NotImplementedError",
)  # fmt: skip
WARNINGS = ("UserWarning", "DeprecationWarning", "RuntimeWarning", "FutureWarning", "ImportWarning", "SyntaxWarning")
#: Classes of which no value is of two.
APART = ("int", "float", "str", "bytes", "list", "dict", "tuple", "set")
#: Contexts that wait for no exception.
OPEN_CONTEXTS = ("open(__file__)", "memoryview(b'')")
MOST_KEPT = 3
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
        context: what the file has.
    """

    def __init__(self, file: Any, tree: Any, function: Any, context: Context) -> None:
        self.file, self.function, self.context = file, function, context
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

    def literal(self, at: int, node: Any, row: Any = None, tolerance: Any = None, **more: Any) -> None:
        """Find the mutant of one literal: far from what it is, where there is a tolerance."""
        start = self.file.start(node)
        if tolerance is None:
            choices = near(node.value, self.context.words, self.context.numbers)
        else:
            choices = far(node.value, tolerance)
        if not choices:
            return
        if start in self.file.hidden:
            self.add(at, [], choices, self.file.hidden[start], row, **more)
            self.file.found[-1]["order"] = min(at, start)
        else:
            self.add(at, [[start, self.file.end(node), "$choice$"]], choices, None, row, **more)

    def operator(self, at: int, sides: list[Any], kind: Any) -> bool:
        """Find the mutant of an operator between two sides; return whether it is there."""
        pattern, opposites = OPERATORS[kind]
        start, end = self.file.end(sides[0]), self.file.start(sides[1])
        found = re.search(pattern, self.file.data[start:end])
        # Few ask whether things are equal that differ in what they are given.
        asking = kind in (ast.In, ast.NotIn, ast.NotEq)
        for node in some(literals(sides[0])) if kind is ast.In else ():
            self.literal(at, node, loose=True)
        if found is not None:
            self.add(at, [[start + found.start(), start + found.end(), "$choice$"]], opposites, weak=asking)
        return found is not None

    def equal(self, at: int, sides: list[Any], tolerance: Any = None, *, ordered: bool = True) -> None:
        """Find the mutants of two sides that have to be equal, but for a tolerance."""
        for side in sides:
            tolerance = tolerance_of(side) if tolerance is None else tolerance
        for side in reversed(sides):
            if isinstance(side, ast.Name) and self.named(at, side, tolerance):
                return
            found = literals(side)
            for node in some(found):
                self.literal(at, node, tolerance=tolerance)
            if tolerance is None and ordered:
                self.kept(at, side)
            if found:
                return
        before = self.count
        for side in reversed(sides):  # what is put in decides what comes out, where that is not for the patch to say
            found = constants(side) if self.context.is_known(side) else []
            for node in some(found):
                self.literal(at, node, tolerance=tolerance)
            if self.count > before:
                return
        if tolerance is None and any(self.computed(at, side) for side in reversed(sides)):
            return
        # The side that is computed without the code under test, if there is one: else nothing of it would be compared.
        side = next((side for side in reversed(sides) if self.context.is_known(side)), sides[-1])
        values = [value for name in sides if isinstance(name, ast.Name) for value in self.bound(name)]
        copies = self.context.other_sides([*sides, *values], self.function)
        if copies:
            self.copied(at, side, copies, weak=True)  # nobody takes what another function makes for the right one
            return
        start, end = self.file.start(sides[-1]), self.file.end(sides[-1])
        number = self.file.value([[start, start, '$change$("$token$", '], [end, end, ")"]], "0")
        self.add(at, [], ["1"], number, weak=True)

    def kept(self, at: int, side: Any) -> None:
        """Find mutants that keep what a check of the answer could be about: which elements there are, or their sum."""
        for list_ in lists(side):
            elements = [node for node in list_ if self.file.start(node) in self.file.hidden]
            pairs = [(elements[number], elements[number + 1]) for number in range(len(elements) - 1)]
            pairs = [(one, other) for one, other in pairs if type(one.value) is type(other.value)]
            unequal = [(one, other) for one, other in pairs if one.value != other.value]
            for one, other in unequal[:: max(len(unequal) // MOST_KEPT, 1)][:MOST_KEPT]:
                self.pair(at, one, other, other.value, one.value)
            numbers = [(one, other) for one, other in pairs if type(one.value) in (int, float)]
            for one, other in [(one, other) for one, other in numbers if other.value - one.value != 1][-1:]:
                self.pair(at, one, other, one.value + 1, other.value - 1)

    def pair(self, at: int, one: Any, other: Any, first: Any, second: Any) -> None:
        """Add the mutant for which two literals are two others."""
        numbers = [self.file.hidden[self.file.start(node)] for node in (one, other)]
        self.add(at, [], [repr(first)], numbers[0], also=[(numbers[1], repr(second))])

    def is_settled(self, node: Any, depth: int = 3) -> bool:
        """Return whether an expression is computed by nothing but the standard library, out of what the test has."""
        parts = list(ast.walk(node))
        own = {part.arg for part in parts if isinstance(part, ast.arg)}
        own |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        known = self.context.known | own
        unknown = [part for part in parts if isinstance(part, ast.Name) and part.id not in known]
        values = [
            [cell(row, self.names, name.id) for row in self.rows] if name.id in self.names else self.bound(name)
            for name in unknown
        ]
        return not values or (
            depth > 0 and all(found and all(self.is_settled(one, depth - 1) for one in found) for found in values)
        )

    def computed(self, at: int, node: Any) -> bool:
        """Find the mutants of how something is computed; return whether there are some.

        The text itself says something else then: what is wrapped in a call can be unwrapped by who reads it.
        """
        if isinstance(node, ast.Name):
            values = self.bound(node)[:1] if self.uses.count(node.id) <= 2 else []
            return any(self.computed(at, value) for value in values if not isinstance(value, ast.Name))
        before = self.count
        if self.is_settled(node):
            for edit, choices, weak in other_ways(node, self.file):
                self.add(at, [edit], choices, weak=weak)
            for literal in some(constants(node)):
                self.literal(at, literal)
            for start, end, text in pieces(node, self.file):
                choices = [one for one in near_texts(text, self.context.words) if not re.search(r"[{}\\'\"\n]", one)]
                if choices:
                    self.add(at, [[start, end, "$choice$"]], choices)
        return self.count > before

    def bound(self, name: Any) -> list[Any]:
        """Return the expressions that a name may stand for."""
        return bound(name.id, self.bodies, name.lineno)

    def copied(self, at: int, node: Any, others: list[Any], **more: Any) -> None:
        """Find the mutant for which what another place of the file says takes the place of ``node``."""
        choices = ["$copy$%d-%d" % (self.file.start(one), self.file.end(one)) for one in others]
        self.add(at, [[self.file.start(node), self.file.end(node), "$choice$"]], choices, **more)

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
                self.literal(at, node, tolerance=tolerance_of(call), loose=name in LOOKING)
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
            first, last = (self.file.hidden.get(self.file.start(side)) for side in (sides[0], sides[-1]))
            if len(sides) == 3 and None not in (low, high, first, last):  # another range of the same width
                step = abs(high - low) + 1
                for move in (step, -step):
                    self.add(at, [], [repr(low + move)], first, also=[(last, repr(high + move))])
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
            choices = [OPPOSITE[name], *([MIRRORED[name]] if name in MIRRORED else [])]
            asking = asking or name == "assertNotEqual"
            self.add(at, [[end - len(name), end, "$choice$"]], choices, weak=asking)
        elif EQUAL.search(name) and not UNEQUAL.search(name):
            args = [arg for arg in call.args if not isinstance(arg, ast.Starred)]
            if name.endswith(("_with", "_calls")):
                for literal in some([literal for arg in args for literal in literals(arg)]):
                    self.literal(at, literal)
            elif args:
                self.equal(at, args[:2], tolerance_of(call), ordered=name != "assertCountEqual")

    def of_expectation(self, call: Any, block: list[Any] | None = None) -> None:
        """Find the mutants of ``raises`` and its kin.

        A call that other tests make, and that raises nothing, takes the place of the one that does. Where there is
        none, another class is waited for, which is no kin of the right one, or nothing is.
        """
        warns = "warns" in name_of(call.func).lower()
        at = self.file.end(call)
        if block is not None and not warns:
            made = getattr(block[-1], "value", None) if len(block) == 1 else None
            others = self.context.other_calls(made, self.function) if isinstance(made, ast.Call) else []
            if others and made is not None and made.lineno == made.end_lineno:
                exchanged = [(other, donor) for other, donor in others if donor] or others
                copies, donors = [other for other, _ in exchanged], [donor for _, donor in exchanged]
                # A call that stands twice can be told by that.
                self.copied(at, made, copies, donors=donors, weak=not any(donors))
                if any(donors):
                    # It alone asks for the right answer: who raises whatever is waited for passes all others.
                    return
            self.add(at, [[self.file.start(call), at, "$choice$"]], list(OPEN_CONTEXTS), weak=True)
        if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Tuple)):
            start, end = self.file.start(call.args[0]), self.file.end(call.args[0])
            named = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            classes = [getattr(builtins, name_of(name), None) for name in named]
            possible = WARNINGS if warns else ERRORS
            choices = [name for name in possible if not any(kin(getattr(builtins, name), one) for one in classes)]
            own = {name_of(name) for name in named}
            choices += [
                name
                for name in self.context.classes
                if name not in own and name not in possible and warns == name.endswith("Warning")
            ]
            if choices:
                self.add(at, [[start, end, "$choice$"]], choices, loose=True, weak=True)

    def finish(self) -> None:
        """Add the mutants that can be told by their form, where there are no others."""
        if not self.count:
            for at, edits, choices in self.odd:
                self.add(at, edits, choices, weak=True)


def kin(one: Any, other_class: Any) -> bool:
    """Return whether one of two exception classes is the other's."""
    if not isinstance(other_class, type):
        return False
    return issubclass(one, other_class) or issubclass(other_class, one)
