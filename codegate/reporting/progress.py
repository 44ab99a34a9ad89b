"""Progress in a log: few lines, and never silence."""

import time
from collections.abc import Callable
from typing import Final

from codegate.reporting.plain import one_line

_SILENCE_SECONDS: Final = 20.0


class ProgressLines:
    """Writes important steps as lines, others after ``between`` silent seconds."""

    def __init__(self, write: Callable[[str], None], between: float = 5.0) -> None:
        self._write = write
        self._between = between
        self._last = time.monotonic()

    def __call__(self, done: int, total: int, text: str, *, important: bool, waiting: bool = False) -> None:
        """Write a step; one that is ``waiting`` only says what is under way."""
        silent = time.monotonic() - self._last
        if important or (done == total and not waiting) or silent >= (_SILENCE_SECONDS if waiting else self._between):
            self._last = time.monotonic()
            self._write(f"[{done}/{total}] {one_line(text)}")
