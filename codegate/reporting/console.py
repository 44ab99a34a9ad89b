"""Render the report as text for a terminal or log."""

import io
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from codegate.gating import Verdict, worst_first
from codegate.reporting import figures, table
from codegate.reporting.cells import Table
from codegate.reporting.plain import one_line
from codegate.reporting.view import ReportView

if TYPE_CHECKING:
    from rich.console import Console

_ROWS = 40  # most rows that are listed; the rest is only counted
_COLUMNS = 8  # most columns; wider tables are split by candidates
_PIECE = 4  # candidates side by side in a table that was split
_IN_FILES = frozenset({"cohorts", "ranking", "turns", "weighted"})  # tables that only the report files have
IMPORTANT_CHARACTERS: Final = 500
"""Most characters of an important step's line, because the cause of a failure can stand at its end."""
_STEP_SECONDS: Final = 5.0
_SILENCE_SECONDS: Final = 20.0


class ProgressLines:
    """Writes the progress of a command to a stream."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last = time.monotonic()

    def __call__(self, done: int, total: int, text: str, *, important: bool, waiting: bool = False) -> None:
        """Write ``[done/total] text``, if it is time for a line.

        An ``important`` step is always written. Any other step is written only after some seconds without output, and
        after more seconds if the command is only ``waiting``.
        """
        silent = time.monotonic() - self._last
        if important or (done == total and not waiting) or silent >= (_SILENCE_SECONDS if waiting else _STEP_SECONDS):
            self._last = time.monotonic()
            self._write(f"[{done}/{total}] {one_line(text, IMPORTANT_CHARACTERS if important else 200)}")


def render_console(view: ReportView, *, width: int = 100) -> str:
    """Render the report as text of ``width`` columns, without colours."""
    out, console = _console(width)
    compared = not view.verdicts or any(verdict.kind != "incomparable" for verdict in view.verdicts)
    details = (shown for shown in table.details(view) if shown.id not in _IN_FILES)
    for shown in (*details, *table.warnings(view), _not_passed(view)) if compared else ():
        _print(console, shown)
    for run in view.runs if compared else ():
        console.print(f"  sandbox: {run.assurance}")
        for clause in run.weaknesses:
            console.print(f"    but {clause}")
        if run.confirmation is not None:
            console.print(f"  {run.confirmation}")
        if run.unfinished is not None:
            console.print(run.unfinished)
    for entry in () if view.verdicts else view.candidates[:_ROWS]:
        console.print(f"{entry.label} solves {figures.share(entry.pass_rate)}; not gated")
    for verdict in reversed(worst_first(view.verdicts)):  # people read the end of the output first
        _verdict(console, view, verdict)
    return _lines(out)


def render_tables(tables: Iterable[Table], *, width: int = 100) -> str:
    """Render tables as text, without colours."""
    out, console = _console(width)
    for shown in tables:
        _print(console, shown)
    return _lines(out)


def _console(width: int) -> "tuple[io.StringIO, Console]":
    from rich.console import Console  # noqa: PLC0415 - only what prints needs rich

    out = io.StringIO()
    return out, Console(
        file=out,
        width=max(width, 40),
        force_terminal=False,
        color_system=None,
        no_color=True,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _lines(out: io.StringIO) -> str:
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _verdict(console: "Console", view: ReportView, verdict: Verdict) -> None:
    advisory = " (few problems)" if verdict.advisory else ""
    changed = (table.newly_failing(view, verdict), table.newly_passing(view, verdict))
    whose = f": {verdict.label}" if len(view.verdicts) > 1 else ""
    for shown in (table.mismatches(verdict), table.floors(verdict), *changed):
        _print(console, replace(shown, title=f"{shown.title}{whose}"))
    console.print(f"{figures.VERDICT_GLYPHS[verdict.kind]} {verdict.kind.upper()}{advisory}  {verdict.label}")
    console.print(f"  {verdict.reason}")
    if verdict.looks > 1 or verdict.candidates > 1:
        console.print(f"  look {figures.looks(verdict)}")
    for note in figures.notes(verdict):
        console.print(f"  {note}")
    console.print()


def _not_passed(view: ReportView) -> Table:
    shown = {row.id for row in view.problems if any(cell.status not in {"passed", "excluded"} for cell in row.cells)}
    whole = table.matrix(view)
    rows = tuple(cells for cells in whole.rows if cells[0] in shown)
    return replace(whole, title="Problems not passed by every candidate", rows=rows)


def _print(console: "Console", shown: Table) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not shown.rows:
        return
    if len(shown.header) > _COLUMNS:
        for start in range(1, len(shown.header), _PIECE):
            cut = [(row[0], *row[start : start + _PIECE]) for row in (shown.header, *shown.rows)]
            last = start + _PIECE >= len(shown.header)
            _print(console, replace(shown, header=cut[0], rows=tuple(cut[1:]), note=shown.note if last else ""))
        return
    drawn = RichTable(title=shown.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in shown.header:
        drawn.add_column(Text(name), overflow="fold")
    for cells in shown.rows[:_ROWS]:
        drawn.add_row(*(Text(cell) for cell in cells))
    console.print(drawn)
    if len(shown.rows) > _ROWS:
        console.print(f"  +{len(shown.rows) - _ROWS} more")
    if shown.note:
        console.print(f"  {shown.note}\n")
