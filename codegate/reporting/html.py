"""The report as one HTML file that needs nothing else: no network, no other file, not even scripts."""

import base64
import functools
import gzip
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codegate.gating import Verdict, worst_first
from codegate.reporting import figures, table
from codegate.reporting.bugs import bug, links
from codegate.reporting.estimates import Estimate
from codegate.reporting.measure_table import cost_and_time
from codegate.reporting.page import page_template
from codegate.reporting.view import Cell, ReportView

if TYPE_CHECKING:
    from jinja2 import Template

PLOT_WIDTH = 640
_PLAIN = 6_000_000  # characters of attempts; more of them are compressed, so that the page opens at once


@dataclass(frozen=True)
class IntervalPlot:
    """Where the marks of an interval plot are, in pixels of a drawing ``PLOT_WIDTH`` wide."""

    zero: float
    margin: float
    low: float
    high: float
    difference: float
    tolerance: float


def interval_plot(verdict: Verdict) -> IntervalPlot | None:
    """Return the places of a verdict's marks on an axis with 0 in the middle, or None without an interval."""
    if verdict.interval is None or verdict.difference is None:
        return None
    low, high = verdict.interval
    reach = max(abs(low), abs(high), verdict.margin * 1.5) * 1.12

    def place(value: float) -> float:
        return round(PLOT_WIDTH * (0.5 + value / (2 * reach)), 1)

    return IntervalPlot(
        zero=place(0.0),
        margin=place(-verdict.margin),
        low=place(low),
        high=place(high),
        difference=place(verdict.difference),
        tolerance=round(place(0.0) - place(-verdict.margin), 1),
    )


def row_tags(cells: tuple[Cell, ...], excluded: str | None) -> str:
    """Return the filters that a problem belongs to, separated by blanks."""
    statuses = {cell.status for cell in cells}
    tags = {
        "failed": bool(statuses & {"failed", "mixed"}),
        "differs": len({(cell.status, cell.passed) for cell in cells}) > 1,
        "infrastructure": bool(statuses & {"infrastructure", "missing"}),
        "excluded": excluded is not None,
    }
    return " ".join(name for name, holds in tags.items() if holds)


def _pass_rates(view: ReportView) -> list[tuple[str, str, Estimate]]:
    rates = [(entry.label, entry.model, entry.pass_rate) for entry in view.candidates]
    if view.baseline:
        rates.append((f"baseline: {view.baseline.label}", view.baseline.model, view.baseline.correctness.pass_at_1))
    return rates


@functools.cache
def _template() -> "Template":
    """Return the compiled page: everything but the view is the same for every report."""
    return page_template(
        "report.html.j2",
        ["report.css"],
        "report.js",
        f=figures,
        glyphs=figures.CELL_GLYPHS,
        verdict_glyphs=figures.VERDICT_GLYPHS,
        interval_plot=interval_plot,
        row_tags=row_tags,
        t=table,
        anchor=table.attempt_anchor,
        bug=bug,
        links=links,
        cost_and_time=cost_and_time,
        pack=_pack,
        pass_rates=_pass_rates,
        plot_width=PLOT_WIDTH,
    )


def render_html(view: ReportView) -> str:
    """Return the report as one self-contained HTML page; equal views give equal bytes."""
    packed = _characters(view) > _PLAIN
    return _template().render(view=replace(view, verdicts=worst_first(view.verdicts)), packed=packed)


def _characters(view: ReportView) -> int:
    """Return how many characters the long texts of all attempts have."""
    attempts = (attempt for row in view.problems for cell in row.cells for attempt in cell.attempts)
    return sum(
        len(each.patch) + len(each.output) + sum(len(message.text) for message in each.transcript) for each in attempts
    )


def _pack(html: str) -> str:
    """Return escaped HTML compressed, in base64: equal texts give equal bytes."""
    return base64.b64encode(gzip.compress(html.encode(), mtime=0)).decode()
