"""By how much the samples of two occasions, or of two baselines, differ. Pure, no randomness.

The question is about *these* problems, so the test is the exact stratified one of the sharp null hypothesis that no
problem's rate changed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.gating import student
from codegate.gating.baseline import Baseline
from codegate.gating.comparability import mismatches, setting_changes
from codegate.gating.exact import stratified, wilson
from codegate.gating.matching import without_copies
from codegate.gating.population_test import sampling_variances
from codegate.gating.samples import CandidateSamples
from codegate.gating.statistics import Pair
from codegate.gating.verdict import Mismatch

LEVEL: Final = 0.95
"""Level of the intervals."""
_Z: Final = 1.959963984540054  # standard normal quantile of 0.975

Counts = Mapping[str, tuple[int, int]]
"""Passes and counted samples by problem."""


@dataclass(frozen=True)
class Rate:
    """A pass rate: the mean over ``n`` problems of each one's share, with its 95 % interval; None without problems."""

    value: float | None
    n: int
    low: float | None
    high: float | None

    def words(self) -> str:
        """Return the rate for people: ``83.3% [64–93%] n=24``."""
        if self.value is None or self.low is None or self.high is None:
            return "unknown"
        return f"{self.value:.1%} [{self.low * 100:.0f}–{self.high * 100:.0f}%] n={self.n}"


@dataclass(frozen=True)
class Change:
    """How the samples of two occasions differ, on the problems that both have.

    Rates and difference (second minus first) are in 0..1. ``interval`` is at level 95 %, None below two problems.

    Attributes:
        n: problems.
        p: two-sided exact p of "no problem's rate changed".
        p_drop: one-sided p of "no problem's rate fell"; 0.5 stands for everything from there up.
    """

    n: int
    before: float
    after: float
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_drop: float

    def words(self) -> str:
        """Return the change for people, with n and uncertainty."""
        problems = f"{self.n} problem" + ("" if self.n == 1 else "s")
        text = f"{self.before:.1%} then, {self.after:.1%} now on {problems}: {self.difference * 100:+.1f} pp"
        if self.interval is not None:
            low, high = (f"{end * 100:+.1f}" for end in self.interval)
            text += f" (95% interval {low}..{high})"
        return f"{text}, {p_words(self.p)}"


def p_words(p: float) -> str:
    """Return a p-value for people."""
    return "p<.001" if p < 0.001 else f"p={p:.3f}".replace("0.", ".")


def counts_of(samples: CandidateSamples) -> dict[str, tuple[int, int]]:
    """Return passes and counted samples of every problem.

    Samples lost to infrastructure faults do not count, and copies of one answer count once.
    """
    independent = without_copies(samples).samples
    return {
        problem: (
            sum(sample.passed is True for sample in independent.get(problem, ())),
            sum(sample.passed is not None for sample in independent.get(problem, ())),
        )
        for problem in sorted(samples.problem_digests)
    }


def pass_rate(counts: Counts) -> Rate:
    """Return the pass rate of ``counts`` with Wilson's interval at n = problems.

    The interval holds for problems like these: it allows for one sample per problem, so it is never too narrow.
    """
    rates = [passed / n for passed, n in counts.values() if n]
    if not rates:
        return Rate(None, 0, None, None)
    total = math.fsum(rates)
    return Rate(total / len(rates), len(rates), *wilson(total, len(rates), _Z))


def mean_interval(values: Sequence[float], floor: float = 0.0) -> tuple[float, float] | None:
    """Return the 95 % t interval of the mean of ``values`` in -1..1; None below two values or without any spread.

    Args:
        values: one per problem.
        floor: least variance of a value, where sampling alone makes some.
    """
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    variance = max(math.fsum((value - mean) ** 2 for value in values) / (n - 1), floor)
    if variance <= 0.0:
        return None
    width = student.quantile(0.5 + LEVEL / 2, n - 1) * math.sqrt(variance / n)
    return max(mean - width, -1.0), min(mean + width, 1.0)


def change_between(before: Counts, after: Counts) -> Change | None:
    """Return the change on the problems with counted samples on both occasions; None without any."""
    shared = [problem for problem in sorted(before) if before[problem][1] and after.get(problem, (0, 0))[1]]
    if not shared:
        return None
    tables = [(*before[problem], *after[problem]) for problem in shared]
    pairs = [Pair(*table) for table in tables]
    differences = [pair.difference for pair in pairs]
    # Passes of the second side that the null hypothesis predicts.
    expected = math.fsum(m * (x + y) / (k + m) for x, k, y, m in tables)
    fell = math.fsum(y for _, _, y, _ in tables) < expected
    p = stratified(tables)
    variances = sampling_variances(pairs)
    return Change(
        n=len(shared),
        before=math.fsum(pair.baseline_rate for pair in pairs) / len(pairs),
        after=math.fsum(pair.candidate_rate for pair in pairs) / len(pairs),
        difference=math.fsum(differences) / len(differences),
        interval=mean_interval(differences, math.fsum(variances) / len(variances)),
        p=p,
        p_drop=p / 2 if fell else 0.5,
    )


@dataclass(frozen=True)
class ProblemRates:
    """Passes and samples of one problem in both baselines."""

    problem: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def difference(self) -> float:
        """Return the second rate minus the first, in -1..1."""
        return self.after[0] / self.after[1] - self.before[0] / self.before[1]


@dataclass(frozen=True)
class BaselineDifference:
    """What changed from one baseline to another.

    Attributes:
        models: the two models.
        conditions: conditions and settings that differ, problems and the model aside.
        added: problems that only the second has; ``removed``: only the first; ``altered``: in both, but not the same.
        problems: rates of those that are the same in both, the largest drop first.
        change: over those, the pass rate's difference with its uncertainty; None when there are none.
    """

    models: tuple[str, str]
    conditions: tuple[Mismatch, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    altered: tuple[str, ...]
    problems: tuple[ProblemRates, ...]
    change: Change | None


def difference_of(before: Baseline, after: Baseline) -> BaselineDifference:
    """Return what changed; rates are compared on problems with equal digests only."""
    old, new = before.samples.problem_digests, after.samples.problem_digests
    shared = [problem for problem in sorted(old.keys() & new.keys()) if old[problem] == new[problem]]
    left, right = counts_of(before.samples), counts_of(after.samples)
    rates = [ProblemRates(problem, left[problem], right[problem]) for problem in shared]
    differing = (*mismatches(before.samples, after.samples), *setting_changes(before.samples, after.samples))
    return BaselineDifference(
        models=(before.samples.model, after.samples.model),
        conditions=tuple(one for one in differing if not one.field.startswith("problem ") and one.field != "model"),
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        altered=tuple(problem for problem in sorted(old.keys() & new.keys()) if old[problem] != new[problem]),
        problems=tuple(sorted(rates, key=lambda one: (one.difference, one.problem))),
        change=change_between({name: left[name] for name in shared}, {name: right[name] for name in shared}),
    )
