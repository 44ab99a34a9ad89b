"""Classify how a model's answer ended, and name the limit to raise."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.gating import CUT
from codegate.grading import FailureClass, Grade
from codegate.running.outcome import Outcome
from codegate.solving import Attempt, AttemptStop, AttemptSummary

_CLASSES: Final[dict[AttemptStop, FailureClass]] = {
    "length": "truncated",
    "context_overflow": "context_overflow",
    "refusal": "refused",
}
_DETAIL: Final = 4000
_MOST_TOKENS: Final = 200_000
_REACHED: Final = 0.98
"""Share of the candidate's limit above which that limit cut the answer: providers count tokens differently."""


def explain_ending(result: Grade, attempt: Attempt, candidate: CandidateSpec) -> Grade:
    """Return the grade with the failure class that follows from how the answer ended.

    A resolved problem is resolved however the answer ended, and tampering stays tampering.
    """
    if result.resolved or result.failure == "tampering":
        return result
    failure = _CLASSES.get(attempt.stop)
    last = attempt.last_answer
    if failure is not None:
        detail = _detail(failure, attempt, candidate)
        if result.applied:
            detail += f" What it had changed by then: {result.failure}, {result.detail}"
        return result.model_copy(update={"failure": failure, "detail": detail[:_DETAIL]})
    if result.failure != "no_patch":
        return result
    if attempt.patch_error:
        detail = attempt.patch_error[:_DETAIL]
        return result.model_copy(update={"failure": "patch_does_not_apply", "applied": False, "detail": detail})
    if last is not None and not last.text.strip() and not last.tool_calls:
        return result.model_copy(update={"failure": "empty_answer", "detail": "the answer has neither text nor edits"})
    return result


def limit_advice(candidate: CandidateSpec, outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Return which limit to raise, with its cost, by the failure classes and faults in ``CUT``."""
    made = tuple(outcomes)
    endings = {o.grade.failure if o.grade is not None else o.fault.cause if o.fault is not None else None for o in made}
    return {ending: _advice(ending, candidate, made) for ending in sorted(CUT.intersection(endings))}


def _advice(ending: str, candidate: CandidateSpec, made: Sequence[Outcome]) -> str:
    if ending == "truncated":
        return _truncation_advice(
            candidate, [o.attempt for o in made if o.attempt and o.grade and o.grade.failure == ending]
        )
    if ending == "context_overflow":
        return (
            "Serve the model with a larger context, lower `sampling.max_output_tokens` if prompt and answer share "
            "the context, or take a model with a larger one."
        )
    seconds = candidate.timeout_seconds
    return f"Raise `timeout_seconds` from {seconds:g} to {min(2 * seconds, 3600):g}."


def _detail(failure: FailureClass, attempt: Attempt, candidate: CandidateSpec) -> str:
    text = attempt.last_answer.text.strip()[:500] if attempt.last_answer is not None else ""
    if failure == "truncated":
        known = attempt.usage.output_tokens if attempt.iterations == 1 else None
        after = f" after {known} output tokens" if known is not None else ""
        limit = f"`sampling.max_output_tokens` ({candidate.sampling.output_limit})"
        cause = f"the limit is {limit}." if _ours(attempt, candidate) else f"a limit of the server below {limit}."
        return f"The answer was truncated{after}: {cause}"
    if failure == "refused":
        return f"The model or a filter of the provider refused: {text or 'no reason given'}"
    return f"The conversation does not fit the model's context: {text or 'no further text'}"


def _ours(attempt: AttemptSummary, candidate: CandidateSpec) -> bool:
    """Return whether the candidate's own output limit truncated the answer; assumed where unknown."""
    if attempt.iterations != 1 or attempt.usage.output_tokens is None:
        return True
    return attempt.usage.output_tokens >= _REACHED * candidate.sampling.output_limit


def _truncation_advice(candidate: CandidateSpec, truncated: list[AttemptSummary]) -> str:
    limit = candidate.sampling.output_limit
    ours = sum(_ours(attempt, candidate) for attempt in truncated)
    if 2 * ours < len(truncated):
        return (
            f"They ended below `sampling.max_output_tokens` ({limit}): raise the output limit or the context of the "
            "server, or take a model with a larger one."
        )
    raised = min(max(2 * limit, 32_000), _MOST_TOKENS)
    if raised <= limit:
        return f"`sampling.max_output_tokens` is {limit} and cannot be raised: take a model that answers in fewer."
    more = (raised - limit) * ours
    price = candidate.prices.output if candidate.prices else None
    cost = f", at most ${more * price / Decimal(1_000_000):.2f}" if price is not None else ""
    return (
        f"Raise `sampling.max_output_tokens` from {limit} to {raised}; for as many answers as were truncated here that "
        f"is at most {more} more output tokens{cost}."
    )
