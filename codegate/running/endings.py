"""Classify why answers ended; compare patches with the reference fix.

It also stops a run whose first answers show that all others would fail alike.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.candidates.harness import Harness
from codegate.candidates.spec import MAX_CALL_SECONDS
from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.gating import CUT
from codegate.grading import FailureClass, Grade, grade_answer
from codegate.running.faults import FAULTS, lost_answers
from codegate.running.outcome import Fault, Outcome, PatchSize, Run
from codegate.running.plan import AttemptJob
from codegate.solving import Attempt, AttemptStop, AttemptSummary
from codegate.solving.answer import sort_paths
from codegate.suite import Changes, PatchError, Problem, Tree, TreeFile, apply_patch

_CLASSES: Final[dict[AttemptStop, FailureClass]] = {
    "length": "truncated",
    "context_overflow": "context_overflow",
    "refusal": "refused",
}
_DETAIL: Final = 4000
_MOST_TOKENS: Final = 200_000
_REACHED: Final = 0.98
"""Share of the candidate's output limit from which the limit counts as reached. Providers count tokens differently."""


def grade_question(problem: Problem, attempt: Attempt) -> Grade:
    """Return the grade of an answer to a question.

    A truncated or refused answer counts as empty.
    """
    return grade_answer(problem, answer_text(attempt), contains_code=attempt.contains_code)


def answer_text(attempt: Attempt) -> str:
    """Return an answer's text, "" if truncated or refused."""
    return "" if attempt.stop in _CLASSES else "".join(m.text for m in attempt.messages if m.role == "assistant")


def explain_ending(result: Grade, attempt: Attempt, candidate: CandidateSpec) -> Grade:
    """Return the grade; an early ending becomes its failure class.

    For example, an incomplete patch of a truncated answer fails as ``truncated``. A resolving patch and tampering keep
    their grade.
    """
    if result.resolved or result.failure == "tampering":
        return result
    failure = _CLASSES.get(attempt.stop)
    last = attempt.last_answer
    if failure is not None:
        detail = _detail(failure, attempt, candidate)
        if result.applied:
            detail += f" What it had changed by then: {result.failure}, {result.detail}"
        return _failed_as(failure, detail, result)
    if attempt.agent is not None and attempt.agent.ended_by is not None:
        detail = f"The agent was ended by its limit of {attempt.agent.ended_by}. {result.detail}"
        return result.model_copy(update={"detail": detail[:_DETAIL]})
    if attempt.solver == "single_shot" and last is not None and last.tool_calls and not last.text.strip():
        names = ", ".join(sorted({call.name for call in last.tool_calls}))
        return _failed_as(
            "empty_answer", f"the answer has no text: it calls {names}, and a single shot offers no tools", result
        )
    if result.failure != "no_patch":
        return result
    if attempt.patch_error:
        detail = attempt.patch_error[:_DETAIL]
        return result.model_copy(update={"failure": "patch_does_not_apply", "applied": False, "detail": detail})
    if last is not None and not last.text.strip() and not last.tool_calls:
        return result.model_copy(update={"failure": "empty_answer", "detail": "the answer has neither text nor edits"})
    return result


def _failed_as(failure: FailureClass, detail: str, result: Grade) -> Grade:
    tests = result.tests
    if result.failure == "empty_answer":  # to a question, whose one test says that there is no text
        tests = tuple(test.model_copy(update={"message": detail[:_DETAIL]}) for test in tests)
    return result.model_copy(update={"failure": failure, "detail": detail[:_DETAIL], "tests": tests})


def limit_advice(candidate: CandidateSpec, outcomes: Iterable[Outcome]) -> dict[str, str]:
    """Return advice on truncating limits, by failure class or fault."""
    made = tuple(outcomes)
    endings = {o.grade.failure for o in made if o.grade is not None}.union(*map(lost_answers, made))
    return {ending: _advice(ending, candidate, made) for ending in sorted(CUT.intersection(endings))}


