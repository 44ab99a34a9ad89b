"""The order of names."""

import re
from collections.abc import Iterable


def natural_sorted(names: Iterable[str]) -> list[str]:
    """Return names in the order that people expect."""
    return sorted(names, key=lambda name: (_parts(name), name))


def _parts(name: str) -> list[tuple[bool, int, str]]:
    parts = re.findall(r"([0-9]+)|([^0-9]+)", name)
    return [(not digits, int(digits or 0), text.casefold()) for digits, text in parts]
