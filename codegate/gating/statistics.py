"""Counts per problem, and statistics that the gate's tests share.

Sums are taken with ``math.fsum``, so the order of the problems cannot change a single bit of the answer.
"""

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar


class Pair(NamedTuple):
    """Passes and samples of baseline and candidate on one problem.

    Baseline and candidate have at least one sample each.
    """

    baseline_passed: int
    baseline_n: int
    candidate_passed: int
    candidate_n: int

    @property
    def baseline_rate(self) -> float:
        """Return the baseline's pass rate, in 0..1."""
        return self.baseline_passed / self.baseline_n

    @property
    def candidate_rate(self) -> float:
        """Return the candidate's pass rate, in 0..1."""
        return self.candidate_passed / self.candidate_n

    @property
    def difference(self) -> float:
        """Return candidate rate minus baseline rate, in -1..1."""
        return self.candidate_rate - self.baseline_rate


@dataclass(frozen=True)
class Comparison:
    """The result of a paired comparison of ``n`` units.

    A unit is a problem or a pull request. Rates and differences are in 0..1. The p-values are one-sided, of "there is
    no drop", "the drop is the margin or more" and "there is no gain". The interval's upper end is below 0 exactly when
    ``p_regression`` is below its level. The lower end is above -margin exactly when ``p_noninferior`` is below its
    level, or when the baseline solves less than the margin. The p-values and the interval are None below two units.
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
    """Return the mean, which does not depend on the order."""
    return math.fsum(values) / len(values)


def within_variance(cells: Sequence[tuple[int, int]]) -> float | None:
    """Return the mean of p(1-p) over problems with repeated samples.

    This is the unbiased variance of one sample: the mean of x(k-x)/(k(k-1)) over the ``cells`` (passes x, samples k)
    with k >= 2. None if no cell has two samples.
    """
    repeated = [(x, k) for x, k in cells if k >= 2]
    return mean([x * (k - x) / (k * (k - 1)) for x, k in repeated]) if repeated else None


def consistent_interval(
    low: float, high: float, *, difference: float, dropped: bool, ruled_out: bool, margin: float, rate: float
) -> tuple[float, float]:
    """Adjust a difference's interval to agree with the tests.

    ``high`` is below 0 exactly if ``dropped``, ``low`` above -margin exactly if ``ruled_out``. Both ends are limited to
    possible differences: a baseline of ``rate`` cannot lose more than ``rate``, nor gain more than 1 - ``rate``.
    """
    high = min(high, math.nextafter(0.0, -1.0)) if dropped else max(high, 0.0)
    low = max(low, math.nextafter(-margin, 0.0)) if ruled_out else min(low, -margin)
    return max(low, min(-rate, difference)), min(high, max(1.0 - rate, difference))


def beta_binomial_cdf(passed: int, n: int, a: float, b: float) -> float:
    """Return P(X <= passed) for X passes in ``n`` samples.

    The pass rate is distributed as Beta(a, b).
    """

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    whole = log_beta(a, b)
    terms = (math.comb(n, x) * math.exp(log_beta(a + x, b + n - x) - whole) for x in range(passed + 1))
    return min(math.fsum(terms), 1.0)


def wilson(passed: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's score interval of ``passed`` of ``n`` trials.

    Wilson 1927, JASA 22:209; ``n`` > 0. ``passed`` may be fractional, as a sum of per-problem rates is. ``z`` is the
    standard normal quantile, such as 1.96.
    """
    if not n > 0 or not 0 <= passed <= n:
        raise ValueError(f"a rate needs 0 <= passed <= n and n > 0, not {passed} of {n}")
    rate, square = passed / n, z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    return max(centre - half, 0.0) if passed else 0.0, min(centre + half, 1.0) if passed < n else 1.0


def exact_interval(passed: float, n: float, level: float) -> tuple[float, float]:
    """Return the exact interval of the rate ``passed`` of ``n``.

    Each end is one-sided at ``level`` (Clopper and Pearson 1934). The upper end is the rate at which so few passes have
    the chance ``level``. The true rate is above the upper end in at most a share ``level`` of cases, also for few
    trials. ``passed`` may be fractional, as a sum of per-problem rates is.
    """

    def highest(passed: float) -> float:
        if passed >= n:
            return 1.0
        low, high = 0.0, 1.0
        while (middle := (low + high) / 2.0) not in (low, high):
            if _incomplete_beta(1.0 - middle, middle, n - passed, passed + 1.0) > level:
                low = middle
            else:
                high = middle
        return high

    return 1.0 - highest(n - passed), highest(passed)


