"""Solve a problem, except by agents."""

from codegate.candidates import CandidateSpec, Message, Provider
from codegate.candidates.gateway import ModelCall
from codegate.errors import UsageError
from codegate.solving.agent import agent_version
from codegate.solving.attempt import Attempt
from codegate.solving.context import ShowContext, show_context
from codegate.solving.edits import contains_code
from codegate.solving.prompts import prompt_version
from codegate.solving.single_shot import single_shot
from codegate.solving.tool_loop import tool_loop, tool_loop_version
from codegate.solving.toolbox import TestTool
from codegate.suite import Problem, Tree, make_patch


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
