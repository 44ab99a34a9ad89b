"""Which problems changed between baseline and candidate, and whether one problem's change is more than chance."""

from codegate.gating.exact import beta_binomial_cdf
from codegate.gating.matching import Matched
from codegate.gating.statistics import Pair
from codegate.gating.verdict import Flip

_BEYOND_CHANCE = 0.01


def beyond_chance(passed: int, n: int, other_passed: int, other_n: int) -> bool:
    """Tell whether ``passed`` of ``n`` is fewer than the other side's samples of the same problem explain.

    The predictive distribution of the one side given the other (beta-binomial after Jeffreys' prior Beta(1/2, 1/2))
    puts at most 1 % on so few passes: 0 of 3 after 9 of 10, or 0 of 2 after 10 of 10, but not 0 of 1.
    """
    return beta_binomial_cdf(passed, n, other_passed + 0.5, other_n - other_passed + 0.5) <= _BEYOND_CHANCE


def flips(matched: Matched) -> tuple[tuple[Flip, ...], tuple[Flip, ...]]:
    """Return (regressions, improvements), the largest change first."""
    changed = [
        Flip(
            problem=problem,
            baseline_rate=pair.baseline_rate,
            baseline_n=pair.baseline_n,
            candidate_rate=pair.candidate_rate,
            candidate_n=pair.candidate_n,
            candidate_failure=matched.failures[problem],
            beyond_chance=_changed_beyond_chance(pair),
        )
        for problem, pair in matched.pairs.items()
        if pair.difference != 0.0
    ]
    changed.sort(key=lambda flip: (-abs(flip.candidate_rate - flip.baseline_rate), flip.problem))
    worse = tuple(flip for flip in changed if flip.candidate_rate < flip.baseline_rate)
    return worse, tuple(flip for flip in changed if flip.candidate_rate > flip.baseline_rate)


def _changed_beyond_chance(pair: Pair) -> bool:
    if pair.difference < 0.0:
        return beyond_chance(pair.candidate_passed, pair.candidate_n, pair.baseline_passed, pair.baseline_n)
    failed, other_failed = pair.candidate_n - pair.candidate_passed, pair.baseline_n - pair.baseline_passed
    return beyond_chance(failed, pair.candidate_n, other_failed, pair.baseline_n)
