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
    "max": "min", "min": "max", "any": "all", "all": "any", "upper": "lower", "lower": "upper", "lstrip": "rstrip",
    "rstrip": "lstrip", "startswith": "endswith", "endswith": "startswith", "keys": "values", "values": "keys",
}  # fmt: skip
#: Operators of numbers only: what adds texts has no opposite.
ARITHMETIC = {ast.Sub: (rb"-", "+"), ast.Mult: (rb"\*", "+"), ast.Div: (rb"/", "*"), ast.FloorDiv: (rb"//", "*")}
REPEATED = frozenset({"list", "tuple", "str", "bytes", "repr", "Path", "PurePath"})


def other_ways(node: Any, file: Any) -> Iterator[tuple[list[Any], list[str]]]:
    """Yield edits of an expression, with choices, after which it is another number, text or truth.

    Args:
        node: the expression.
        file: the file that it is in; see ``python_sites_driver.File``.
    """
    if isinstance(node, (ast.Lambda, ast.JoinedStr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and is_number(node.left) and is_number(node.right):
        pattern, opposite = ARITHMETIC[type(node.op)]
        start = file.end(node.left)
        found = re.search(pattern, file.data[start : file.start(node.right)])
        if found is not None:
            yield [start + found.start(), start + found.end(), "$choice$"], [opposite]
    elif isinstance(node, ast.Call):
        name, end = name_of(node.func), file.end(node.func)
        if name in NUMERIC:
            yield [file.end(node) - 1, file.end(node), ") $choice$"], ["+ 1", "- 1", "+ 2"]
        elif name in SWAPPED:
            yield [end - len(name), end, "$choice$"], [SWAPPED[name]]
    for part in ast.iter_child_nodes(node):
        yield from other_ways(part, file)


def is_number(node: Any) -> bool:
    """Return whether an operand may be a number: nothing shows that it is a text or a container."""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float)
    if isinstance(node, ast.Call):
        return name_of(node.func) not in REPEATED
    return not isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.JoinedStr))
