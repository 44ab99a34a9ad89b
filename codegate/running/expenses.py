"""Estimate what samples cost, before any call.

From real prompts, prices and limits, and from earlier runs.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, Prices, Usage, cost, listed, worst_case_call_cost
from codegate.running.outcome import Outcome, Run
from codegate.solving import first_request, first_turn, request_bytes, tool_specs
from codegate.suite import Suite, load_base

BYTES_PER_TOKEN: Final = 4
"""Of English and of code, roughly; a model's own tokenizer decides."""
ASSUMED_OUTPUT: Final = 2_000
"""Output tokens of an answer that no earlier run has measured."""


@dataclass(frozen=True)
class SampleExpense:
    """Means over ``samples`` samples of runs; None if unknown.

    Tokens are those of requests and of answers; ``model_seconds`` is time in calls, ``grading_seconds`` in sandboxes.
    """

    samples: int
    input_tokens: float | None
    output_tokens: float | None
    usd: Decimal | None
    model_seconds: float | None
    grading_seconds: float | None

    def minutes(self, samples: float, models: int, sandboxes: int) -> float | None:
        """Return the minutes for ``samples``.

        The longer of calls and gradings, which run concurrently.
        """
        if self.model_seconds is None or self.grading_seconds is None:
            return None
        return samples * max(self.model_seconds / models, self.grading_seconds / sandboxes) / 60


def sample_expense(runs: Sequence[Run], prices: Prices | None) -> SampleExpense:
    """Return the mean expense of a graded sample in ``runs``."""
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
class Prompts:
    """Sizes of a candidate's first prompts, one per problem.

    In bytes of text, and of the whole request. ``only``: no other request follows, so that they are all that an answer
    takes.
    """

    texts: tuple[int, ...]
    requests: tuple[int, ...]
    only: bool = True

    @property
    def median_tokens(self) -> int:
        """Return an estimate of the median prompt's tokens."""
        return round(statistics.median(self.texts) / BYTES_PER_TOKEN)

    @property
    def most_tokens(self) -> int:
        """Return an estimate of the largest prompt's tokens."""
        return round(max(self.texts) / BYTES_PER_TOKEN)


def prompt_sizes(suite: Suite, candidate: CandidateSpec, repository: Path | None) -> Prompts | None:
    """Return the sizes of first prompts, or None for agents.

    An agent writes its own prompts. A tool loop's grow from call to call, as the model decides. Raises UsageError if a
    base commit is missing.
    """
    if candidate.solver == "agent":
        return None
    loop = candidate.solver == "tool_loop"
    first, tools = (first_turn, tool_specs()) if loop else (first_request, ())
    offered = request_bytes((), tools) if loop else 0
    messages = [first(problem, load_base(suite, problem, repository), candidate) for problem in suite.active]
    texts = (offered + sum(len(message.text.encode()) for message in each) for each in messages)
    return Prompts(tuple(texts), tuple(request_bytes(each, tools) for each in messages), only=not loop)


@dataclass(frozen=True)
class SampleDollars:
    """US dollars of a mean sample without retries; None: unknown.

    ``measured``: ``expected`` is from earlier runs, and not from ``ASSUMED_OUTPUT``. No sample costs more than
    ``worst`` on average: each call at the most that a budget reserves for it, and as many calls as there may be.
    """

    expected: Decimal | None
    measured: bool
    worst: Decimal | None


def sample_dollars(
    candidate: CandidateSpec, expense: SampleExpense, prompts: Prompts | None, calls_at_once: int
) -> SampleDollars:
    """Return the cost of a sample, by ``expense`` if measured."""
    prices, limit = candidate.prices, candidate.sampling.output_limit
    if prices is None:
        return SampleDollars(None, False, None)
    if prompts is None or not prompts.only:
        return SampleDollars(expense.usd, expense.usd is not None, _worst_of_several(candidate, prices, calls_at_once))
    each = [worst_case_call_cost(size, limit, prices) or Decimal(0) for size in prompts.requests]
    worst = sum(each, Decimal(0)) / len(each)
    if expense.usd is not None:
        return SampleDollars(expense.usd, True, worst)
    usual = [
        cost(Usage(input_tokens=size // BYTES_PER_TOKEN, output_tokens=ASSUMED_OUTPUT, cached_tokens=0), prices)
        for size in prompts.texts
    ]
    return SampleDollars(sum((one or Decimal(0) for one in usual), Decimal(0)) / len(usual), False, worst)


def _worst_of_several(candidate: CandidateSpec, prices: Prices, at_once: int) -> Decimal | None:
    """Return the most that an attempt of several calls costs."""
    # Its limits, with each call as large as the model takes. An agent's limit of tokens ends it after the calls under
    # way; its limit of dollars is never exceeded.
    window, agent = listed(candidate).context_window, candidate.agent
    call = worst_case_call_cost(window, candidate.sampling.output_limit, prices) if window is not None else None
    bounds = [] if call is None else [candidate.max_iterations * call]
    if agent is not None and agent.usd is not None:
        bounds.append(agent.usd)
    if agent is not None and agent.tokens is not None and window is not None and call is not None:
        dearest = prices.of_request(window)
        bounds.append(agent.tokens * max(dearest.highest_input, dearest.output) / 1_000_000 + at_once * call)
    return min(bounds, default=None)
