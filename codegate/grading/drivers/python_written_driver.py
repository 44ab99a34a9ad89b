"""Finds what a Python test has written out: the literals of a value, the rows of a table, what a name stands for.

``python_sites_driver.py`` brings this text along.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Any

#: Context managers that are passed by an exception or a warning inside of them.
EXPECTING = re.compile(r"^(raises|warns|assertRaises|assertRaisesRegex|assertWarns|assertWarnsRegex)$")
MAKING = frozenset({"approx", "array", "dedent", "dict_", "mark_safe", "u", "b"})
MADE_OF_ALL = frozenset({"date", "datetime", "time", "timedelta"})
MOST_OF_ONE = 16


def name_of(function: Any) -> str:
    """Return the last part of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def names_in(node: Any) -> set[str]:
    """Return the names that an expression is made of, but for the classes that it makes something of."""
    made = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call) and name_of(part.func)[:1].isupper()}
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and id(part) not in made}


def literals(node: Any) -> list[Any]:
    """Return the literals that decide what ``node`` is, if it is written out: containers, and calls of one with it."""
    if isinstance(node, ast.Constant):
        return [] if node.value is Ellipsis or type(node.value) is complex else [node]
    if isinstance(node, ast.UnaryOp):
        return literals(node.operand) if not isinstance(node.op, ast.Not) else []
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [found for part in node.elts for found in literals(part)]
    if isinstance(node, ast.Dict):
        return [found for part in (*node.keys, *node.values) if part is not None for found in literals(part)]
    if isinstance(node, ast.Call) and not any(isinstance(arg, ast.Starred) for arg in node.args):
        name = name_of(node.func)
        if name[:1].isupper() or name in MADE_OF_ALL:
            parts = [*node.args, *(word.value for word in node.keywords)]
            return [found for part in parts for found in literals(part)]
        # What another function makes of it is not for the test to say.
        return literals(node.args[0]) if node.args and (name in MAKING or hasattr(builtins, name)) else []
    return []


def constants(node: Any) -> list[Any]:
    """Return every literal below ``node`` that can stand for another: no place in a sequence, no key."""
    found: list[Any] = []
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, ast.Constant) and type(part.value) in (int, float, str, bytes):
            found.append(part)
        elif isinstance(part, ast.Subscript):
            todo.append(part.value)
        elif not isinstance(part, ast.JoinedStr):
            todo.extend(ast.iter_child_nodes(part))
    return sorted(found, key=lambda literal: (literal.lineno, literal.col_offset))


def some(found: list[Any]) -> list[Any]:
    """Return not too many of what was found, from its beginning to its end."""
    step = max((len(found) - 1) / (MOST_OF_ONE - 1), 1.0)
    return [found[round(number * step)] for number in range(min(len(found), MOST_OF_ONE))]


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
            found += [(node.lineno, value) for value in taken(name, node.target, node.iter, bodies, node.lineno)]
    return [value for _, value in sorted(found, key=lambda entry: -entry[0])]


def taken(name: str, target: Any, rows: Any, bodies: list[list[Any]], line: int) -> list[Any]:
    """Return what ``name`` is in turn: a part of ``target``, of each of the ``rows`` that are written out."""
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    names = [to.id if isinstance(to, ast.Name) else "" for to in targets]
    if name not in names:
        return []
    pairs = isinstance(rows, ast.Call) and isinstance(rows.func, ast.Attribute) and rows.func.attr == "items"
    table = rows.func.value if pairs else rows
    if isinstance(table, ast.Name) and table.id != name:
        table = next(iter(bound(table.id, bodies, line)), None)
    if pairs and isinstance(table, ast.Dict):
        found = (table.keys, table.values)[names.index(name)] if len(names) == 2 else []
    else:
        found = [] if pairs else [cell(row, names, name) for row in getattr(table, "elts", [])]
    return [value for value in found if value is not None]
