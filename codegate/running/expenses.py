"""Estimate what samples cost, before any call.

Estimates use real prompts, prices, limits and earlier runs.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, Prices, Usage, cost, list_entry, worst_case_call_cost
from codegate.gating.estimates import Estimate, mean_of_problems
from codegate.running.outcome import Outcome, Run
from codegate.solving import AttemptSummary, first_request, first_turn, request_bytes, tool_specs
from codegate.suite import Suite, load_base

BYTES_PER_TOKEN: Final = 4
"""Rough average for English and code; a model's own tokenizer decides."""
ASSUMED_OUTPUT: Final = 2_000
"""Output tokens of an answer that no earlier run has measured."""


@dataclass(frozen=True)
class SampleExpense:
    """What one sample took on average in earlier runs.

    ``problems`` counts the problems with samples. ``model_seconds`` includes the time of tools. ``sandbox_seconds`` is
    the time that a sandbox was in use, an agent's while it waits for its model too. If ``own`` is false, other
    candidates with the same solver made the samples.
    """

    problems: int
    own: bool
    input_tokens: Estimate
    output_tokens: Estimate
    usd: Estimate
    model_seconds: Estimate
    sandbox_seconds: Estimate

    @property
    def samples(self) -> int:
        """Return how many samples were measured."""
        return self.sandbox_seconds.n

    def minutes(self, samples: float, models: int, sandboxes: int) -> Estimate:
        """Return an estimate of the minutes that ``samples`` will take.

        ``models`` calls and ``sandboxes`` sandboxes run at a time. They overlap, so the longer total counts.
        """
        each = self.model_seconds.times(1 / models), self.sandbox_seconds.times(1 / sandboxes)
        return max(each, key=lambda one: one.value or 0.0).times(samples / 60)


def sample_expense(runs: Sequence[Run], candidate: CandidateSpec) -> SampleExpense:
    """Return what a candidate's sample takes on average.

    If the candidate has no samples in ``runs``, samples of candidates with the same solver are used.
    """
    alike = [run.of(one.key()) for run in runs for one in run.manifest.candidates if one.solver == candidate.solver]
    every = [outcome for outcomes in alike for outcome in outcomes if outcome.attempt and outcome.grade]
    own = [outcome for outcome in every if outcome.candidate == candidate.key()]
    made: dict[str, list[Outcome]] = {}
    for outcome in own or every:
        made.setdefault(outcome.problem, []).append(outcome)

    def mean(value: Callable[[Outcome, AttemptSummary], float | Decimal | None]) -> Estimate:
        groups = ([value(one, one.attempt) for one in group if one.attempt] for group in made.values())
        return mean_of_problems(([float(one) for one in group if one is not None] for group in groups), of="samples")

    def in_sandbox(outcome: Outcome, attempt: AttemptSummary) -> float:
        waiting = attempt.model_seconds if candidate.solver == "agent" else 0.0
        return waiting + attempt.tool_seconds + outcome.grading_seconds

    return SampleExpense(
        problems=len(made),
        own=bool(own),
        input_tokens=mean(lambda _, attempt: attempt.usage.input_tokens),
        output_tokens=mean(lambda _, attempt: attempt.usage.output_tokens),
        usd=mean(lambda _, attempt: cost(attempt.usage, candidate.prices)),
        model_seconds=mean(lambda _, attempt: attempt.model_seconds + attempt.tool_seconds),
        sandbox_seconds=mean(in_sandbox),
    )


@dataclass(frozen=True)
class PromptSizes:
    """Sizes in bytes of a candidate's first prompts.

    There is one entry per problem. ``texts`` are the sizes of the prompts, ``requests`` the sizes of whole JSON
    requests. ``only``: an attempt takes a single request.
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


def prompt_sizes(suite: Suite, candidate: CandidateSpec, repository: Path | None) -> PromptSizes | None:
    """Return the sizes of a candidate's first prompts.

    None for an agent, which writes its own prompts. Raises UsageError if a base commit is missing.
    """
    if candidate.solver == "agent":
        return None
    loop = candidate.solver == "tool_loop"
    first, tools = (first_turn, tool_specs()) if loop else (first_request, ())
    offered = request_bytes((), tools) if loop else 0
    messages = [first(problem, load_base(suite, problem, repository), candidate) for problem in suite.active]
    texts = (offered + sum(len(message.text.encode()) for message in each) for each in messages)
    return PromptSizes(tuple(texts), tuple(request_bytes(each, tools) for each in messages), only=not loop)


@dataclass(frozen=True)
class SampleDollars:
    """Expected and highest cost of one sample, without retries.

    If ``measured`` is false, ``expected`` assumes ``ASSUMED_OUTPUT`` tokens. ``worst`` is the highest possible cost of
    an attempt, on average over the problems: each possible call costs what a budget reserves for it. None: there is no
    bound.
    """

    expected: Estimate
    measured: bool
    worst: Decimal | None


def sample_dollars(
    candidate: CandidateSpec, expense: SampleExpense, prompts: PromptSizes | None, calls_at_once: int
) -> SampleDollars:
    """Return the cost of one sample, measured or assumed.

    The cost is measured if ``expense`` has dollars from earlier runs. ``calls_at_once`` is the largest number of calls
    that run at a time.
    """
    prices, limit = candidate.prices, candidate.sampling.output_limit
    if prices is None:
        return SampleDollars(Estimate(), False, None)
    if prompts is None or not prompts.only:
        return SampleDollars(expense.usd, expense.usd.n > 0, _worst_of_several(candidate, prices, calls_at_once))
    each = [worst_case_call_cost(size, limit, prices) or Decimal(0) for size in prompts.requests]
    worst = sum(each, Decimal(0)) / len(each)
    if expense.usd.n:
        return SampleDollars(expense.usd, True, worst)
    usual = [
        cost(Usage(input_tokens=size // BYTES_PER_TOKEN, output_tokens=ASSUMED_OUTPUT, cached_tokens=0), prices)
        for size in prompts.texts
    ]
    mean = sum((one or Decimal(0) for one in usual), Decimal(0)) / len(usual)
    return SampleDollars(Estimate(value=float(mean)), False, worst)


def _worst_of_several(candidate: CandidateSpec, prices: Prices, at_once: int) -> Decimal | None:
    # Each call is assumed to fill the largest context. An agent's token limit ends it only after the calls in progress;
    # its dollar limit is never exceeded.
    windows, agent = [list_entry(one).context_window for one in (candidate, *candidate.helpers)], candidate.agent
    window = None if None in windows else max(filter(None, windows))
    call = worst_case_call_cost(window, candidate.sampling.output_limit, prices) if window is not None else None
    bounds = [] if call is None else [candidate.max_iterations * call]
    if agent is not None and agent.usd is not None:
        bounds.append(agent.usd)
    if agent is not None and agent.tokens is not None and window is not None and call is not None:
        each = [one.of_request(window) for one in (prices, *prices.helpers.values())]
        dearest = max(max(one.highest_input, one.output) for one in each)
        bounds.append(agent.tokens * dearest / 1_000_000 + at_once * call)
    return min(bounds, default=None)
