"""Measure each step of mining: sandboxes, test runs and seconds."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from codegate.grading import RunCount, counted_runs
from codegate.wording import count_of

_MEASURES: Final = ("sandboxes", "runs", "cpu s", "wall s")


class Steps:
    """Seconds and test runs of each step, for one change."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.runs: dict[str, RunCount] = defaultdict(RunCount)
        self.current = ""
        self.began = time.monotonic()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count time and test runs inside the block for ``name``."""
        started = time.monotonic()
        self.current = name
        try:
            with counted_runs(self.runs[name]):
                yield
        finally:
            self.seconds[name] += time.monotonic() - started


class Profile:
    """The measured steps, summed over kept and over rejected changes."""

    def __init__(self) -> None:
        self.kept, self.rejected = Steps(), Steps()
        self.count = {True: 0, False: 0}

    def add(self, steps: Steps, *, kept: bool) -> None:
        """Add a change's steps; ``kept``: the change became a problem."""
        self.count[kept] += 1
        into = self.kept if kept else self.rejected
        for name, seconds in steps.seconds.items():
            into.seconds[name] += seconds
            into.runs[name].sandboxes += steps.runs[name].sandboxes
            into.runs[name].runs += steps.runs[name].runs
            into.runs[name].cpu_seconds += steps.runs[name].cpu_seconds

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each step, over all changes."""
        return {name: self.kept.seconds[name] + self.rejected.seconds[name] for name in self._names}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.kept.seconds, *self.rejected.seconds)))

    def lines(self) -> list[str]:
        """Return the profile as the lines of a table.

        Changes are tried several at a time, so the sum of their seconds may be longer than the mining run.
        """
        titles = ("step", *_MEASURES, *(f"{name}/{end}" for end in ("kept", "rejected") for name in _MEASURES))
        names = self._names
        rows = [titles, *(self._row(name, (name,)) for name in names), self._row("total", names)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return [f"profile: {count_of(self.count[True], 'unit')} kept, {self.count[False]} tried and rejected", *table]

    def _row(self, title: str, names: tuple[str, ...]) -> tuple[str, ...]:
        kept, rejected = _measured(self.kept, names), _measured(self.rejected, names)
        total = [
            f"{sum(pair):.{0 if number < 2 else 1}f}" for number, pair in enumerate(zip(kept, rejected, strict=True))
        ]
        each = [
            f"{value / count:.{1 if number < 2 else 2}f}" if count else "-"
            for values, count in ((kept, self.count[True]), (rejected, self.count[False]))
            for number, value in enumerate(values)
        ]
        return title, *total, *each


def _measured(steps: Steps, names: tuple[str, ...]) -> tuple[float, ...]:
    runs = [steps.runs[name] for name in names]
    return (
        sum(each.sandboxes for each in runs),
        sum(each.runs for each in runs),
        sum(each.cpu_seconds for each in runs),
        sum(steps.seconds[name] for name in names),
    )
