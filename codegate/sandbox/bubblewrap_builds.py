"""Sandboxes for recorded builds in bubblewrap: they write folders on disk, which the host watches and freezes."""

import contextlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

from codegate.sandbox.bubblewrap_layers import PARTS, own_folder, remove_tree, sandboxed_tar, unpack
from codegate.sandbox.bubblewrap_program import isolation, system_links
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import Command, Completed, Layer, SandboxClosed, SandboxError, SandboxFile
from codegate.sandbox.layers import freeze
from codegate.sandbox.session import KILLED, SandboxSession

_LOOK_SECONDS: Final = 0.25
_REST_SECONDS: Final = 2.0
_LOOK_SHARE: Final = 10  # measuring gets a tenth of the time
_MEASURE: Final = "du -sB1 /build; du -s --inodes /build"
_MEASURE_SECONDS: Final = 120.0
_PAGE_BYTES: Final = 1 << 12


def builds_folder() -> Path:
    """Return the folder of the cache that builds are made in."""
    return cache_folder() / "builds"


class BuildFolder:
    """The folders that a recorded build writes: ``env``, ``tree`` and ``tmp``, on disk, below the cache.

    Args:
        layer: what it begins with.
        bubblewrap: the program.

    Raises:
        SandboxError: the disk refused, or the layer cannot be unpacked.
    """

    def __init__(self, layer: Layer | None, bubblewrap: str) -> None:
        from uv import find_uv_bin  # noqa: PLC0415 - only builds need it

        self._bubblewrap = bubblewrap
        self.path = own_folder(builds_folder())
        try:
            for name in ("tmp", "env", *(f"env/{name}" for name in ("bin", "home", "cache", "tmp")), "tree"):
                (self.path / name).mkdir()
            (self.path / "tmp").chmod(0o1777)
            # The build may write to it: a link to the machine's own would let it change that.
            shutil.copy(find_uv_bin(), self.path / "env" / "bin" / "uv")
            if layer is not None:  # after all else: nothing of ours follows a link of its
                unpack(layer, self.path, bubblewrap)
        except SandboxError:
            self.remove()
            raise
        except OSError as error:
            self.remove()
            raise SandboxError(
                f"cannot make a folder for the build in {self.path.parent}: {error}.",
                "Free some space, or choose another folder with CODEGATE_CACHE.",
            ) from error

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """See ``BuildSandbox.freeze``; no process of the build may be alive."""
        with contextlib.ExitStack() as stack:
            streams = []
            for part in PARTS:
                mounts = ["--ro-bind", str(self.path / part), f"/layer/{part}"]
                options = ["-c", "-f", "-", "--sort=name", "-C", "/layer", part]
                tar = stack.enter_context(sandboxed_tar(self._bubblewrap, mounts, options, stdout=subprocess.PIPE))
                assert tar.stdout is not None  # noqa: S101 - a pipe
                streams.append(stack.enter_context(tar.stdout))
            env, tree = streams
            return freeze(env, tree, tracked, archive)

    def remove(self) -> None:
        """Remove it all, whatever modes the build gave its folders."""
        remove_tree(self.path)

    def used_bytes(self) -> int:
        """Return what it takes on disk, each file at least a page: there is no other limit on their number.

        Raises:
            SandboxError: it cannot be measured.
        """
        # In a sandbox: a process of the build may put a link where a folder was, at any time.
        argv = [
            self._bubblewrap, *isolation(), "--cap-add", "CAP_DAC_OVERRIDE", "--ro-bind", "/usr", "/usr",
            *system_links(), "--ro-bind", str(self.path), "/build", "--", "/bin/sh", "-c", _MEASURE,
        ]  # fmt: skip
        try:
            done = subprocess.run(argv, env={}, cwd="/", capture_output=True, timeout=_MEASURE_SECONDS, check=False)
            used, files = (int(line.split()[0]) for line in done.stdout.splitlines())
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise SandboxError(f"cannot measure the build in {self.path}: {error}.") from error
        return used + files * _PAGE_BYTES


class BubblewrapBuild:
    """A ``BuildSandbox``: a session, and the folder on disk that it writes in.

    The disk itself knows no limit: a build may go over its own by what it writes in a fraction of a second.
    """

    def __init__(self, session: SandboxSession, folder: BuildFolder, limit: int) -> None:
        self._session, self._folder, self._limit = session, folder, limit
        self._over = False
        self._fault: SandboxError | None = None

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        """See ``Sandbox.put``."""
        self._session.put(files)

    def run(self, command: Command) -> Completed:
        """See ``Sandbox.run``; at the limit of the disk the command is killed, and the sandbox with it."""
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(ended,), name="codegate-bwrap-disk", daemon=True)
        watch.start()
        done = KILLED
        try:
            done = self._session.run(command)
        except SandboxClosed:
            if not self._over and self._fault is None:
                raise
        finally:
            ended.set()
            watch.join()
        self._look()  # a short command ends before anyone looks
        if self._fault is not None:
            raise self._fault
        if not self._over:
            return done
        text = f"sandbox: more than {self._limit >> 20} MiB were written to disk; the sandbox was ended.\n"
        return replace(KILLED, stderr=text.encode("ascii"))

    def freeze(self, tracked: Collection[str], archive: Path) -> str:
        """See ``BuildSandbox.freeze``."""
        return self._folder.freeze(tracked, archive)

    def close(self) -> None:
        """See ``Sandbox.close``."""
        self._session.close()

    def _watch(self, ended: threading.Event) -> None:
        due, least = 0.0, 0
        while not ended.wait(_LOOK_SECONDS):
            free = self._free()
            if time.monotonic() < due and free > least:
                continue
            began = time.monotonic()
            used = self._look()
            if used is None:
                return
            due = time.monotonic() + max(_REST_SECONDS, _LOOK_SHARE * (time.monotonic() - began))
            # If all that is written from now on were the build's, so little would be left at its limit.
            least = free - (self._limit - used)

    def _look(self) -> int | None:
        """Return what the build takes; None where that is too much, or unknown, and the sandbox was closed."""
        try:
            used = 0 if self._over or self._fault else self._folder.used_bytes()
        except SandboxError as error:
            self._fault = error
        else:
            self._over = self._over or used > self._limit
            if not self._over:
                return used
        self._session.close()
        return None

    def _free(self) -> int:
        disk = os.statvfs(self._folder.path)
        return disk.f_bavail * disk.f_frsize
