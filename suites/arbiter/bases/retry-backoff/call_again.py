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
    raise NotImplementedError
