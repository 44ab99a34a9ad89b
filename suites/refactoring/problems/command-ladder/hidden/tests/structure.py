"""Measure the structure of the code under test, whichever files it is in."""

import ast
from pathlib import Path

from radon.complexity import cc_visit

ROOT = Path(__file__).resolve().parents[1]
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "tests" not in path.relative_to(ROOT).parts]
TREES = [ast.parse(path.read_text()) for path in FILES]
FUNCTIONS = [node for tree in TREES for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try)


def complexity() -> int:
    """Return the highest cyclomatic complexity of a function, as radon measures it."""
    return max(block.complexity for path in FILES for block in cc_visit(path.read_text()) if block.letter != "C")


def longest() -> int:
    """Return how many lines the longest function has."""
    return max(node.end_lineno - node.lineno + 1 for node in FUNCTIONS)


def statements() -> int:
    """Return the number of statements in all functions."""
    return sum(isinstance(part, ast.stmt) for node in FUNCTIONS for part in ast.walk(node)) - len(FUNCTIONS)


def depth() -> int:
    """Return how deep blocks are nested in a function; an ``elif`` is as deep as its ``if``."""
    return max(_depth(node.body) for node in FUNCTIONS)


def _depth(body: list[ast.stmt]) -> int:
    found = 0
    for node in body:
        if isinstance(node, _BLOCKS):
            parts = [node.body, getattr(node, "finalbody", []), *(each.body for each in getattr(node, "handlers", []))]
            other = getattr(node, "orelse", [])
            chained = isinstance(node, ast.If) and len(other) == 1 and isinstance(other[0], ast.If)
            found = max(found, *(1 + _depth(part) for part in parts), _depth(other) if chained else 1 + _depth(other))
    return found
