"""Sandboxes started ahead of need, so that their start-up hides behind other work. Each is used once."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from codegate.sandbox.contract import (
    Backend,
    PreparedEnvironment,
    Sandbox,
    SandboxClosed,
    SandboxError,
    SandboxLimits,
)

_Kind = tuple[PreparedEnvironment, SandboxLimits]


class SandboxPool:
    """Keeps sandboxes of the kind asked for last warm.

    A warm sandbox's lifetime runs from its start: one that waited for more than half of it is thrown away.

    Args:
        backend: who makes them; it is not closed with the pool.
        ahead: how many to keep ready; 0 starts each when asked for.
    """

    def __init__(self, backend: Backend, ahead: int) -> None:
        self._backend = backend
        self._ahead = ahead
        self._starter = ThreadPoolExecutor(max(ahead, 1), "codegate-pool")
        self._lock = threading.Lock()
        self._kind: _Kind | None = None
        self._warm: deque[tuple[float, Future[Sandbox]]] = deque()
        self._closed = False

    @contextlib.contextmanager
    def acquire(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Iterator[Sandbox]:
        """Give a fresh sandbox for the length of a ``with`` block; it is closed at its end.

        Raises:
            SandboxClosed: the pool was closed.
            SandboxError: no sandbox could be started.
        """
        sandbox = self._take(environment, limits)
        try:
            yield sandbox
        finally:
            sandbox.close()

    def close(self) -> None:
        """Close every sandbox that waits; those in use are their users' to close. Idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._warm = self._warm, deque()
        for _, future in waiting:
            _discard(future)
        self._starter.shutdown(wait=True)

    def _take(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        kind = (environment, limits)
        with self._lock:
            if self._closed:
                raise SandboxClosed("the sandbox pool was closed.")
            if kind != self._kind:
                outdated, self._warm, self._kind = self._warm, deque(), kind
                for _, unwanted in outdated:
                    _discard(unwanted)
            future = self._next(limits)
            while len(self._warm) < self._ahead:
                self._warm.append((time.monotonic(), self._starter.submit(self._backend.open, environment, limits)))
        if future is not None:
            # A start that failed ahead of need is tried again now, when its error would reach someone.
            with contextlib.suppress(SandboxError):
                return future.result()
        return self._backend.open(environment, limits)

    def _next(self, limits: SandboxLimits) -> "Future[Sandbox] | None":
        while self._warm:
            started, future = self._warm.popleft()
            if time.monotonic() - started < limits.lifetime_seconds / 2:
                return future
            _discard(future)
        return None


def _discard(future: "Future[Sandbox]") -> None:
    def close(done: "Future[Sandbox]") -> None:
        if not done.cancelled() and done.exception() is None:
            done.result().close()

    future.cancel()
    future.add_done_callback(close)
