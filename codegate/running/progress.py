"""Describe a run's progress in text."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from codegate.running.outcome import Outcome


@dataclass(frozen=True)
class Progress:
    """The progress of a run: outcomes done, current work.

    ``outcome`` is the newest and ``candidate`` its candidate's label; reports between outcomes have ``doing`` instead.
    """

    done: int
    total: int
    candidate: str = ""
    outcome: Outcome | None = None
    doing: str = ""

    @property
    def words(self) -> str:
        """Describe the newest outcome or the current work."""
        return f"{self.candidate}: {self.outcome.problem} {self.outcome.words()}" if self.outcome else self.doing


class Doing:
    """Counts the work in progress, except model calls. Thread-safe.

    Attributes:
        preparing: the work before the first job; empty afterwards.
    """

    def __init__(self) -> None:
        self.preparing = ""
        self._grading = 0
        self._lock = threading.Lock()

    @contextmanager
    def grading(self) -> Iterator[None]:
        """Count the ``with`` block as a grading in progress."""
        with self._lock:
            self._grading += 1
        try:
            yield
        finally:
            with self._lock:
                self._grading -= 1

    def words(self, calls: str) -> str:
        """Describe the work in progress.

        ``calls`` describes the model calls in progress; it comes first.
        """
        grading = f"grading {self._grading}" if self._grading else ""
        return self.preparing or ", ".join(part for part in (calls, grading) if part) or "waiting for a sandbox"
