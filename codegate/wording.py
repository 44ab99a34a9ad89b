"""Counts and lists in words, the same in all messages."""

from collections.abc import Iterable


def count_of(n: int, what: str) -> str:
    """Return ``n`` with the noun ``what`` or its plural."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def few(names: Iterable[str], most: int = 5, separator: str = ", ") -> str:
    """Return the first ``most`` names and the number of others."""
    every = list(names)
    more = f"{separator.rstrip(', ')} and {len(every) - most} more" if len(every) > most else ""
    return separator.join(every[:most]) + more
