"""Compute the weighted score, which ranks candidates and never gates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from codegate.gating.estimates import Estimate
from codegate.running import ScoreWeights


@dataclass(frozen=True)
class ScorePart:
    """One summand of the weighted score; ``how`` is the formula."""

    name: str
    weight: float
    points: Estimate
    how: str


@dataclass(frozen=True)
class WeightedScore:
    """A candidate's weighted score, and its parts.

    Attributes:
        points: 0..100, unknown without a graded problem. At each end of the interval all parts are at their worse, or
            all at their better end, so the interval is wider than a 95 % interval. n counts the problems.
        parts: all five parts, including unknown ones.
        left_out: names of the unknown parts. The weights of all known parts are scaled up to replace the missing
            weights.
    """

    points: Estimate
    parts: tuple[ScorePart, ...]
    left_out: tuple[str, ...]


def weighted_score(
    weights: ScoreWeights,
    *,
    pass_at_1: Estimate,
    answer_p95: Estimate,
    per_completed: Estimate,
    nothing_completed: bool,
    cache_share: Estimate,
    reliability: Sequence[Estimate],
) -> WeightedScore:
    """Compute the weighted score from these measures.

    The shares ``pass_at_1``, ``cache_share`` and the mean of ``reliability`` count 100 points at 1. ``answer_p95``
    (seconds) and ``per_completed`` (dollars) count 100 h / (h + value), with h from ``weights``. An unknown measure has
    no points. Cost has 0 points if nothing was completed.
    """
    priced = (
        Estimate(1, 0.0, 0.0, 0.0, "completed tasks")
        if nothing_completed
        else _falling(per_completed, weights.cost_half)
    )
    wanted = (
        ("correctness", weights.correctness, pass_at_1.times(100), "100 x pass@1"),
        (
            "latency",
            weights.latency,
            _falling(answer_p95, weights.latency_half),
            f"100 / (1 + P95 time to an answer / {weights.latency_half:g} s)",
        ),
        ("cost", weights.cost, priced, f"100 / (1 + cost per completed task / ${weights.cost_half:g})"),
        ("context", weights.context, cache_share.times(100), "100 x share of input read from a cache"),
        ("reliability", weights.reliability, _mean(reliability).times(100), "100 x mean of answered and valid shares"),
    )
    total = math.fsum(weight for _, weight, points, _ in wanted if points.value is not None)
    parts = tuple(
        ScorePart(name, weight / total if total and points.value is not None else 0.0, points, how)
        for name, weight, points, how in wanted
    )
    left_out = tuple(name for name, weight, points, _ in wanted if points.value is None and weight > 0)
    if not total or not pass_at_1.n:  # without a graded problem the candidate is not ranked
        return WeightedScore(Estimate(), parts, left_out)
    known = [part for part in parts if part.points.value is not None]
    points = Estimate(
        n=pass_at_1.n,
        value=math.fsum(part.weight * (part.points.value or 0.0) for part in known),
        low=math.fsum(part.weight * (part.points.low or 0.0) for part in known),
        high=math.fsum(part.weight * (100.0 if part.points.high is None else part.points.high) for part in known),
    )
    return WeightedScore(points, parts, left_out)


def _falling(measure: Estimate, half: float) -> Estimate:
    """Return points for a measure where less is better.

    The points are 100 at 0 and 50 at ``half``, and never 0.
    """

    def points(value: float) -> float:
        return 100 * half / (half + value)

    if measure.value is None:
        return Estimate(of=measure.of)
    return Estimate(
        measure.n,
        points(measure.value),
        None if measure.high is None else points(measure.high),
        None if measure.low is None else points(max(measure.low, 0.0)),
        measure.of,
    )


def _mean(shares: Sequence[Estimate]) -> Estimate:
    known = [entry for entry in shares if entry.value is not None]
    if not known:
        return Estimate()
    return Estimate(
        min(entry.n for entry in known),
        math.fsum(entry.value or 0.0 for entry in known) / len(known),
        math.fsum(entry.low or 0.0 for entry in known) / len(known),
        math.fsum(1.0 if entry.high is None else entry.high for entry in known) / len(known),
        known[0].of,
    )
