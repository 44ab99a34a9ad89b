"""What both solvers share about a model call: how the caller wraps it, and how an answer can end an attempt."""

from collections.abc import Callable
from typing import TypeAlias

from codegate.candidates import Completion
from codegate.solving.attempt import AttemptStop

ModelCall: TypeAlias = Callable[[Callable[[], Completion]], Completion]
"""Makes one model call: the caller's place for retries, budgets and concurrency limits."""


def stop_of(completion: Completion) -> AttemptStop | None:
    """Return how the answer ends the attempt with nothing to show, or None when it does not."""
    match completion.stop_reason:
        case "length":
            return "length"
        case "refusal" | "content_filter":
            return "refusal"
        case _:
            return None
