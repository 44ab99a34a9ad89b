"""Containers that recorded builds are made and used in.

What they write is on the daemon's disk, which knows no limit but with a file system that keeps quotas. So the daemon is
asked how much it is while a command runs, as the daemon may take the request for a quota and do nothing about it.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codegate.sandbox import layers
from codegate.sandbox.contract import Command
from codegate.sandbox.daemon import connect, explained
from codegate.sandbox.layers import BUILT, TRANSIENT
from codegate.sandbox.session import WORKSPACE, SandboxSession
from codegate.sandbox.watched import WatchedSandbox

if TYPE_CHECKING:
    from docker import APIClient

_FREEZE_SECONDS: Final = 900
_REMOVE_SECONDS: Final = 300.0


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
