"""Containers that recorded builds are made and used in.

What they write is on the daemon's disk, which knows no limit but with a file system that keeps quotas. So the daemon is
asked how much it is while a command runs, as the daemon may take the request for a quota and do nothing about it.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codegate.sandbox import layers
from codegate.sandbox.contract import Command, Completed, SandboxError, SandboxFile
from codegate.sandbox.daemon import connect, explained
from codegate.sandbox.layers import BUILT, TRANSIENT
from codegate.sandbox.session import KILLED, WORKSPACE, SandboxSession

if TYPE_CHECKING:
    from docker import APIClient

_LOOK_SECONDS: Final = 1.0
_LOOK_SHARE: Final = 10  # each look makes the daemon count all files: it gets at most a tenth of the time
_FREEZE_SECONDS: Final = 900
_REMOVE_SECONDS: Final = 300.0


class WatchedSandbox:
    """A ``Sandbox`` on the daemon's disk that is ended when it has written too much.

    Args:
        session: the sandbox.
        limit: bytes that it may have written.
        written: returns how many it has; raises SandboxError.
    """

    def __init__(self, session: SandboxSession, limit: int, written: Callable[[], int]) -> None:
        self._session = session
        self._limit = limit
        self._written = written
        self._fault: SandboxError | None = None
        self._over = False

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        """See ``Sandbox.put``."""
        self._session.put(files)

    def run(self, command: Command) -> Completed:
        """See ``Sandbox.run``. A command that wrote too much ends as a killed one, and the sandbox with it."""
        if self._over:
            return self._session.run(command)  # which says that it is closed
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(ended,), name="codegate-disk", daemon=True)
        watch.start()
        try:
            done = self._session.run(command)
        except SandboxError:
            if self._over or self._fault:
                return self._killed()
            raise
        finally:
            ended.set()
            watch.join()
        self._look()  # a short command ends before anyone looks
        return self._killed() if self._over or self._fault else done

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._session.close()

    def _killed(self) -> Completed:
        if self._fault is not None:
            raise self._fault
        text = f"sandbox: more than {self._limit >> 20} MiB were written to disk; the sandbox was ended.\n"
        return replace(KILLED, stderr=text.encode("ascii"))

    def _watch(self, ended: threading.Event) -> None:
        pause = _LOOK_SECONDS
        while not ended.wait(pause):
            began = time.monotonic()
            if not self._look():
                return
            pause = max(_LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - began))

    def _look(self) -> bool:
        """Return whether the sandbox may go on; else it is closed."""
        try:
            self._over = self._over or self._written() > self._limit
        except SandboxError as error:
            self._fault = error
        if self._over or self._fault:
            self._session.close()
            return False
        return True


class DockerBuildSandbox(WatchedSandbox):
    """A ``BuildSandbox`` in a container, which its further arguments are about."""

    def __init__(self, session: SandboxSession, limit: int, written: Callable[[], int], container: str) -> None:
        super().__init__(session, limit, written)
        self._container = container

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """See ``BuildSandbox.freeze``."""
        places = tuple(f"{BUILT}/{name}" for name in TRANSIENT)
        # What stays of it, such as folders that may not be written to, is left out all the same.
        self._session.run(Command(("rm", "-rf", "--", *places), timeout_seconds=_REMOVE_SECONDS))
        client = connect(_FREEZE_SECONDS)  # one of its own: see DockerBackend
        try:
            env, tree = (_Folder(client, self._container, place) for place in (BUILT, WORKSPACE))
            with explained("read what was built"):
                return layers.freeze(env, tree, tracked, archive)
        finally:
            client.close()


class _Folder:
    """Reads a folder of a container as a tar. The daemon gives one at a time: it asks when it is read from."""

    def __init__(self, client: "APIClient", container: str, place: str) -> None:
        self._client, self._container, self._place = client, container, place
        self._parts: Iterator[bytes] | None = None
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        if self._parts is None:
            self._parts = iter(self._client.get_archive(self._container, self._place)[0])
        if not self._rest:
            self._rest = next(self._parts, b"")
        part, self._rest = self._rest[:size], self._rest[size:]
        return part
