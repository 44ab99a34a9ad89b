"""Compare two sets of samples of one model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.gating.drop_tests import sampling_variances
from codegate.gating.estimates import Estimate, mean_rate
from codegate.gating.samples import CandidateSamples, tally, without_copies
from codegate.gating.sentence import probability
from codegate.gating.statistics import Pair, mean, stratified_test, student_quantile
from codegate.wording import count_of

DRIFT_LEVEL: Final = 0.01
"""Two-sided p below which new samples of the pinned model count as drifted from the stored ones."""
LEVEL: Final = 0.95
"""Confidence level of the intervals."""

Counts = Mapping[str, tuple[int, int]]
"""Passes and graded samples by problem."""


@dataclass(frozen=True)
class PassRateChange:
    """How the pass rate changed between two sets of samples.

    ``difference`` is ``after`` minus ``before``, in -1..1, on the ``n`` problems in both. ``interval`` is the 95 %
    interval of ``difference``, None below two problems. ``p`` is the two-sided exact p of "no problem's rate changed".
    ``p_drop`` is the one-sided p of "no problem's rate fell", 0.5 if the rate did not fall.
    """

    n: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_drop: float

    def words(self) -> str:
        """Describe the change in pass rate, with n and uncertainty."""
        problems = count_of(self.n, "problem")
        text = f"{self.before:.1%} then, {self.after:.1%} now on {problems}: {self.difference * 100:+.1f} pp"
        interval = f" ({interval_words(self.interval)})" if self.interval else ""
        return f"{text}{interval}, two-sided {probability(self.p)}"  # alarms have the one-sided p


def interval_words(interval: tuple[float, float]) -> str:
    """Return a 95 % interval as text, in percentage points."""
    return f"95% interval {interval[0] * 100:+.1f}..{interval[1] * 100:+.1f}"


def counts_of(samples: CandidateSamples) -> dict[str, tuple[int, int]]:
    """Return passes and graded samples by problem; copies count once."""
    independent = without_copies(samples).samples
    return {problem: tally(independent.get(problem, ())) for problem in sorted(samples.problem_digests)}


def pass_rate(counts: Counts) -> Estimate:
    """Return the mean of the problems' pass rates."""
    return mean_rate(passed / n for passed, n in counts.values() if n)


def rate_words(samples: CandidateSamples) -> str:
    """Return the pass rate of ``samples`` as text, with n."""
    return f"{pass_rate(counts_of(samples)).words()} problems"


def _mean_interval(values: Sequence[float], floor: float) -> tuple[float, float] | None:
    """Return the 95 % t interval of the values' mean.

    None below two values or without variance. ``floor`` is the smallest possible variance of a value, from sampling
    only.
    """
    n = len(values)
    if n < 2:
        return None
    middle = mean(values)
    variance = max(math.fsum((value - middle) ** 2 for value in values) / (n - 1), floor)
    if variance <= 0.0:
        return None
    width = student_quantile(0.5 + LEVEL / 2, n - 1) * math.sqrt(variance / n)
    return max(middle - width, -1.0), min(middle + width, 1.0)


def change_between(before: Counts, after: Counts) -> PassRateChange | None:
    """Return the change on common problems; None without one."""
    shared = [problem for problem in sorted(before) if before[problem][1] and after.get(problem, (0, 0))[1]]
    if not shared:
        return None
    tables = [(*before[problem], *after[problem]) for problem in shared]
    pairs = [Pair(*table) for table in tables]
    moved = [pair.difference for pair in pairs]
    # Passes of ``after`` that the null hypothesis predicts.
    expected = math.fsum(m * (x + y) / (k + m) for x, k, y, m in tables)
    fell = math.fsum(y for _, _, y, _ in tables) < expected
    p = stratified_test(tables)
    return PassRateChange(
        n=len(shared),
        before=mean([pair.baseline_rate for pair in pairs]),
        after=mean([pair.candidate_rate for pair in pairs]),
        difference=mean(moved),
        interval=_mean_interval(moved, mean(sampling_variances(pairs))),
        p=p,
        p_drop=p / 2 if fell else 0.5,
    )
