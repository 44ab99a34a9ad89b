"""Other values: what a test could expect instead of what it does.

A text is changed by a word that the tests use, a letter's case, a digit or a sign, so that it looks like what an author
could have written.
"""

import re
from typing import Any

MOST_CHOICES = 10
MOST_WORDS = 4
SIGNS = "-_.,:;/ "
_LARGEST = 1e300


def near(value: Any, words: list[str]) -> list[Any]:
    """Return other values of the same kind; texts are made of ``words``."""
    found: list[Any]
    if value is None:
        found = [False, 0, ""]
    elif type(value) is bool:
        found = [not value]
    elif type(value) is int:
        found = [value + 1, 2 * value, value - 1, 3 * value, value + 10]
    elif type(value) is float:
        share = [value / 2, (value + 1.0) / 2] if 0.0 < value < 1.0 else []
        found = [*share, value + 1.0, value - 1.0, 2.0 * value + 1.0, value + 10.0, -value]
    elif isinstance(value, bytes):
        plain = [word for word in words if word.isascii()]
        found = [entry.encode("latin-1") for entry in near_texts(value.decode("latin-1"), plain)]
    else:
        found = near_texts(value, words)
    return [entry for entry in found if entry != value and _written(entry)][:MOST_CHOICES]


def _written(value: Any) -> bool:
    """Return whether a number can be written out in every language: neither infinite nor huge."""
    return type(value) not in (int, float) or abs(value) < _LARGEST


def strange(value: Any) -> list[Any]:
    """Return a value that no answer has beside ``value`` which was not asked for it; empty where there is none."""
    if isinstance(value, (str, bytes)):
        return [2 * value] if value else []
    other = 1009 * value + 717 if type(value) in (int, float) and _written(value) else None
    return [other] if other is not None and _written(other) else []


def near_texts(text: str, words: list[str]) -> list[str]:
    """Return texts that differ from ``text`` by a word, a letter's case, a digit or a sign."""
    found = []
    own = list(re.finditer(r"[^\W\d_]{2,}", text))
    for word in own[:MOST_WORDS] if len(own) <= MOST_WORDS else own[:: len(own) // MOST_WORDS][:MOST_WORDS]:
        before, after = text[: word.start()], text[word.end() :]
        others = [entry for entry in [*words, *(one[0] for one in own)] if entry.lower() != word[0].lower()]
        if others:
            other = min(others, key=lambda entry: (abs(len(entry) - len(word[0])), entry))
            found.append(before + styled(other, word[0]) + after)
        found.append(before + word[0][0].swapcase() + word[0][1:] + after)
        if len(own) > 1:
            found.append(before + after.lstrip(SIGNS))
    for place in list(re.finditer(r"[\d\W_]", text))[:MOST_WORDS]:
        before, sign, after = text[: place.start()], place[0], text[place.end() :]
        found.append(before + (str((int(sign) + 1) % 10) if sign in "0123456789" else sign + sign) + after)
    return [entry for entry in found if entry != text] or [text + "x"]


def styled(word: str, like: str) -> str:
    """Return ``word`` in capitals, with a capital, or in small letters, as ``like`` is."""
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word.lower()
