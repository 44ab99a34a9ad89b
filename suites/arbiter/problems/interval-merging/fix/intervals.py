"""Merge intervals, and find the gaps that they leave."""

from collections.abc import Iterable

Interval = tuple[int, int]


def merge(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the fewest intervals that cover the same, in order."""
    merged: list[Interval] = []
    for start, end in sorted((start, end) for start, end in intervals):
        if end < start:
            raise ValueError(f"({start}, {end}) ends before it starts")
        if start == end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def free(busy: Iterable[Interval], opens: int, closes: int, least: int = 1) -> list[Interval]:
    """Return the times between ``opens`` and ``closes`` that nothing takes, in order."""
    gaps, begin = [], opens
    for start, end in [*merge(busy), (closes, closes)]:
        start = min(start, closes)
        if start - begin >= max(least, 1):
            gaps.append((begin, start))
        begin = max(begin, end)
    return gaps
