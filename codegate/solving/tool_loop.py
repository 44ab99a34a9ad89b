"""Solve a problem in a loop with tools.

The model reads, edits and runs the public tests until it ends or has no turn left.
"""

from functools import partial
from typing import Final

from codegate.candidates import CandidateSpec, Completion, Message, ProblemKey, Provider, ToolCall
from codegate.candidates.gateway import ModelCall
from codegate.solving.attempt import Attempt, AttemptStop, call_fields, request_bytes, stop_of
from codegate.solving.context import build_listing
from codegate.solving.edits import contains_code
from codegate.solving.prompts import fill_prompts, prompt_version
from codegate.solving.toolbox import TestTool, Toolbox, tool_specs
from codegate.solving.workspace import Workspace
from codegate.suite import Problem, Tree

MAX_CALLS_PER_MESSAGE: Final = 32


def tool_loop(
    problem: Problem,
    base: Tree,
    candidate: CandidateSpec,
    provider: Provider,
    sample: int,
    run_public_tests: TestTool,
    call: ModelCall,
) -> Attempt:
    """Solve a problem with tools; return the attempt.

    At most ``candidate.max_iterations`` model calls are made; ``call`` makes a call, with retries and limits.
    """
    tools = tool_specs()
    toolbox = Toolbox(Workspace(base), run_public_tests)
    messages = first_turn(problem, base, candidate)
    key = ProblemKey(problem=problem.id, sample=sample)
    completions: list[Completion] = []
    stop: AttemptStop = "iterations"
    calls = 0
    while stop == "iterations" and len(completions) < candidate.max_iterations:
        request = partial(provider.complete, key, messages, tools, candidate.sampling)
        completion = call(request, request_bytes(messages, tools))
        completions.append(completion)
        taken = completion.tool_calls[:MAX_CALLS_PER_MESSAGE]
        messages += (Message(role="assistant", text=completion.text, tool_calls=taken, reasoning=completion.reasoning),)
        if ended := stop_of(completion):
            stop = ended
        elif not completion.tool_calls:
            stop = "answered"
        else:
            calls += len(completion.tool_calls)
            messages += _results(toolbox, taken, len(completion.tool_calls) - len(taken))
    patches = toolbox.workspace.patches()
    return Attempt(
        problem=problem.id,
        candidate=candidate.key(),
        sample=sample,
        solver="tool_loop",
        prompt_version=tool_loop_version(candidate),
        patch=patches.patch if stop != "refusal" else "",
        dropped=patches.dropped,
        tests=patches.tests,
        contains_code=toolbox.wrote
        or any(contains_code(message.text) for message in messages if message.role == "assistant"),
        stop=stop,
        tool_calls=calls,
        tool_errors=toolbox.errors,
        tool_seconds=toolbox.seconds,
        messages=messages,
        **call_fields(completions),
    )


def first_turn(problem: Problem, base: Tree, candidate: CandidateSpec) -> tuple[Message, ...]:
    """Return the first request's messages: system prompt and task."""
    system, task = fill_prompts(
        candidate,
        statement=problem.statement.strip(),
        listing=build_listing(base),
        iterations=str(candidate.max_iterations),
    )
    return Message(role="system", text=system), Message(role="user", text=task)


def tool_loop_version(candidate: CandidateSpec) -> str:
    """Return the version of the loop's prompts and tools."""
    return prompt_version(candidate, [tool.model_dump(mode="json") for tool in tool_specs()])


def _results(toolbox: Toolbox, calls: tuple[ToolCall, ...], left_out: int) -> tuple[Message, ...]:
    """Run the tool calls; return the messages that answer them.

    If calls beyond a turn's limit were ignored, the last message gives their number, ``left_out``.
    """
    results = [Message(role="tool", text=toolbox.answer(call), tool_call_id=call.id) for call in calls]
    if left_out:
        toolbox.errors += left_out
        note = f"\n{left_out} more calls were ignored: at most {MAX_CALLS_PER_MESSAGE} are allowed in one turn."
        results[-1] = results[-1].model_copy(update={"text": results[-1].text + note})
    return tuple(results)
