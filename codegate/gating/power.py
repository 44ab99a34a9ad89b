"""Forecast a gate's verdicts by simulation, before any model call.

The true pass rates of the problems are drawn from what the baseline shows about them (a beta-binomial posterior), or
from a typical suite; the candidates' samples are drawn from these rates, and each simulated gate decides by the same
rule as a real one, look by look. Seeded: the same baseline gives the same forecast.
"""

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.gating.decision import Decision, Terms, compare_counts, decide
from codegate.gating.pinning import BASELINE_SAMPLES
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import CandidateSamples, clusters_of, tally, without_copies
from codegate.gating.statistics import Pair, mean, within_variance
from codegate.wording import count_of

TYPICAL_RATE: Final = 0.6
"""Pass rate that is assumed of a pinned model without a baseline."""
_TYPICAL_STRENGTH: Final = 0.4  # strength of a U-shaped distribution, assumed if no problem has repeated samples
_UNSHAPED: Final = 1e4  # strength at which every problem has the same rate
_POWER: Final = 0.8
_GATES: Final = 600
_FEWEST_GATES: Final = 200
_DRAWS: Final = 60_000  # about the number of problems in all simulated gates together
_SEED: Final = 20261123


@dataclass(frozen=True)
class RateModel:
    """The distribution of the problems' true pass rates.

    The distribution is Beta(m s, (1-m) s) with m ``rate`` and s ``strength``; a small strength means that most problems
    are nearly always or nearly never solved. ``clusters`` has the pull request of each problem. ``counts`` has each
    problem's passes and samples in the baseline; empty without one.
    """

    rate: float
    strength: float
    clusters: tuple[str, ...]
    counts: tuple[tuple[int, int], ...] = ()

    @property
    def problems(self) -> int:
        """Return the number of problems."""
        return len(self.clusters)

    @property
    def units(self) -> int:
        """Return the number of different pull requests."""
        return len(set(self.clusters))

    def draw(self, random_: random.Random, passed: int = 0, failed: int = 0) -> float:
        """Draw a problem's true pass rate, given its baseline counts."""
        a, b = self.rate * self.strength + passed, (1.0 - self.rate) * self.strength + failed
        return 1.0 if b <= 0.0 else 0.0 if a <= 0.0 else random_.betavariate(a, b)


def baseline_model(baseline: CandidateSamples) -> RateModel:
    """Return the distribution of pass rates fitted to a baseline.

    Raises ValueError without graded samples.
    """
    samples = without_copies(baseline).samples
    counts = {name: found for name, entries in sorted(samples.items()) if (found := tally(entries))[1]}
    if not counts:
        raise ValueError("a baseline without a graded sample shows nothing about power")
    return fitted_model(tuple(counts.values()), clusters_of(list(counts), baseline.clusters))


def fitted_model(counts: Sequence[tuple[int, int]], clusters: Sequence[str]) -> RateModel:
    """Return the distribution of true pass rates fitted to counts.

    ``counts`` has passes and samples of each problem, ``clusters`` its pull request. The distribution is Beta(m s,
    (1-m) s). m is the mean pass rate, and s is fitted from the mean of p(1-p) = m (1-m) s / (s+1).
    """
    rate = mean([passed / n for passed, n in counts])
    within, total = within_variance(counts), rate * (1.0 - rate)
    strength = _TYPICAL_STRENGTH
    if within is not None:
        strength = min(within / (total - within), _UNSHAPED) if total > within else _UNSHAPED
    return RateModel(rate, strength, tuple(clusters), counts=tuple(counts))


def typical_model(clusters: Sequence[str]) -> RateModel:
    """Return the assumed pass rates of a suite without baseline.

    ``clusters`` has the pull request of each problem.
    """
    return RateModel(TYPICAL_RATE, _TYPICAL_STRENGTH, tuple(clusters))


@dataclass(frozen=True)
class Forecast:
    """How often simulated gates end with each verdict, as shares.

    ``samples`` is the mean number of samples per problem that a candidate takes.
    """

    passed: float
    regressed: float
    inconclusive: float
    samples: float


def forecast(
    model: RateModel,
    policy: GatePolicy,
    *,
    looks: tuple[int, ...] | None = None,
    candidates: int = 1,
    drop: float = 0.0,
) -> Forecast:
    """Return how often simulated gates end with each verdict.

    The simulated candidate lost ``drop`` of the pass rate, in 0..1. ``looks`` are the samples per problem at each
    planned comparison (None: the policy's). ``candidates`` is the number of candidates gated together.
    """
    ends = list(_gates(model, policy, looks, candidates, drop))
    shares = {kind: sum(end[0] == kind for end in ends) / len(ends) for kind in ("pass", "regressed", "inconclusive")}
    return Forecast(shares["pass"], shares["regressed"], shares["inconclusive"], mean([float(end[1]) for end in ends]))


