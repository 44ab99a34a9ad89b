"""Single shot: one prompt, one answer, its edits applied."""

from codegate.candidates import CandidateSpec, Message, ProblemKey, Provider
from codegate.solving.attempt import Attempt, AttemptStop, ModelCall, request_bytes, stop_of
from codegate.solving.context import build_context
from codegate.solving.edits import apply_edits, contains_code, parse_edits
from codegate.solving.prompts import fill, prompt_version
from codegate.solving.workspace import Workspace
from codegate.suite import Problem, Tree


def single_shot(
    problem: Problem, base: Tree, candidate: CandidateSpec, provider: Provider, sample: int, call: ModelCall
) -> Attempt:
    """Return the attempt of a single model call.

    A refusal changes nothing. The edits of a truncated answer count if all that it begins are complete.
    """
    context = build_context(base, problem.statement, problem.manifest.public_tests)
    system, task = fill(candidate, statement=problem.statement.strip(), context=context)
    messages: tuple[Message, ...] = (Message(role="system", text=system), Message(role="user", text=task))
    key = ProblemKey(problem=problem.id, sample=sample)
    completion = call(lambda: provider.complete(key, messages, (), candidate.sampling), request_bytes(messages))
    stop: AttemptStop = stop_of(completion) or "answered"
    workspace = Workspace(base)
    patch_error = apply_edits(workspace, parse_edits(completion.text)) if stop != "refusal" else None
    frozen = workspace.freeze()
    return Attempt(
        problem=problem.id,
        candidate=candidate.key(),
        sample=sample,
        solver="single_shot",
        prompt_version=prompt_version(candidate),
        patch=frozen.patch if patch_error is None else "",
        patch_error=patch_error,
        dropped=frozen.dropped,
        contains_code=contains_code(completion.text),
        stop=stop,
        usage=completion.usage,
        models=(completion.model,) if completion.model else (),
        model_seconds=completion.seconds,
        messages=(*messages, Message(role="assistant", text=completion.text)),
    )
