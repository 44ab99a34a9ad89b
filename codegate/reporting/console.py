"""The report on a terminal, or as plain lines where there is none."""

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from codegate.gating import Verdict
from codegate.reporting import figures
from codegate.reporting.table import (
    cohort_rows,
    columns,
    failure_rows,
    floor_rows,
    measure_rows,
    turn_rows,
    unknown_measures,
)
from codegate.reporting.view import ReportView

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 40  # rows and items listed before the rest is only counted
_STYLES = {
    "pass": "bold green",
    "regressed": "bold red",
    "inconclusive": "bold yellow",
    "incomparable": "bold yellow",
    "infrastructure": "bold magenta",
}


def inert(text: str) -> str:
    """Return ``text`` so that a CI system cannot take any part of it for a command to itself.

    GitHub's runner reads ``::name::`` at the start of a line and ``##[name]`` anywhere; a line may be wrapped
    anywhere, so no two colons and no such bracket are left next to each other.
    """
    return re.sub(r":(?=:)", ": ", text).replace("##[", "# #[")


def render_console(view: ReportView, *, width: int = 100, color: bool = False) -> str:
    """Return the report for people at a terminal.

    Args:
        view: what to say.
        width: columns of the terminal.
        color: whether to use colours; False for a file, a pipe or a CI log.
    """
    from rich.console import Console  # noqa: PLC0415 - only what prints needs rich

    out = io.StringIO()
    console = Console(
        file=out,
        width=max(width, 40),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    _candidates(console, view)
    _problems(console, view)
    for run in view.runs:
        console.print(inert(f"  sandbox: {run.assurance}"))
        for clause in run.weaknesses:
            console.print(inert(f"    but {clause}"))
        if run.confirmation is not None:
            console.print(inert(f"  {run.confirmation}"))
    for verdict in view.verdicts:
        _verdict(console, verdict)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _verdict(console: "Console", verdict: Verdict) -> None:
    advisory = " (few problems)" if verdict.advisory else ""
    console.print(
        inert(f"{figures.VERDICT_GLYPHS[verdict.kind]} {verdict.kind.upper()}{advisory}  {verdict.label}"),
        style=_STYLES[verdict.kind],
    )
    console.print(inert(f"  {verdict.reason}"))
    if verdict.looks > 1 or verdict.candidates > 1:
        console.print(inert(f"  look {figures.looks(verdict)}"))
    for note in figures.notes(verdict):
        console.print(inert(f"  {note}"))
    for name, flips in (("lost", verdict.regressions), ("gained", verdict.improvements)):
        _list(console, f"{name} beyond chance", [figures.flip(flip) for flip in flips if flip.beyond_chance])
        _list(console, name, [flip.problem for flip in flips if not flip.beyond_chance])
    _list(console, "left out", [f"{item.problem} ({item.reason})" for item in verdict.excluded])
    floors = [f"{tag} {rate} n={n}, asked {asked}" for tag, n, rate, asked in floor_rows(verdict)]
    _list(console, "floors", floors)
    console.print()


def _table(console: "Console", title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; nothing when it has no rows. ``Text``, so that no markup is ever read from a label."""
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not rows:
        return
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
    for name in header:
        table.add_column(Text(inert(name)), overflow="fold")
    for cells in rows[:_ROWS]:
        table.add_row(*(Text(inert(cell)) for cell in cells))
    console.print(table)
    if len(rows) > _ROWS:
        console.print(f"  +{len(rows) - _ROWS} more")


def _candidates(console: "Console", view: ReportView) -> None:
    measures = [(row.name if not row.group else f"{row.group}: {row.name}", *row.cells) for row in measure_rows(view)]
    _table(console, "Measures [95% interval]", ("measure", *columns(view)), measures)
    _list(console, "unknown", list(unknown_measures(view)))
    failures = [
        (row.candidate, row.failure, row.count, row.share, row.baseline, row.difference, row.p)
        for row in failure_rows(view)
    ]
    header = ("candidate", "failure", "n", "share of samples", "baseline", "change", "p")
    _table(console, "Failure classes", header, failures)
    rounds = [(row.candidate, row.number, row.reached, row.solved, row.rate, row.by_then) for row in turn_rows(view)]
    _table(console, "Turns", ("candidate", "turn", "reached", "solved", "of those", "solved by then"), rounds)
    groups = [
        (row.candidate, row.tag, row.pass_rate, row.baseline, row.difference, row.p, row.failure)
        for row in cohort_rows(view)
    ]
    _table(console, "Cohorts", ("candidate", "tag", "pass@1", "baseline", "change", "p", "most failures"), groups)
    for entry in view.candidates:
        _list(console, f"limits exceeded by {entry.label}", list(entry.measures.warnings))
        faults = [f"{item.cause} x{item.count}: {item.message}" for item in entry.faults]
        _list(console, f"infrastructure faults of {entry.label}", faults)
        _list(console, f"doubts about {entry.label}", list(entry.doubts))
        _list(console, f"contamination of {entry.label}", list(entry.contamination))
        tried = [f"{problem} ({summary})" for problem, summary in figures.notable(view, entry)]
        _list(console, f"attempted by {entry.label}", tried)
        ungraded = entry.planned - entry.graded
        if ungraded > 0:
            console.print(inert(f"  {entry.label}: {ungraded} of {entry.planned} attempts have no grade"))


def _problems(console: "Console", view: ReportView) -> None:
    shown = [row for row in view.problems if any(cell.status != "passed" for cell in row.cells)]
    rows = [
        (row.id, *(f"{figures.CELL_GLYPHS[cell.status]} {figures.cell(cell)}" for cell in row.cells)) for row in shown
    ]
    header = ("problem", *(entry.label for entry in view.candidates))
    _table(console, "Problems not passed by every candidate", header, rows)
    _list(console, "not run", [f"{row.id} ({row.excluded})" for row in view.problems if row.excluded is not None])


def _list(console: "Console", name: str, items: list[str]) -> None:
    if items:
        more = f", +{len(items) - _ROWS} more" if len(items) > _ROWS else ""
        console.print(inert(f"  {name}: {', '.join(items[:_ROWS])}{more}"))
