"""What a comparison can find, said before money is spent: from the baseline alone, or from a typical one.

The looks are treated as a Gaussian walk: the mean difference after look j has the variance V_j / n, and what a later
look adds is independent of the earlier ones (Armitage, McPherson and Rowe 1969, JRSS A 132:235, whose recursive
integration this is). V_j = W (1/k_b + 1/k_j) + churn, plus a tenth of m(1-m) where the true drop is m; W is the mean
of p(1-p) over problems. What it says is held to simulated gates by tests and by ``bench/gate``.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from codegate.gating import student
from codegate.gating.looks import levels, samples_by, settled
from codegate.gating.matching import MIN_CLUSTERS, clusters_of, counted
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import CandidateSamples
from codegate.gating.statistics import within_variance

Relation = Literal["same weights", "same family", "other vendor"]

CHURN: Mapping[Relation, float] = {"same weights": 0.0, "same family": 0.02, "other vendor": 0.06}
"""Variance over problems of the true difference between two equally good models: they solve different ones.

From per-problem results of 24 published models on 500 problems; see docs/statistics.md.
"""

_POWER_QUANTILE = 0.8416212335729143  # standard normal quantile of 0.8
_ALIKE = 0.3  # correlation of the differences of problems that come from one pull request
_TYPICAL_STRENGTH = 0.4  # of the U-shaped Beta distribution of difficulty, where no problem was repeated
_LEAST_SPREAD = 1e-12  # of a mean that cannot vary: the same model, always right
_LEAST_STEP = 1e-9  # of that, between two looks of which the later adds nothing
_SMALL_SIZES = (10, 16, 24)
_SMALL: Mapping[Relation, tuple[float, float, float]] = {
    "same weights": (0.30, 0.16, 0.11), "same family": (0.30, 0.19, 0.136), "other vendor": (0.34, 0.23, 0.178)
}  # fmt: skip
_STEPS = 80  # of the grid that a look's distribution is held on


@dataclass(frozen=True)
class BaselineFacts:
    """What the power of a comparison depends on, in units of pass rate.

    Attributes:
        problems: number of problems.
        units: what is compared: the problems, or the pull requests that they come from.
        rate: mean pass rate.
        stored_variance: mean over problems of p(1-p)/k_b: how uncertain the stored rates are.
        settled: share of the problems that the baseline always or never solves.
        within_settled: mean of p(1-p) over those; ``within_open``: over the others.
    """

    problems: int
    units: int
    rate: float
    stored_variance: float
    settled: float
    within_settled: float
    within_open: float

    @property
    def within(self) -> float:
        """Return the mean of p(1-p) over all problems."""
        return self.settled * self.within_settled + (1.0 - self.settled) * self.within_open

    def variance(self, churn: float, samples_settled: float, samples_open: float) -> float:
        """Return the variance of one unit's difference if there is no drop.

        Another model solves other problems always, so with churn the settled problems of the one are not quite those
        of the other: a share churn / (2 Var p) of them is as any problem.
        """
        between = max(self.rate * (1.0 - self.rate) - self.within, 1e-9)
        mixed = min(churn / (2.0 * between), 1.0)
        of_settled = (1.0 - mixed) * self.within_settled + mixed * self.within
        of_open = (1.0 - mixed) * self.within_open + mixed * self.within
        sampling = self.settled * of_settled / samples_settled + (1.0 - self.settled) * of_open / samples_open
        size = self.problems / self.units
        return (self.stored_variance + sampling) / size + clustered_churn(churn, size)


def baseline_facts(baseline: CandidateSamples) -> BaselineFacts:
    """Return the facts of a stored baseline.

    Raises:
        ValueError: it has no graded sample.
    """
    graded = {name: counted(entries) for name, entries in sorted(baseline.samples.items())}
    cells = [(sum(bool(s.passed) for s in entries), len(entries)) for entries in graded.values() if entries]
    if not cells:
        message = "a baseline without a graded sample says nothing about power"
        raise ValueError(message)
    _, units = clusters_of([name for name, entries in graded.items() if entries], baseline.clusters)
    return facts_of(cells, units if units >= MIN_CLUSTERS else len(cells))


def typical_facts(problems: int, *, rate: float = 0.6, samples: int = 10, units: int | None = None) -> BaselineFacts:
    """Return the facts of a suite that nothing is known of yet: U-shaped difficulty, Beta(.4 m, .4 (1-m)).

    Args:
        problems: how many problems.
        rate: expected pass rate m of the pinned model.
        samples: baseline samples per problem to be made.
        units: pull requests that the problems come from, if fewer.
    """
    s = _TYPICAL_STRENGTH
    a, b = rate * s, (1.0 - rate) * s

    def ratio(x: float, y: float) -> float:
        return math.exp(math.lgamma(a + x) + math.lgamma(b + y) - math.lgamma(s + x + y)) / math.exp(
            math.lgamma(a) + math.lgamma(b) - math.lgamma(s)
        )

    within = ratio(1, 1)
    always, never = ratio(samples, 0), ratio(0, samples)
    share = always + never if settled(samples, samples) else 0.0
    inside = (ratio(samples + 1, 1) + ratio(1, samples + 1)) / share if share else 0.0
    outside = (within - share * inside) / (1.0 - share)
    count = units if units is not None and MIN_CLUSTERS <= units < problems else problems
    return BaselineFacts(problems, count, rate, within / samples, share, inside, outside)


def facts_of(cells: Sequence[tuple[int, int]], units: int) -> BaselineFacts:
    """Return the facts of passes x of k samples on each problem, of which ``units`` are independent."""
    mean = math.fsum(x / k for x, k in cells) / len(cells)
    total = mean * (1.0 - mean)
    within = one_sample_variance(cells)
    strength = within / (total - within) if total > within else math.inf

    def expected(x: int, k: int) -> float:
        if total <= 0.0 or within <= 0.0:
            return 0.0
        if math.isinf(strength):
            return total
        a, b = mean * strength + x, (1.0 - mean) * strength + k - x
        return a * b / ((a + b) * (a + b + 1.0))

    inside = [expected(x, k) for x, k in cells if settled(x, k)]
    outside = [expected(x, k) for x, k in cells if not settled(x, k)]
    return BaselineFacts(
        problems=len(cells),
        units=units,
        rate=mean,
        stored_variance=math.fsum(expected(x, k) / k for x, k in cells) / len(cells),
        settled=len(inside) / len(cells),
        within_settled=math.fsum(inside) / len(inside) if inside else 0.0,
        within_open=math.fsum(outside) / len(outside) if outside else 0.0,
    )


def one_sample_variance(cells: Sequence[tuple[int, int]]) -> float:
    """Return the mean of p(1-p) over problems, from passes x of k samples each; a typical value without repeats."""
    within = within_variance(cells)
    if within is not None:
        return within
    mean = math.fsum(x / k for x, k in cells) / len(cells)
    return mean * (1.0 - mean) * _TYPICAL_STRENGTH / (1.0 + _TYPICAL_STRENGTH)


def clustered_churn(churn: float, size: float) -> float:
    """Return the churn of the mean of ``size`` problems of one source, which are alike: (1 + (size - 1) .3) / size."""
    return churn * (1.0 + (size - 1.0) * _ALIKE) / size


@dataclass(frozen=True)
class Design:
    """What is fixed before the first look.

    ``samples`` None: one at each of ``looks`` looks, settled problems at every second one; else that many of every
    problem, in a single look.
    """

    margin: float = 0.10
    alpha: float = 0.05
    looks: int = 3
    candidates: int = 1
    samples: int | None = None

    def samples_by(self, look: int, *, settled_problem: bool) -> int:
        """Return how many samples a problem has after a look."""
        return self.samples or samples_by(look, settled_problem=settled_problem)

    def most_calls(self, facts: BaselineFacts) -> float:
        """Return the samples of one candidate if every look is taken."""
        of_settled = self.samples_by(self.looks, settled_problem=True)
        of_open = self.samples_by(self.looks, settled_problem=False)
        return facts.problems * (facts.settled * of_settled + (1.0 - facts.settled) * of_open)


def design(policy: GatePolicy, *, candidates: int = 1, samples: int | None = None) -> Design:
    """Return the design that a policy makes; ``samples`` as in ``Design``."""
    return Design(policy.margin, policy.alpha, policy.planned_looks if samples is None else 1, candidates, samples)


@dataclass(frozen=True)
class Outlook:
    """How a comparison ends at one true drop: shares of the verdicts, and calls for one candidate on average."""

    regressed: float
    passed: float
    inconclusive: float
    calls: float


def outlook(facts: BaselineFacts, plan: Design, churn: float, drop: float) -> Outlook:
    """Return how a comparison ends if the candidate's true rate is lower by ``drop``."""
    n, share = facts.units, facts.settled
    if n < 2:
        return Outlook(0.0, 0.0, 1.0, plan.most_calls(facts))
    widen = drop * (1.0 - drop) / 10.0
    headroom = facts.rate >= 2 * plan.margin
    points: list[tuple[float, float]] = []  # of the mean difference, with the probability of going on from there
    regressed = passed = spent = before = previous = 0.0
    going = 1.0
    for look in range(1, plan.looks + 1):
        settled_n = plan.samples_by(look, settled_problem=True)
        open_n = plan.samples_by(look, settled_problem=False)
        variance = facts.variance(churn, settled_n, open_n) + widen
        calls = facts.problems * (share * settled_n + (1.0 - share) * open_n)
        spent += going * (calls - before)
        before = calls
        at = levels(plan.looks, look, plan.alpha)
        spread = max(variance / n, _LEAST_SPREAD)
        fails = -student.quantile(1.0 - at.regressed / plan.candidates, n - 1) * math.sqrt(spread)
        passes = _passing_mean(variance, n, at.passed, plan.margin) if headroom else math.inf
        fails = min(fails, passes)
        if look == 1:
            cells = [(-drop, spread, 1.0)]
        else:
            kept = min(spread / previous, 1.0)
            cells = [
                (-drop + kept * (x + drop), max((1.0 - kept) * spread, _LEAST_STEP * spread), w) for x, w in points
            ]
        regressed += math.fsum(w * _normal((fails - mean) / math.sqrt(v)) for mean, v, w in cells)
        passed += math.fsum(w * _normal((mean - passes) / math.sqrt(v)) for mean, v, w in cells)
        going = max(1.0 - regressed - passed, 0.0)
        points, previous = _between(cells, fails, passes, spread), spread
    return Outlook(regressed, passed, going, spent)


