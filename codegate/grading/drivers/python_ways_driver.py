"""Finds other ways to compute something: what the text of a Python test could compute instead of what it does.

``python_sites_driver.py`` brings this text along.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Iterator

from codegate.grading.drivers.python_context_driver import name_of

#: Functions and methods whose result is a number.
NUMERIC = frozenset(
    {"sum", "len", "int", "float", "round", "abs", "ceil", "floor", "median", "mean", "fmean", "count", "index"}
)
#: Functions and methods that take each other's place.
SWAPPED = {
    "sum": "max", "len": "sum", "ceil": "floor", "floor": "ceil", "median": "max", "mean": "max",
    "sorted": "list",
    "max": "min", "min": "max", "any": "all", "all": "any", "upper": "lower", "lower": "upper", "lstrip": "rstrip",
    "rstrip": "lstrip", "startswith": "endswith", "endswith": "startswith", "keys": "values", "values": "keys",
}  # fmt: skip
#: Operators of numbers only: what adds texts has no opposite.
ARITHMETIC = {ast.Sub: (rb"-", "+"), ast.Mult: (rb"\*", "+"), ast.Div: (rb"/", "*"), ast.FloorDiv: (rb"//", "*")}
REPEATED = frozenset({"list", "tuple", "str", "bytes", "repr", "Path", "PurePath"})


def other_ways(node: Any, file: Any) -> Iterator[tuple[list[Any], list[str], bool]]:
    """Yield edits of an expression, with choices, after which it is another number, text or truth.

    The third is whether the edit is weak: what is added can be taken off, and nobody takes the rest for the changed.

    Args:
        node: the expression.
        file: the file that it is in; see ``python_sites_driver.File``.
    """
    if isinstance(node, ast.JoinedStr):
        return  # before Python 3.12 nothing says where its parts are
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and is_number(node.left) and is_number(node.right):
        pattern, opposite = ARITHMETIC[type(node.op)]
        start = file.end(node.left)
        found = re.search(pattern, file.data[start : file.start(node.right)])
        if found is not None:
            yield [start + found.start(), start + found.end(), "$choice$"], [opposite], False
    elif isinstance(node, ast.Call):
        name, end = name_of(node.func), file.end(node.func)
        if name in NUMERIC:
            yield [file.end(node) - 1, file.end(node), ") $choice$"], ["+ 1", "- 1", "+ 2"], True
        if name in SWAPPED:
            yield [end - len(name), end, "$choice$"], [SWAPPED[name]], False
    for part in ast.iter_child_nodes(node):
        yield from other_ways(part, file)


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


def pieces(node: Any, file: Any) -> Iterator[tuple[int, int, str]]:
    """Yield what the formatted texts of an expression say themselves, with where that begins and ends."""
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from pieces(child, file)
        return
    start, text = file.start(node), file.data[file.start(node) : file.end(node)]
    found = re.match(rb"[fF](\'\'\'|\"\"\"|\'|\")", text)
    if found is None or not text.endswith(found[1]) or found[1] in (body := text[found.end() : -len(found[1])]):
        return  # several texts, one behind the other
    if b"\\" in body or b"{{" in body or b"}}" in body:
        return
    at, depth = start + found.end(), 0
    for part in re.split(rb"([{}])", body):
        depth += (part == b"{") - (part == b"}")
        if depth == 0 and re.search(rb"[^\W_]", part):
            yield at, at + len(part), part.decode("utf-8")
        at += len(part)


def is_number(node: Any) -> bool:
    """Return whether an operand may be a number: nothing shows that it is a text or a container."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Call):
        return name_of(node.func) not in REPEATED
    return not isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr))
