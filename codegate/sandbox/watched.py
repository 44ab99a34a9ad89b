"""Sandboxes without disk quota, ended when they write too much."""

import threading
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from typing_extensions import override

from codegate.sandbox.contract import BuildSandbox, Command, Completed, Sandbox, SandboxError, SandboxFile
from codegate.sandbox.layers import BUILT, TRANSIENT, Source, freeze
from codegate.sandbox.session import KILLED, SandboxSession

_LOOK_SECONDS: Final = 1.0
_LOOK_SHARE: Final = 10  # the pause is ten times a look's duration, because a look counts all files
LISTING: Final = ("-printf", "%i %b\\n")
"""Arguments of ``find`` that print inode and blocks of each file.

``du`` prints nothing if a folder is moved while it runs; ``find`` only misses the folder and counts it the next time.
"""
_BLOCK_BYTES: Final = 512
_REMOVE_SECONDS: Final = 300.0
_PAGE_BYTES: Final = 1 << 12  # bytes that each file counts at least, because the number of files has no limit


BuiltFolders: TypeAlias = Callable[[], AbstractContextManager[tuple[Source, Source]]]


def listed_bytes(listing: bytes) -> int:
    """Return the disk usage in ``listing``, in bytes.

    The listing is the output of ``find`` with the arguments ``LISTING``.

    Raises:
        SandboxError: the listing is empty or malformed.
    """
    try:
        blocks = {inode: int(count) for inode, count in (line.split() for line in listing.splitlines())}
    except ValueError:
        blocks = {}
    if not blocks:
        raise SandboxError(f"cannot measure what a sandbox wrote: find printed {listing[-100:]!r}.")
    return sum(blocks.values()) * _BLOCK_BYTES + len(blocks) * _PAGE_BYTES


class WatchedSandbox(Sandbox):
    """A ``Sandbox`` that ends when it writes too much.

    ``written`` returns the bytes written so far, or raises SandboxError; more than ``limit`` bytes end the sandbox.
    """

    def __init__(self, session: SandboxSession, limit: int, written: Callable[[], int]) -> None:
        self._session = session
        self._limit = limit
        self._written = written
        self._fault: SandboxError | None = None
        self._over = False

    @override
    def put(self, files: tuple[SandboxFile, ...]) -> None:
        self._session.put(files)

    def run(self, command: Command) -> Completed:
        """Run ``command`` to its end or limit; return the observations.

        A command that wrote too much is reported as killed, and the sandbox is closed.
        """
        if self._over:
            return self._session.run(command)  # raises SandboxClosed
        ended, began = threading.Event(), time.monotonic()
        watch = threading.Thread(target=self._watch, args=(ended,), name="codegate-disk", daemon=True)
        watch.start()
        try:
            done = self._session.run(command)
        except SandboxError:
            ended.set()
            watch.join()
            if self._over or self._fault:
                return self._killed(time.monotonic() - began)
            raise
        finally:
            ended.set()  # an interrupt does not wait for the current look
        watch.join()
        if done.memory_exceeded and not self._over:
            return done  # the machine may have ended, so that its disk cannot be measured
        self._look()  # a short command can end before the first look
        return self._killed(done.wall_seconds) if self._over or self._fault else done

    @override
    def close(self) -> None:
        self._session.close()

    def _killed(self, seconds: float) -> Completed:
        if self._fault is not None:
            raise self._fault
        text = f"sandbox: more than {self._limit >> 20} MiB were written to disk; the sandbox was ended.\n"
        return replace(KILLED, stderr=text.encode("ascii"), wall_seconds=seconds)

    def _watch(self, ended: threading.Event) -> None:
        pause = _LOOK_SECONDS
        while not ended.wait(pause):
            began = time.monotonic()
            if not self._look():
                return
            pause = max(_LOOK_SECONDS, _LOOK_SHARE * (time.monotonic() - began))

    def _look(self) -> bool:
        """Close a sandbox over its limit; return whether it lives."""
        try:
            self._over = self._over or self._written() > self._limit
        except SandboxError as error:
            self._fault = error
        if self._over or self._fault:
            self._session.close()
            return False
        return True


class WatchedBuild(WatchedSandbox, BuildSandbox):
    """A ``BuildSandbox`` that ends when it writes too much.

    ``built`` opens tars of ``/opt/env`` and the workspace, which ``layers.freeze`` reads one after the other.
    """

    def __init__(self, session: SandboxSession, limit: int, written: Callable[[], int], built: BuiltFolders) -> None:
        super().__init__(session, limit, written)
        self._built = built

    @override
    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        places = tuple(f"{BUILT}/{name}" for name in TRANSIENT)
        # Content that cannot be removed, as in read-only folders, is left out of the archive as well.
        self._session.run(Command(("rm", "-rf", "--", *places), timeout_seconds=_REMOVE_SECONDS))
        with self._built() as (env, tree):
            return freeze(env, tree, tracked, archive)
