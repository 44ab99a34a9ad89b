"""Compute a candidate's measures, each with n and interval."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal

from codegate.candidates import CandidateSpec, Prices, Usage, cost, with_helper_prices
from codegate.gating.estimates import Estimate, empirical_quantile, mean_of_problems, pooled_share, ratio
from codegate.reporting.breakdown import FailureShare, TagMeasures, Turn, failure_shares, tag_measures, turns
from codegate.reporting.correctness import Correctness, GradedSample, Samples, by_problem, correctness
from codegate.reporting.weighted import WeightedScore, weighted_score
from codegate.running import Outcome, ScoreWeights
from codegate.running.endings import limit_advice

Outcomes = Mapping[str, Sequence[Outcome]]
"""The outcomes of one candidate by problem."""


@dataclass(frozen=True)
class ReportTerms:
    """Prices, weights and limits with which a report is computed.

    ``prices``, by model, override the prices that a run's candidates declare.
    """

    prices: Mapping[str, Prices] = field(default_factory=dict)
    sandbox_hour_usd: Decimal | None = None
    weights: ScoreWeights = field(default_factory=ScoreWeights)
    max_cost_per_resolved: float | None = None
    max_p95_latency: float | None = None


@dataclass(frozen=True)
class Costs:
    """A candidate's costs (US dollars) and times (seconds); None: unknown.

    Attributes:
        attempts: number of attempts that a model answered, graded or not. All were paid for, reused attempts in an
            earlier run.
        priced: number of attempts with a known cost.
        model_usd: cost of the priced attempts; None without any.
        sandbox_seconds: time in sandboxes, for grading and the model's own test runs, without the wait for a free
            sandbox.
        sandbox_usd: None without a declared rate.
        total_usd: model and sandbox (only the model without a declared rate); None unless every attempt is priced.
        lost_calls: model calls of failed tries and of conversations without a result, at unknown cost; with any,
            ``total_usd`` is a lower bound. None: not counted.
        completed: attempts that resolved their problem.
        per_completed: ``total_usd`` per completed attempt, failed attempts included; n counts the completed attempts.
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


@dataclass(frozen=True)
class Measures:
    """All measures of one candidate.

    ``MEASURES`` defines most of them. Units are shares in 0..1, seconds and US dollars.

    Attributes:
        correctness: pass@1, pass@k, pass^k and the mean score.
        tests_passed: number of passed tests of all graded attempts; ``tests_total`` is the number of expected tests.
        calls_answered: share of all model calls that belong to an attempt; retries lower it.
        turns: by turn of the tool loop; empty for one shot.
        failures: failure classes, compared with the baseline's.
        cohorts: pass rates by tag.
        warnings: limits of the policy that are exceeded, a sentence each.
    """

    correctness: Correctness
    tests: Estimate
    tests_passed: int | None
    tests_total: int | None
    lint_clean: Estimate
    patch_lines: Estimate
    patch_outside: Estimate
    regressions: Estimate
    own_written: Estimate
    own_proved: Estimate
    model_median: Estimate
    model_p95: Estimate
    infrastructure_median: Estimate
    infrastructure_p95: Estimate
    answer_p95: Estimate
    input_tokens: Estimate
    output_tokens: Estimate
    calls: Estimate
    cache_share: Estimate
    reasoning_share: Estimate
    answered: Estimate
    calls_answered: Estimate
    tool_calls_valid: Estimate
    turns: tuple[Turn, ...]
    failures: tuple[FailureShare, ...]
    cohorts: tuple[TagMeasures, ...]
    costs: Costs
    weighted: WeightedScore
    warnings: tuple[str, ...]


def graded_samples(found: Outcomes) -> Samples:
    """Return a candidate's graded samples, by problem."""
    return by_problem(
        (problem, GradedSample(grade.resolved, grade.score, grade.failure))
        for problem, outcomes in found.items()
        for outcome in outcomes
        if (grade := outcome.grade) is not None
    )


