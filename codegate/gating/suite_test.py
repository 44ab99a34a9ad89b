"""The test of scope ``suite``: did the pass rate fall on *these* problems? Pure, no randomness.

The problems are fixed and sampling is the only noise, so the difference of the mean pass rates is stratified by
problem. The variance of each problem is shrunk towards what the null hypothesis predicts for it, so it is never 0:
equal samples do not prove an equal rate. docs/statistics.md has the simulations that chose the constants.
"""

import functools
import math
from collections.abc import Sequence
from statistics import NormalDist

from codegate.gating.statistics import Comparison, Pair, consistent, mean

_NORMAL = NormalDist()
_PRIOR = 0.25  # pseudo-passes and pseudo-failures of a baseline's problem
_PRIOR_REGRESSION = 1  # pseudo-samples of the candidate at the rate that "no drop" predicts
_PRIOR_NONINFERIORITY = 2  # the same, at the rate that "a drop of the margin" predicts


def suite_test(
    pairs: Sequence[Pair], *, margin: float, level: float = 0.05, level_regressed: float = 0.05
) -> Comparison:
    """Compare candidate and baseline on fixed problems.

    With passes x of b samples of the baseline and y of k of the candidate, P = (x + .25) / (b + .5), D the mean of
    y/k - x/b over n problems, and h the mean of 1/k divided by n (one sample of the candidate, in units of D):

    - p_regression = Phi((D + h/2) / se(0, 1)), p_gain = 1 - Phi((D - h/2) / se(0, 1))
    - p_noninferior = 1 - Phi((D + margin - h/4) / se(margin, 2)), or 1 where mean(P) is not above the margin
    - se(d, a)^2 = (mean(P(1-P) / (b-1)) + mean(Q(1-Q) / k / (1 - k/(k+a)^2))) / n, with Q = (y + a r P) / (k + a) and
      r = max(1 - d/mean(P), 0): under the null hypothesis every problem loses the same share.

    Args:
        pairs: one entry per problem; sample counts may differ between problems.
        margin: largest tolerated drop, in 0..1.
        level: one-sided level of ``p_noninferior``, for the interval.
        level_regressed: the same of ``p_regression``.

    Raises:
        ValueError: there are no pairs.
    """
    if not pairs:
        message = "a comparison needs problems"
        raise ValueError(message)
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
    interval = consistent(
        difference - step / 4 + _NORMAL.inv_cdf(level) * at_margin,
        difference + step / 2 - _NORMAL.inv_cdf(level_regressed) * at_zero,
        dropped=p_regression < level_regressed,
        ruled_out=p_noninferior < level,
        margin=margin,
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
    """Return the sampling variance of the candidate's rate where the null hypothesis keeps this share of the rate."""
    k = pair.candidate_n
    rate = (pair.candidate_passed + prior * kept * _shrunk(pair.baseline_passed, pair.baseline_n)) / (k + prior)
    return rate * (1.0 - rate) / k / (1.0 - k / (k + prior) ** 2)
