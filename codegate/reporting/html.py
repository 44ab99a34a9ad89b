"""The report as one HTML file that needs nothing else: no network, no other file, not even scripts.

Jinja's autoescaping stands between the view and the page; ids come from positions, never from data. Style and
script are inline and allowed by their hashes alone (Content Security Policy level 3), everything else is denied, so
that even text which got past the escaping could neither run nor load anything.
"""

import base64
import dataclasses
import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Literal

from codegate.gating import Verdict
from codegate.reporting import figures
from codegate.reporting.estimates import Estimate
from codegate.reporting.table import (
    cohort_rows,
    columns,
    failure_rows,
    floor_rows,
    measure_rows,
    score_rows,
    turn_rows,
    unknown_measures,
)
from codegate.reporting.view import Cell, ReportView

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from jinja2 import Template

DiffLineKind = Literal["add", "del", "hunk", "file", "same"]

PLOT_WIDTH = 640


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


def diff_lines(patch: str) -> list[tuple[DiffLineKind, str]]:
    """Return the lines of a unified diff with what each of them is."""
    return [(_diff_kind(line), line) for line in patch.splitlines()]


def _diff_kind(line: str) -> DiffLineKind:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "rename ")):
        return "file"
    if line.startswith("@@"):
        return "hunk"
    return "add" if line.startswith("+") else "del" if line.startswith("-") else "same"


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


def _cells(rows: Sequence["DataclassInstance"]) -> list[tuple[str, ...]]:
    return [dataclasses.astuple(row) for row in rows]


def _pass_rates(view: ReportView) -> list[Estimate]:
    rates = [entry.pass_rate for entry in view.candidates]
    return [*rates, view.baseline.correctness.pass_at_1] if view.baseline else rates


def _asset(name: str) -> str:
    return resources.files("codegate.reporting").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


@functools.cache
def _template() -> "Template":
    """Return the compiled page: everything but the view is the same for every report."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - only this format needs it
    from markupsafe import Markup  # noqa: PLC0415

    style, script = _asset("report.css"), _asset("report.js")
    if re.search(r"</(style|script)|<!--", style + script, re.IGNORECASE):
        message = "report.css or report.js would end its own element"
        raise ValueError(message)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    environment.globals.update(
        f=figures,
        glyphs=figures.CELL_GLYPHS,
        verdict_glyphs=figures.VERDICT_GLYPHS,
        diff_lines=diff_lines,
        interval_plot=interval_plot,
        row_tags=row_tags,
        columns=columns,
        measure_rows=measure_rows,
        unknown_measures=unknown_measures,
        failure_rows=failure_rows,
        turn_rows=turn_rows,
        cohort_rows=cohort_rows,
        score_rows=score_rows,
        cells=_cells,
        floor_rows=floor_rows,
        pass_rates=_pass_rates,
        plot_width=PLOT_WIDTH,
        style=Markup(style),  # noqa: S704 - our own file, checked above
        script=Markup(script),  # noqa: S704 - our own file, checked above
        policy=_policy(style, script),
    )
    return environment.from_string(_asset("report.html.j2"))


def render_html(view: ReportView) -> str:
    """Return the report as one self-contained HTML page; equal views give equal bytes."""
    return _template().render(view=view)
