"""The power of a gate before any model call: the gate itself, on simulated candidates.

The true pass rates of the problems are drawn from what the baseline shows about them (a beta-binomial posterior), or
from a typical suite; candidates are drawn from those rates, and each simulated gate decides by the same rule as a
real one, look by look. Seeded: the same baseline gives the same forecast.
"""

import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from codegate.gating.decision import Terms, compare_counts, decide
from codegate.gating.matching import clusters_of, counted, without_copies
from codegate.gating.policy import GatePolicy
from codegate.gating.samples import CandidateSamples
from codegate.gating.statistics import Pair, mean, within_variance

Relation = Literal["same weights", "same family", "other vendor"]

CHURN: Final[Mapping[Relation, float]] = {"same weights": 0.0, "same family": 0.02, "other vendor": 0.06}
"""Variance over problems of the true difference between two equally good models: they solve different ones.

From per-problem results of 24 published models on 500 problems; see docs/statistics.md.
"""

_TYPICAL_STRENGTH: Final = 0.4  # of the U-shaped Beta distribution of rates, where no problem was repeated
_UNSHAPED: Final = 1e4  # strength at which every problem has the same rate
_POWER: Final = 0.8
_GATES: Final = 600
_FEWEST_GATES: Final = 200
_DRAWS: Final = 60_000  # problems of all simulated gates together, about
_SEED: Final = 20261123


@dataclass(frozen=True)
class RateModel:
    """Distribution of the problems' true pass rates: Beta(m s, (1-m) s) with m ``rate`` and s ``strength``.

    Attributes:
        rate: mean pass rate of the pinned model.
        strength: s; small means that most problems are nearly always or nearly never solved.
        clusters: the pull request of each problem.
        samples: baseline samples per problem that are still to be made, where ``counts`` is empty.
        counts: passes and samples of the baseline per problem; empty before there is one.
    """

    rate: float
    strength: float
    clusters: tuple[str, ...]
    samples: int = 10
    counts: tuple[tuple[int, int], ...] = ()

    @property
    def problems(self) -> int:
        """Return the number of problems."""
        return len(self.clusters)

    @property
    def units(self) -> int:
        """Return the number of pull requests that the problems come from."""
        return len(set(self.clusters))

    @property
    def between(self) -> float:
        """Return the variance of the true rates over problems."""
        return self.rate * (1.0 - self.rate) / (self.strength + 1.0)

    def draw(self, random_: random.Random, passed: int = 0, failed: int = 0) -> float:
        """Return the true rate of one problem, given what the baseline showed of it."""
        a, b = self.rate * self.strength + passed, (1.0 - self.rate) * self.strength + failed
        return 1.0 if b <= 0.0 else 0.0 if a <= 0.0 else random_.betavariate(a, b)


def baseline_model(baseline: CandidateSamples) -> RateModel:
    """Return the rate model of a stored baseline, fitted by moments.

    Raises:
        ValueError: it has no graded sample.
    """
    samples = without_copies(baseline).samples
    graded = {name: counted(entries) for name, entries in sorted(samples.items())}
    graded = {name: entries for name, entries in graded.items() if entries}
    if not graded:
        message = "a baseline without a graded sample shows nothing about power"
        raise ValueError(message)
    counts = tuple((sum(bool(sample.passed) for sample in entries), len(entries)) for entries in graded.values())
    return fitted_model(counts, clusters_of(list(graded), baseline.clusters))


def fitted_model(counts: Sequence[tuple[int, int]], clusters: Sequence[str]) -> RateModel:
    """Return the rate model of passes x of k samples on each problem: s from the mean of p(1-p), m (1-m) s / (s+1)."""
    rate = mean([passed / n for passed, n in counts])
    within, total = within_variance(counts), rate * (1.0 - rate)
    strength = _TYPICAL_STRENGTH
    if within is not None:
        strength = min(within / (total - within), _UNSHAPED) if total > within else _UNSHAPED
    return RateModel(rate, strength, tuple(clusters), counts=tuple(counts))


def typical_model(
    problems: int, *, rate: float = 0.6, samples: int = 10, clusters: Sequence[str] | None = None
) -> RateModel:
    """Return the rate model of a suite without a baseline: U-shaped difficulty, s = .4.

    Args:
        problems: how many problems.
        rate: expected pass rate of the pinned model.
        samples: baseline samples per problem to be made.
        clusters: the pull request of each problem; None: each has its own.
    """
    names = tuple(clusters) if clusters is not None else tuple(f"problem {i}" for i in range(problems))
    return RateModel(rate, _TYPICAL_STRENGTH, names, samples)


