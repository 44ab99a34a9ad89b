"""Estimate a run: its most model calls, and tokens, dollars and minutes of a sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from codegate.candidates import CandidateSpec, Prices, cost
from codegate.gating import GatePolicy
from codegate.running.outcome import Outcome, Run

BASELINE_SAMPLES: Final = 10
"""Default samples per problem of a baseline: the number that the statistics were simulated with."""

_RETRIES: Final = 10  # one spare call per ten, and ten more, because failed tries count too


@dataclass(frozen=True)
class SampleExpense:
    """Means over the samples of runs; None where no sample reports a value.

    Attributes:
        samples: how many they are made from.
        input_tokens: tokens of a sample's requests; ``output_tokens``: of its answers.
        usd: what they cost.
        model_seconds: time in model calls; ``grading_seconds``: time in sandboxes until the grade.
    """

    samples: int
    input_tokens: float | None
    output_tokens: float | None
    usd: Decimal | None
    model_seconds: float | None
    grading_seconds: float | None

    def minutes(self, samples: float, models: int, sandboxes: int) -> float | None:
        """Return the minutes for ``samples``: the longer of calls and gradings, which run concurrently."""
        if self.model_seconds is None or self.grading_seconds is None:
            return None
        return samples * max(self.model_seconds / models, self.grading_seconds / sandboxes) / 60


def sample_expense(runs: Sequence[Run], prices: Prices | None) -> SampleExpense:
    """Return the mean expense of a graded sample in ``runs``, at ``prices``."""
    made = [outcome for run in runs for outcome in run.outcomes if outcome.attempt and outcome.grade]
    usages = [outcome.attempt.usage for outcome in made if outcome.attempt]
    costs = [sum_ for usage in usages if (sum_ := cost(usage, prices)) is not None]
    return SampleExpense(
        samples=len(made),
        input_tokens=_mean([usage.input_tokens for usage in usages if usage.input_tokens is not None]),
        output_tokens=_mean([usage.output_tokens for usage in usages if usage.output_tokens is not None]),
        usd=sum(costs, Decimal(0)) / len(costs) if costs else None,
        model_seconds=_mean([_model_seconds(outcome) for outcome in made]),
        grading_seconds=_mean([outcome.grading_seconds for outcome in made]),
    )


def _model_seconds(outcome: Outcome) -> float:
    return outcome.attempt.model_seconds + outcome.attempt.tool_seconds if outcome.attempt else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True)
class CallNeeds:
    """Most model calls of each kind of run, without retries.

    Attributes:
        baseline: of the run that a baseline is made of.
        gate: of a gated run, with the confirmation of a regression.
    """

    baseline: int
    gate: int

    @property
    def limit(self) -> int:
        """Return the least limit under which each run can finish, with room for retries."""
        most = max(self.baseline, self.gate)
        return most + most // _RETRIES + _RETRIES if most else 0


def call_needs(
    problems: int, candidates: Sequence[CandidateSpec], policy: GatePolicy, samples: int | None = None
) -> CallNeeds:
    """Return the most model calls of a baseline and of a gate of ``candidates``.

    The pinned model is taken to need as many calls as the candidate that needs most. ``samples`` are per problem of the
    gated run; None: the policy's most.
    """
    calls = [candidate.max_iterations if candidate.solver == "tool_loop" else 1 for candidate in candidates
             if candidate.calls_a_model]  # fmt: skip
    pinned = max(calls, default=0)
    most = samples or policy.max_samples
    return CallNeeds(
        baseline=problems * BASELINE_SAMPLES * pinned,
        gate=problems * (most * sum(calls) + policy.confirm_samples * pinned),
    )
