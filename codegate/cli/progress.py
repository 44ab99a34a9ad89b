"""Progress of a run or of mining: a bar on a terminal, plain lines elsewhere; always on stderr."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from codegate.cli.output import note, on_terminal
from codegate.mining import MineEvent
from codegate.reporting import one_line
from codegate.running import Progress

_QUIET_SECONDS = 5.0


Shown = Callable[[int, int, str, bool], None]


@contextmanager
def run_progress() -> Iterator[Callable[[Progress], None]]:
    """Give a function that shows each outcome."""
    with _shown() as show:
        yield lambda step: show(step.done, step.total, _describe(step), step.outcome.grade is None)


@contextmanager
def mine_progress() -> Iterator[Callable[[MineEvent], None]]:
    """Give a function that shows what becomes of each unit."""
    with _shown() as show:
        yield lambda event: show(
            event.done, event.total, f"{event.accepted} problems; {event.message}", event.kind != "unit"
        )


def _shown() -> AbstractContextManager[Shown]:
    return _bar() if on_terminal() else nullcontext(_Lines())


class _Lines:
    """One line every few seconds, and one for whatever must not be missed, so that a log stays readable."""

    def __init__(self) -> None:
        self._last = 0.0

    def __call__(self, done: int, total: int, text: str, always: bool) -> None:
        now = time.monotonic()
        if always or done == total or now - self._last >= _QUIET_SECONDS:
            self._last = now
            note(f"[{done}/{total}] {one_line(text)}")


@contextmanager
def _bar() -> Iterator[Shown]:
    from rich.console import Console  # noqa: PLC0415  only where there is a terminal
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def show(done: int, total: int, text: str, always: bool) -> None:  # noqa: ARG001  a bar misses nothing
            bar.update(task, completed=done, total=total, description=one_line(text, 100))

        yield show


def _describe(step: Progress) -> str:
    return f"{step.candidate}: {step.outcome.problem} {step.outcome.words()}"
