"""Read queries."""

import re

_FIELD = re.compile("([a-z]+):")
_NUMBER = "(-?[0-9]+)"
_COMPARISON = re.compile(f"(>=|<=|>|<){_NUMBER}")
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}")
_WORD = re.compile(r'[^\s()"]+')
_PHRASE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


class QuerySyntaxError(ValueError):
    """The query cannot be read; the arguments are a message and the place in the text."""


def parse(text: str) -> tuple:
    """Return the query as nested tuples."""
    reader = _Reader(text)
    query = reader.either()
    if reader.place < len(text):
        raise QuerySyntaxError("there is no ( before it", reader.place)
    return query or ("and",)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def either(self) -> tuple | None:
        """Return alternatives; None where there is nothing."""
        parts = []
        query = self.all()
        while (place := self.or_here()) is not None:
            self.place = place + 2
            other = self.all()
            if query is None or other is None:
                raise QuerySyntaxError("OR stands between two", place)
            parts.append(query)
            query = other
        return ("or", *parts, query) if parts else query

    def all(self) -> tuple | None:
        parts = []
        while True:
            self.skip()
            if self.place == len(self.text) or self.text[self.place] == ")" or self.or_here() is not None:
                break
            parts.append(self.one())
        return ("and", *parts) if len(parts) > 1 else parts[0] if parts else None

    def one(self) -> tuple:
        start = self.place
        letter = self.text[start]
        if letter == "-":
            self.place += 1
            following = self.text[self.place : self.place + 1]
            if not following or following.isspace() or following == ")" or self.or_here() is not None:
                raise QuerySyntaxError("- stands before something", start)
            return ("not", self.one())
        if letter == "(":
            self.place += 1
            query = self.either()
            if self.place == len(self.text):
                raise QuerySyntaxError("the ( is not closed", start)
            if query is None:
                raise QuerySyntaxError("there is nothing in ()", start)
            self.place += 1
            return query
        if letter == '"':
            return ("word", self.phrase())
        field = _FIELD.match(self.text, start)
        if field is None:
            return ("word", self.word())
        self.place = field.end()
        if self.text.startswith('"', self.place):
            return ("field", field[1], self.phrase())
        if _WORD.match(self.text, self.place) is None:
            raise QuerySyntaxError("the field has no value", start)
        return _value(field[1], self.word())

    def word(self) -> str:
        found = _WORD.match(self.text, self.place)
        self.place = found.end()
        return found[0]

    def phrase(self) -> str:
        found = _PHRASE.match(self.text, self.place)
        if found is None:
            raise QuerySyntaxError("the quotation mark is not closed", self.place)
        self.place = found.end()
        return re.sub(r"\\([\"\\])", r"\1", found[1])

    def skip(self) -> None:
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1

    def or_here(self) -> int | None:
        found = re.compile(r'OR(?=[\s()"]|$)').match(self.text, self.place)
        return self.place if found else None


def _value(name: str, word: str) -> tuple:
    if found := _RANGE.fullmatch(word):
        return ("range", name, int(found[1]), int(found[2]))
    if found := _COMPARISON.fullmatch(word):
        number = int(found[2])
        bounds = {">": (number + 1, None), ">=": (number, None), "<": (None, number - 1), "<=": (None, number)}
        return ("range", name, *bounds[found[1]])
    return ("field", name, word)
