"""Evaluate the expressions of GitHub's workflows."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

UNKNOWN: Final = object()
"""The value of an expression that GitHub alone can fill in."""

EXPRESSION: Final = re.compile(r"\$\{\{(.{0,1000}?)\}\}", re.DOTALL)
_WORD: Final = re.compile(r"\s*(?:('(?:[^']|'')*')|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w-]*)|(==|!=|&&|\|\||[!().,\[\]]))")
_MOST_WORDS: Final = 300


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
    words: list[str] = []
    end = 0
    text = text.strip()
    while end < len(text) and len(words) < _MOST_WORDS:
        match = _WORD.match(text, end)
        if match is None:
            return UNKNOWN
        words.append(match[0].strip())
        end = match.end()
    try:
        reader = _Reader(words, scope)
        value = reader.either()
        return value if reader.at == len(words) and end == len(text) else UNKNOWN
    except (IndexError, RecursionError, TypeError, ValueError):  # TypeError: a part of a value is unknown
        return UNKNOWN


@dataclass
class _Reader:
    """Parses and evaluates one expression; a part may be UNKNOWN."""

    words: list[str]
    scope: Mapping[str, Any]
    at: int = 0

    def either(self) -> Any:
        value = self.both()
        while self._take("||"):
            other = self.both()
            value = value if value is UNKNOWN or _truth(value) else other
        return value

    def both(self) -> Any:
        value = self.equal()
        while self._take("&&"):
            other = self.equal()
            if value is UNKNOWN:
                value = other if other is not UNKNOWN and not _truth(other) else UNKNOWN
            else:
                value = other if _truth(value) else value
        return value

    def equal(self) -> Any:
        value = self.one()
        while self.at < len(self.words) and self.words[self.at] in {"==", "!="}:
            same = self._next() == "=="
            other = self.one()
            if value is UNKNOWN or other is UNKNOWN:
                value = UNKNOWN
            else:
                value = (text_value(value).casefold() == text_value(other).casefold()) is same
        return value

    def one(self) -> Any:
        word = self._next()
        if word == "!":
            value = self.one()
            return UNKNOWN if value is UNKNOWN else not _truth(value)
        if word == "(":
            value = self.either()
            self._expect(")")
            return value
        if word.startswith("'"):
            return word[1:-1].replace("''", "'")
        if word[0].isdigit() or word[0] == "-":
            return float(word) if "." in word else int(word)
        if word in {"true", "false", "null"}:
            return {"true": True, "false": False, "null": None}[word]
        if self._take("("):
            return self._call(word)
        return self._path(word)

    def _call(self, name: str) -> Any:
        values = []
        while not self._take(")"):
            values.append(self.either())
            self._take(",")
        name = name.casefold()
        if name in {"always", "success", "failure", "cancelled"}:
            return name in {"always", "success"}
        if any(value is UNKNOWN for value in values):
            return UNKNOWN
        first, second = (*values, "", "")[:2]
        if name == "contains":
            return (
                second in first
                if isinstance(first, list)
                else text_value(second).casefold() in text_value(first).casefold()
            )
        if name in {"startswith", "endswith"}:
            return getattr(text_value(first).casefold(), name)(text_value(second).casefold())
        if name == "join":
            items = first if isinstance(first, list) else [first]
            return (text_value(second) if len(values) > 1 else ",").join(map(text_value, items))
        if name == "tojson":
            return json.dumps(first)
        if name == "format":
            return re.sub(r"\{(\d)\}", lambda match: text_value(values[1 + int(match[1])]), text_value(first))
        return json.loads(text_value(first)[:10_000]) if name == "fromjson" else UNKNOWN

    def _path(self, name: str) -> Any:
        value: Any = self.scope.get(name, UNKNOWN)
        closed = name in {"matrix", "inputs"}  # a missing key is empty here; elsewhere only GitHub knows it
        while self.at < len(self.words) and self.words[self.at] in {".", "["}:
            if self._next() == ".":
                key: Any = self._next()
            else:
                key = self.either()
                self._expect("]")
            if isinstance(value, list) and isinstance(key, int):
                value = value[key]
            elif isinstance(value, Mapping):
                value = value.get(text_value(key), None if closed else UNKNOWN)
            elif name == "steps" and key == "cache-hit":
                value = ""  # here every cache is empty
            elif value is not UNKNOWN:
                value = None
        return value

    def _next(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def _take(self, word: str) -> bool:
        found = self.at < len(self.words) and self.words[self.at] == word
        self.at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise ValueError(word)


def _truth(value: Any) -> bool:
    return value is not UNKNOWN and value not in (False, 0, "", None)


def text_value(value: object) -> str:
    """Return a value as GitHub would write it in text."""
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)
