"""The measures of a candidate: everything that is counted about it, each with its n and its interval."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from codegate.candidates import CandidateSpec, Prices, ScoreWeights, Usage
from codegate.grading import Grade
from codegate.reporting.breakdown import Cohort, FailureShare, Turn, cohorts, failure_shares, turns
from codegate.reporting.correctness import Correctness, Graded, Samples, correctness
from codegate.reporting.costs import Costs, costs_of
from codegate.reporting.estimates import Estimate, empirical_quantile, mean, share
from codegate.reporting.weighted import WeightedScore, weighted_score
from codegate.running import Outcome
from codegate.running.endings import limit_advice
from codegate.solving import AttemptSummary

Entry = TypeVar("Entry")

Outcomes = Mapping[str, Sequence[Outcome]]
"""The outcomes of one candidate by problem."""


@dataclass(frozen=True)
class Terms:
    """What is agreed upon for a report: prices and weights.

    Attributes:
        prices: by model; they win over those that a run's candidate was declared with.
        sandbox_hour_usd: None is unknown.
        weights: of the weighted score.
        max_cost_per_resolved: US dollars; a warning above it.
        max_p95_latency: seconds to an answer; likewise.
    """

    prices: Mapping[str, Prices] = field(default_factory=dict)
    sandbox_hour_usd: Decimal | None = None
    weights: ScoreWeights = field(default_factory=ScoreWeights)
    max_cost_per_resolved: float | None = None
    max_p95_latency: float | None = None


@dataclass(frozen=True)
class Measures:
    """Shares are in 0..1, times in seconds, costs in US dollars.

    Attributes:
        correctness: pass@1, pass@k, pass^k and the mean score.
        tests: tests that passed among those expected; n counts tests.
        tests_passed: of ``tests_total`` expected tests of all graded attempts.
        lint_clean: attempts without new lint findings among those that were linted.
        model_median: time in model calls of an attempt, all its turns; retries and waiting for them left out.
        infrastructure_median: time of an attempt in sandboxes: its own test runs and its grading, with their queues.
        answer_p95: time to an answer: model calls and the model's own test runs, which is self-correction included.
        input_tokens: per attempt, cached or not.
        cache_share: input tokens that were read from a cache, among those of attempts that say so.
        reasoning_share: output tokens that the model reasoned with, likewise.
        answered: attempts that the provider answered, among those requested from it.
        calls_answered: model calls that an attempt is made of, among all that were made: retries count against it.
        tool_calls_valid: tool calls that were not answered with an error.
        turns: by turn of the tool loop; empty for one shot.
        failures: failure classes and how they moved against the baseline.
        cohorts: by tag.
        costs: what it cost.
        weighted: the weighted score.
        warnings: limits of the policy that are exceeded, a sentence each.
    """

    correctness: Correctness
    tests: Estimate
    tests_passed: int | None
    tests_total: int | None
    lint_clean: Estimate
    model_median: Estimate
    model_p95: Estimate
    infrastructure_median: Estimate
    infrastructure_p95: Estimate
    answer_p95: Estimate
    input_tokens: Estimate
    output_tokens: Estimate
    cache_share: Estimate
    reasoning_share: Estimate
    answered: Estimate
    calls_answered: Estimate
    tool_calls_valid: Estimate
    turns: tuple[Turn, ...]
    failures: tuple[FailureShare, ...]
    cohorts: tuple[Cohort, ...]
    costs: Costs
    weighted: WeightedScore
    warnings: tuple[str, ...]


def graded_samples(found: Outcomes) -> Samples:
    """Return the graded samples of a candidate by problem."""
    graded = {
        problem: tuple(Graded.of(outcome.grade) for outcome in outcomes if outcome.grade is not None)
        for problem, outcomes in found.items()
    }
    return {problem: samples for problem, samples in graded.items() if samples}


def measure(
    spec: CandidateSpec,
    found: Outcomes,
    terms: Terms,
    *,
    k: int = 1,
    baseline: Samples | None = None,
    tags: Mapping[str, Sequence[str]] | None = None,
    calls: int | None = None,
) -> Measures:
    """Return the measures of one candidate.

    Args:
        spec: the candidate.
        found: its outcomes by problem; those without a grade count where no grade is needed.
        terms: prices and weights.
        k: draws of pass@k and pass^k, the report's.
        baseline: the baseline's graded samples on problems that are the same; None where there is none to compare with.
        tags: ``name:value`` by problem.
        calls: model calls that the run made for it; None is unknown.
    """
    side = graded_samples(found)
    against: Samples = baseline or {}
    rates = correctness(side, k)
    spent = costs_of(found, terms.prices.get(spec.model) or spec.prices, terms.sandbox_hour_usd, calls)
    tests = share((_sums(grades, _tests) for grades in _grades(found)), of="tests")
    counted = [grade for grades in _grades(found) for grade in grades]
    answer_p95 = empirical_quantile(_times(found, _answer_seconds), 0.95, of="attempts")
    cache_share = _token_share(found, lambda usage: (usage.cached_tokens, usage.input_tokens))
    reasoning_share = _token_share(found, lambda usage: (usage.reasoning_tokens, usage.output_tokens))
    asked = found if spec.provider not in {"predictions", "reference", "empty"} else {}
    answered = share((_answered(outcomes) for outcomes in asked.values()), of="attempts")
    valid = share((_sums(attempts, _valid_calls) for attempts in _attempts(found)), of="tool calls")
    return Measures(
        correctness=rates,
        tests=tests,
        tests_passed=sum(grade.tests_passed for grade in counted) if counted else None,
        tests_total=sum(grade.tests_total for grade in counted) if counted else None,
        lint_clean=share((_sums(grades, _lint) for grades in _grades(found)), of="attempts"),
        model_median=empirical_quantile(_times(found, _model_seconds), 0.5, of="attempts"),
        model_p95=empirical_quantile(_times(found, _model_seconds), 0.95, of="attempts"),
        infrastructure_median=empirical_quantile(_times(found, _infrastructure_seconds), 0.5, of="attempts"),
        infrastructure_p95=empirical_quantile(_times(found, _infrastructure_seconds), 0.95, of="attempts"),
        answer_p95=answer_p95,
        input_tokens=mean(_counts(found, lambda attempt: attempt.usage.input_tokens), of="attempts"),
        output_tokens=mean(_counts(found, lambda attempt: attempt.usage.output_tokens), of="attempts"),
        cache_share=cache_share,
        reasoning_share=reasoning_share,
        answered=answered,
        calls_answered=_calls_answered(asked, calls),
        tool_calls_valid=valid,
        turns=turns(found, spec.max_iterations) if spec.solver == "tool_loop" else (),
        failures=failure_shares(side, against),
        cohorts=cohorts(side, against, tags or {}, spec.training_cutoff),
        costs=spent,
        weighted=weighted_score(
            terms.weights,
            pass_at_1=rates.pass_at_1,
            answer_p95=answer_p95,
            per_completed=spent.per_completed,
            nothing_completed=spent.total_usd is not None and spent.completed == 0,
            cache_share=cache_share,
            reliability=(answered, valid),
        ),
        warnings=(*_cut(spec, found), *_warnings(terms, answer_p95, spent.per_completed)),
    )


def _grades(found: Outcomes) -> list[list[Grade]]:
    return [[outcome.grade for outcome in outcomes if outcome.grade is not None] for outcomes in found.values()]


def _attempts(found: Outcomes) -> list[list[AttemptSummary]]:
    return [[outcome.attempt for outcome in outcomes if outcome.attempt is not None] for outcomes in found.values()]


def _sums(entries: Iterable[Entry], parts: Callable[[Entry], tuple[int, int]]) -> tuple[int, int]:
    pairs = [parts(entry) for entry in entries]
    return sum(part for part, _ in pairs), sum(whole for _, whole in pairs)


def _tests(grade: Grade) -> tuple[int, int]:
    return grade.tests_passed, grade.tests_total


def _lint(grade: Grade) -> tuple[int, int]:
    return (grade.lint.new_findings == 0, 1) if grade.lint is not None else (0, 0)


def _valid_calls(attempt: AttemptSummary) -> tuple[int, int]:
    return max(attempt.tool_calls - attempt.tool_errors, 0), attempt.tool_calls


def _token_share(found: Outcomes, of: Callable[[Usage], tuple[int | None, int | None]]) -> Estimate:
    """Return the share of a kind of tokens, over the attempts whose provider reports it."""

    def parts(attempt: AttemptSummary) -> tuple[int, int]:
        part, whole = of(attempt.usage)
        return (0, 0) if part is None or whole is None or part > whole else (part, whole)

    return share((_sums(attempts, parts) for attempts in _attempts(found)), of="tokens")


def _answered(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Return answered and requested attempts; a fault before the request is neither."""
    answered = sum(outcome.attempt is not None for outcome in outcomes)
    refused = sum(
        outcome.attempt is None and outcome.fault is not None and outcome.fault.cause.startswith("provider.")
        for outcome in outcomes
    )
    return answered, answered + refused


