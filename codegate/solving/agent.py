"""Solve a problem with an agent in a sandbox.

The agent reaches only its model's gateway. The files that it leaves in the tree are its answer; neither its exit status
nor its output decides anything.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias, cast

from codegate.candidates import CandidateSpec, Completion, Provider
from codegate.candidates.agents import Agent, OwnCommand, Task, agent_named, harness_parts
from codegate.candidates.agents.contract import HOME
from codegate.candidates.gateway import AgentLimits, Gateway, MakeCall, PaidAnswers
from codegate.candidates.registry import protocol_of
from codegate.errors import InfrastructureError
from codegate.languages import PathClassifier
from codegate.sandbox import Command, Completed, Sandbox, SandboxFile
from codegate.sandbox.relay import RELAY_PORT, Relay
from codegate.service import SERVICE_ENVIRONMENT, SERVICE_PORT, FakeService
from codegate.solving.answer import answer_patches
from codegate.solving.attempt import AgentRecord, Attempt, AttemptStop, call_fields, stop_of
from codegate.solving.collecting import CollectedChanges, collect_changes
from codegate.solving.drivers import program_text
from codegate.solving.edits import contains_code
from codegate.solving.harness import is_harness_path, tree_with_harness
from codegate.solving.installing import agent_environment, server_environments, server_table
from codegate.solving.prompts import fill_prompts, prompt_version
from codegate.strict import printable
from codegate.suite import Environment, Problem, Tree

OpenForAgent: TypeAlias = Callable[
    [Problem, Sequence[Environment], float], AbstractContextManager[tuple[Sandbox, str | None]]
]
"""Opens a sandbox for a problem, with the packages of agent and MCP servers, for a number of seconds.

The sandbox comes with a digest of the installed versions; None if nothing was installed.
"""

KEY: Final = "no-key-is-needed-here"
_OUTPUT_BYTES: Final = 8 << 20
_MOST_FILES: Final = 200
_MOST_WARNINGS: Final = 10
_MOST_WAITING: Final = 0.25
"""Largest share of an attempt's time that may be spent waiting. If it was more, running out of time is a fault, not the
agent's failure."""


class AgentFailed(InfrastructureError):
    """An agent could not work, and was not at fault.

    The agent made no model call, or ran out of time while its calls waited for the provider or for their turn.
    """


def agent_attempt(
    problem: Problem,
    base: Tree,
    candidate: CandidateSpec,
    provider: Provider | None,
    sample: int,
    python: str,
    open_for_agent: OpenForAgent,
    call: MakeCall,
    paid: PaidAnswers,
) -> Attempt:
    """Let an agent work on a problem; return the attempt.

    The agent's settings limit it, and ``max_iterations`` its model calls. ``python`` is the minor version of the Python
    that runs agents, such as ``3.12``. ``open_for_agent`` opens the sandbox, and ``call`` makes a model call. ``paid``
    stores the model's answers. If this attempt was interrupted before, the answers stored then are used again.

    Raises:
        ValueError: the candidate has no agent, or ``provider`` is None.
        AgentFailed: the agent made no model call, or ran out of time because its calls had to wait.
        UsageError: the agent cannot be installed.
        InfrastructureError: the sandbox or a model call failed.
    """
    settings = candidate.agent
    if settings is None or provider is None:
        raise ValueError("only a candidate with an agent and a provider is solved by one")
    agent = _agent(candidate)
    given = tree_with_harness(base, candidate, problem)
    installed = agent_environment(candidate, python)
    packages = [*([] if installed is None else [installed]), *server_environments(candidate, python)]
    protocol = protocol_of(candidate)
    limits = AgentLimits(candidate.max_iterations, settings.tokens, settings.usd)

    def end() -> None:
        relay.end()

    def is_left_out(path: str) -> bool:
        return path.partition("/")[0] in agent.leaves or is_harness_path(path, candidate, problem)

    parts = {} if candidate.harness is None else dict(harness_parts(agent, candidate.harness, settings.version))
    gateway = Gateway(candidate, protocol, cast("Any", provider), call, limits, end, paid, parts)
    service = problem.manifest.service
    relay = Relay({RELAY_PORT: gateway.answer, **({SERVICE_PORT: FakeService(service).answer} if service else {})})
    try:
        with open_for_agent(problem, packages, settings.minutes * 60) as (sandbox, lock):
            sandbox.put(tuple(SandboxFile(path, file.data, file.mode) for path, file in given.items()))
            task = Task(
                prompt=_prompt(problem, candidate),
                model=candidate.model,
                protocol=protocol,
                address=f"http://127.0.0.1:{RELAY_PORT}",
                key=KEY,
                files=_sources(given),
                harness=candidate.harness,
                version=settings.version,
            )
            variables = SERVICE_ENVIRONMENT if service else {}
            table = server_table(candidate)
            try:
                done = sandbox.run(_command(agent, task, variables, table, settings.minutes * 60, relay))
            finally:
                gateway.close()
            called, waited = gateway.seconds()
            left = collect_changes(sandbox, given, is_left_out, done) if gateway.failure is None else CollectedChanges()
    finally:
        relay.close()
    if gateway.failure is not None:
        raise gateway.failure
    ended_by = "minutes" if done.timed_out else "memory" if done.memory_exceeded else gateway.limited
    if not gateway.called or (not gateway.completions and ended_by is None):
        raise AgentFailed(
            f"{settings.name} ended without a model call: {_last_words(done)}",
            "Check the agent's version and, for `command`, that it finds its model where CODEGATE_MODEL and "
            "OPENAI_BASE_URL or ANTHROPIC_BASE_URL say.",
        )
    if done.timed_out and waited > _MOST_WAITING * done.wall_seconds:
        raise AgentFailed(
            f"{settings.name} ran out of its {settings.minutes:g} minutes and had waited {waited / 60:.1f} "
            "of them for its provider or for its turn.",
            "Lower `concurrency`, or raise `minutes`.",
        )
    ran = {f"hook {event}" for event, failure in agent.hook_runs(done.stdout) if not failure}
    patches = answer_patches(base, left.changes, left.dropped)
    completions = gateway.completions
    return Attempt(
        problem=problem.id,
        candidate=candidate.key(),
        sample=sample,
        solver="agent",
        prompt_version=agent_version(candidate),
        patch=patches.patch,
        patch_error=left.error,
        dropped=patches.dropped,
        tests=patches.tests,
        # Only real answers count: the conversation can hold an agent's examples that look like answers.
        contains_code=bool(patches.patch) or any(contains_code(completion.text) for completion in completions),
        stop=_stop(ended_by, completions),
        tool_calls=sum(len(completion.tool_calls) for completion in completions),
        tool_seconds=max(0.0, done.wall_seconds - called),
        messages=gateway.conversation,
        agent=AgentRecord(
            exit_code=done.exit_code,
            ended_by=ended_by,
            refused=dict(gateway.refused + Counter(_warnings(agent, done))),
            lock=lock[:16] if lock is not None else None,
            seconds=done.wall_seconds,
            used=tuple(sorted(gateway.used | ran & parts.keys())),
        ),
        **call_fields(completions),
    )


