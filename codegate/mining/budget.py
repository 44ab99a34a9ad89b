"""The time that a mining may take."""

import math
import threading
import time
from typing import Final

from codegate.grading import Sandboxes

GRACE_SECONDS: Final = 5.0
"""How long what is under way may take to end when mining is stopped: a sandbox does at once, a build may not."""


class Budget:
    """Stops mining and closes its sandboxes in time.

    Attributes:
        over: set when the time is up, or when no more results are wanted.
        used_up: set when the time is up.
    """

    def __init__(self, minutes: float | None, started: float, sandboxes: Sandboxes) -> None:
        self.over = threading.Event()
        self.used_up = threading.Event()
        self._sandboxes = sandboxes
        self._deadline = math.inf if minutes is None else started + minutes * 60
        left = max(0.0, self._deadline - time.monotonic())
        self._timer = threading.Timer(min(left, threading.TIMEOUT_MAX), self._stop)
        self._timer.daemon = True
        self._timer.start()

    def patience(self) -> float:
        """Return how many more seconds to wait for a result."""
        return max(0.0, self._deadline + GRACE_SECONDS - time.monotonic())

    def end(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _stop(self) -> None:
        self.used_up.set()
        self.over.set()
        self._sandboxes.stop()