def measure(
    spec: CandidateSpec,
    found: Outcomes,
    terms: ReportTerms,
    *,
    k: int = 1,
    baseline: Samples | None = None,
    tags: Mapping[str, Sequence[str]] | None = None,
    calls: int | None = None,
) -> Measures:
    """Compute all measures of one candidate.

    ``found`` has its outcomes by problem, ``k`` is the number in pass@k, and ``tags`` has the tags of each problem.
    ``baseline`` has the baseline's graded samples on identical problems. ``calls`` is the run's number of model calls
    for the candidate.
    """
    side = graded_samples(found)
    against: Samples = baseline or {}
    rates = correctness(side, k)
    prices = terms.prices.get(spec.model) or spec.prices
    if prices is not None and spec.prices is not None:
        prices = prices.model_copy(update={"helpers": spec.prices.helpers})
    spent = _costs(found, with_helper_prices(spec, prices, terms.prices), terms.sandbox_hour_usd, calls)
    counted = [outcome.grade for outcomes in found.values() for outcome in outcomes if outcome.grade is not None]
    known = {one.name: one.estimate(found) for one in MEASURES}
    if spec.provider in _NO_PROVIDER:
        known["answered"] = Estimate(of="attempts")
    return Measures(
        correctness=rates,
        tests_passed=sum(grade.tests_passed for grade in counted) if counted else None,
        tests_total=sum(grade.tests_total for grade in counted) if counted else None,
        calls_answered=_calls_answered({} if spec.provider in _NO_PROVIDER else found, calls),
        turns=turns(found, spec.max_iterations) if spec.solver == "tool_loop" else (),
        failures=failure_shares(side, against),
        cohorts=tag_measures(side, against, tags or {}, spec.training_cutoff),
        costs=spent,
        weighted=weighted_score(
            terms.weights,
            pass_at_1=rates.pass_at_1,
            answer_p95=known["answer_p95"],
            per_completed=spent.per_completed,
            nothing_completed=spent.total_usd is not None and spent.completed == 0,
            cache_share=known["cache_share"],
            reliability=(known["answered"], known["tool_calls_valid"]),
        ),
        warnings=(*_truncation_warnings(spec, found), *_warnings(terms, known["answer_p95"], spent.per_completed)),
        **known,
    )


@dataclass(frozen=True)
class Measure:
    """One measure's definition: how to compute and show it.

    Attributes:
        name: the measure's field in ``Measures``, and so in the JSON and CSV reports.
        of: the noun that n counts, such as ``attempts``.
        combine: makes the estimate from the values by problem.
        take: returns an outcome's value (for a share, part and whole), or None if the outcome does not count.
        row: title of the measure's row in the table; empty if the measure is part of another row.
        unit: how the table formats the measure.
        optional: the measure needs a setting; reports leave it out while it is unknown.
    """

    name: str
    of: str
    combine: Callable[..., Estimate]
    take: Callable[[Outcome], Any]
    row: str = ""
    unit: Literal["share", "seconds", "count", "number"] = "share"
    optional: bool = False

    def estimate(self, found: Outcomes) -> Estimate:
        """Compute the measure from a candidate's outcomes by problem."""
        values = [[self.take(outcome) for outcome in outcomes] for outcomes in found.values()]
        return self.combine([[value for value in entries if value is not None] for entries in values], of=self.of)


def _share(groups: Sequence[Sequence[tuple[float, float]]], *, of: str) -> Estimate:
    return pooled_share(((sum(part for part, _ in one), sum(whole for _, whole in one)) for one in groups), of=of)


_MEDIAN: Final = partial(empirical_quantile, level=0.5)
_P95: Final = partial(empirical_quantile, level=0.95)


def _token_share(of: Callable[[Usage], tuple[int | None, int | None]], outcome: Outcome) -> tuple[int, int] | None:
    part, whole = of(outcome.attempt.usage) if outcome.attempt else (None, None)
    return None if part is None or whole is None or part > whole else (part, whole)


def _answered(outcome: Outcome) -> tuple[int, int] | None:
    """Return (1, 1) if the provider answered, else (0, 1).

    None if no request was sent.
    """
    refused = outcome.fault is not None and outcome.fault.cause.startswith("provider.")
    return (1, 1) if outcome.attempt else (0, 1) if refused else None


def _time(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) and seconds > 0 else None  # 0 means not measured


def _model_seconds(outcome: Outcome) -> float | None:
    return _time(outcome.attempt.model_seconds) if outcome.attempt else None


def _answer_seconds(outcome: Outcome) -> float | None:
    model = outcome.attempt.model_seconds if outcome.attempt else None
    return _time(model + outcome.attempt.tool_seconds) if model and outcome.attempt else None


def _infrastructure_seconds(outcome: Outcome) -> float | None:
    if outcome.attempt is None or outcome.grade is None:
        return None
    return _time(outcome.attempt.tool_seconds + outcome.grading_seconds)