def _advice(ending: str, candidate: CandidateSpec, made: Sequence[Outcome]) -> str:
    if ending == "truncated":
        return _truncation_advice(
            candidate, [o.attempt for o in made if o.attempt and o.grade and o.grade.failure == ending]
        )
    if ending == "context_overflow":
        return (
            "Set `max_prompt_tokens`, serve the model with a larger context, lower `sampling.max_output_tokens` if "
            "prompt and answer share the context, or take a model with a larger one."
        )
    seconds, raised = candidate.timeout_seconds, min(2 * candidate.timeout_seconds, MAX_CALL_SECONDS)
    ours = f"Raise `timeout_seconds` from {seconds:g} to {raised:g}, or"
    if raised <= seconds:
        ours = f"`timeout_seconds` is {seconds:g} and cannot be raised: raise"
    return f"{ours} the limit of the server or proxy that ended the request (status 408, 504 or 524)."


def _detail(failure: FailureClass, attempt: Attempt, candidate: CandidateSpec) -> str:
    text = attempt.last_answer.text.strip()[:500] if attempt.last_answer is not None else ""
    if failure == "truncated":
        known = attempt.usage.output_tokens if attempt.iterations == 1 else None
        after = f" after {known} output tokens" if known is not None else ""
        limit = f"`sampling.max_output_tokens` ({candidate.sampling.output_limit})"
        cause = (
            f"the limit is {limit}."
            if _reached_own_limit(attempt, candidate)
            else f"a limit of the server below {limit}."
        )
        return f"The answer was truncated{after}: {cause}"
    if failure == "refused":
        return f"The model or a filter of the provider refused: {text or 'no reason given'}"
    return f"The conversation does not fit the model's context: {text or 'no further text'}"


def _reached_own_limit(attempt: AttemptSummary, candidate: CandidateSpec) -> bool:
    if attempt.iterations != 1 or attempt.usage.output_tokens is None:
        return True
    return attempt.usage.output_tokens >= _REACHED * candidate.sampling.output_limit


def _truncation_advice(candidate: CandidateSpec, truncated: list[AttemptSummary]) -> str:
    limit = candidate.sampling.output_limit
    ours = sum(_reached_own_limit(attempt, candidate) for attempt in truncated)
    if 2 * ours < len(truncated):
        return (
            f"They ended below `sampling.max_output_tokens` ({limit}): raise the output limit or the context of the "
            "server, or take a model with a larger one."
        )
    # A prompt limit suggests a small context, which prompt and answer share, so the advice stays moderate.
    raised = min(2 * limit if candidate.max_prompt_tokens else max(2 * limit, 32_000), _MOST_TOKENS)
    if raised <= limit:
        return f"`sampling.max_output_tokens` is {limit} and cannot be raised: take a model that answers in fewer."
    more = (raised - limit) * ours
    price = candidate.prices.output if candidate.prices else None
    cost = f", at most ${more * price / Decimal(1_000_000):.2f}" if price is not None else ""
    return (
        f"Raise `sampling.max_output_tokens` from {limit} to {raised}; for as many answers as were truncated here that "
        f"is at most {more} more output tokens{cost}."
    )


MIN_LINES: Final = 5
_MIN_CHARACTERS: Final = 12


def changes_of(base: Tree, patch: str) -> Changes | None:
    """Return a patch's changes; None if it does not apply."""
    try:
        return apply_patch(base, patch)
    except PatchError:
        return None


def verbatim_recall(base: Tree, fix: Changes, changes: Changes | None) -> float | None:
    """Return the share (0-1) of the fix's lines in ``changes``.

    Only distinctive added lines count. Such a line has at least 12 characters without blanks, and the file in ``base``
    lacks it. None if the fix has fewer than five distinctive lines, or ``changes`` is None.
    """
    return _share(base, fix, _added(base, changes)) if changes is not None else None


