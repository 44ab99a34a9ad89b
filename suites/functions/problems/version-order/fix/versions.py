"""Which version is later."""

import re

_VERSION = re.compile(r"([0-9]+(?:\.[0-9]+)*)(?:-([A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*))?")


def compare(one: str, other: str) -> int:
    """Return -1, 0 or 1 as version ``one`` is before, equal to or after ``other``."""
    first, second = _key(one), _key(other)
    return (first > second) - (first < second)


def _key(version: str) -> tuple[list[int], bool, list[tuple[bool, int, str]]]:
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"{version!r} is no version")
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    parts = match[2].split(".") if match[2] else []
    named = [(False, int(part), "") if part.isdigit() else (True, 0, part) for part in parts]
    return numbers, not parts, named
