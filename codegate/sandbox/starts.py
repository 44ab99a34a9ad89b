"""Starts under way: closing a backend refuses new ones and waits for these, so that none outlives it."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from codegate.sandbox.contract import SandboxClosed


class Starts:
    """Counts the sandboxes that are being started. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """Return whether new starts are refused."""
        return self._closed

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a start for the length of a ``with`` block.

        Raises:
            SandboxClosed: the backend was closed.
        """
        with self._changed:
            if self._closed:
                raise SandboxClosed("the sandbox backend was closed.")
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify_all()

    def close(self, seconds: float) -> bool:
        """Refuse new starts, wait for those under way and return whether all have ended in time."""
        limit = time.monotonic() + seconds
        with self._changed:
            self._closed = True
            return self._changed.wait_for(lambda: self._count == 0, max(0.0, limit - time.monotonic()))