MEASURES: Final = (
    Measure("tests", "tests", _share, lambda one: one.grade and (one.grade.tests_passed, one.grade.tests_total)),
    Measure("lint_clean", "attempts", _share,
            lambda one: (one.grade.lint.new_findings == 0, 1) if one.grade and one.grade.lint else None,
            "Correctness: lint clean"),
    Measure("patch_lines", "attempts", _MEDIAN,
            lambda one: one.size.lines / one.size.reference_lines if one.size and one.size.reference_lines else None,
            "Patch: lines against the reference, median", "number"),
    Measure("patch_outside", "attempts", _share, lambda one: (one.size.outside > 0, 1) if one.size else None,
            "Patch: files outside the reference"),
    Measure("regressions", "attempts", _share,
            lambda one: (one.regressions.failing > 0, 1) if one.regressions else None,
            "Patch: regressions in the full test suite", optional=True),
    # A single shot is left out, because its prompt requests no tests.
    Measure("own_written", "attempts", _share,
            lambda one: (any(drop.reason == "test" for drop in one.attempt.dropped), 1)
            if one.attempt and one.size and one.attempt.solver in {"agent", "tool_loop"} else None,
            "Own tests: written"),
    Measure("own_proved", "attempts", _share, lambda one: (one.own_tests.proved > 0, 1) if one.own_tests else None,
            "Own tests: proved by the fix"),
    # Time of the model calls of all turns, without retries and the wait for them.
    Measure("model_median", "attempts", _MEDIAN, _model_seconds),
    Measure("model_p95", "attempts", _P95, _model_seconds),
    # Time in sandboxes, for the attempt's own test runs and its grading, with the wait for them.
    Measure("infrastructure_median", "attempts", _MEDIAN, _infrastructure_seconds),
    Measure("infrastructure_p95", "attempts", _P95, _infrastructure_seconds),
    # Time of the answer, with the model's own test runs.
    Measure("answer_p95", "attempts", _P95, _answer_seconds, "Time: answer with own tests, P95", "seconds"),
    Measure("input_tokens", "attempts", mean_of_problems, lambda one: one.attempt and one.attempt.usage.input_tokens,
            "Tokens: input per attempt", "count"),
    Measure("output_tokens", "attempts", mean_of_problems, lambda one: one.attempt and one.attempt.usage.output_tokens,
            "Tokens: output per attempt", "count"),
    Measure("calls", "attempts", mean_of_problems,
            lambda one: one.attempt.iterations or None if one.attempt else None,  # 0: answered without a model
            "Calls per attempt", "number"),
    Measure("cache_share", "tokens", _share,
            partial(_token_share, lambda used: (used.cached_tokens, used.input_tokens)), "Tokens: input from cache"),
    Measure("reasoning_share", "tokens", _share,
            partial(_token_share, lambda used: (used.reasoning_tokens, used.output_tokens)),
            "Tokens: output that is reasoning"),
    Measure("answered", "attempts", _share, _answered, "Reliability: attempts answered"),
    Measure("tool_calls_valid", "tool calls", _share,
            lambda one: one.attempt and (max(one.attempt.tool_calls - one.attempt.tool_errors, 0),
                                         one.attempt.tool_calls)),
)  # fmt: skip
"""The measures that are computed from single attempts. Other fields of ``Measures`` combine several measures."""

_NO_PROVIDER: Final = frozenset({"predictions", "reference", "empty"})


def _costs(
    found: Outcomes,
    prices: Prices | None,
    sandbox_hour_usd: Decimal | None,
    calls: int | None,
) -> Costs:
    """Compute a candidate's costs.

    ``sandbox_hour_usd`` is the price of an hour of sandbox time. ``calls`` is the number of model calls, failed tries
    included.
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


def _calls_answered(found: Outcomes, calls: int | None) -> Estimate:
    made = sum(one.attempt.iterations for outcomes in found.values() for one in outcomes if one.attempt is not None)
    if not calls or made > calls:
        return Estimate(of="calls")
    return Estimate(calls, made / calls, of="calls")


def _truncation_warnings(spec: CandidateSpec, found: Outcomes) -> tuple[str, ...]:
    outcomes = [outcome for many in found.values() for outcome in many]
    endings = Counter(one.grade.failure if one.grade else one.fault.cause if one.fault else None for one in outcomes)
    advice = limit_advice(spec, outcomes)
    return tuple(
        f"{endings[ending]} of {len(outcomes)} answers ended as {ending.replace('_', ' ')}. {said}"
        for ending, said in advice.items()
    )


def _warnings(terms: ReportTerms, answer_p95: Estimate, per_completed: Estimate) -> tuple[str, ...]:
    found = []
    most, slowest = terms.max_cost_per_resolved, terms.max_p95_latency
    if most is not None and per_completed.value is not None and per_completed.value > most:
        found.append(
            f"a completed task costs ${per_completed.value:.4g} (n={per_completed.n}), more than the ${most:g} that "
            "the policy allows"
        )
    if slowest is not None and answer_p95.value is not None and answer_p95.value > slowest:
        found.append(
            f"the slowest twentieth of the answers takes {answer_p95.value:.4g} s or longer (n={answer_p95.n}), more "
            f"than the {slowest:g} s that the policy allows"
        )
    return tuple(found)