def patch_size(base: Tree, fix: Changes, changes: Changes | None) -> PatchSize | None:
    """Return sizes of patch and fix, None without source changes."""
    sources, _ = sort_paths(base, changes or ())
    reference, _ = sort_paths(base, fix)
    if changes is None or not sources or not reference:
        return None
    return PatchSize(
        lines=sum(_changed_lines(base.get(path), changes[path]) for path in sources),
        reference_lines=sum(_changed_lines(base.get(path), fix[path]) for path in reference),
        files=len(sources),
        outside=len(set(sources) - set(fix)),
    )


def _changed_lines(before: TreeFile | None, after: TreeFile | None) -> int:
    files = [b"" if file is None or b"\0" in file.data else file.data for file in (before, after)]
    old, new = (Counter(data.splitlines()) for data in files)
    return (new - old).total() + (old - new).total()


def harness_recall(base: Tree, fix: Changes, harness: Harness | None) -> float | None:
    """Return the share (0-1) of fix lines in harness files.

    Lines count as in ``verbatim_recall``. None without a harness, or if the fix has fewer than five distinctive lines.
    """
    if harness is None:
        return None
    return _share(base, fix, {line for file in harness.laid or () for line in _lines(file.content())})


def _share(base: Tree, fix: Changes, lines: AbstractSet[bytes]) -> float | None:
    wanted = _added(base, fix)
    return len(wanted & lines) / len(wanted) if len(wanted) >= MIN_LINES else None


def _added(base: Tree, changes: Changes) -> frozenset[bytes]:
    found: set[bytes] = set()
    for path, file in changes.items():
        if file is None or file.is_link:
            continue
        old = base.get(path)
        found |= _lines(file.data) - (_lines(old.data) if old is not None else set())
    return frozenset(found)


def _lines(data: bytes) -> set[bytes]:
    plain = (b"".join(line.split()) for line in data.splitlines())
    return {line for line in plain if len(line) >= _MIN_CHARACTERS}


def refuse_declined(faults: Iterable[tuple[str, Fault]], resume: str) -> None:
    """Raise if a first request failed and retries cannot help.

    ``faults`` has pairs of a candidate's label and its fault. ``resume`` is the command that continues the run.
    """
    ended = [(label, fault) for label, fault in faults if FAULTS[fault.cause].ends is not None]
    if not ended:
        return
    codes = {FAULTS[fault.cause].ends for _, fault in ended}
    kind = UsageError if ExitCode.USAGE in codes else InfrastructureError
    causes = " ".join(f"the first request of {label} failed: {fault.message}" for label, fault in ended)
    raise kind(causes, f"The run stopped. If you change the candidate, start a new run; else continue with:\n{resume}")


def refuse_truncated(job: AttemptJob, outcomes: Sequence[Outcome], resume: str) -> None:
    """Raise UsageError because a limit truncated all first answers.

    The message advises which limit to raise. ``resume`` is the command that continues the run.
    """
    classes = sorted({outcome.grade.failure for outcome in outcomes if outcome.grade and outcome.grade.failure})
    details = [outcome.grade.detail for outcome in outcomes if outcome.grade]
    advice = limit_advice(job.candidate, outcomes)
    raise UsageError(
        f"a limit cut all of the first {len(outcomes)} answers of {job.candidate.label} "
        f"({', '.join(classes)}): {details[0][:500]}",
        f"{' '.join(advice.values())} If you change the candidate, start a new run; else continue with:\n{resume}",
    )


def mostly_lost_candidates(run: Run) -> set[str]:
    """Return keys of candidates that lost most samples to faults."""
    return {
        candidate.key()
        for candidate in run.manifest.candidates
        if 2 * sum(outcome.grade is None for outcome in run.of(candidate.key())) > len(run.of(candidate.key()))
    }


def unretryable_outcomes(run: Run) -> set[tuple[str, str, int]]:
    """Return keys of outcomes with faults that are never retried."""
    faults = ((outcome.key, FAULTS.get(outcome.fault.cause)) for outcome in run.outcomes if outcome.fault)
    return {key for key, rule in faults if rule is not None and not rule.retries}
