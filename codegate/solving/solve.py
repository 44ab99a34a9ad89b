"""Solve a problem, except by agents."""

from functools import partial

from codegate.candidates import (
    CandidateSpec,
    Completion,
    Message,
    ProblemKey,
    Provider,
    ReplayProvider,
    StopReason,
    transcript_line,
)
from codegate.errors import UsageError
from codegate.solving.agent import agent_version
from codegate.solving.attempt import Attempt, AttemptStop, ModelCall, call_fields
from codegate.solving.context import ShowContext, show_context
from codegate.solving.edits import contains_code
from codegate.solving.prompts import prompt_version
from codegate.solving.single_shot import single_shot
from codegate.solving.tool_loop import tool_loop, tool_loop_version
from codegate.solving.toolbox import TestTool
from codegate.suite import Problem, Tree, make_patch

_STOP_REASONS: dict[AttemptStop, StopReason] = {
    "answered": "stop",
    "iterations": "tool_calls",
    "length": "length",
    "context_overflow": "context_overflow",
    "refusal": "refusal",
    "limit": "tool_calls",
}


def solve(
    problem: Problem,
    base: Tree,
    candidate: CandidateSpec,
    provider: Provider | None,
    sample: int,
    run_public_tests: TestTool,
    call: ModelCall,
    show: ShowContext = show_context,
) -> Attempt:
    """Solve a problem without an agent; return the attempt.

    A question, whose answer is text and no fix, is always a single shot. ``call`` makes a model call, with retries and
    limits; ``show`` returns what a single shot's prompt shows of the base tree.

    Raises:
        UsageError: ``provider`` is None and the candidate needs one.
    """
    if candidate.provider in {"reference", "empty"}:
        return _reference(problem, base, candidate, sample)
    if provider is None:
        raise UsageError(f"candidate {candidate.label} needs a provider.", "Open one with open_provider.")
    if isinstance(provider, ReplayProvider):
        key = ProblemKey(problem=problem.id, sample=sample)
        if (patch := provider.patch(key)) is not None:
            return _replayed(
                candidate, key, patch, call(partial(provider.complete, key, (), (), candidate.sampling), 0)
            )
    if candidate.solver == "tool_loop" and problem.manifest.answer is None:
        return tool_loop(problem, base, candidate, provider, sample, run_public_tests, call)
    own = {"solver": candidate.solver, "prompt_version": prompt_version_of(candidate)}
    return single_shot(problem, base, candidate, provider, sample, call, show).model_copy(update=own)


def _reference(problem: Problem, base: Tree, candidate: CandidateSpec, sample: int) -> Attempt:
    """Return an attempt with the reference fix or answer.

    The attempt of the candidate ``empty`` changes nothing.
    """
    fixes = candidate.provider == "reference"
    answer = problem.reference_answer if fixes else ""
    question = problem.manifest.answer is not None
    return Attempt(
        problem=problem.id,
        candidate=candidate.key(),
        sample=sample,
        solver=candidate.provider,
        prompt_version="none",
        patch=make_patch(base, problem.fix) if fixes and not question else "",
        contains_code=contains_code(answer) if question else fixes,
        iterations=0,
        messages=(Message(role="assistant", text=answer),) if answer else (),
    )


def _replayed(candidate: CandidateSpec, key: ProblemKey, patch: str, answer: Completion) -> Attempt:
    return Attempt(
        problem=key.problem,
        candidate=candidate.key(),
        sample=key.sample,
        solver="replay",
        prompt_version=prompt_version_of(candidate),
        patch=patch,
        contains_code=bool(patch.strip()),
        messages=(Message(role="assistant", text=answer.text),),
        **call_fields([answer]),
    )


def prompt_version_of(candidate: CandidateSpec) -> str:
    """Return the version of the prompts that a candidate gets.

    Attempts with other versions are not comparable.
    """
    if candidate.provider in {"reference", "empty"}:
        return "none"
    if candidate.provider == "predictions":
        return "external"
    if candidate.agent is not None:
        return agent_version(candidate)
    return tool_loop_version(candidate) if candidate.solver == "tool_loop" else prompt_version(candidate)


def attempt_transcript(attempt: Attempt) -> bytes:
    """Return an attempt as a line of a transcript file.

    A candidate of the provider ``replay`` can repeat the attempt from this line.
    """
    return transcript_line(
        ProblemKey(problem=attempt.problem, sample=attempt.sample),
        attempt.messages,
        stop=_STOP_REASONS[attempt.stop],
        usage=attempt.usage,
        seconds=attempt.model_seconds,
        patch=attempt.patch if attempt.agent is not None else None,
    )
