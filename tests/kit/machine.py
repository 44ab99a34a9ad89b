"""A provider's machine, played by a folder and namespaces of this machine: it shares the kernel and ``/usr``.

It takes root: bubblewrap's mounts, and control groups of its own.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PYTHON = "/usr/bin/python3"  # the one that a command finds there


@dataclass(frozen=True)
class Ordered:
    """What a provider was asked for.

    Attributes:
        network: whether the machine has one.
        seconds: until the provider ends it.
        memory_mb: its size.
        runtime: what contains the code.
        image: how its image is made.
        labels: what the provider keeps with it.
    """

    network: bool
    seconds: int
    memory_mb: int
    runtime: str
    image: str
    labels: dict[str, str]


class Machine:
    """Runs commands with an ``/opt`` and a ``/tmp`` of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        for name in ("opt", "tmp"):
            (folder / name).mkdir(parents=True)
            (folder / name).chmod(0o1777)
        folder.chmod(0o755)
        groups = Path("/sys/fs/cgroup")
        parts = [""] if (groups / "cgroup.controllers").exists() else ["memory", "pids"]
        name = f"machine-{os.getpid()}-{folder.name}"
        self._groups = {groups / part: groups / part / name for part in parts}
        for group in self._groups.values():
            group.mkdir()

    def write(self, path: str, data: bytes) -> None:
        place = self._folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def start(self, argv: Sequence[str]) -> "subprocess.Popen[bytes]":
        """Start a command, with its streams as pipes."""
        own = [part for name in ("opt", "tmp") for part in ("--bind", str(self._folder / name), f"/{name}")]
        own += [part for place, group in self._groups.items() for part in ("--bind", str(group), str(place))]
        # Of this machine's mounts, some may end meanwhile, such as a container's: in a copy of their own they stay.
        still = ["unshare", "--mount", "--propagation", "private"]
        process = subprocess.Popen(
            [*still, "bwrap", "--dev-bind", "/", "/", *own, "--cap-add", "ALL", "--chdir", "/", *argv],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "HOME": "/"},
        )  # fmt: skip
        self.processes.append(process)
        return process

    def kill(self) -> None:
        """End everything that runs on it: what carries the stream takes the sandbox along."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for group in self._groups.values():
            for folder in (*group.glob("codegate-*"), group):
                remove(folder)


def remove(group: Path) -> None:
    """Remove a control group once its last process is gone."""
    limit = time.monotonic() + 60
    while group.exists():
        with suppress(OSError):
            group.rmdir()
        assert time.monotonic() < limit, group
        time.sleep(0.01)
