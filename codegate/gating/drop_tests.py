"""The gate's tests for a drop of the pass rate.

``suite_test`` asks whether the rate fell on *these* problems, ``population_test`` whether it fell on bugs like these.
Neither uses random numbers. ``suite_test`` takes the problems as fixed and sampling as the only noise, so the
difference of the mean pass rates is stratified by problem. The variance of each problem is shrunk towards what the null
hypothesis predicts for it, so it is never 0. Equal samples do not prove equal rates. docs/statistics.md has the
simulations that chose the constants.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from codegate.gating.statistics import (
    Comparison,
    Pair,
    consistent_interval,
    mean,
    student_cdf,
    student_quantile,
    student_sf,
    within_variance,
)

_NORMAL = NormalDist()
_PRIOR = 0.25  # pseudo-passes, and pseudo-failures, added to each problem of the baseline
_PRIOR_REGRESSION = 1  # pseudo-samples of the candidate at the rate that "no drop" predicts
_PRIOR_NONINFERIORITY = 2  # pseudo-samples of the candidate at the rate that "a drop of the margin" predicts


def suite_test(
    pairs: Sequence[Pair], *, margin: float, level: float = 0.05, level_regressed: float = 0.05
) -> Comparison:
    """Compare candidate and baseline on fixed problems.

    The baseline has x passes in b samples of a problem and the candidate y in k. Let P = (x + .25) / (b + .5), D the
    mean over the n problems of y/k minus x/b, and h the mean of 1/k divided by n (one sample of the candidate, in units
    of D):

    - p_regression = Phi((D + h/2) / se(0, 1)), p_gain = 1 - Phi((D - h/2) / se(0, 1))
    - p_noninferior = 1 - Phi((D + margin - h/4) / se(margin, 2)), or 1 where mean(P) is not above the margin
    - se(d, a)^2 = (mean(P(1-P) / (b-1)) + mean(Q(1-Q) / k / (1 - k/(k+a)^2))) / n, with Q = (y + a r P) / (k + a) and r
      = max(1 - d/mean(P), 0): under the null hypothesis every problem loses the same share.

    Args:
        pairs: one entry per problem; sample counts may differ between problems.
        margin: largest tolerated drop, in 0..1.
        level: one-sided level of ``p_noninferior``, for the interval.
        level_regressed: one-sided level of ``p_regression``, for the interval.

    Raises:
        ValueError: there are no pairs.
    """
    if not pairs:
        raise ValueError("a comparison needs problems")
    n = len(pairs)
    baseline_rate = mean([pair.baseline_rate for pair in pairs])
    candidate_rate = mean([pair.candidate_rate for pair in pairs])
    difference = mean([pair.difference for pair in pairs])
    if n < 2:
        return Comparison(n, baseline_rate, candidate_rate, difference)
    rate = mean([_shrunk(pair.baseline_passed, pair.baseline_n) for pair in pairs])
    stored = mean([_stored_variance(pair.baseline_passed, pair.baseline_n) for pair in pairs])
    step = mean([1.0 / pair.candidate_n for pair in pairs]) / n

    def error(drop: float, prior: int) -> float:
        kept = max(1.0 - drop / rate, 0.0)
        return math.sqrt((stored + mean([_fresh_variance(pair, kept, prior) for pair in pairs])) / n)

    at_zero, at_margin = error(0.0, _PRIOR_REGRESSION), error(margin, _PRIOR_NONINFERIORITY)
    p_regression = _NORMAL.cdf((difference + step / 2) / at_zero)
    p_noninferior = _NORMAL.cdf(-(difference + margin - step / 4) / at_margin) if rate > margin else 1.0
    interval = consistent_interval(
        difference - step / 4 + _NORMAL.inv_cdf(level) * at_margin,
        difference + step / 2 - _NORMAL.inv_cdf(level_regressed) * at_zero,
        difference=difference,
        dropped=p_regression < level_regressed,
        ruled_out=p_noninferior < level,
        margin=margin,
        rate=rate,
    )
    p_gain = _NORMAL.cdf(-(difference - step / 2) / at_zero)
    return Comparison(n, baseline_rate, candidate_rate, difference, p_regression, p_noninferior, p_gain, interval)


def _shrunk(passed: int, n: int) -> float:
    return (passed + _PRIOR) / (n + 2 * _PRIOR)


@functools.lru_cache(maxsize=4096)
def _stored_variance(passed: int, n: int) -> float:
    rate = _shrunk(passed, n)
    return rate * (1.0 - rate) / max(n - 1, 1)


@functools.lru_cache(maxsize=65_536)
def _fresh_variance(pair: Pair, kept: float, prior: int) -> float:
    k = pair.candidate_n
    rate = (pair.candidate_passed + prior * kept * _shrunk(pair.baseline_passed, pair.baseline_n)) / (k + prior)
    return rate * (1.0 - rate) / k / (1.0 - k / (k + prior) ** 2)


def sampling_variances(pairs: Sequence[Pair]) -> list[float]:
    """Return the sampling variance of each problem's rate difference.

    The variance is E[p(1-p) | counts_i] (1/kb_i + 1/kc_i), where p ~ Beta(ms, (1-m)s) is fitted by moments. m is the
    mean rate of all cells (a problem's baseline or candidate samples); m(1-m)s/(s+1), the mean within a cell of p(1-p),
    is ``within_variance``. If every cell has a single sample, sampling noise cannot be separated and the variances are
    0.
    """
    cells = [(p.baseline_passed, p.baseline_n) for p in pairs]
    cells += [(p.candidate_passed, p.candidate_n) for p in pairs]
    rate = mean([x / k for x, k in cells])
    within = within_variance(cells) or 0.0
    total = rate * (1.0 - rate)
    if within <= 0.0 or total <= 0.0:
        return [0.0] * len(pairs)
    strength = within / (total - within) if total > within else math.inf

    def expected(pair: Pair) -> float:
        if math.isinf(strength):
            return total
        passed = pair.baseline_passed + pair.candidate_passed
        n = pair.baseline_n + pair.candidate_n
        a = rate * strength + passed
        b = (1.0 - rate) * strength + n - passed
        return a * b / ((a + b) * (a + b + 1.0))

    return [expected(p) * (1.0 / p.baseline_n + 1.0 / p.candidate_n) for p in pairs]


@dataclass(frozen=True)
class _Unit:
    """Mean rates of a problem or a cluster.

    ``floor`` is the sampling variance of the difference of the two rates.
    """

    baseline_rate: float
    candidate_rate: float
    difference: float
    floor: float


def _units(pairs: Sequence[Pair], clusters: Sequence[str] | None) -> list[_Unit]:
    floors = sampling_variances(pairs)
    groups: dict[str, list[int]] = {}
    for i in range(len(pairs)):
        groups.setdefault(str(i) if clusters is None else clusters[i], []).append(i)
    return [
        _Unit(
            mean([pairs[i].baseline_rate for i in group]),
            mean([pairs[i].candidate_rate for i in group]),
            mean([pairs[i].difference for i in group]),
            mean([floors[i] for i in group]) / len(group),
        )
        for group in groups.values()
    ]


def _p_drop(difference: float, variance: float, n: int, changed: int) -> float:
    """Return the one-sided p of "no drop" (t test).

    ``difference`` is the mean of ``n`` differences, of which ``changed`` are not 0. p is at least 2^-changed, the
    smallest p of an exact sign-flip test (Fisher's randomisation test).
    """
    if variance > 0.0:
        p = student_cdf(difference / math.sqrt(variance / n), n - 1)
    else:
        p = 0.5 if difference == 0.0 else float(difference > 0.0)
    return min(max(p, 0.5 ** min(changed, 1000)), 1.0) if difference < 0.0 else p


def population_test(
    pairs: Sequence[Pair],
    *,
    margin: float,
    level: float = 0.05,
    level_regressed: float = 0.05,
    clusters: Sequence[str] | None = None,
) -> Comparison:
    """Compare candidate and baseline on all bugs like the suite's.

    The problems count as a sample of these bugs; d are their differences. p_regression = T_{n-1}.cdf(mean(d) /
    sqrt(v/n)) with v = max(var(d), mean of ``sampling_variances``). p_noninferior = T_{n-1}.sf((mean(d) + margin) /
    sqrt(v0/(n-1))), at least ``_chance_of_no_loss``. Its null hypothesis constrains the variance: v0 = max(v, mean(d^2)
    + max(mean(d) + margin, 0)/2 - margin^2). This is the variance if the drop were the margin, made up by further
    problems that fall by 0.5 each. With v instead, a drop equal to the margin would pass in up to 13 % of cases instead
    of 5 %: after a drop the differences are skewed, and their mean and variance move together.

    Args:
        pairs: one entry per problem, each with at least one sample of baseline and candidate.
        margin: largest tolerated drop, in (0, 0.25]; above that the constrained variance may vanish.
        level: one-sided level of ``p_noninferior``, in (0, 0.5), for the interval.
        level_regressed: one-sided level of ``p_regression``, for the interval.
        clusters: the cluster of each pair; then cluster means are tested. Clusters are independent, but problems of one
            pull request are not (Donner and Klar 2000, Design and Analysis of Cluster Randomization Trials, ch. 6).

    Raises:
        ValueError: no pairs, or a level or the margin outside its range.
    """
    if not pairs or not 0.0 < level < 0.5 or not 0.0 < level_regressed < 0.5 or not 0.0 < margin <= 0.25:
        raise ValueError(f"a comparison needs pairs, levels in 0..0.5 and a margin in 0..0.25: {level=} {margin=}")
    units = _units(pairs, clusters)
    n = len(units)
    differences = [unit.difference for unit in units]
    difference = mean(differences)
    baseline_rate = mean([unit.baseline_rate for unit in units])
    candidate_rate = mean([unit.candidate_rate for unit in units])
    if n < 2:
        return Comparison(n, baseline_rate, candidate_rate, difference)

    spread = math.fsum((d - difference) ** 2 for d in differences) / (n - 1)
    if max(differences) == min(differences):
        spread = 0.0  # exactly 0, although the rounded mean can differ from the values
    variance = max(spread, mean([unit.floor for unit in units]))
    square = mean([d * d for d in differences])
    null_variance = max(variance, square + max(difference + margin, 0.0) / 2.0 - margin * margin)

    changed = sum(d != 0.0 for d in differences)
    p_regression = _p_drop(difference, variance, n, changed)
    # The null variance is never 0: without spread and floor all d equal -1, 0 or 1, where the constraint is above 0.
    null_error = math.sqrt(null_variance / (n - 1))
    p_noninferior = max(
        student_sf((difference + margin) / null_error, n - 1),
        _chance_of_no_loss(n, difference, margin, baseline_rate),
    )
    below = student_quantile(1.0 - level, n - 1) * null_error
    above = student_quantile(1.0 - level_regressed, n - 1) * math.sqrt(variance / n) if variance > 0.0 else below
    interval = consistent_interval(
        difference - below,
        difference + above,
        difference=difference,
        dropped=p_regression < level_regressed,
        ruled_out=p_noninferior < level,
        margin=margin,
        rate=mean([_shrunk(pair.baseline_passed, pair.baseline_n) for pair in pairs]),
    )
    p_gain = _p_drop(-difference, variance, n, changed)
    return Comparison(n, baseline_rate, candidate_rate, difference, p_regression, p_noninferior, p_gain, interval)


def _chance_of_no_loss(n: int, difference: float, margin: float, rate: float) -> float:
    """Return the chance of so small a measured drop.

    The true drop is assumed to be the margin. ``difference`` is the measured change on ``n`` problems; ``rate`` is the
    baseline's pass rate. Each problem is then lost completely with the chance margin/rate, so the result is P(Bin(n,
    margin/rate) <= n max(-difference, 0)/rate), linear between integers.
    """
    if rate <= margin:
        return 1.0
    chance = margin / rate
    lost = min(n * max(-difference, 0.0) / rate, float(n))
    term, below, whole = (1.0 - chance) ** n, 0.0, int(lost)
    for i in range(whole + 1):
        below += term
        term *= (n - i) / (i + 1) * chance / (1.0 - chance)
    return min(below + (lost - whole) * term, 1.0)
