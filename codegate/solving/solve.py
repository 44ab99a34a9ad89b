"""One candidate on one problem, one sample."""

from codegate.candidates import (
    CandidateSpec,
    ProblemKey,
    Provider,
    StopReason,
    transcript_line,
)
from codegate.errors import UsageError
from codegate.solving.attempt import Attempt, AttemptStop
from codegate.solving.calls import ModelCall
from codegate.solving.prompts import prompt_version
from codegate.solving.reference import reference
from codegate.solving.single_shot import single_shot
from codegate.solving.tool_loop import tool_loop, tool_loop_version
from codegate.solving.toolbox import TestTool
from codegate.suite import Problem, Tree

_STOP_REASONS: dict[AttemptStop, StopReason] = {
    "answered": "stop",
    "iterations": "tool_calls",
    "length": "length",
    "context_overflow": "context_overflow",
    "refusal": "refusal",
}


def solve(
    problem: Problem,
    base: Tree,
    candidate: CandidateSpec,
    provider: Provider | None,
    sample: int,
    run_public_tests: TestTool,
    call: ModelCall,
) -> Attempt:
    """Let ``candidate`` work on ``problem`` and return what it did.

    Args:
        problem: what is asked.
        base: the problem's base tree.
        candidate: who answers, and with which solver.
        provider: the candidate's provider, None for ``reference`` and ``empty``.
        sample: number of the sample, from 0.
        run_public_tests: runs the public tests on a tree and returns their output.
        call: makes each model call; retries, budgets and limits belong here.

    Raises:
        ProviderError: no usable answer came, after whatever ``call`` does about that.
        InfrastructureError: the sandbox of the public tests failed.
        UsageError: the candidate needs a provider and got none.
    """
    if candidate.provider in {"reference", "empty"}:
        return reference(problem, base, candidate, sample)
    if provider is None:
        raise UsageError(f"candidate {candidate.label} needs a provider.", "Open one with open_provider.")
    if candidate.solver == "tool_loop":
        return tool_loop(problem, base, candidate, provider, sample, run_public_tests, call)
    return single_shot(problem, base, candidate, provider, sample, call)


def prompt_version_of(candidate: CandidateSpec) -> str:
    """Return the prompt version that attempts of ``candidate`` carry, for comparability keys."""
    if candidate.provider in {"reference", "empty"}:
        return "none"
    if candidate.provider == "predictions":
        return "external"
    return tool_loop_version() if candidate.solver == "tool_loop" else prompt_version("single_shot")


def record_attempt(attempt: Attempt) -> bytes:
    """Return the line of a transcript file that replays ``attempt``, without its line break."""
    return transcript_line(
        ProblemKey(problem=attempt.problem, sample=attempt.sample),
        attempt.messages,
        stop=_STOP_REASONS[attempt.stop],
        usage=attempt.usage,
        seconds=attempt.model_seconds,
    )
