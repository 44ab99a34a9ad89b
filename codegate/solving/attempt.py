"""The record of one candidate's attempt at one problem."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from codegate.candidates import NO_USAGE, CallRecord, Completion, Message, ToolSpec, Usage
from codegate.durable import digest
from codegate.strict import Strict

AttemptStop = Literal[
    "answered",  # the model ended by itself
    "iterations",  # the tool loop's limit was reached; earlier edits count
    "length",  # the output limit truncated the answer; complete edits count
    "context_overflow",  # the conversation does not fit the model's context; earlier edits count
    "refusal",  # the model or the provider's filter declined
    "limit",  # the attempt's minutes, tokens or dollars were used up; earlier edits count
]


class AgentRecord(Strict):
    """How an agent ended and what it used; for reports.

    Attributes:
        ended_by: the limit that ended it; None if none did.
        refused: counts of the agent's requests that were refused, and of its own warnings, by text.
        lock: digest of the versions of all packages that were installed for it and its MCP servers.
        used: the parts of its harness that it used.
    """

    exit_code: int | None
    ended_by: str | None = None
    refused: dict[str, int] = {}
    lock: str | None = None
    seconds: float = Field(default=0.0, ge=0)
    used: tuple[str, ...] = Field(default=(), exclude_if=lambda used: not used)


class DroppedPath(Strict):
    """A path that the answer changed, left out of grading.

    ``detail`` has the size and the limit of a file that is too large.
    """

    path: str
    reason: Literal["test", "configuration", "unsafe", "unchanged", "too_large"]
    detail: str = Field(default="", exclude_if=lambda detail: not detail)

    @property
    def shown(self) -> str:
        """Return path and reason in one line."""
        return f"{self.path} ({self.reason}{': ' if self.detail else ''}{self.detail})"


class AttemptSummary(Strict):
    """An attempt without its transcript, as an outcome keeps it.

    Attributes:
        patch: unified diff against the base tree, source paths only; empty if nothing was changed.
        patch_error: why the model's edits could not be applied, None if they could.
        contains_code: whether the answer held code.
        usage: tokens of all calls; a field that some call did not report is null.
        models: the distinct snapshots that the provider reported.
        model_seconds: time in model calls.
        tool_seconds: time in the model's own test runs.
        answer: digest of the model's messages and the patch, equal for copied attempts. ``Attempt.summary`` computes
            it; None before that, and without a model.
        agent: how the candidate's agent ended; None without one.
        reused: whether an earlier run made the attempt, and this run took it from the cache of answers.
        lost: faults that lost an answer before the request was repeated, such as timeouts; each kind once.
    """

    solver: str
    prompt_version: str
    patch: str = ""
    patch_error: str | None = None
    dropped: tuple[DroppedPath, ...] = ()
    contains_code: bool = False
    stop: AttemptStop = "answered"
    iterations: int = Field(default=1, ge=0)
    tool_calls: int = Field(default=0, ge=0)
    tool_errors: int = Field(default=0, ge=0)
    usage: Usage = Usage()
    models: tuple[str, ...] = ()
    model_seconds: float = 0.0
    tool_seconds: float = 0.0
    answer: str | None = None
    agent: AgentRecord | None = None
    reused: bool = Field(default=False, exclude_if=lambda reused: not reused)
    lost: tuple[str, ...] = Field(default=(), exclude_if=lambda lost: not lost)


class Attempt(AttemptSummary):
    """A candidate's work on a problem, with its transcript.

    Attributes:
        tests: unified diff of the test files that an agent or a tool loop changed; they do not go to grading.
        messages: the transcript, in order.
        calls: the answered model calls; none without a model.
    """

    problem: str
    candidate: str
    sample: int
    tests: str = Field(default="", exclude_if=lambda tests: not tests)
    messages: tuple[Message, ...] = ()
    calls: tuple[CallRecord, ...] = ()

    @property
    def last_answer(self) -> Message | None:
        """Return the model's last message; None without a model."""
        return next((message for message in reversed(self.messages) if message.role == "assistant"), None)

    def summary(self) -> AttemptSummary:
        """Return the attempt without its transcript."""
        answers = [
            (m.text, [(call.name, call.arguments) for call in m.tool_calls])
            for m in self.messages
            if m.role == "assistant"
        ]
        kept = AttemptSummary.model_validate(self.model_dump(include=set(AttemptSummary.model_fields)))
        return kept.model_copy(update={"answer": digest([answers, self.patch]) if answers else None})


def call_fields(completions: Sequence[Completion]) -> dict[str, Any]:
    """Return the fields of an attempt that model calls determine."""
    return {
        "iterations": len(completions),
        "usage": sum((each.usage for each in completions), NO_USAGE),
        "models": tuple(dict.fromkeys(each.model for each in completions if each.model and not each.usage.helpers)),
        "model_seconds": sum(each.seconds for each in completions),
        "calls": tuple(each.record for each in completions),
    }


def request_bytes(messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """Return a rough size in bytes of a model request."""
    parts = [part.model_dump(mode="json") for part in (*messages, *tools)]
    return len(json.dumps([parts, [message.reasoning for message in messages if message.reasoning]]))


def stop_of(completion: Completion) -> AttemptStop | None:
    """Return why the answer ended early, or None."""
    match completion.stop_reason:
        case "length" | "context_overflow" as stop:
            return stop
        case "refusal" | "content_filter":
            return "refusal"
        case _:
            return None
