"""Where a history is going: one series per candidate and conditions, its slope, and which model answered when."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from codegate.gating import student
from codegate.gating.drift import LEVEL, Rate, pass_rate
from codegate.gating.history import HistoryEntry
from codegate.gating.statistics import within_variance

DAYS: Final = 30
"""A slope is the change of the pass rate over this many days."""
_SECONDS: Final = 86_400.0
_LEAST: Final = 3  # points of a line that could also not have been one


@dataclass(frozen=True)
class Slope:
    """Change of the pass rate per 30 days, by least squares over ``n`` runs, with its 95 % interval."""

    value: float
    low: float
    high: float
    n: int

    def words(self) -> str:
        """Return it for people."""
        low, high = (f"{end * 100:+.1f}" for end in (self.low, self.high))
        return f"{self.value * 100:+.1f} pp per {DAYS} days (95% interval {low}..{high}, n={self.n} runs)"


@dataclass(frozen=True)
class Series:
    """The runs of one candidate under the same conditions, the oldest first."""

    candidate: str
    label: str
    conditions_digest: str
    entries: tuple[HistoryEntry, ...]
    slope: Slope | None

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models that answered, in the order in which they first did."""
        return tuple(dict.fromkeys(entry.model for entry in self.entries))


@dataclass(frozen=True)
class MatrixCell:
    """What one model did on one version of the suite, all runs together."""

    model: str
    suite_digest: str
    runs: int
    first: str
    last: str
    rate: Rate


def series_of(entries: Sequence[HistoryEntry]) -> tuple[Series, ...]:
    """Return the series of a history: runs that differ in a condition are never on one line."""
    found: dict[tuple[str, str], list[HistoryEntry]] = defaultdict(list)
    for entry in entries:
        found[entry.candidate, entry.conditions_digest].append(entry)
    return tuple(
        Series(candidate, many[-1].label, conditions, tuple(many), slope_of(many))
        for (candidate, conditions), many in found.items()
    )


def matrix_of(entries: Sequence[HistoryEntry]) -> tuple[MatrixCell, ...]:
    """Return what each model did on each version of the suite, pooled over the runs, sorted by both."""
    found: dict[tuple[str, str], list[HistoryEntry]] = defaultdict(list)
    for entry in entries:
        found[entry.model, entry.suite_digest].append(entry)
    return tuple(
        MatrixCell(
            model=model,
            suite_digest=suite,
            runs=len(many),
            first=min(entry.at for entry in many),
            last=max(entry.at for entry in many),
            rate=pass_rate(pooled_counts(many)),
        )
        for (model, suite), many in sorted(found.items())
    )


def pooled_counts(entries: Sequence[HistoryEntry]) -> dict[str, tuple[int, int]]:
    """Return passes and counted samples by problem over all ``entries``."""
    pooled: dict[str, tuple[int, int]] = {}
    for entry in entries:
        for problem, (passed, n) in entry.counts.items():
            before = pooled.get(problem, (0, 0))
            pooled[problem] = (before[0] + passed, before[1] + n)
    return pooled


def slope_of(entries: Sequence[HistoryEntry]) -> Slope | None:
    """Return the least-squares slope of the pass rate over time; None below three runs or without any time between.

    The residual variance is never taken to be less than what sampling alone makes of a run's rate, mean p(1-p) / (n k),
    with p(1-p) estimated from the repeated samples of each problem: three runs that happen to be in line prove little.
    """
    points = [(_days(entry.at), entry.pass_rate) for entry in entries if entry.pass_rate is not None]
    if len(points) < _LEAST:
        return None
    n = len(points)
    middle = math.fsum(x for x, _ in points) / n
    mean = math.fsum(y for _, y in points) / n
    spread = math.fsum((x - middle) ** 2 for x, _ in points)
    if spread <= 0.0:
        return None
    slope = math.fsum((x - middle) * (y - mean) for x, y in points) / spread
    residual = math.fsum((y - mean - slope * (x - middle)) ** 2 for x, y in points) / (n - 2)
    error = math.sqrt(max(residual, _sampling_variance(entries)) / spread)
    width = student.quantile(0.5 + LEVEL / 2, n - 2) * error
    return Slope(slope * DAYS, (slope - width) * DAYS, (slope + width) * DAYS, n)


def _sampling_variance(entries: Sequence[HistoryEntry]) -> float:
    cells = [cell for cell in pooled_counts(entries).values() if cell[1]]
    within = within_variance(cells) or 0.0
    samples = [sum(n for _, n in entry.counts.values()) for entry in entries]
    return within / max(math.fsum(samples) / len(samples), 1.0)


def _days(at: str) -> float:
    return datetime.fromisoformat(at).timestamp() / _SECONDS


def days_since(entries: Sequence[HistoryEntry], now: datetime | None = None) -> int | None:
    """Return how many whole days ago the newest run finished, None without a run; a future one was 0 days ago."""
    if not entries:
        return None
    newest = max(datetime.fromisoformat(entry.at) for entry in entries)
    return max(((now or datetime.now(UTC)) - newest).days, 0)