def agent_version(candidate: CandidateSpec) -> str:
    """Return a version of the agent's prompt and start command."""
    empty = Task(
        prompt="", model="", protocol=protocol_of(candidate), address="", key="", harness=candidate.harness,
        version=candidate.agent.version if candidate.agent is not None else None,
    )  # fmt: skip
    start = _agent(candidate).start(empty)
    return prompt_version(candidate, [start.argv, dict(start.environment), dict(start.files)])


def _agent(candidate: CandidateSpec) -> Agent:
    if candidate.agent is None:
        raise ValueError("the candidate has no agent")
    settings = candidate.agent
    if settings.command is None:
        return agent_named(settings.name)
    files = dict(zip(settings.files or (), settings.file_texts or (), strict=True))
    return OwnCommand(settings.command, files, packages=settings.install is not None)


def _prompt(problem: Problem, candidate: CandidateSpec) -> str:
    question = problem.manifest.answer is not None
    system, task = fill_prompts(candidate, question=question, statement=problem.statement.strip())
    return f"{system}\n\n{task}" if system else task


def _command(
    agent: Agent,
    task: Task,
    variables: Mapping[str, str],
    table: Sequence[Mapping[str, object]],
    seconds: float,
    relay: Relay,
) -> Command:
    start = agent.start(task)
    asked = {
        "home": HOME,
        "argv": start.argv,
        "environment": {**variables, **start.environment},
        "files": {**start.files, **({"bin/servers.json": json.dumps(table)} if table else {})},
        "programs": dict.fromkeys(("npx", "uvx"), program_text("server_driver")) if table else {},
    }
    return Command(
        ("{python}", "-I", "-S", "-c", program_text("start_driver")),
        stdin=json.dumps(asked).encode(),
        timeout_seconds=seconds,
        output_bytes=_OUTPUT_BYTES,
        relay=relay,
    )


def _warnings(agent: Agent, done: Completed) -> tuple[str, ...]:
    failed = [f"the hook {event} failed: {why}" for event, why in agent.hook_runs(done.stdout) if why]
    return tuple(
        f"{agent.name} warns: {printable(text)}" for text in (*agent.warnings(done.stdout), *failed)[:_MOST_WARNINGS]
    )


def _stop(ended_by: str | None, completions: list[Completion]) -> AttemptStop:
    if ended_by is not None:
        return "iterations" if ended_by == "calls" else "limit"
    return stop_of(completions[-1]) or "answered"


def _sources(base: Tree) -> tuple[str, ...]:
    classifier = PathClassifier.of(base)
    return tuple(path for path in base if classifier.classify(path) == "source")[:_MOST_FILES]


def _last_words(done: Completed) -> str:
    how = "it ran out of time" if done.timed_out else f"exit status {done.exit_code}"
    words = " ".join((done.stderr or done.stdout)[-2000:].decode("utf-8", "replace").split())
    return f"{how}; it said {words[-400:]!r}"
