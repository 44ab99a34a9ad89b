"""Solve a problem with one prompt and one answer."""

from functools import partial

from codegate.candidates import CandidateSpec, Message, ProblemKey, Provider
from codegate.candidates.gateway import ModelCall
from codegate.solving.attempt import Attempt, AttemptStop, call_fields, request_bytes, stop_of
from codegate.solving.context import CHARACTERS_PER_TOKEN, ShowContext, show_context
from codegate.solving.edits import apply_edits, contains_code, parse_edits
from codegate.solving.prompts import fill_prompts, prompt_version
from codegate.solving.workspace import Workspace
from codegate.suite import Problem, Tree


def first_request(
    problem: Problem, base: Tree, candidate: CandidateSpec, show: ShowContext = show_context
) -> tuple[Message, Message]:
    """Return the system prompt and the task.

    Together they keep to the candidate's ``max_prompt_tokens``. ``show`` returns what the task shows of the base tree.
    """
    filled = partial(
        fill_prompts, candidate, question=problem.manifest.answer is not None, statement=problem.statement.strip()
    )
    most = None
    if candidate.max_prompt_tokens is not None:
        rest = sum(map(len, filled(context="")))
        most = max(0, CHARACTERS_PER_TOKEN * candidate.max_prompt_tokens - rest)
    system, task = filled(context=show(problem, base, most))
    return Message(role="system", text=system), Message(role="user", text=task)


def single_shot(
    problem: Problem,
    base: Tree,
    candidate: CandidateSpec,
    provider: Provider,
    sample: int,
    call: ModelCall,
    show: ShowContext = show_context,
) -> Attempt:
    """Solve a problem by one model call; return the attempt.

    Edits in a refusal are ignored. Edits in a truncated answer count if all are complete. ``call`` makes the call, with
    retries and limits; ``show`` returns what the prompt shows of the base tree.
    """
    messages = first_request(problem, base, candidate, show)
    key = ProblemKey(problem=problem.id, sample=sample)
    completion = call(lambda: provider.complete(key, messages, (), candidate.sampling), request_bytes(messages))
    stop: AttemptStop = stop_of(completion) or "answered"
    workspace = Workspace(base)
    patch_error = apply_edits(workspace, parse_edits(completion.text, base)) if stop != "refusal" else None
    patches = workspace.patches()
    return Attempt(
        problem=problem.id,
        candidate=candidate.key(),
        sample=sample,
        solver="single_shot",
        prompt_version=prompt_version(candidate),
        patch=patches.patch if patch_error is None else "",
        patch_error=patch_error,
        dropped=patches.dropped,
        contains_code=contains_code(completion.text),
        stop=stop,
        messages=(*messages, Message(role="assistant", text=completion.text, tool_calls=completion.tool_calls)),
        **call_fields([completion]),
    )
