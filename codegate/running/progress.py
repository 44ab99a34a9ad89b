"""The progress of a run, as text."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from codegate.running.outcome import Outcome


@dataclass(frozen=True)
class Progress:
    """One step of a run: how many outcomes are done.

    ``outcome`` is the newest, ``candidate`` its label. A step that only says what the run is doing, one a second, has
    neither.
    """

    done: int
    total: int
    candidate: str = ""
    outcome: Outcome | None = None
    doing: str = ""

    @property
    def words(self) -> str:
        """Return the step as text."""
        return f"{self.candidate}: {self.outcome.problem} {self.outcome.words()}" if self.outcome else self.doing


class Doing:
    """What an execution does apart from model calls. Thread-safe.

    Attributes:
        preparing: the work before the first job; empty afterwards.
    """

    def __init__(self) -> None:
        self.preparing = ""
        self._grading = 0
        self._lock = threading.Lock()

    @contextmanager
    def grading(self) -> Iterator[None]:
        """Count a grading."""
        with self._lock:
            self._grading += 1
        try:
            yield
        finally:
            with self._lock:
                self._grading -= 1

    def words(self, calls: str) -> str:
        """Return the work under way, beside the model ``calls``."""
        grading = f"grading {self._grading}" if self._grading else ""
        return self.preparing or ", ".join(part for part in (calls, grading) if part) or "waiting for a sandbox"
