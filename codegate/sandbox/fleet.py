"""The open sandboxes of a backend, removed in the background."""

import contextlib
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from typing_extensions import override

from codegate.sandbox.contract import SandboxClosed, SandboxLimits
from codegate.sandbox.session import Enclosure, SandboxSession, Scope
from codegate.sandbox.sockets import SocketConnection
from codegate.sandbox.stream import SupervisorStream


class Member(Enclosure):
    """The process, container or machine of a fleet's sandbox."""

    def __init__(self, fleet: "Fleet") -> None:
        self._fleet = fleet
        self._lock = threading.Lock()
        self._removal: Future[None] | None = None
        fleet.add(self)

    @override
    def destroy(self) -> None:
        with self._lock:
            if self._removal is None:
                self.kill()
                self._removal = self._fleet.remove_later(self)

    def wait(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the removal that ``destroy`` began."""
        if self._removal is not None:
            with contextlib.suppress(TimeoutError):
                self._removal.result(max(seconds, 0))

    @abstractmethod
    def kill(self) -> None:
        """Kill the sandbox at once, without waiting for its end."""

    @abstractmethod
    def remove(self) -> None:
        """Wait for the sandbox's end; remove its files and groups."""


class Fleet:
    """The sandboxes of one backend. Thread-safe.

    ``removers`` is the number of threads that remove sandboxes in the background.
    """

    def __init__(self, name: str, removers: int) -> None:
        self._remover = ThreadPoolExecutor(removers, name)
        self._changed = threading.Condition()
        self._starts = 0
        self._closed = False
        self._members: set[Member] = set()
        self._sessions: dict[Member, SandboxSession] = {}

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Let the block start a sandbox; ``close`` waits for it.

        Raises:
            SandboxClosed: the backend was closed.
        """
        with self._changed:
            if self._closed:
                raise SandboxClosed("the sandbox backend was closed.")
            self._starts += 1
        try:
            yield
        finally:
            with self._changed:
                self._starts -= 1
                self._changed.notify_all()

    def add(self, member: Member) -> None:
        """Register a sandbox before its start; ``close`` removes it."""
        with self._changed:
            self._members.add(member)

    def open(self, member: Member, connection: SocketConnection, scope: Scope, limits: SandboxLimits) -> SandboxSession:
        """Return the session of a started sandbox; ``close`` ends it."""
        try:
            session = SandboxSession(SupervisorStream(connection), member, scope, limits)
        except BaseException:
            connection.close()
            member.destroy()
            raise
        with self._changed:
            self._sessions[member] = session
        if self._closed:
            session.close()
            raise SandboxClosed("the sandbox backend was closed.")
        return session

    def remove_later(self, member: Member) -> "Future[None]":
        """Remove a killed member in the background."""
        try:
            return self._remover.submit(self._remove, member)
        except RuntimeError:  # the fleet was closed; this start took longer than ``close`` waits
            self._remove(member)
            done: Future[None] = Future()
            done.set_result(None)
            return done

    def close(self, seconds: float) -> None:
        """Refuse new starts and remove all sandboxes.

        The call waits at most ``seconds`` for starts in progress, and as long for the removals. A second call returns
        at once, because a signal handler can make it while the first call waits for a daemon.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.wait_for(lambda: self._starts == 0, seconds)
            sessions, members = list(self._sessions.values()), list(self._members)
        for session in sessions:
            session.close()
        for member in members:
            member.destroy()
        limit = time.monotonic() + seconds
        for member in members:
            member.wait(limit - time.monotonic())
        self._remover.shutdown()

    def _remove(self, member: Member) -> None:
        try:
            member.remove()
        finally:
            with self._changed:
                self._members.discard(member)
                self._sessions.pop(member, None)
