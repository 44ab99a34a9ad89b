"""Call what may fail again, later and later."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def call_again(
    action: Callable[[], T],
    *,
    on: tuple[type[Exception], ...],
    attempts: int,
    base: float,
    cap: float,
    sleep: Callable[[float], None],
    random: Callable[[], float],
    clock: Callable[[], float],
    deadline: float | None = None,
) -> T:
    """Return what ``action`` returns, calling it again when it fails."""
    if attempts < 1:
        raise ValueError("attempts must be at least 1")
    started = clock()
    backoff = min(base, cap)
    for _ in range(attempts - 1):
        try:
            return action()
        except on as error:
            delay = backoff * (0.5 + random() / 2)
            after = getattr(error, "retry_after", None)
            if after is not None:
                delay = max(delay, after)
            if deadline is not None and clock() + delay > started + deadline:
                raise
        sleep(delay)
        backoff = min(backoff * 2, cap)
    return action()
