"""What a comparison can find: the smallest drop and margin, how many problems and samples, how often no answer."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Literal

from codegate.gating import student
from codegate.gating.statistics import within_variance

Relation = Literal["same weights", "same family", "other vendor"]

CHURN: Mapping[Relation, float] = {"same weights": 0.0, "same family": 0.02, "other vendor": 0.06}
"""Variance over problems of the true difference between two equally good models: they solve different ones.

From per-problem results of 24 published models on 500 problems; see docs/statistics.md.
"""

_ALIKE = 0.3  # correlation of the differences of problems that come from one pull request
_WITHIN_SHARE = 2 / 7  # of m(1-m), where no problem was repeated: what U-shaped difficulty, Beta(.4m, .4(1-m)), gives

_POWER_QUANTILE = 0.8416212335729143  # standard normal quantile of 0.8


def one_sample_variance(cells: Sequence[tuple[int, int]]) -> float:
    """Return the mean of p(1-p) over problems, from passes x of k samples each; a typical value without repeats."""
    within = within_variance(cells)
    if within is not None:
        return within
    mean = math.fsum(x / k for x, k in cells) / len(cells)
    return mean * (1.0 - mean) * _WITHIN_SHARE


def clustered_churn(churn: float, size: float) -> float:
    """Return the churn of the mean of ``size`` problems of one source, which are alike: (1 + (size - 1) .3) / size."""
    return churn * (1.0 + (size - 1.0) * _ALIKE) / size


def drop_found(n: int, variance: float, level: float) -> float | None:
    """Return the smallest drop that a one-sided t test of ``n`` problems finds in 4 of 5 cases.

    The solution of m = (t_{1-level, n-1} + z_{0.8}) sqrt((variance + m(1-m)/10) / n): the usual sample size
    formula, with a variance that grows as problems are lost.

    Args:
        n: problems.
        variance: of one problem's difference if there is no drop.
        level: one-sided level of the test.

    Returns:
        The drop in 0..1; None where not even the loss of everything would be found so often.
    """
    if n < 2:
        return None
    square = (student.quantile(1.0 - level, n - 1) + _POWER_QUANTILE) ** 2 / n
    tenth = square / 10.0
    drop = (tenth + math.sqrt(tenth * tenth + 4.0 * (1.0 + tenth) * square * variance)) / (2.0 * (1.0 + tenth))
    return drop if drop <= 1.0 else None


def problems_for_margin(null_variance: float, *, level: float, margin: float) -> int:
    """Return how many problems rule out a drop of ``margin`` with 80 % power if the candidate is as good.

    The usual sample size of a one-sided t test: the smallest n with
    margin >= (t_{1-level, n-1} + z_{0.8}) sqrt(null_variance / (n - 1)), and 100,000 where that is not enough.
    """

    def enough(n: int) -> bool:
        reach = student.quantile(1.0 - level, n - 1) + _POWER_QUANTILE
        return null_variance * (reach / margin) ** 2 <= n - 1

    return 2 + bisect_left(range(2, 100_000), True, key=enough)