def _between(
    cells: Sequence[tuple[float, float, float]], low: float, high: float, spread: float
) -> list[tuple[float, float]]:
    """Return the distribution between two bounds on a grid, from a mixture of normal ones."""
    high = min(high, low + 14.0 * math.sqrt(spread))
    step = (high - low) / _STEPS
    edges = [low + i * step for i in range(_STEPS + 1)]
    below = [math.fsum(w * _normal((edge - mean) / math.sqrt(v)) for mean, v, w in cells) for edge in edges]
    return [
        (edge + step / 2.0, right - left)
        for edge, left, right in zip(edges[:-1], below[:-1], below[1:], strict=True)
        if right - left > 1e-9
    ]


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _passing_mean(variance: float, n: int, at: float, margin: float) -> float:
    """Return the mean difference above which a drop of the margin is ruled out, at its expected variance."""
    width = student.quantile(1.0 - at, n - 1) / math.sqrt(n - 1)

    def passes(thousandths: int) -> bool:
        x = thousandths / 2000.0 - margin
        null = max(variance, variance + x * x + max(x + margin, 0.0) / 2.0 - margin * margin)
        return x + margin > width * math.sqrt(null)

    return bisect_left(range(4000), True, key=passes) / 2000.0 - margin


def least_drop(n: int, relation: Relation) -> float | None:
    """Return the least drop that can be said to be found in 4 of 5 cases: None below 10 units, 0 from 24 on.

    In between it is what simulated gates of that size found, which is less than the normal approximation promises.
    """
    if n < _SMALL_SIZES[0]:
        return None
    if n >= _SMALL_SIZES[-1]:
        return 0.0
    low = 0 if n < _SMALL_SIZES[1] else 1
    share = (n - _SMALL_SIZES[low]) / (_SMALL_SIZES[low + 1] - _SMALL_SIZES[low])
    seen = _SMALL[relation][low : low + 2]
    return seen[0] + share * (seen[1] - seen[0])


def drop_found(n: int, variance: float, at: float) -> float | None:
    """Return the smallest drop that a one-sided t test of ``n`` units finds in 4 of 5 cases.

    The solution of m = (t_{1-at, n-1} + z_{0.8}) sqrt((variance + m(1-m)/10) / n): the usual sample size formula,
    with a variance that grows as problems are lost.

    Args:
        n: problems, or clusters of them.
        variance: of one unit's difference if there is no drop.
        at: one-sided level of the test.

    Returns:
        The drop in 0..1; None where not even the loss of everything would be found so often.
    """
    if n < 2:
        return None
    square = (student.quantile(1.0 - at, n - 1) + _POWER_QUANTILE) ** 2 / n
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
