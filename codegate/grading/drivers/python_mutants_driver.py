"""Finds how an assertion of a Python test can be made to expect something else.

``python_sites_driver.py`` brings this text along. A mutant must not look like
one: it changes data, or says the opposite in words that an author could have chosen. So where an expected value is
written out decides what is changed: in the assertion, where its name was bound, or in the row of a parametrized test.
"""

from __future__ import annotations

import ast
import builtins
import random
import re
from typing import Any

#: Context managers that are passed by an exception or a warning inside of them.
EXPECTING = re.compile(r"^(raises|warns|assertRaises|assertRaisesRegex|assertWarns|assertWarnsRegex)$")
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
OPERATORS = {
    ast.NotEq: (rb"!=", "=="), ast.Eq: (rb"==", "!="), ast.Lt: (rb"<", ">="), ast.GtE: (rb">=", "<"),
    ast.Gt: (rb">", "<="), ast.LtE: (rb"<=", ">"), ast.In: (rb"\bin\b", "not in"), ast.NotIn: (rb"\bnot\s+in\b", "in"),
    ast.Is: (rb"\bis\b", "is not"), ast.IsNot: (rb"\bis\s+not\b", "is"),
}  # fmt: skip
EQUAL = re.compile(r"equal|same|close|assertCountEqual|_with$|_calls$", re.IGNORECASE)
UNEQUAL = re.compile(r"not|un(?=equal)", re.IGNORECASE)
ERRORS = (
    "ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "RuntimeError", "OSError", "LookupError",
    "ArithmeticError", "NotImplementedError",
)  # fmt: skip
WARNINGS = ("UserWarning", "DeprecationWarning", "RuntimeWarning", "FutureWarning", "ImportWarning", "SyntaxWarning")
MOST_CHOICES = 8
MOST_OF_ONE = 4


