"""The points of a chart of pass rates with their intervals, in pixels; ``_charts.html.j2`` draws it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codegate.gating.estimates import Estimate

WIDTH: Final = 640
HEIGHT: Final = 160


@dataclass(frozen=True)
class Point:
    """Where a rate and the ends of its interval are; ``words`` say it, ``name`` stands beside it, ``new`` marks it."""

    x: float
    y: float
    low: float
    high: float
    words: str
    name: str = ""
    new: bool = False


def place(at: float, rate: Estimate, words: str, name: str = "", *, new: bool = False) -> Point | None:
    """Return the point of ``rate`` at ``at``, a share of the chart's width, 100 % at the top; None: it is unknown."""
    if rate.value is None or rate.low is None or rate.high is None:
        return None
    y, low, high = (round(HEIGHT * (1.0 - value), 1) for value in (rate.value, rate.low, rate.high))
    return Point(round(WIDTH * at, 1), y, low, high, words, name, new)


def known(points: Sequence[Point | None]) -> tuple[Point, ...]:
    """Return the points of known rates."""
    return tuple(point for point in points if point is not None)
