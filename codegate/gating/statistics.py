"""What both tests of the gate start from: counts per problem, and what a comparison of them shows.

Sums are taken with ``math.fsum``, so the order of the problems cannot change a single bit of the answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Pair(NamedTuple):
    """Counts of one problem: passes and samples of the baseline and of the candidate; both sides have samples."""

    baseline_passed: int
    baseline_n: int
    candidate_passed: int
    candidate_n: int

    @property
    def baseline_rate(self) -> float:
        """Return the share of the baseline's samples that passed, in 0..1."""
        return self.baseline_passed / self.baseline_n

    @property
    def candidate_rate(self) -> float:
        """Return the share of the candidate's samples that passed, in 0..1."""
        return self.candidate_passed / self.candidate_n

    @property
    def difference(self) -> float:
        """Return candidate rate minus baseline rate, in -1..1."""
        return self.candidate_rate - self.baseline_rate


@dataclass(frozen=True)
class Comparison:
    """What a paired comparison shows about ``n`` units: problems, or the pull requests that they come from.

    Rates, difference and interval are in units of pass rate (0..1). The p-values are one-sided; they and the interval
    are None below two units.

    Attributes:
        p_regression: of "there is no drop".
        p_noninferior: of "the drop is the margin or more".
        p_gain: of "there is no gain".
        interval: its upper end is below 0 exactly when ``p_regression`` is below its level, its lower end above
            -margin exactly when ``p_noninferior`` is below its own.
    """

    n: int
    baseline_rate: float
    candidate_rate: float
    difference: float
    p_regression: float | None = None
    p_noninferior: float | None = None
    p_gain: float | None = None
    interval: tuple[float, float] | None = None


def mean(values: Sequence[float]) -> float:
    """Return the mean, with a sum that does not depend on the order."""
    return math.fsum(values) / len(values)


def within_variance(cells: Sequence[tuple[int, int]]) -> float | None:
    """Return the mean of p(1-p) over problems: the variance of one sample, unbiased, from repeated samples.

    The mean of x(k-x)/(k(k-1)) over the cells (passes x of k samples) with k >= 2; None where there is no such cell.
    """
    repeated = [(x, k) for x, k in cells if k >= 2]
    return mean([x * (k - x) / (k * (k - 1)) for x, k in repeated]) if repeated else None


def consistent(low: float, high: float, *, dropped: bool, ruled_out: bool, margin: float) -> tuple[float, float]:
    """Return the interval with its ends on the side of 0 and of -margin that the tests decided.

    The ends already are there up to rounding, except where a bound on the p-value decided, not the test itself.
    """
    high = min(high, math.nextafter(0.0, -1.0)) if dropped else max(high, 0.0)
    low = max(low, math.nextafter(-margin, 0.0)) if ruled_out else min(low, -margin)
    return max(low, -1.0), min(high, 1.0)
