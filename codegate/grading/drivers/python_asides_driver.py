"""Finds what a Python test file says besides what it runs: comments, docstrings of tests, messages of assertions.

``python_sites_driver.py`` brings this text along. They may say an answer again, in words that no control changes.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from typing import Any, Iterator

from codegate.grading.drivers.python_written_driver import EXPECTING, name_of

#: Methods of unittest with the place of their message.
MESSAGE_AT = {
    **dict.fromkeys(("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"), 1),
    **dict.fromkeys(
        (
            "assertEqual", "assertNotEqual", "assertIs", "assertIsNot", "assertIn", "assertNotIn", "assertIsInstance",
            "assertNotIsInstance", "assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual",
            "assertListEqual", "assertTupleEqual", "assertSetEqual", "assertDictEqual", "assertMultiLineEqual",
            "assertSequenceEqual", "assertCountEqual", "assertRegex", "assertNotRegex",
        ),
        2,
    ),
}  # fmt: skip


def comments(data: bytes, lines: list[int], nodes: list[Any]) -> Iterator[tuple[int, int]]:
    """Yield where each comment in some statements begins and ends, but for those of functions and classes in them.

    Args:
        data: the file, a module that can be parsed.
        lines: where each of its lines begins.
        nodes: the statements: tests, and tables of what they expect.
    """
    own: set[int] = set()
    for node in nodes:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        own.update(range(first, node.end_lineno + 1))
        for start, end in inner(node):
            own.difference_update(range(start, end + 1))
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT and token.start[0] in own:
                start, text = lines[token.start[0] - 1], token.string.encode("utf-8")
                start += len(data[start:].partition(b"\n")[0].decode("utf-8")[: token.start[1]].encode("utf-8"))
                if data[start : start + len(text)] == text:  # what else ends a line is no end to everybody
                    yield start, start + len(text)


def messages(function: Any) -> Iterator[Any]:
    """Yield the messages of a test's assertions: expressions that are used where an assertion fails, and for people.

    What a function inside of the test says, or a block that may be left, something else may read.
    """
    todo = [function.body]
    while todo:
        for node in todo.pop():
            if isinstance(node, ast.Assert) and node.msg is not None:
                yield node.msg
            elif isinstance(node, ast.Expr):
                yield from _messages_of(node.value)
            elif isinstance(node, (ast.If, ast.For, ast.While)):
                todo += [node.body, node.orelse]
            elif isinstance(node, ast.With) and not any(EXPECTING.match(_called(item)) for item in node.items):
                todo.append(node.body)


def _messages_of(call: Any) -> Iterator[Any]:
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        name, owner = call.func.attr, getattr(call.func.value, "id", "")
        place = MESSAGE_AT.get(name) if owner == "self" else None
        place = 0 if name == "fail" and owner in ("self", "pytest") else place
        if place is not None and not any(isinstance(arg, ast.Starred) for arg in call.args):
            yield from call.args[place : place + 1]
            yield from (word.value for word in call.keywords if word.arg == "msg")


def _called(item: Any) -> str:
    return name_of(item.context_expr.func) if isinstance(item.context_expr, ast.Call) else ""


def inner(whole: Any) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each function and class inside of something: their text may be asked for."""
    for node in ast.walk(whole):
        if node is not whole and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node.lineno, node.end_lineno or node.lineno


def docstring(function: Any) -> Any:
    """Return the docstring of a test, as a node, where something comes after it; else None."""
    first = function.body[0]
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str
    return first.value if text and len(function.body) > 1 else None
