"""The dashboard: a history as one HTML page, every candidate over time and every model on every suite."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from codegate.gating.drift import Rate, pass_rate
from codegate.gating.history import HistoryEntry
from codegate.gating.trend import Alarm, Series, days_since, matrix_of, series_of
from codegate.reporting import figures
from codegate.reporting.page import page_template
from codegate.reporting.plain import one_line

if TYPE_CHECKING:
    from jinja2 import Template

WIDTH: Final = 640
HEIGHT: Final = 160


@dataclass(frozen=True)
class Point:
    """A run in a chart: where its pass rate and the ends of its interval are, in pixels; ``changed``: a new model."""

    x: float
    y: float
    low: float
    high: float
    words: str
    changed: bool


def chart_points(series: Series) -> tuple[Point, ...]:
    """Return a point for each run with a pass rate, by time from left to right, 100 % at the top."""
    runs = [(entry, pass_rate(entry.counts)) for entry in series.entries]
    times = [datetime.fromisoformat(entry.at).timestamp() for entry, _ in runs]
    first, length = times[0], (times[-1] - times[0]) or 1.0
    before = series.entries[0].model
    points = []
    for (entry, rate), time in zip(runs, times, strict=True):
        if rate.value is not None and rate.low is not None and rate.high is not None:
            y, low, high = (round(HEIGHT * (1.0 - value), 1) for value in (rate.value, rate.low, rate.high))
            words = f"{entry.at[:10]}: {rate.words()}, {entry.model}"
            x = round(WIDTH * (time - first) / length, 1)
            points.append(Point(x, y, low, high, words, entry.model != before))
        before = entry.model
    return tuple(points)


def render_dashboard(entries: Sequence[HistoryEntry], alarms: Sequence[Alarm]) -> str:
    """Return the page of a history, the oldest run first; it has no script and loads nothing."""
    cells = matrix_of(entries)
    rates: dict[str, dict[str, Rate]] = {}
    for cell in cells:
        rates.setdefault(cell.model, {})[cell.suite_digest] = cell.rate
    return _template().render(
        entries=entries,
        series=series_of(entries),
        alarms=alarms,
        age=days_since(entries),
        suites=list(dict.fromkeys(entry.suite_digest for entry in entries)),
        rates=rates,
    )


@functools.cache
def _template() -> "Template":
    return page_template(
        "dashboard.html.j2",
        ["report.css", "dashboard.css"],
        chart_points=chart_points,
        one_line=one_line,
        pass_rate=pass_rate,
        dollars=figures.dollars,
        width=WIDTH,
        height=HEIGHT,
    )
