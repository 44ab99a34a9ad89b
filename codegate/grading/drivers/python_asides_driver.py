"""Finds what a Python test file says besides what it runs: comments, docstrings of tests, messages of assertions.

``python_sites_driver.py`` brings this text along. They may say an answer again, in words that no control changes.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from typing import Any, Iterator

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


def comments(data: bytes, lines: list[int]) -> Iterator[tuple[int, int]]:
    """Yield where each comment begins and ends, below the two lines that may name a coding.

    Args:
        data: the file, a module that can be parsed.
        lines: where each of its lines begins.
    """
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.COMMENT and 2 < token.start[0] <= len(lines):
                start, text = lines[token.start[0] - 1], token.string.encode("utf-8")
                start += len(data[start:].partition(b"\n")[0].decode("utf-8")[: token.start[1]].encode("utf-8"))
                if data[start : start + len(text)] == text:  # what else ends a line is no end to everybody
                    yield start, start + len(text)


def messages(function: Any) -> Iterator[Any]:
    """Yield the messages of a test's assertions: expressions that are used where an assertion fails, and for people."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, starred = node.func.attr, any(isinstance(arg, ast.Starred) for arg in node.args)
            fails = name == "fail" and getattr(node.func.value, "id", "") in ("self", "pytest")
            place = 0 if fails else MESSAGE_AT.get(name)
            if place is not None and not starred:
                yield from node.args[place : place + 1]
                yield from (word.value for word in node.keywords if word.arg == "msg")


def docstring(function: Any) -> Any:
    """Return the docstring of a test, as a node, where something comes after it; else None.

    What helps a test may be asked for its own.
    """
    first = function.body[0]
    if not function.name.startswith("test"):
        return None
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str
    return first.value if text and len(function.body) > 1 else None