@dataclass(frozen=True)
class Forecast:
    """How gates of one kind end: shares of the verdicts, and the mean samples per problem of one candidate."""

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
    relation: Relation = "same weights",
) -> Forecast:
    """Return how gates end for a candidate that lost ``drop``.

    Args:
        model: what is known of the problems.
        policy: the gate's.
        looks: samples per problem at each look; None: the policy's.
        candidates: candidates that share the error of a regression.
        drop: true drop of the mean pass rate, every problem losing the same share: on these problems exactly for
            the same weights, on average where the candidate is another model.
        relation: of the candidate to the pinned model; another model solves other problems, although it is as good.
    """
    planned = looks or policy.looks
    gates = max(_FEWEST_GATES, min(_GATES, _DRAWS // max(model.problems, 1)))
    random_ = random.Random(_SEED)  # noqa: S311  no secret, and the same again for the same baseline
    ends = [_one_gate(model, policy, planned, candidates, drop, relation, random_) for _ in range(gates)]
    shares = {kind: sum(end[0] == kind for end in ends) / gates for kind in ("pass", "regressed", "inconclusive")}
    return Forecast(shares["pass"], shares["regressed"], shares["inconclusive"], mean([float(end[1]) for end in ends]))


def _one_gate(
    model: RateModel,
    policy: GatePolicy,
    looks: tuple[int, ...],
    candidates: int,
    drop: float,
    relation: Relation,
    random_: random.Random,
) -> tuple[str, int]:
    """Return the decision of one simulated gate, and the samples per problem that it took."""
    if model.counts:
        stored = list(model.counts)
        rates = [model.draw(random_, passed, n - passed) for passed, n in stored]
    else:
        rates = [model.draw(random_) for _ in model.clusters]
        stored = [(_passes(random_, rate, model.samples), model.samples) for rate in rates]
    kept = max(1.0 - drop / max(mean(rates), 1e-9), 0.0)
    fresh = [rate * kept for rate in _other_model(model, rates, CHURN[relation], random_)]
    passed, taken = [0] * len(fresh), 0
    decision = "inconclusive"
    for samples in looks:
        passed = [before + _passes(random_, rate, samples - taken) for before, rate in zip(passed, fresh, strict=True)]
        taken = samples
        pairs = tuple(Pair(x, n, y, taken) for (x, n), y in zip(stored, passed, strict=True))
        terms = Terms(policy, looks, taken, candidates)
        decision = decide(compare_counts(pairs, model.clusters, terms), pairs, terms)
        if decision != "inconclusive":
            break
    return decision, taken


def _passes(random_: random.Random, rate: float, n: int) -> int:
    return sum(random_.random() < rate for _ in range(n))


def _other_model(model: RateModel, rates: Sequence[float], churn: float, random_: random.Random) -> list[float]:
    """Return the rates of an equally good model: a share churn / (2 Var p) of the pull requests is drawn anew."""
    share = min(churn / (2.0 * model.between), 1.0) if churn and model.between > 0.0 else 0.0
    redrawn = {name for name in dict.fromkeys(model.clusters) if random_.random() < share}
    return [model.draw(random_) if name in redrawn else rate for name, rate in zip(model.clusters, rates, strict=True)]


@dataclass(frozen=True)
class PowerStatement:
    """Expected verdicts of a gate; drops and shares are in 0..1.

    Attributes:
        problems: number of problems; ``units``: pull requests that they come from.
        max_samples: most samples per problem of a candidate; ``candidates``: gated together.
        margin: the tolerated drop.
        detectable_drop: smallest drop that ends as regressed in 4 of 5 gates; None where none does.
        equal: a candidate that lost nothing on these problems; ``worse``: one that lost the margin.
        family: an equally good model of the same family; ``vendor``: of another vendor.
    """

    problems: int
    units: int
    max_samples: int
    candidates: int
    margin: float
    detectable_drop: float | None
    equal: Forecast
    worse: Forecast
    family: Forecast
    vendor: Forecast

    @property
    def expected_samples(self) -> tuple[int, int]:
        """Return the fewest expected and the most possible samples of one candidate on all problems."""
        cases = (self.equal, self.worse, self.family, self.vendor)
        return round(min(case.samples for case in cases) * self.problems), self.max_samples * self.problems

    def sentences(self) -> tuple[str, ...]:
        """Return the forecast for people."""
        what = f"{self.problems} problem" + ("" if self.problems == 1 else "s")
        if self.units < self.problems:
            what += f" from {self.units} pull requests"
        points = f"{self.margin * 100:g} pp"
        found = (
            f"the smallest drop found in 4 of 5 gates is {self.detectable_drop * 100:.1f} pp"
            if self.detectable_drop is not None
            else "no drop is found in 4 of 5 gates"
        )
        return (
            f"{what}, up to {self.max_samples} sample{'' if self.max_samples == 1 else 's'} each: a candidate that is "
            f"equal on them passes in {_percent(self.equal.passed)} of gates, after {self.equal.samples:.1f} samples "
            "per problem on average",
            f"one that lost {points} ends regressed in {_percent(self.worse.regressed)} and passes in "
            f"{_percent(self.worse.passed)}; {found}",
            "another model that is as good in general, but solves other problems: "
            f"{_ends(self.family)} within a family, {_ends(self.vendor)} across vendors (pass / regressed / no answer)",
        )


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _ends(case: Forecast) -> str:
    return f"{case.passed * 100:.0f} / {case.regressed * 100:.0f} / {case.inconclusive:.0%}"


def power_statement(
    model: RateModel, policy: GatePolicy, *, looks: tuple[int, ...] | None = None, candidates: int = 1
) -> PowerStatement:
    """Return what to expect of a gate; arguments as for ``forecast``."""
    planned = looks or policy.looks

    def case(drop: float = 0.0, relation: Relation = "same weights") -> Forecast:
        return forecast(model, policy, looks=planned, candidates=candidates, drop=drop, relation=relation)

    return PowerStatement(
        problems=model.problems,
        units=model.units,
        max_samples=planned[-1],
        candidates=candidates,
        margin=policy.margin,
        detectable_drop=least_drop(model, policy, looks=planned, candidates=candidates),
        equal=case(),
        worse=case(policy.margin),
        family=case(relation="same family"),
        vendor=case(relation="other vendor"),
    )


def least_drop(
    model: RateModel, policy: GatePolicy, *, looks: tuple[int, ...] | None = None, candidates: int = 1
) -> float | None:
    """Return the smallest drop on these problems, in steps of .005, that ends as regressed in 4 of 5 gates."""
    steps = range(1, int(model.rate * 200) + 1)

    def found(step: int) -> bool:
        ends = forecast(model, policy, looks=looks, candidates=candidates, drop=step / 200)
        return ends.regressed >= _POWER

    at = bisect_left(steps, True, key=found)
    return steps[at] / 200 if at < len(steps) else None