def _calls_answered(found: Outcomes, calls: int | None) -> Estimate:
    made = sum(attempt.iterations for attempts in _attempts(found) for attempt in attempts)
    if not calls or made > calls:
        return Estimate(of="calls")
    return Estimate(calls, made / calls, of="calls")


def _times(found: Outcomes, seconds: Callable[[Outcome], float | None]) -> list[list[float]]:
    """Return the known times by problem; 0 is what was not measured."""
    times = [[seconds(outcome) for outcome in outcomes] for outcomes in found.values()]
    return [
        [value for value in entries if value is not None and math.isfinite(value) and value > 0] for entries in times
    ]


def _model_seconds(outcome: Outcome) -> float | None:
    return outcome.attempt.model_seconds if outcome.attempt else None


def _answer_seconds(outcome: Outcome) -> float | None:
    model = _model_seconds(outcome)
    return model + outcome.attempt.tool_seconds if model and outcome.attempt else None


def _infrastructure_seconds(outcome: Outcome) -> float | None:
    if outcome.attempt is None or outcome.grade is None:
        return None
    return outcome.attempt.tool_seconds + outcome.grading_seconds


def _counts(found: Outcomes, count: Callable[[AttemptSummary], int | None]) -> list[list[float]]:
    known = [[count(attempt) for attempt in attempts] for attempts in _attempts(found)]
    return [[value for value in entries if value is not None] for entries in known]


def _cut(spec: CandidateSpec, found: Outcomes) -> tuple[str, ...]:
    """Return a sentence for each limit that cut answers: how many, and what to raise."""
    outcomes = [outcome for many in found.values() for outcome in many]
    endings = Counter(one.grade.failure if one.grade else one.fault.cause if one.fault else None for one in outcomes)
    advice = limit_advice(spec, outcomes)
    return tuple(
        f"{endings[ending]} of {len(outcomes)} answers ended as {ending.replace('_', ' ')}. {said}"
        for ending, said in advice.items()
    )


def _warnings(terms: Terms, answer_p95: Estimate, per_completed: Estimate) -> tuple[str, ...]:
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
