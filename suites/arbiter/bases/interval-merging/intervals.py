"""Merge intervals, and find the gaps that they leave."""

from collections.abc import Iterable

Interval = tuple[int, int]


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the fewest intervals that cover the same, in order."""
    raise NotImplementedError


def free(busy: Iterable[Interval], opens: int, closes: int, least: int = 1) -> list[Interval]:
    """Return the times between ``opens`` and ``closes`` that nothing takes, in order."""
    raise NotImplementedError
