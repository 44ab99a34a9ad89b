"""Folders on disk for builds in bubblewrap sandboxes."""

import contextlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from codegate.host_program import run_program
from codegate.sandbox.bubblewrap_layers import PARTS, sandboxed_tar, unpack
from codegate.sandbox.bubblewrap_program import isolation, system_links
from codegate.sandbox.cache import cache_folder, own_folder, remove_tree
from codegate.sandbox.contract import Layer, SandboxError
from codegate.sandbox.layers import TRANSIENT, Source
from codegate.sandbox.tools import uv_program
from codegate.sandbox.watched import LISTING, listed_bytes

_MEASURE_SECONDS: Final = 120.0


def builds_folder() -> Path:
    """Return the cache's folder for builds that are still running."""
    return cache_folder() / "builds"


class BuildFolder:
    """Folders on disk that one build writes.

    The files of ``layer``, which the build continues, are unpacked into them.

    Raises:
        SandboxError: the disk refused, or the layer cannot be unpacked.
    """

    def __init__(self, layer: Layer | None, bubblewrap: str) -> None:
        self._bubblewrap = bubblewrap
        self.path = own_folder(builds_folder())
        self._given = 0
        try:
            (self.path / "tmp").mkdir()
            (self.path / "tmp").chmod(0o1777)
            if layer is not None:
                unpack(layer, self.path, bubblewrap)
            for name in ("env", *(f"env/{name}" for name in ("bin", "home", *TRANSIENT)), "tree"):
                with contextlib.suppress(FileExistsError):  # what the layer has there may be a link to anywhere
                    (self.path / name).mkdir()
            programs = self.path / "env" / "bin"
            if not programs.is_symlink() and not os.path.lexists(programs / "uv"):
                # The build may write to it: a link to the machine's own would let it change that.
                shutil.copy(uv_program(platform.machine()), programs / "uv")
            self._given = self.written()
        except SandboxError:
            self.remove()
            raise
        except OSError as error:
            self.remove()
            raise SandboxError(
                f"cannot make a folder for the build in {self.path.parent}: {error}.",
                "Free some space, or choose another folder with CODEGATE_CACHE.",
            ) from error

    @contextlib.contextmanager
    def tars(self) -> Iterator[tuple[Source, Source]]:
        """Yield tars of ``/opt/env`` and the workspace, in this order.

        The build's processes must have ended.
        """
        with contextlib.ExitStack() as stack:
            streams = []
            for part in PARTS:
                mounts = ["--ro-bind", str(self.path / part), f"/layer/{part}"]
                options = ["-c", "-f", "-", "--sort=name", "-C", "/layer", part]
                tar = stack.enter_context(sandboxed_tar(self._bubblewrap, mounts, options, stdout=subprocess.PIPE))
                assert tar.stdout is not None  # noqa: S101 - a pipe
                streams.append(stack.enter_context(tar.stdout))
            env, tree = streams
            yield env, tree

    def remove(self) -> None:
        """Remove all folders, whatever their files' modes."""
        remove_tree(self.path)

    def written(self) -> int:
        """Return how many bytes the build has added on disk.

        Raises:
            SandboxError: it cannot be measured.
        """
        # In a sandbox: a process of the build may put a link where a folder was, at any time.
        argv = [
            self._bubblewrap, *isolation(), "--cap-add", "CAP_DAC_OVERRIDE", "--ro-bind", "/usr", "/usr",
            *system_links(), "--ro-bind", str(self.path), "/build", "--", "/usr/bin/find", "/build", *LISTING,
        ]  # fmt: skip
        try:
            done = run_program(argv, env={}, seconds=_MEASURE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SandboxError(f"cannot measure the build in {self.path}: {error}.") from error
        return listed_bytes(done.stdout) - self._given
