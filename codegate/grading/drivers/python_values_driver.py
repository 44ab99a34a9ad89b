"""Finds other values: what a Python test could expect instead of what it does.

``python_sites_driver.py`` brings this text along. What is written instead of a text is made of words that the tests
use: letters by chance are no words, which can be seen without knowing the right one.
"""

from __future__ import annotations

import math
import random
import re
from typing import Any

MOST_CHOICES = 10
SIGNS = " -_.,:;/"


def near(value: Any, words: list[str], numbers: list[int]) -> list[str]:
    """Return other values of the same kind, as near as an honest mistake is.

    Texts are made of ``words``. Of whole numbers some have the same sign and divisors, and some stand elsewhere in the
    tests (``numbers``): what they are all like tells none of them from the right one.
    """
    found: list[Any]
    if value is None:
        found = [False, 0, ""]
    elif type(value) is bool:
        found = [not value]
    elif type(value) is int:
        known = sorted(numbers, key=lambda one: abs(abs(one) - abs(value)))
        alike = [one for one in known if one != value and (one > 0) == (value > 0)][:3]
        half = [value // 2] if value % 2 == 0 else []
        found = [value + 1, 2 * value, value - 1, 3 * value, value + 10, *alike, *half]
    elif type(value) is float:
        share = [value / 2, (value + 1.0) / 2] if 0.0 < value < 1.0 else []  # as many checks of a share want it
        found = [*share, *share, value + 1.0, value - 1.0, 2.0 * value + 1.0, value + 10.0, -value]
    elif isinstance(value, bytes):
        plain = [word for word in words if word.isascii()]
        found = [entry.encode("latin-1") for entry in near_texts(value.decode("latin-1"), plain)]
    else:
        found = near_texts(value, words)
    return [repr(entry) for entry in found if repr(entry) != repr(value)][:MOST_CHOICES]


def far(value: Any, tolerance: tuple[float, float]) -> list[str]:
    """Return numbers that no answer is near enough to which is near enough to ``value``.

    Args:
        value: what is expected; other things than numbers have none.
        tolerance: absolute and relative; infinite where it is not written out.
    """
    if type(value) not in (int, float):
        return []
    absolute, relative = tolerance
    if math.isinf(absolute):
        return []
    step = type(value)(8 * absolute + 1)
    found = [
        2 * value + step,
        3 * value + step,
        3 * value - step,
        9 * value + step,
        -2 * value - step,
        -value - 2 * step,
    ]
    if 0 < value < 1:
        found += [value / 3, (value + 1) / 2] * 3
    reach = 4 * absolute
    return [
        repr(entry)
        for entry in found
        if abs(entry - value) > max(reach, 1.25 * relative * (abs(value) + abs(entry)), abs(value) / 2)
    ]


def near_texts(text: str, words: list[str]) -> list[str]:
    """Return texts that differ from ``text`` by a word, a digit or a sign: another, one more or less, another case."""
    kinds: dict[str, list[str]] = {}
    own = list(re.finditer(r"[^\W\d_]{2,}", text))
    for found in random.sample(own, min(len(own), 20)):
        word, before, after = found[0], text[: found.start()], text[found.end() :]
        others = [styled(entry, word) for entry in [*words, *(one[0] for one in own)]]
        others = [entry for entry in others if entry.lower() != word.lower()]
        close = [entry for entry in others if abs(len(entry) - len(word)) <= 2] or others
        if close:
            kinds.setdefault("another", []).append(before + random.choice(close) + after)
        cased = word[0].swapcase() + word[1:] if word[1:].islower() else word.swapcase()
        kinds.setdefault("case", []).append(before + cased + after)
        if len(own) > 1:
            doubled = word + after[:1] + word + after
            kinds.setdefault("length", []).append(before + random.choice([after.lstrip(SIGNS), doubled]))
    if len({word[0] for word in own}) > 1:
        one, other_one = sorted(random.sample(own, 2), key=lambda word: word.start())
        kept = text[: one.start()] + other_one[0] + text[one.end() : other_one.start()]
        kinds["order"] = [kept + one[0] + text[other_one.end() :]]
    places = [at for at, letter in enumerate(text) if not letter.isalpha()]
    for at in random.sample(places, min(len(places), 20)):
        letter, before, after = text[at], text[:at], text[at + 1 :]
        kinds.setdefault("digit" if letter.isdigit() else "sign", []).append(before + other(letter) + after)
        kinds.setdefault("sign", []).append(before + random.choice([letter + letter, ""]) + after)
    # As many of each kind: what comes out right but for its punctuation is told by no letter.
    found_texts = [entry for found in kinds.values() for entry in found[:2] if entry != text]
    if not found_texts and text:
        at = random.randrange(len(text))
        found_texts = [text[:at] + other(text[at]) + text[at + 1 :]]
    return found_texts or [random.choice(words or ["x"]), " "]


def styled(word: str, like: str) -> str:
    """Return ``word`` in capitals, with a capital, or in small letters, as ``like`` is."""
    if like.isupper():
        return word.upper()
    return word.capitalize() if like[0].isupper() else word.lower()


def other(letter: str) -> str:
    """Return another character of the same sort."""
    for kind in ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", SIGNS):
        if letter in kind:
            return random.choice(kind.replace(letter, ""))
    return "x" if ord(letter) < 0x80 else "é"
