"""Render a history of runs as one HTML page."""

import functools
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from codegate.gating.drift import pass_rate
from codegate.gating.estimates import Estimate
from codegate.gating.history import HistoryEntry
from codegate.gating.people import People
from codegate.gating.trend import Alarm, Series, days_since, matrix_of, series_of
from codegate.reporting import figures
from codegate.reporting.page import Point, chart_point, page_template
from codegate.reporting.plain import one_line
from codegate.wording import count_of

if TYPE_CHECKING:
    from jinja2 import Template


def chart_points(series: Series) -> tuple[Point, ...]:
    """Return the chart points of a series' known pass rates."""
    runs = [(entry, pass_rate(entry.counts)) for entry in series.entries]
    times = [datetime.fromisoformat(entry.at).timestamp() for entry, _ in runs]
    first, length = times[0], (times[-1] - times[0]) or 1.0
    before = series.entries[0].model
    points = []
    for (entry, rate), time in zip(runs, times, strict=True):
        words = one_line(f"{entry.at[:10]}: {rate.words()}, {entry.model}")
        points.append(chart_point((time - first) / length, rate, words, new=entry.model != before))
        before = entry.model
    return tuple(filter(None, points))


def render_dashboard(entries: Sequence[HistoryEntry], alarms: Sequence[Alarm], people: People | None = None) -> str:
    """Render the history's page, with people's results if known."""
    cells = matrix_of(entries)
    rates: dict[str, dict[str, Estimate]] = {}
    for cell in cells:
        rates.setdefault(cell.model, {})[cell.suite_digest] = cell.rate
    return _template().render(
        entries=entries,
        series=series_of(entries),
        alarms=alarms,
        age=days_since(entries),
        suites={entry.suite_digest: entry.suite for entry in entries},
        rates=rates,
        people=people,
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
        count_of=count_of,
    )
