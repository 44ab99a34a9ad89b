"""Attempt: one candidate on one problem, one sample. Written to disk before it is graded, because it was paid for."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from codegate.candidates import Message, Usage
from codegate.durable import digest

AttemptStop = Literal[
    "answered",  # the model ended by itself
    "iterations",  # the tool loop's limit was reached; what had been edited by then counts
    "length",  # the output limit truncated the answer; what was complete by then counts
    "context_overflow",  # the conversation does not fit the model's context; what had been edited by then counts
    "refusal",  # the model or the provider's filter declined
]


class DroppedPath(BaseModel):
    """An edit that does not cross into grading, and why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    reason: Literal["test", "configuration", "unsafe", "unchanged", "too_large"]


class AttemptSummary(BaseModel):
    """What an outcome keeps of an attempt: all but its transcript.

    Attributes:
        patch: unified diff against the base tree, source paths only; empty when nothing was changed.
        patch_error: why the model's own edits could not be applied, None when they could.
        contains_code: whether the answer held code at all.
        usage: tokens over all calls; a field that some call did not report is null.
        models: the distinct snapshots that the provider said answered.
        model_seconds: time in model calls; ``tool_seconds``: time in the model's own test runs.
        answer: digest of the model's whole answer, by which copies are known; None until ``summary``, and where no
            model answered: the reference's patches are alike because they are certain, not because they are copies.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class Attempt(AttemptSummary):
    """What a candidate did about a problem.

    Attributes:
        messages: the transcript, in order.
    """

    problem: str
    candidate: str
    sample: int
    messages: tuple[Message, ...] = ()

    @property
    def last_answer(self) -> Message | None:
        """Return the model's last message; None where no model was called."""
        return next((message for message in reversed(self.messages) if message.role == "assistant"), None)

    def summary(self) -> AttemptSummary:
        """Return what an outcome keeps of the attempt."""
        answers = [
            (m.text, [(call.name, call.arguments) for call in m.tool_calls])
            for m in self.messages
            if m.role == "assistant"
        ]
        kept = AttemptSummary.model_validate(self.model_dump(include=set(AttemptSummary.model_fields)))
        return kept.model_copy(update={"answer": digest([answers, self.patch]) if answers else None})