def name_of(function: Any) -> str:
    """Return the last part of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


# --- values -----------------------------------------------------------------------------------------------------------


def near(value: Any) -> list[str]:
    """Return other values of the same kind, as near as an honest mistake is."""
    found: list[Any]
    if value is None:
        found = [False, 0, ""]
    elif type(value) is bool:
        found = [not value]
    elif type(value) is int:
        found = [value + 1, value - 1, value + 2, value - 2, value + 10, 2 * value + 3, -value]
    elif type(value) is float:
        found = [value + 1.0, value - 1.0, 2.0 * value + 1.0, value + 10.0, -value]
    elif isinstance(value, bytes):
        found = [entry.encode("latin-1") for entry in near_texts(value.decode("latin-1"))]
    else:
        found = near_texts(value)
    return [repr(entry) for entry in found if repr(entry) != repr(value)][:MOST_CHOICES]


def near_texts(text: str) -> list[str]:
    """Return texts that differ from ``text`` in one character: another, one more, one less, another case."""
    kinds: dict[str, list[str]] = {}
    for at in random.sample(range(len(text)), min(len(text), 50)):
        letter, before, after = text[at], text[:at], text[at + 1 :]
        kinds.setdefault("another" if letter.isalnum() else "another sign", []).append(before + other(letter) + after)
        kinds.setdefault("length", []).append(before + random.choice([letter + letter, ""]) + after)
        if letter.swapcase() != letter:
            kinds.setdefault("case", []).append(before + letter.swapcase() + after)
    # As many of each kind: what comes out right but for its punctuation is told by no letter.
    return [entry for found in kinds.values() for entry in found[:2]] or ["x", " "]


def other(letter: str) -> str:
    """Return another character of the same sort."""
    for kind in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", " -_.,:;/"):
        if letter in kind:
            return random.choice(kind.replace(letter, ""))
    return "x" if ord(letter) < 0x80 else "é"


def literals(node: Any) -> list[Any]:
    """Return the literals that decide what ``node`` is, if it is written out: containers, and calls of one with it."""
    if isinstance(node, ast.Constant):
        return [] if node.value is Ellipsis or type(node.value) is complex else [node]
    if isinstance(node, ast.UnaryOp):
        return literals(node.operand) if not isinstance(node.op, ast.Not) else []
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [found for part in node.elts for found in literals(part)]
    if isinstance(node, ast.Dict):
        return [found for part in node.values for found in literals(part)]
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], ast.Starred):
        return literals(node.args[0])
    return []


def constants(node: Any) -> list[Any]:
    """Return every literal below ``node`` that can stand for another."""
    found: list[Any] = []
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Constant) and type(part.value) in (int, float, str, bytes):
            found.append(part)
        elif not isinstance(part, ast.JoinedStr):
            todo.extend(ast.iter_child_nodes(part))
    return sorted(found, key=lambda literal: (literal.lineno, literal.col_offset))


# --- where a name has its value from ----------------------------------------------------------------------------------


def rows_of(function: Any) -> tuple[list[str], list[Any]]:
    """Return the argument names and the rows of a test that is parametrized once."""
    found = [
        call
        for call in function.decorator_list
        if isinstance(call, ast.Call) and name_of(call.func) == "parametrize" and len(call.args) >= 2
    ]
    if len(found) != 1 or not isinstance(found[0].args[1], (ast.List, ast.Tuple)):
        return [], []
    given = found[0].args[0]
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        names = [name.strip() for name in given.value.split(",") if name.strip()]
    else:
        names = [str(part.value) for part in getattr(given, "elts", ()) if isinstance(part, ast.Constant)]
    rows = found[0].args[1].elts
    return (names, rows) if names and not any(isinstance(row, ast.Starred) for row in rows) else ([], [])


def cell(row: Any, names: list[str], name: str) -> Any:
    """Return what a row has for an argument."""
    if isinstance(row, ast.Call) and name_of(row.func) == "param":
        parts = row.args
    elif len(names) > 1:
        parts = getattr(row, "elts", [])
    else:
        parts = [row]
    return parts[names.index(name)] if len(parts) == len(names) else None


def bound(name: str, bodies: list[list[Any]], line: int) -> list[Any]:
    """Return the expressions that ``name`` may have been bound to before ``line``, the nearest first."""
    found: list[tuple[int, Any]] = []
    for node in (part for body in bodies for statement in body for part in ast.walk(statement)):
        if isinstance(node, ast.Assign) and node.lineno < line:
            found += [(node.lineno, node.value) for to in node.targets if isinstance(to, ast.Name) and to.id == name]
        elif isinstance(node, (ast.For, ast.AsyncFor)) and node.lineno < line:
            targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
            names = [to.id if isinstance(to, ast.Name) else "" for to in targets]
            if name in names:
                rows = [node.iter]
                if isinstance(node.iter, ast.Name) and node.iter.id != name:
                    rows = bound(node.iter.id, bodies, node.lineno)[:1]
                for row in getattr(rows[0] if rows else None, "elts", []):
                    value = cell(row, names, name)
                    if value is not None:
                        found.append((node.lineno, value))
    return [value for _, value in sorted(found, key=lambda entry: -entry[0])]


# --- mutants ----------------------------------------------------------------------------------------------------------


class Mutants:
    """Finds the mutants of one test function.

    Args:
        file: the file and what was found in it; see ``python_sites_driver.File``.
        tree: the module.
        function: the test.
    """

    def __init__(self, file: Any, tree: Any, function: Any) -> None:
        self.file, self.function = file, function
        self.names, self.rows = rows_of(function)
        self.bodies = [function.body, [node for node in tree.body if isinstance(node, ast.Assign)]]
        self.count = 0
        self.looped = False  # what stands in a loop may be passed before it fails
        self.swallowed = False  # what fails here need not fail the test
        self.uses = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]

    def add(self, at: int, edits: list[list[Any]], choices: list[str], value: Any = None, row: Any = None) -> None:
        """Add a mutant of the assertion that ends at ``at``."""
        self.count += 1
        order = min([at, *(edit[0] for edit in edits)])
        self.file.add(
            kind="mutant", test=self.file.test, order=order, assertion=None if self.looped else at, edits=edits,
            choices=choices, value=value, row=row,
        )  # fmt: skip

    def literal(self, at: int, node: Any, row: Any = None) -> None:
        """Find the mutant of one literal."""
        start, choices = self.file.start(node), near(node.value)
        if start in self.file.hidden:
            self.add(at, [], choices, self.file.hidden[start], row)
            self.file.found[-1]["order"] = min(at, start)
        else:
            self.add(at, [[start, self.file.end(node), "$choice$"]], choices, None, row)

    def operator(self, at: int, sides: list[Any], kind: Any) -> bool:
        """Find the mutant of an operator between two sides; return whether it is there."""
        pattern, opposite = OPERATORS[kind]
        start, end = self.file.end(sides[0]), self.file.start(sides[1])
        found = re.search(pattern, self.file.data[start:end])
        if found is not None:
            self.add(at, [[start + found.start(), start + found.end(), "$choice$"]], [opposite])
        return found is not None

    def equal(self, at: int, sides: list[Any], operator: Any = None) -> None:
        """Find the mutants of two sides that have to be equal."""
        for side in reversed(sides):
            if isinstance(side, ast.Name) and self.named(at, side):
                return
            found = literals(side)
            for node in found[-MOST_OF_ONE:]:
                self.literal(at, node)
            if found:
                return
        for side in reversed(sides):  # what is put in decides what comes out
            found = constants(side)
            for node in found[-MOST_OF_ONE:]:
                self.literal(at, node)
            if found:
                return
        start, end = self.file.start(sides[-1]), self.file.end(sides[-1])
        number = self.file.value([[start, start, '$change$("$token$", '], [end, end, ")"]], "0")
        self.add(at, [], ["1"], number)
        if operator is not None:
            self.operator(at, sides, operator)

    def named(self, at: int, name: Any) -> bool:
        """Find the mutants of a name's value, where it is written out; return whether there are some.

        A name that is used for something else too would change both sides of the comparison.
        """
        before = self.count
        if self.uses.count(name.id) > (1 if name.id in self.names else 2):
            return False
        if name.id in self.names:
            for number, row in enumerate(self.rows):
                found = literals(cell(row, self.names, name.id))
                for node in found[-MOST_OF_ONE:]:
                    self.literal(at, node, number)
        else:
            for value in bound(name.id, self.bodies, name.lineno)[:MOST_OF_ONE]:
                for node in literals(value)[-MOST_OF_ONE:]:
                    self.literal(at, node)
        return self.count > before

    def of_assert(self, node: Any) -> None:
        """Find the mutants of an ``assert``."""
        test, at = node.test, self.file.end(node)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            sides, kind = [test.left, test.comparators[0]], type(test.ops[0])
            if kind is ast.Eq:
                self.equal(at, sides, kind)
                return
            if self.operator(at, sides, kind):
                return
        start, end = self.file.start(test), self.file.end(test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.file.start(test.operand)
            if self.file.data[start:inner].strip() == b"not":
                self.add(at, [[start, inner, "$choice$"]], [""])
                return
        if isinstance(test, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
            self.add(at, [[start, start, "$choice$ "]], ["not"])
            return
        self.add(at, [[start, start, "$choice$ ("], [end, end, ")"]], ["not"])

    def of_call(self, node: Any, call: Any) -> None:
        """Find the mutants of an assertion that is a call."""
        name, at = name_of(call.func), self.file.end(node)
        if EXPECTING.match(name):
            self.of_expectation(call)
        elif name in OPPOSITE and isinstance(call.func, ast.Attribute):
            end = self.file.end(call.func)
            self.add(at, [[end - len(name), end, "$choice$"]], [OPPOSITE[name]])
        elif EQUAL.search(name) and not UNEQUAL.search(name):
            args = [arg for arg in call.args if not isinstance(arg, ast.Starred)]
            if name.endswith(("_with", "_calls")):
                for literal in [literal for arg in args for literal in literals(arg)][:MOST_OF_ONE]:
                    self.literal(at, literal)
            elif args:
                self.equal(at, args[:2])

    def of_expectation(self, call: Any, block: bool = False) -> None:
        """Find the mutants of ``raises`` and its kin: another class that is no kin of the right one, or no exception.

        A program that asks its caller whether to raise is told the first by the class, and the second by nothing.
        """
        if block and "warns" not in name_of(call.func).lower():
            start, end = self.file.start(call), self.file.end(call)
            self.add(end, [[start, end, "$choice$"]], ["__import__('contextlib').nullcontext()"])
        if call.args and isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Tuple)):
            start, end = self.file.start(call.args[0]), self.file.end(call.args[0])
            named = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            classes = [getattr(builtins, name_of(name), None) for name in named]
            possible = WARNINGS if "warns" in name_of(call.func).lower() else ERRORS
            choices = [name for name in possible if not any(kin(getattr(builtins, name), one) for one in classes)]
            if choices:
                self.add(self.file.end(call), [[start, end, "$choice$"]], choices)

    def of_body(self) -> None:
        """Find mutants of whatever the test is given, where its assertions have none."""
        if not self.count:
            end = self.file.end(self.function)
            for node in [found for statement in self.function.body for found in constants(statement)][-MOST_OF_ONE:]:
                if self.file.start(node) in self.file.hidden:
                    self.literal(end, node)


def kin(one: Any, other_class: Any) -> bool:
    """Return whether one of two exception classes is the other's."""
    if not isinstance(other_class, type):
        return False
    return issubclass(one, other_class) or issubclass(other_class, one)
