"""Render the report as one self-contained HTML file."""

import base64
import functools
import gzip
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from codegate.gating import Verdict, worst_first
from codegate.reporting import figures, table
from codegate.reporting.cells import Name, Table, bug, links
from codegate.reporting.figures import Figure
from codegate.reporting.measure_table import cost_and_time
from codegate.reporting.page import WIDTH, Point, chart_point, page_template
from codegate.reporting.plain import one_line
from codegate.reporting.view import Cell, ReportView

if TYPE_CHECKING:
    from jinja2 import Template

_PLAIN = 6_000_000  # characters from which attempts are compressed, so that the page opens at once


def interval_plot(verdict: Verdict) -> dict[str, float] | None:
    """Return the positions of an interval plot's marks, in pixels.

    The plot is ``WIDTH`` pixels wide. None if the verdict has no interval.
    """
    if verdict.interval is None or verdict.difference is None:
        return None
    marks = {"zero": 0.0, "margin": -verdict.margin, "difference": verdict.difference}
    marks["low"], marks["high"] = verdict.interval
    reach = max(abs(marks["low"]), abs(marks["high"]), verdict.margin * 1.5) * 1.12
    places = {name: round(WIDTH * (0.5 + value / (2 * reach)), 1) for name, value in marks.items()}
    return {**places, "tolerance": round(places["zero"] - places["margin"], 1)}


def row_tags(cells: tuple[Cell, ...], excluded: str | None) -> str:
    """Return the names of filters that show a problem's row.

    Blanks separate the names. ``excluded`` is the reason why the problem did not run, or None.
    """
    statuses = {cell.status for cell in cells}
    tags = {
        "failed": bool(statuses & {"failed", "mixed"}),
        "differs": len({(cell.status, cell.passed) for cell in cells}) > 1,
        "infrastructure": bool(statuses & {"infrastructure", "missing"}),
        "excluded": excluded is not None,
    }
    return " ".join(name for name, holds in tags.items() if holds)


def _pass_rates(view: ReportView) -> Table:
    rates = [(Name(entry.label), Name(entry.model), figures.share(entry.pass_rate)) for entry in view.candidates]
    if view.baseline:
        pinned = view.baseline
        rates.append(
            (Name(f"baseline: {pinned.label}"), Name(pinned.model), figures.share(pinned.correctness.pass_at_1))
        )
    return Table("pass-rates", "Pass rates", ("Candidate", "Model", "pass@1 [95% interval]"), tuple(rates))


def _cost_points(view: ReportView) -> tuple[Point, ...]:
    costs = [(entry, entry.measures.costs.total_usd) for entry in view.candidates]
    most = max((cost for _, cost in costs if cost), default=0.0)
    points = [
        chart_point(
            cost / most,
            entry.pass_rate,
            f"{entry.label}: {figures.share(entry.pass_rate)}, {figures.dollars(cost)}",
            one_line(entry.label, 40),
        )
        for entry, cost in costs
        if cost is not None and most
    ]
    known = tuple(filter(None, points))
    return known if len(known) > 1 else ()


def _most_cost(view: ReportView) -> str:
    return figures.dollars(max(entry.measures.costs.total_usd or 0.0 for entry in view.candidates))


def meter_end(cells: Sequence[str]) -> float | None:
    """Return the value at which a row's bars are full.

    None if the row has no figures to compare.
    """
    drawn = [cell for cell in cells if isinstance(cell, Figure) and cell.estimate is not None]
    if any(cell.is_share for cell in drawn):
        return 1.0
    values = [cell.estimate.value for cell in drawn if cell.estimate and cell.estimate.value is not None]
    return max(values) if len(values) > 1 else None


@functools.cache
def _template() -> "Template":
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
        cost_points=_cost_points,
        most_cost=_most_cost,
        meter_end=meter_end,
    )


def render_html(view: ReportView) -> str:
    """Render the report as one HTML page.

    Equal views give equal bytes.
    """
    packed = _characters(view) > _PLAIN
    return _template().render(view=replace(view, verdicts=worst_first(view.verdicts)), packed=packed)


def _characters(view: ReportView) -> int:
    attempts = (attempt for row in view.problems for cell in row.cells for attempt in cell.attempts)
    return sum(
        len(each.patch) + len(each.output) + sum(len(message.text) for message in each.transcript) for each in attempts
    )


def _pack(html: str) -> str:
    return base64.b64encode(gzip.compress(html.encode(), mtime=0)).decode()
