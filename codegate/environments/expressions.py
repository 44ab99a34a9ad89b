"""Evaluate the expressions of GitHub's workflows."""

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import reduce
from typing import Any, Final

UNKNOWN: Final = object()
"""The value of an expression that GitHub alone can fill in."""

EXPRESSION: Final = re.compile(r"\$\{\{(.{0,1000}?)\}\}", re.DOTALL)
_WORD: Final = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>\d+(?:\.\d+)?)|\.\s*(?P<key>[A-Za-z_][\w-]*)|(?P<name>[A-Za-z_][\w-]*)"
    r"|(?P<sign>==|!=|&&|\|\||[!(),\[\]]))\s*"
)
_MOST: Final = 3000  # characters of an expression
_IN_PYTHON: Final = {"&&": " and ", "||": " or ", "!": "~", "true": "True", "false": "False", "null": "None"}
"""GitHub's signs and words in Python. ``!`` is ``~``, because ``not`` would negate a whole comparison."""


def fill_expressions(text: str, scope: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return ``text`` with its ``${{ }}`` expressions replaced by values.

    Also return the expressions that have no value outside of GitHub; these stay in the text. ``scope`` has the values
    of contexts such as ``matrix``, by name.
    """
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = evaluate(match[1], scope)
        if found is not UNKNOWN:
            with suppress(TypeError):  # a part of it has no value
                return text_value(found)
        missing.append(" ".join(match[1].split())[:80])
        return match[0]

    return EXPRESSION.sub(value, text), missing


def evaluate(text: str, scope: Mapping[str, Any]) -> Any:
    """Return an expression's value; UNKNOWN if only GitHub has it.

    ``scope`` has the values of contexts such as ``matrix``, by name.
    """
    words = list(_WORD.finditer(text := text.strip()))
    if len(text) > _MOST or "".join(word[0] for word in words) != text:
        return UNKNOWN
    try:
        return _value(ast.parse("".join(map(_in_python, words)), mode="eval").body, scope)
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, MemoryError):
        return UNKNOWN  # malformed, or a part of a value is unknown


def _in_python(word: re.Match[str]) -> str:
    """Return a word of an expression as Python writes it."""
    if word["text"]:
        return repr(word["text"][1:-1].replace("''", "'"))
    if word["key"]:
        return f"[{word['key']!r}]"
    if word["name"]:
        return _IN_PYTHON.get(word["name"], f"_{word['name'].replace('-', '_')}")
    return word["number"] or _IN_PYTHON.get(word["sign"], word["sign"])


def _value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """Return the value of an expression's syntax tree, or UNKNOWN."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return scope.get(name[1:], UNKNOWN)
        case ast.UnaryOp(ast.Invert(), operand):
            value = _value(operand, scope)
            return UNKNOWN if value is UNKNOWN else not _truth(value)
        case ast.BoolOp(operator, operands):
            return reduce(_either if isinstance(operator, ast.Or) else _both, [_value(one, scope) for one in operands])
        case ast.Compare(left, signs, others):
            value = _value(left, scope)
            for sign, other in zip(signs, others, strict=True):  # from left to right, unlike Python's own comparisons
                value = _compared(value, _value(other, scope), equal=isinstance(sign, ast.Eq))
            return value
        case ast.Subscript(container, key):
            return _part(_value(container, scope), _value(key, scope), ast.unparse(node).partition("[")[0])
        case ast.Call(ast.Name(name), arguments):
            return _call(name[1:].casefold(), [_value(argument, scope) for argument in arguments])
    return UNKNOWN


def _compared(value: Any, other: Any, equal: bool) -> Any:
    if UNKNOWN in (value, other):
        return UNKNOWN
    return (text_value(value).casefold() == text_value(other).casefold()) is equal


def _either(value: Any, other: Any) -> Any:
    return value if value is UNKNOWN or _truth(value) else other


def _both(value: Any, other: Any) -> Any:
    if value is UNKNOWN:
        return other if other is not UNKNOWN and not _truth(other) else UNKNOWN
    return other if _truth(value) else value


def _part(value: Any, key: Any, context: str) -> Any:
    if isinstance(value, list) and isinstance(key, int):
        return value[key]
    if isinstance(value, Mapping):
        # A missing key of ``matrix`` or ``inputs`` is empty; in other contexts only GitHub knows its value.
        return value.get(text_value(key), None if context in {"_matrix", "_inputs"} else UNKNOWN)
    if context == "_steps" and key == "cache-hit":
        return ""  # here every cache is empty
    return UNKNOWN if value is UNKNOWN else None


def _call(name: str, values: list[Any]) -> Any:
    if name in {"always", "success", "failure", "cancelled"}:
        return name in {"always", "success"}
    if UNKNOWN in values:
        return UNKNOWN
    first, second = (*values, "", "")[:2]
    if name == "contains" and isinstance(first, list):
        return second in first
    if name in {"contains", "startswith", "endswith"}:
        method = "__contains__" if name == "contains" else name
        return getattr(text_value(first).casefold(), method)(text_value(second).casefold())
    if name == "tojson":
        return json.dumps(first)
    if name == "format":
        return re.sub(r"\{(\d)\}", lambda match: text_value(values[1 + int(match[1])]), text_value(first))
    return json.loads(text_value(first)[:10_000]) if name == "fromjson" else UNKNOWN


def _truth(value: Any) -> bool:
    return value not in (False, 0, "", None)


def text_value(value: object) -> str:
    """Return a value as GitHub would write it in text."""
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)
