"""The paired test of the gate: counts per problem go in, p-values and an interval come out. Pure, no randomness.

The unit is the problem, or a cluster of problems that share their luck: d_i is the candidate's pass rate on problem
i minus the baseline's. Two one-sided questions are asked of mean(d): is there a drop at all, and is a drop as large
as the margin ruled out.
Sums are taken with ``math.fsum``, so the order of the problems cannot change a single bit of the answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from codegate.gating import student


@dataclass(frozen=True)
class Pair:
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
class PairedResult:
    """What the paired comparison shows about ``n`` units: problems, or clusters of them.

    Rates, difference, interval and variances are in units of pass rate (0..1). ``p_regression``,
    ``p_noninferior`` and ``interval`` are None below two units, where there is no variance to speak of.

    Attributes:
        variance: variance of a difference, never below the empirical-Bayes floor.
        null_variance: the same if the true drop were the margin; it judges non-inferiority.
        interval: its upper end is below 0 exactly when ``p_regression`` is below its level, its lower end above
            -margin exactly when ``p_noninferior`` is below alpha.
    """

    n: int
    baseline_rate: float
    candidate_rate: float
    difference: float
    variance: float = 0.0
    null_variance: float = 0.0
    p_regression: float | None = None
    p_noninferior: float | None = None
    interval: tuple[float, float] | None = None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def within_variance(cells: Sequence[tuple[int, int]]) -> float | None:
    """Return the mean of p(1-p) over problems: what one sample's variance is, unbiased, from repeated samples.

    The mean of x(k-x)/(k(k-1)) over the cells (passes x of k samples) with k >= 2; None where there is no such cell.
    """
    repeated = [(x, k) for x, k in cells if k >= 2]
    return _mean([x * (k - x) / (k * (k - 1)) for x, k in repeated]) if repeated else None


def sampling_variances(pairs: Sequence[Pair]) -> list[float]:
    """Return, for each pair, the variance that its difference has from sampling alone.

    It is E[p(1-p) | counts_i] (1/kb_i + 1/kc_i), where p ~ Beta(ms, (1-m)s) is fitted by moments
    (beta-binomial): m is the mean rate of all cells (problem and side), and the mean within a cell of p(1-p),
    m(1-m)s/(s+1), is ``within_variance`` of the cells. Where every cell has a single sample, sampling noise cannot
    be told from differences between problems: the variances are then 0 and the observed variance, which contains
    that noise, stands alone.
    """
    cells = [(p.baseline_passed, p.baseline_n) for p in pairs]
    cells += [(p.candidate_passed, p.candidate_n) for p in pairs]
    mean = _mean([x / k for x, k in cells])
    within = within_variance(cells) or 0.0
    total = mean * (1.0 - mean)
    if within <= 0.0 or total <= 0.0:
        return [0.0] * len(pairs)
    strength = within / (total - within) if total > within else math.inf

    def expected(pair: Pair) -> float:
        if math.isinf(strength):
            return total
        passed = pair.baseline_passed + pair.candidate_passed
        n = pair.baseline_n + pair.candidate_n
        a = mean * strength + passed
        b = (1.0 - mean) * strength + n - passed
        return a * b / ((a + b) * (a + b + 1.0))

    return [expected(p) * (1.0 / p.baseline_n + 1.0 / p.candidate_n) for p in pairs]


def _p_regression(difference: float, variance: float, n: int, changed: int) -> float:
    """Return the one-sided p of "no drop".

    A t test, except that ``changed`` differences that are not 0 can never be stronger evidence than an exact
    sign-flip test of them, whose smallest p is 2^-changed (Fisher's randomisation test). It matters where
    the variance is 0 or next to it: three problems lost by a model that is otherwise the same prove little.
    """
    if variance > 0.0:
        p = student.cdf(difference / math.sqrt(variance / n), n - 1)
    else:
        p = 0.5 if difference == 0.0 else float(difference > 0.0)
    return min(max(p, 0.5 ** min(changed, 1000)), 1.0) if difference < 0.0 else p


@dataclass(frozen=True)
class _Unit:
    """Mean rates of one problem or of the problems of one cluster, and the sampling variance of their difference."""

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
            _mean([pairs[i].baseline_rate for i in group]),
            _mean([pairs[i].candidate_rate for i in group]),
            _mean([pairs[i].difference for i in group]),
            _mean([floors[i] for i in group]) / len(group),
        )
        for group in groups.values()
    ]


def paired(
    pairs: Sequence[Pair],
    *,
    alpha: float,
    margin: float,
    alpha_regression: float | None = None,
    clusters: Sequence[str] | None = None,
) -> PairedResult:
    """Compare candidate and baseline on the same problems.

    p_regression = T_{n-1}.cdf(mean(d) / sqrt(v/n)), v = max(var(d), mean of ``sampling_variances``);
    p_noninferior = T_{n-1}.sf((mean(d) + margin) / sqrt(v0/(n-1))), with the variance constrained by its null
    hypothesis, v0 = max(v, mean(d^2) + max(mean(d) + margin, 0)/2 - margin^2): what the variance would be if the
    drop were the margin and the problems lost were lost by half. With v alone a drop equal to the margin
    would be called harmless in up to 13 % of cases instead of 5 %, because after a drop the differences are
    skewed and their mean and variance move together.

    Args:
        pairs: one entry per problem, each with at least one sample on both sides.
        alpha: one-sided level, in (0, 0.5).
        margin: largest tolerated drop, in (0, 0.25]; above that the constrained variance may vanish.
        alpha_regression: level of the question whether there is a drop, where it is another one (several candidates).
        clusters: what each pair belongs to; the test is then one of cluster means, which are independent where
            problems of one source are not (Donner and Klar 2000, Design and Analysis of Cluster Randomization
            Trials, ch. 6).

    Raises:
        ValueError: no pairs, or a level or the margin outside its range.
    """
    alpha_drop = alpha if alpha_regression is None else alpha_regression
    if not pairs or not 0.0 < alpha < 0.5 or not 0.0 < alpha_drop < 0.5 or not 0.0 < margin <= 0.25:
        message = f"a paired comparison needs pairs, 0 < alpha < 0.5 and 0 < margin <= 0.25: {alpha=} {margin=}"
        raise ValueError(message)
    units = _units(pairs, clusters)
    n = len(units)
    differences = [unit.difference for unit in units]
    difference = _mean(differences)
    baseline_rate = _mean([unit.baseline_rate for unit in units])
    candidate_rate = _mean([unit.candidate_rate for unit in units])
    if n < 2:
        return PairedResult(n, baseline_rate, candidate_rate, difference)

    spread = math.fsum((d - difference) ** 2 for d in differences) / (n - 1)
    if max(differences) == min(differences):
        spread = 0.0  # exactly, whatever rounding made of the mean
    variance = max(spread, _mean([unit.floor for unit in units]))
    square = _mean([d * d for d in differences])
    null_variance = max(variance, square + max(difference + margin, 0.0) / 2.0 - margin * margin)

    p_regression = _p_regression(difference, variance, n, sum(d != 0.0 for d in differences))
    # never 0: without spread and floor all d are the same of -1, 0 and 1, and the constraint is above 0 there
    null_error = math.sqrt(null_variance / (n - 1))
    p_noninferior = student.sf((difference + margin) / null_error, n - 1)

    below = student.quantile(1.0 - alpha, n - 1) * null_error
    above = student.quantile(1.0 - alpha_drop, n - 1) * math.sqrt(variance / n) if variance > 0.0 else below
    interval = _consistent(
        difference - below,
        difference + above,
        dropped=p_regression < alpha_drop,
        ruled_out=p_noninferior < alpha,
        margin=margin,
    )
    return PairedResult(
        n,
        baseline_rate,
        candidate_rate,
        difference,
        variance,
        null_variance,
        p_regression,
        p_noninferior,
        interval,
    )


def _consistent(low: float, high: float, *, dropped: bool, ruled_out: bool, margin: float) -> tuple[float, float]:
    """Return the interval with its ends on the side of 0 and of -margin that the tests decided.

    The ends already are there up to rounding, except where the sign-flip bound, not the t test, set
    ``p_regression``.
    """
    high = min(high, math.nextafter(0.0, -1.0)) if dropped else max(high, 0.0)
    low = max(low, math.nextafter(-margin, 0.0)) if ruled_out else min(low, -margin)
    return max(low, -1.0), min(high, 1.0)
