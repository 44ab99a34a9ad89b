"""What a run will take, reckoned from one that was made: tokens, dollars and minutes of a sample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from codegate.candidates import Prices, cost
from codegate.running.outcome import Outcome, Run


@dataclass(frozen=True)
class SampleExpense:
    """Means over the samples of a run; None where no sample says.

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
        """Return how long so many samples take when so many calls and sandboxes are at work at once.

        Calls and gradings go on side by side, so it is the longer of both.
        """
        if self.model_seconds is None or self.grading_seconds is None:
            return None
        return samples * max(self.model_seconds / models, self.grading_seconds / sandboxes) / 60


def sample_expense(runs: Sequence[Run], prices: Prices | None) -> SampleExpense:
    """Return what a sample took in ``runs``; samples that a fault cut short do not count.

    Args:
        runs: runs of the model, or of one like it.
        prices: of the model that is to be asked.
    """
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
