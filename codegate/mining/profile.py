"""Where the time of a mining goes: test runs and seconds of each step, for units kept and rejected."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from codegate.grading import RunCount, counted_runs
from codegate.wording import count_of

_TITLES: Final = ("step", "runs", "cpu s", "wall s", "runs/kept", "s/kept", "runs/rejected", "s/rejected")


class Steps:
    """Seconds and test runs of each step of one unit."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.runs: dict[str, RunCount] = defaultdict(RunCount)
        self.current = ""
        self.began = time.monotonic()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time and the test runs inside the block for ``name``."""
        started = time.monotonic()
        self.current = name
        try:
            with counted_runs(self.runs[name]):
                yield
        finally:
            self.seconds[name] += time.monotonic() - started


class Profile:
    """Steps of all units that were tried, summed by whether the unit was kept."""

    def __init__(self) -> None:
        self.kept, self.rejected = Steps(), Steps()
        self.count = {True: 0, False: 0}

    def add(self, steps: Steps, *, kept: bool) -> None:
        """Add what one unit took."""
        self.count[kept] += 1
        into = self.kept if kept else self.rejected
        for name, seconds in steps.seconds.items():
            into.seconds[name] += seconds
            into.runs[name].runs += steps.runs[name].runs
            into.runs[name].cpu_seconds += steps.runs[name].cpu_seconds

    def seconds(self) -> dict[str, float]:
        """Return the seconds of each step."""
        return {name: self.kept.seconds[name] + self.rejected.seconds[name] for name in self._names}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.kept.seconds, *self.rejected.seconds)))

    def lines(self) -> list[str]:
        """Return a table for people; wall-clock seconds are summed over units that ran side by side."""
        names = self._names
        rows = [_TITLES, *(self._row(name, (name,)) for name in names), self._row("total", names)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return [f"profile: {count_of(self.count[True], 'unit')} kept, {self.count[False]} tried and rejected", *table]

    def _row(self, title: str, names: tuple[str, ...]) -> tuple[str, ...]:
        runs, cpu_seconds, seconds = 0, 0.0, 0.0
        each: list[str] = []
        for steps, count in ((self.kept, self.count[True]), (self.rejected, self.count[False])):
            own_runs = sum(steps.runs[name].runs for name in names)
            own_seconds = sum(steps.seconds[name] for name in names)
            each += [f"{own_runs / count:.1f}", f"{own_seconds / count:.2f}"] if count else ["-", "-"]
            runs, seconds = runs + own_runs, seconds + own_seconds
            cpu_seconds += sum(steps.runs[name].cpu_seconds for name in names)
        return title, str(runs), f"{cpu_seconds:.1f}", f"{seconds:.1f}", *each
