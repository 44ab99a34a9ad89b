"""The most model calls that a team's own workflows make: what ``max_model_calls`` has to leave room for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.gating import GatePolicy

BASELINE_SAMPLES: Final = 10
"""Default samples per problem of a baseline: the number that the statistics were simulated with."""

_RETRIES: Final = 10  # one spare call for each so many calls, and so many more: failed tries count too


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
        """Return the least limit with which each of these runs can finish, with room for retries."""
        most = max(self.baseline, self.gate)
        return most + most // _RETRIES + _RETRIES if most else 0


def call_needs(
    problems: int, candidates: Sequence[CandidateSpec], policy: GatePolicy, samples: int | None = None
) -> CallNeeds:
    """Return the most model calls that a baseline and a gate of ``candidates`` make.

    Args:
        problems: active problems of the suite.
        candidates: those that are gated together. The pinned model is taken to need as many calls as the one of them
            that needs most.
        policy: the gate's.
        samples: per problem in a gated run, whatever they show; None: as many as the policy plans at most.
    """
    calls = [candidate.max_iterations if candidate.solver == "tool_loop" else 1 for candidate in candidates
             if candidate.calls_a_model]  # fmt: skip
    pinned = max(calls, default=0)
    most = samples or policy.max_samples
    return CallNeeds(
        baseline=problems * BASELINE_SAMPLES * pinned,
        gate=problems * (most * sum(calls) + policy.confirm_samples * pinned),
    )