def newcombe(passed: float, n: float, other_passed: float, other_n: float, z: float) -> tuple[float, float]:
    """Return the interval of the difference of two unpaired rates.

    The difference is ``passed`` of ``n`` minus ``other_passed`` of ``other_n``. ``z`` is the standard normal quantile,
    such as 1.96. Newcombe 1998, Stat. Med. 17:873, method 10.
    """
    low, high = wilson(passed, n, z)
    other_low, other_high = wilson(other_passed, other_n, z)
    rate, other = passed / n, other_passed / other_n
    difference = rate - other
    below = math.hypot(rate - low, other_high - other)
    above = math.hypot(high - rate, other - other_low)
    return max(difference - below, -1.0), min(difference + above, 1.0)


TwoByTwo = tuple[int, int, int, int]
"""Counts of one problem: passes and samples of the first set, then passes and samples of the second set."""


def stratified_test(tables: Sequence[TwoByTwo]) -> float:
    """Return the two-sided exact p of "no problem's rate differs".

    Given each problem's total, the passes in the first set of samples are hypergeometric. The distribution of their sum
    over the problems is convolved (Cochran 1954; Mantel and Haenszel 1959, without the normal approximation). p is
    twice the smaller tail, at most 1.
    """
    distribution: list[float] = [1.0]
    least = observed = 0
    for passed, n, other_passed, other_n in tables:
        total = passed + other_passed
        low, high = max(0, total - other_n), min(n, total)
        least += low
        observed += passed
        if low == high:
            continue
        ways = math.comb(n + other_n, total)
        terms = [math.comb(n, x) * math.comb(other_n, total - x) / ways for x in range(low, high + 1)]
        grown = [0.0] * (len(distribution) + len(terms) - 1)
        for i, p in enumerate(distribution):
            for j, q in enumerate(terms):
                grown[i + j] += p * q
        distribution = grown
    at = observed - least
    below, above = math.fsum(distribution[: at + 1]), math.fsum(distribution[at:])
    return min(2.0 * min(below, above), 1.0)


Named = TypeVar("Named", bound=Hashable)


def holm(p_values: Mapping[Named, float]) -> dict[Named, float]:
    """Return the p-values after Holm's adjustment (1979), by name."""
    adjusted: dict[Named, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        highest = max(highest, min((len(p_values) - rank) * p_values[name], 1.0))
        adjusted[name] = highest
    return adjusted


_CONVERGED = 1e-16
_MAX_TERMS = 20_000
_TINY = 1e-300


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function.

    DLMF 8.17.22, by Lentz's method.
    """
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for coefficient in (even, odd):
            d = 1.0 + coefficient * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + coefficient / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            value *= change
        if abs(change - 1.0) < _CONVERGED:
            break
    return value


def _incomplete_beta(x: float, complement: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b).

    DLMF 8.17.2. ``complement`` is 1 - x, which loses its digits near x = 1.
    """
    if x <= 0.0:
        return 0.0
    if complement <= 0.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(complement)
    front = math.exp(log_front)
    if x <= (a + 1.0) / (a + b + 2.0):  # here the fraction converges quickly; DLMF 8.17.4 mirrors other x
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(complement, b, a) / b


def student_sf(t: float, df: float) -> float:
    """Return P(T > t) for Student's t.

    P(|T| > t) = I_x(df/2, 1/2) with x = df / (df + t^2) (Abramowitz and Stegun 26.7.1 with 26.5.2); ``df`` > 0.
    """
    if not df > 0 or math.isnan(t):
        raise ValueError(f"Student's t needs df > 0 and a number, not df={df}, t={t}")
    square = t * t
    if math.isinf(square):
        tail = 0.0
    else:
        tail = 0.5 * _incomplete_beta(df / (df + square), square / (df + square), df / 2.0, 0.5)
    return tail if t >= 0 else 1.0 - tail


def student_cdf(t: float, df: float) -> float:
    """Return P(T <= t) for Student's t with ``df`` degrees."""
    return student_sf(-t, df)


@functools.lru_cache(maxsize=256)
def student_quantile(p: float, df: float) -> float:
    """Return Student's t quantile at ``p`` for ``df`` degrees."""
    if not 0.0 < p < 1.0:
        raise ValueError(f"a quantile needs a probability strictly between 0 and 1, not {p}")
    tail = min(p, 1.0 - p)
    low, high = 0.0, 1.0
    while student_sf(high, df) > tail:
        low, high = high, high * 2.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if student_sf(middle, df) > tail:
            low = middle
        else:
            high = middle
    return high if p > 0.5 else -high if p < 0.5 else 0.0
