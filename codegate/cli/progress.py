"""Show progress on stderr: a bar on terminals, else lines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from codegate.cli.output import is_quiet, note, notes_through
from codegate.reporting import ProgressLines, one_line
from codegate.reporting.console import IMPORTANT_CHARACTERS
from codegate.running import Progress

if TYPE_CHECKING:
    from codegate.mining import MineEvent


_Show = Callable[..., None]
"""Shows progress, like ``ProgressLines``. Its arguments are the number done, the total and the current work."""


@contextmanager
def run_progress(first: str = "") -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows how far a run is.

    ``first`` is shown before the run's first step. The first fault of each cause and candidate gets a line of its own.
    """
    seen: set[tuple[str, str]] = set()
    with _shown(first) as show:

        def step(step: Progress) -> None:
            fault = step.outcome.fault if step.outcome is not None else None
            new = fault is not None and (step.candidate, fault.cause) not in seen
            text = step.words
            if fault is not None and new:
                seen.add((step.candidate, fault.cause))
                text += f": {fault.message}"
            show(step.done, step.total, text, important=new, waiting=step.outcome is None)

        yield step


@contextmanager
def mine_progress() -> Iterator[Callable[["MineEvent"], None]]:
    """Yield a function that shows how far mining is."""
    with _shown() as show:

        def step(event: "MineEvent") -> None:
            show(event.done, event.total, event.words, important=event.important, waiting=event.kind == "trying")

        yield step


@contextmanager
def waiting_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that shows how much is done.

    The function takes the number done, the total and the current work.
    """
    with _shown() as show:
        yield lambda done, total, text: show(done, total, text, important=False, waiting=True)


def _shown(first: str = "") -> AbstractContextManager[_Show]:
    return _bar(first) if sys.stderr.isatty() and not is_quiet() else nullcontext(ProgressLines(note))


@contextmanager
def _bar(first: str) -> Iterator[_Show]:
    from rich.console import Console  # noqa: PLC0415  only where there is a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    console = Console(stderr=True)
    doing = TextColumn("{task.description}", markup=False, table_column=Column(ratio=1))
    columns = (BarColumn(bar_width=12), MofNCompleteColumn(), TimeElapsedColumn(), doing)

    def above(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    with Bar(*columns, console=console, expand=True) as bar, notes_through(above):
        task = bar.add_task(first, total=None)

        def show(done: int, total: int, text: str, *, important: bool, waiting: bool = False) -> None:
            if important and not waiting:
                note(f"[{done}/{total}] {one_line(text, IMPORTANT_CHARACTERS)}")
            bar.update(task, completed=done, total=total, description=one_line(text, 200))

        yield show
