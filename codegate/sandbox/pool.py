"""Sandboxes that are started before they are needed."""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from codegate.sandbox.contract import Backend, PreparedEnvironment, Sandbox, SandboxClosed, SandboxError, SandboxLimits

_Kind = tuple[PreparedEnvironment, SandboxLimits]


@dataclass(frozen=True, eq=False)
class _ReadySandbox:
    kind: _Kind
    started: float
    future: "Future[Sandbox]"

    @property
    def is_stale(self) -> bool:
        return time.monotonic() - self.started >= self.kind[1].lifetime_seconds / 2


@dataclass
class Lease:
    """A sandbox that the pool has handed out.

    The user of the lease sets ``reusable`` if nothing untrusted ran in the sandbox, which can then be leased again.
    """

    kind: _Kind
    sandbox: Sandbox
    began: float
    reusable: bool = False

    @property
    def is_stale(self) -> bool:
        """Return whether the sandbox is too old for another lease.

        A sandbox is too old after a quarter of its lifetime, counted from its first use.
        """
        return time.monotonic() - self.began >= self.kind[1].lifetime_seconds / 4


class SandboxPool:
    """Keeps sandboxes ready for recently requested environments and limits.

    Requests alternate between environments, so an environment is dropped only after several requests for other
    environments. A sandbox that has waited for half of its lifetime is discarded.

    Args:
        backend: makes the sandboxes; the pool does not close it.
        ahead: how many to keep ready; 0: each starts on request.
    """

    def __init__(self, backend: Backend, ahead: int) -> None:
        self._backend = backend
        self._ahead = ahead
        self._starter = ThreadPoolExecutor(max(ahead, 1), "codegate-pool")
        self._lock = threading.Lock()
        self._asked: deque[_Kind] = deque(maxlen=2 * ahead)
        self._warm: list[_ReadySandbox] = []
        self._used: dict[int, Sandbox] = {}
        self._idle: list[Lease] = []
        self._closed = False
        self._stopped = False

    @contextlib.contextmanager
    def acquire(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Iterator[Sandbox]:
        """Yield a fresh sandbox, and close it after the block.

        Raises:
            SandboxClosed: the pool was closed.
            SandboxError: no sandbox could be started.
        """
        sandbox = self._take(environment, limits)
        with self._in_use(sandbox), contextlib.closing(sandbox):
            yield sandbox

    @contextlib.contextmanager
    def lease(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Iterator[Lease]:
        """Yield an idle reusable sandbox's lease, else a new one."""
        kind = (environment, limits)
        lease = self._idle_lease(kind) or Lease(kind, self._take(environment, limits), time.monotonic())
        lease.reusable = False
        with self._in_use(lease.sandbox):
            try:
                yield lease
            finally:
                with self._lock:
                    kept = lease.reusable and not self._closed and len(self._idle) < self._ahead
                    if kept:
                        self._idle.append(lease)
                if not kept:
                    lease.sandbox.close()

    def _idle_lease(self, kind: _Kind) -> Lease | None:
        with self._lock:
            aged = [lease for lease in self._idle if lease.is_stale]
            self._idle = [lease for lease in self._idle if not lease.is_stale]
            idle = next((lease for lease in self._idle if lease.kind == kind), None)
            if idle is not None:
                self._idle.remove(idle)
        for lease in aged:
            lease.sandbox.close()
        return idle

    @contextlib.contextmanager
    def _in_use(self, sandbox: Sandbox) -> Iterator[None]:
        """Allow ``stop`` to close the sandbox during the ``with`` block."""
        with self._lock:
            self._used[id(sandbox)] = sandbox
            stopped = self._stopped
        try:
            if stopped:
                sandbox.close()
                raise SandboxClosed("the sandbox pool was stopped.")
            yield
        finally:
            with self._lock:
                del self._used[id(sandbox)]

    def stop(self) -> None:
        """Close all sandboxes; work in them ends with ``SandboxClosed``."""
        with self._lock:
            self._stopped = True
            used = list(self._used.values())
        for sandbox in used:
            sandbox.close()
        self.close()

    def close(self) -> None:
        """Close the sandboxes that are not in use; idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._warm = self._warm, []
            idle, self._idle = self._idle, []
        for lease in idle:
            lease.sandbox.close()
        for warm in waiting:
            _discard(warm.future)
        self._starter.shutdown(wait=True)

    def _take(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        kind = (environment, limits)
        with self._lock:
            if self._closed:
                raise SandboxClosed("the sandbox pool was closed.")
            self._asked.append(kind)
            for warm in [warm for warm in self._warm if warm.is_stale or warm.kind not in self._asked]:
                self._warm.remove(warm)
                _discard(warm.future)
            found = next((warm for warm in self._warm if warm.kind == kind), None)
            if found is not None:
                self._warm.remove(found)
            while len(self._warm) < self._ahead:
                start = self._starter.submit(self._backend.open, environment, limits)
                self._warm.append(_ReadySandbox(kind, time.monotonic(), start))
        if found is not None:
            # If a start ahead of need failed, the sandbox is started again now, where the caller gets the error.
            with contextlib.suppress(SandboxError):
                return found.future.result()
        return self._backend.open(environment, limits)


def _discard(future: "Future[Sandbox]") -> None:
    def close(done: "Future[Sandbox]") -> None:
        if not done.cancelled() and done.exception() is None:
            done.result().close()

    future.cancel()
    future.add_done_callback(close)
