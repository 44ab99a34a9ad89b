"""Compute pass rates and scores: pass@1, pass@k, pass^k."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.gating import CandidateSamples
from codegate.gating.estimates import Estimate, mean_rate, pass_at_k, pass_hat_k
from codegate.reporting.plain import one_line

_ENOUGH: Final = 0.9  # share of problems that need k samples, so that a few faults do not lower k


@dataclass(frozen=True)
class GradedSample:
    """A graded sample: whether it passed, and its score.

    ``score`` is 0..100, None if unknown.
    """

    passed: bool
    score: float | None
    failure: str | None


Samples = Mapping[str, Sequence[GradedSample]]
"""The graded samples of each problem that has any."""


@dataclass(frozen=True)
class Correctness:
    """Pass rates in 0..1, and the mean score in 0..100.

    ``pass_at_k`` is the chance that at least one of k samples passes, ``pass_hat_k`` that all do. Both values count
    only problems with k samples.
    """

    pass_at_1: Estimate
    k: int
    pass_at_k: Estimate
    pass_hat_k: Estimate
    score: Estimate


def graded_baseline(baseline: CandidateSamples) -> Samples:
    """Return the graded samples of a baseline by problem."""
    return by_problem(
        (problem, GradedSample(sample.passed, sample.score, one_line(sample.failure) if sample.failure else None))
        for problem, samples in baseline.samples.items()
        for sample in samples
        if sample.passed is not None
    )


def by_problem(graded: Iterable[tuple[str, GradedSample]]) -> Samples:
    """Group graded samples by problem, in their order."""
    found: dict[str, list[GradedSample]] = {}
    for problem, sample in graded:
        found.setdefault(problem, []).append(sample)
    return found


def common_k(sides: Iterable[Samples]) -> int:
    """Return the largest k for which all samples suffice.

    ``sides`` has the samples of each candidate and the baseline. Nearly all problems of each of these need k graded
    samples. The result is at least 1. pass@k of different k is not comparable: with equal models "any of 5" is points
    above "any of 3".
    """
    counts = [sorted(map(len, side.values()), reverse=True) for side in sides if side]
    return min((found[math.ceil(_ENOUGH * len(found)) - 1] for found in counts), default=1)


def correctness(side: Samples, k: int) -> Correctness:
    """Compute pass@1, pass@k, pass^k and the mean score.

    ``side`` has the samples of a candidate or the baseline. With ``k`` from ``common_k`` the results can be compared.
    """
    counts = [(len(samples), sum(sample.passed for sample in samples)) for samples in side.values()]
    drawn = [(n, passed) for n, passed in counts if n >= k]
    scores = [[sample.score for sample in samples if sample.score is not None] for samples in side.values()]
    return Correctness(
        pass_at_1=mean_rate(passed / n for n, passed in counts),
        k=k,
        pass_at_k=mean_rate(pass_at_k(n, passed, k) for n, passed in drawn),
        pass_hat_k=mean_rate(pass_hat_k(n, passed, k) for n, passed in drawn),
        score=mean_rate(math.fsum(known) / len(known) / 100 for known in scores if known).times(100),
    )
