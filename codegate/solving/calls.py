"""What both solvers share about a model call: how the caller wraps it, and how an answer can end an attempt."""

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from codegate.candidates import Completion, Message, ToolSpec
from codegate.solving.attempt import AttemptStop

ModelCall: TypeAlias = Callable[[Callable[[], Completion], int], Completion]
"""Makes one model call, whose request has about so many bytes: the caller's place for retries, budgets and limits."""


def request_bytes(messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> int:
    """Return the size of a request as JSON in ASCII, which no provider's own form of the same text exceeds by much."""
    parts = [part.model_dump(mode="json") for part in (*messages, *tools)]
    return len(json.dumps(parts))


def stop_of(completion: Completion) -> AttemptStop | None:
    """Return why the answer ends the attempt before the model meant to, or None when it does not."""
    match completion.stop_reason:
        case "length" | "context_overflow" as stop:
            return stop
        case "refusal" | "content_filter":
            return "refusal"
        case _:
            return None