def _count(model: RateModel) -> int:
    return max(_FEWEST_GATES, min(_GATES, _DRAWS // max(model.problems, 1)))


def _gates(
    model: RateModel, policy: GatePolicy, looks: tuple[int, ...] | None, candidates: int, drop: float
) -> Iterator[tuple[Decision, int]]:
    planned = looks or policy.looks
    terms = [Terms(policy, planned, samples, candidates) for samples in planned]
    random_ = random.Random(_SEED)  # noqa: S311  no secret, and the same again for the same baseline
    for _ in range(_count(model)):
        yield _one_gate(model, terms, drop, random_)


def _one_gate(model: RateModel, looks: Sequence[Terms], drop: float, random_: random.Random) -> tuple[Decision, int]:
    if model.counts:
        stored = list(model.counts)
        rates = [model.draw(random_, passed, n - passed) for passed, n in stored]
    else:
        rates = [model.draw(random_) for _ in model.clusters]
        stored = [(_passes(random_, rate, BASELINE_SAMPLES), BASELINE_SAMPLES) for rate in rates]
    kept = max(1.0 - drop / max(mean(rates), 1e-9), 0.0)
    fresh = [rate * kept for rate in rates]
    passed, taken = [0] * len(fresh), 0
    decision: Decision = "inconclusive"
    for terms in looks:
        more, taken = terms.samples - taken, terms.samples
        passed = [before + _passes(random_, rate, more) for before, rate in zip(passed, fresh, strict=True)]
        pairs = [Pair(x, n, y, taken) for (x, n), y in zip(stored, passed, strict=True)]
        decision = decide(compare_counts(pairs, terms), pairs, terms)
        if decision != "inconclusive":
            break
    return decision, taken


def _passes(random_: random.Random, rate: float, n: int) -> int:
    draw, passed = random_.random, 0
    for _ in range(n):
        if draw() < rate:
            passed += 1
    return passed


@dataclass(frozen=True)
class PowerStatement:
    """A forecast of what the gate can detect.

    Drops and shares are in 0..1. ``units`` counts pull requests. No candidate passes with fewer than
    ``fewest_problems``. ``detectable_drop`` is the smallest drop that 4 of 5 gates call regressed; None if there is
    none. ``equal`` is the forecast for a candidate that lost nothing on these problems, ``worse`` for one that lost the
    margin.
    """

    problems: int
    units: int
    max_samples: int
    candidates: int
    margin: float
    fewest_problems: int
    detectable_drop: float | None
    equal: Forecast
    worse: Forecast

    @property
    def expected_samples(self) -> tuple[int, int]:
        """Return the expected and the largest number of samples.

        Both numbers are totals over all problems. The expected number is the smaller one of the forecasts ``equal`` and
        ``worse``.
        """
        cases = (self.equal, self.worse)
        return round(min(case.samples for case in cases) * self.problems), self.max_samples * self.problems

    def too_few_words(self) -> str:
        """Return why no candidate can pass; "" if one can."""
        if self.problems >= self.fewest_problems:
            return ""
        return f"nothing passes below {count_of(self.fewest_problems, 'problem')} (`gate.min_problems`)"

    def detectable_words(self) -> str:
        """Return text about the smallest drop that gates detect."""
        if self.detectable_drop is None:
            return (
                "no drop, however large, is found in 4 of 5 gates: "
                "too few problems, or too few that the baseline solves"
            )
        return f"the smallest drop found in 4 of 5 gates is {self.detectable_drop * 100:.1f} pp"

    def sentences(self) -> tuple[str, ...]:
        """Return the forecast as sentences."""
        what = count_of(self.problems, "problem")
        if self.units < self.problems:
            what += f" from {self.units} pull requests"
        points = f"{self.margin * 100:g} pp"
        equal = (
            f"a candidate that is equal on them passes in {self.equal.passed:.0%} of gates, after "
            f"{self.equal.samples:.1f} samples per problem on average"
        )
        return (
            f"{what}, up to {count_of(self.max_samples, 'sample')} each: {self.too_few_words() or equal}",
            f"one that lost {points} ends regressed in {self.worse.regressed:.0%} and passes in "
            f"{self.worse.passed:.0%}; {self.detectable_words()}",
        )


def power_statement(
    model: RateModel, policy: GatePolicy, *, looks: tuple[int, ...] | None = None, candidates: int = 1
) -> PowerStatement:
    """Return the forecast of what a policy's gate can detect.

    ``looks`` are the samples per problem at each planned comparison (None: the policy's). ``candidates`` is the number
    of candidates gated together.
    """
    planned = looks or policy.looks
    return PowerStatement(
        problems=model.problems,
        units=model.units,
        max_samples=planned[-1],
        candidates=candidates,
        margin=policy.margin,
        fewest_problems=Terms(policy, planned, planned[-1], candidates).fewest_problems,
        detectable_drop=simulated_detectable_drop(model, policy, looks=planned, candidates=candidates),
        equal=forecast(model, policy, looks=planned, candidates=candidates),
        worse=forecast(model, policy, looks=planned, candidates=candidates, drop=policy.margin),
    )


def simulated_detectable_drop(
    model: RateModel, policy: GatePolicy, *, looks: tuple[int, ...] | None = None, candidates: int = 1
) -> float | None:
    """Return the smallest drop that 4 of 5 simulations detect.

    None if no drop is detected so often. ``looks`` are the samples per problem at each planned comparison (None: the
    policy's). ``candidates`` is the number of candidates gated together.
    """
    steps = range(1, int(model.rate * 200) + 1)

    def found(step: int) -> bool:
        regressed, count = 0, _count(model)
        for left, (decision, _) in zip(
            range(count - 1, -1, -1), _gates(model, policy, looks, candidates, step / 200), strict=False
        ):
            regressed += decision == "regressed"
            if regressed / count >= _POWER or (regressed + left) / count < _POWER:
                break  # the gates that are left cannot change the result
        return regressed / count >= _POWER

    at = bisect_left(steps, True, key=found)
    return steps[at] / 200 if at < len(steps) else None
