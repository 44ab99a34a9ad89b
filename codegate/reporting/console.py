"""The report on a terminal, or as plain lines where there is none."""

import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from codegate.reporting import figures
from codegate.reporting.view import ReportView

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ROWS = 40  # problems and faults listed before the rest is only counted
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
    for verdict in view.verdicts:
        advisory = " (advisory)" if verdict.advisory else ""
        console.print(
            inert(f"{figures.VERDICT_GLYPHS[verdict.kind]} {verdict.kind.upper()}{advisory}  {verdict.label}"),
            style=_STYLES[verdict.kind],
        )
        console.print(inert(f"  {verdict.reason}"))
        _list(console, "lost", [flip.problem for flip in verdict.regressions])
        _list(console, "gained", [flip.problem for flip in verdict.improvements])
        _list(console, "left out", [f"{item.problem} ({item.reason})" for item in verdict.excluded])
        console.print()
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _table(title: str, columns: Iterable[tuple[str, bool]]) -> "Table":
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
    for name, numeric in columns:
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    return table


def _candidates(console: "Console", view: ReportView) -> None:
    from rich.text import Text  # noqa: PLC0415 - Text, so that no markup is ever read from a label

    table = _table(
        "Candidates",
        [
            ("candidate", False),
            ("pass@1 [95%]", False),
            ("score", True),
            ("tests", True),
            ("lint clean", True),
            ("median", True),
            ("p95", True),
            ("tokens in/out", True),
            ("cost", True),
        ],
    )
    for entry in view.candidates:
        cells = (
            entry.label,
            figures.share(entry.pass_rate),
            figures.number(entry.score),
            figures.ratio(entry.tests_passed, entry.tests_total),
            figures.percent(entry.lint_clean.value),
            figures.seconds(entry.latency_median),
            figures.seconds(entry.latency_p95),
            f"{figures.count(entry.input_tokens)}/{figures.count(entry.output_tokens)}",
            figures.dollars(entry.cost_usd),
        )
        table.add_row(*(Text(inert(cell)) for cell in cells))
    console.print(table)
    for entry in view.candidates:
        counts = [f"{figures.words(item.name)} {item.count}" for item in entry.failures]
        _list(console, f"failures of {entry.label}", counts)
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
    from rich.text import Text  # noqa: PLC0415

    shown = [row for row in view.problems if any(cell.status != "passed" for cell in row.cells)]
    if not shown:
        return
    table = _table(
        "Problems not passed by every candidate",
        [("problem", False), *((entry.label, False) for entry in view.candidates)],
    )
    for column in table.columns[1:]:
        column.header = Text(inert(str(column.header)))
    for row in shown[:_ROWS]:
        cells = [f"{figures.CELL_GLYPHS[cell.status]} {figures.cell(cell)}" for cell in row.cells]
        table.add_row(*(Text(inert(cell)) for cell in [row.id, *cells]))
    console.print(table)
    if len(shown) > _ROWS:
        console.print(f"  +{len(shown) - _ROWS} more")
    _list(
        console,
        "not run",
        [f"{row.id} ({row.excluded})" for row in view.problems if row.excluded is not None],
    )


def _list(console: "Console", name: str, items: list[str]) -> None:
    if items:
        more = f", +{len(items) - _ROWS} more" if len(items) > _ROWS else ""
        console.print(inert(f"  {name}: {', '.join(items[:_ROWS])}{more}"))
