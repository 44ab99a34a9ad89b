"""Evaluate arithmetic, exactly."""

import re
from fractions import Fraction

_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*|\.\d+)|([^\W\d_]\w*)|([-+*/^()=;]))")


def evaluate(text: str) -> Fraction:
    """Return the value of the last statement of ``text``."""
    reader = _Reader(_tokens(text))
    value = reader.statement()
    while reader.skip(";"):
        value = reader.statement()
    if reader.left:
        raise ValueError(f"{reader.left[-1]!r} is left over")
    return value


def _tokens(text: str) -> list[str]:
    text, at, found = text.rstrip(), 0, []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"cannot read {text[at:]!r}")
        found.append(match.group().strip())
        at = match.end()
    return found


class _Reader:
    """Reads tokens; each method is one level of the grammar."""

    def __init__(self, tokens: list[str]) -> None:
        self.left = tokens[::-1]
        self.names: dict[str, Fraction] = {}

    def skip(self, *wanted: str) -> str:
        """Take the next token if it is one of those, and return it."""
        return self.left.pop() if self.left and self.left[-1] in wanted else ""

    def statement(self) -> Fraction:
        if len(self.left) > 1 and self.left[-2] == "=" and self.left[-1][0].isalpha():
            name, _ = self.left.pop(), self.left.pop()
            self.names[name] = self.sum()
            return self.names[name]
        return self.sum()

    def sum(self) -> Fraction:
        value = self.product()
        while sign := self.skip("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> Fraction:
        value = self.unary()
        while sign := self.skip("*", "/"):
            value = value * self.unary() if sign == "*" else value / self.unary()
        return value

    def unary(self) -> Fraction:
        sign = 1
        while self.skip("-"):
            sign = -sign
        return sign * self.power()

    def power(self) -> Fraction:
        base = self.atom()
        if not self.skip("^"):
            return base
        exponent = self.unary()
        if exponent.denominator != 1:
            raise ValueError("an exponent must be a whole number")
        return base ** int(exponent)

    def atom(self) -> Fraction:
        token = self.left.pop() if self.left else ""
        if token == "(":
            value = self.sum()
            if not self.skip(")"):
                raise ValueError("a parenthesis is not closed")
            return value
        if token[:1].isalpha():
            if token not in self.names:
                raise ValueError(f"{token} has no value")
            return self.names[token]
        if not token or not (token[0].isdigit() or token[0] == "."):
            raise ValueError("an operand is missing")
        return Fraction(token)
