"""Compute what a candidate's attempts cost.

Tokens have the candidate's own prices or list prices, sandbox time the configured rate.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from codegate.candidates import Prices, cost
from codegate.gating.estimates import Estimate, ratio
from codegate.running import Outcome


@dataclass(frozen=True)
class Costs:
    """A candidate's costs in US dollars, and times in seconds.

    None is unknown.

    Attributes:
        attempts: attempts that a model answered, graded or not: all were paid for, reused ones in an earlier run.
        priced: how many of them have a known cost.
        model_usd: cost of the priced ones; None without any.
        sandbox_seconds: in the sandboxes of grading and of the model's own test runs, without the wait for a free one.
        sandbox_usd: None without a declared rate.
        total_usd: model and sandbox; None unless every attempt is priced. Without a declared rate the model alone.
        lost_calls: model calls that belong to no attempt: failed tries and conversations without a result. Their cost
            is unknown, so with any of them ``total_usd`` is a lower bound. None: not counted.
        completed: attempts that resolved their problem.
        per_completed: ``total_usd`` per completed task, failed attempts included; n counts the completed ones.
        prices_from: source of the prices; None without any.
    """

    attempts: int
    priced: int
    model_usd: float | None
    sandbox_seconds: float
    sandbox_usd: float | None
    total_usd: float | None
    lost_calls: int | None
    completed: int
    per_completed: Estimate
    prices_from: str | None = None


def costs_of(
    found: Mapping[str, Sequence[Outcome]],
    prices: Prices | None,
    sandbox_hour_usd: Decimal | None,
    calls: int | None,
) -> Costs:
    """Compute a candidate's costs.

    ``found`` has its outcomes by problem, ``sandbox_hour_usd`` is the price of an hour of sandbox time, and ``calls``
    the number of its model calls, failed tries included.
    """
    paid: list[Decimal | None] = []
    pairs: list[tuple[float, float]] = []
    seconds = 0.0
    completed = turns = 0
    for outcomes in found.values():
        dollars = [cost(outcome.attempt.usage, prices) for outcome in outcomes if outcome.attempt]
        spent = math.fsum(_sandbox_seconds(outcome) for outcome in outcomes)
        solved = sum(outcome.grade is not None and outcome.grade.resolved for outcome in outcomes)
        rent = _rent(spent, sandbox_hour_usd) or 0.0
        pairs.append((float(sum(entry for entry in dollars if entry is not None)) + rent, solved))
        paid += dollars
        seconds += spent
        completed += solved
        turns += sum(outcome.attempt.iterations for outcome in outcomes if outcome.attempt and not outcome.reused)
    known = [entry for entry in paid if entry is not None]
    model = float(sum(known)) if known else None
    sandbox = _rent(seconds, sandbox_hour_usd)
    whole = model is not None and len(known) == len(paid)
    return Costs(
        attempts=len(paid),
        priced=len(known),
        model_usd=model,
        sandbox_seconds=seconds,
        sandbox_usd=sandbox,
        total_usd=model + (sandbox or 0.0) if model is not None and whole else None,
        lost_calls=None if calls is None else max(calls - turns, 0),
        completed=completed,
        per_completed=ratio(pairs, completed, of="completed tasks") if whole else Estimate(of="completed tasks"),
        prices_from=prices.origin if prices is not None else None,
    )


def _sandbox_seconds(outcome: Outcome) -> float:
    if outcome.attempt is None:
        return 0.0
    return math.fsum(
        value for value in (outcome.attempt.tool_seconds, outcome.grading_seconds) if math.isfinite(value) and value > 0
    )


def _rent(seconds: float, hour: Decimal | None) -> float | None:
    return None if hour is None else seconds / 3600 * float(hour)
