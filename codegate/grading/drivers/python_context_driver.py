"""Finds what a Python test file has that could stand in another place of it: names, words, calls and exceptions.

``python_sites_driver.py`` brings this text along. What a test could say instead should be what its author could have
written: an expression of its neighbours', a class that another test waits for.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from typing import Any, Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: Context managers that are passed by an exception or a warning inside of them.
EXPECTING = re.compile(r"^(raises|warns|assertRaises|assertRaisesRegex|assertWarns|assertWarnsRegex)$")
NOT_COPIED = (ast.Lambda, ast.comprehension, ast.Await, ast.Starred, ast.JoinedStr, ast.NamedExpr)
MOST_COPIES = 6


def name_of(function: Any) -> str:
    """Return the last part of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def names_in(node: Any) -> set[str]:
    """Return the names that an expression is made of."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def plain_parts(node: Any) -> Iterator[Any]:
    """Yield what a test runs as a matter of course: nothing in a block that waits for something, or may be left."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda, ast.Try, ast.If, ast.IfExp, ast.BoolOp)):
        return
    if isinstance(node, (ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While)):
        return
    if isinstance(node, ast.Call) and EXPECTING.match(name_of(node.func)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from plain_parts(child)


class Context:
    """What one test file has.

    Args:
        tree: the module.
        tests: its functions, by their names within the file.
    """

    def __init__(self, tree: Any, tests: dict[str, Any]) -> None:
        self.top: set[str] = set(dir(builtins))
        self.known: set[str] = set(dir(builtins))  # names that are not of the code under test
        imported: list[str] = []
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = getattr(node, "module", None)
                for entry in node.names:
                    name = (entry.asname or entry.name).partition(".")[0]
                    self.top.add(name)
                    imported.append(name)
                    root = (module or entry.name).partition(".")[0]
                    if not getattr(node, "level", 0) and root in getattr(sys, "stdlib_module_names", ()):
                        self.known.add(name)
            elif isinstance(node, ast.Assign):
                self.top |= {to.id for to in node.targets if isinstance(to, ast.Name)}
            elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                self.top.add(node.name)
        constants = [part.value for part in ast.walk(tree) if isinstance(part, ast.Constant)]
        texts = [text for text in constants if isinstance(text, str) and len(text) < 1000]
        self.words = sorted({word for text in texts for word in re.findall(r"[^\W\d_]{2,12}", text)})
        self.numbers = sorted({value for value in constants if type(value) is int})
        self.classes = sorted({name for name in imported if re.search("(Error|Exception|Warning)$", name)})
        self.stores: dict[Any, set[str]] = {}  # by function, what it binds
        self.calls: list[tuple[Any, Any]] = []  # with the function that they are in
        self.sides: list[tuple[Any, Any]] = []
        self.names = {test: name for name, test in tests.items()}
        for test in tests.values():
            for part in [part for statement in test.body for part in plain_parts(statement)]:
                if isinstance(part, ast.Call) and not test.decorator_list:
                    self.calls.append((part, test))
                if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
                    self.sides += [(side, test) for side in (part.left, part.comparators[0])]

    def may_stand(self, node: Any, own: Any, test: Any) -> bool:
        """Return whether an expression of the function ``own`` means the same in ``test``."""
        own_args, args = {arg.arg for arg in own.args.args}, {arg.arg for arg in test.args.args}
        shared = set() if own.decorator_list or test.decorator_list else own_args & args - {"self"}
        bound, here = self.stored(own), self.stored(test)
        free = names_in(node) - ((self.top - own_args - args) | shared)
        inner = any(isinstance(part, NOT_COPIED) for part in ast.walk(node))
        doubled = any("mock" in name.lower() for name in names_in(node))
        return (
            not free
            and not doubled
            and not (names_in(node) & (bound | here))
            and not inner
            and node.lineno == node.end_lineno
        )

    def stored(self, function: Any) -> set[str]:
        """Return the names that a function binds."""
        if function not in self.stores:
            names = [part for part in ast.walk(function) if isinstance(part, ast.Name)]
            self.stores[function] = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        return self.stores[function]

    def other_calls(self, call: Any, test: Any) -> list[tuple[Any, str]]:
        """Return calls of the same function with other arguments that tests make as a matter of course.

        With each comes the name of the test that makes it, if ``call`` could stand there; else an empty text.
        """
        function, whole = ast.dump(call.func), ast.dump(call)
        return [
            (node, self.names[own] if self.may_stand(call, test, own) else "")
            for node, own in self.calls
            if ast.dump(node.func) == function and ast.dump(node) != whole and self.may_stand(node, own, test)
        ][:MOST_COPIES]

    def other_sides(self, sides: list[Any], test: Any) -> list[Any]:
        """Return what tests compare that is computed by none of the functions that ``sides`` are computed by."""
        called = {name_of(part.func) for side in sides for part in ast.walk(side) if isinstance(part, ast.Call)}
        return [
            node
            for node, own in self.sides
            if isinstance(node, ast.Call)
            and name_of(node.func) not in {*called, "approx"}
            and self.may_stand(node, own, test)
        ][:MOST_COPIES]

    def is_known(self, node: Any) -> bool:
        """Return whether an expression is made without the code under test, but for what its classes construct."""
        made = {
            part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        return all(name in self.known or (name in made and name[:1].isupper()) for name in names_in(node))
