"""The process that owns a sandbox, and whether it lives.

A run removes the leftovers of dead runs and never those of a live one. So an owner is identified by the machine's boot,
its process id namespace, its process id and its start time. No later process has all four.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_JOB: Final = ("GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB", "RUNNER_NAME")


@dataclass(frozen=True)
class Owner:
    """A process, identified so that no later process is equal.

    Attributes:
        boot: the kernel's boot id.
        namespace: inode of the process id namespace.
        pid: process id in it.
        start: clock ticks from boot to the start of the process.
    """

    boot: str
    namespace: str
    pid: int
    start: int

    def __str__(self) -> str:
        return f"{self.boot}:{self.namespace}:{self.pid}:{self.start}"

    @property
    def known_dead(self) -> bool:
        """Return whether the process has certainly ended.

        False for a process of another boot or namespace, which cannot be looked up here.
        """
        here = current_owner()
        if (self.boot, self.namespace) != (here.boot, here.namespace):
            return False
        return _start_ticks(self.pid) != self.start


def workflow_job(environment: Mapping[str, str]) -> str:
    """Return the name of this process's GitHub job, or "".

    A runner does one job at a time, so sandboxes with this name are leftovers once the job ends.
    """
    parts = [environment.get(name, "") for name in _JOB]
    return "/".join(parts) if all(parts) else ""


def is_dead_owner(text: str) -> bool:
    """Return whether ``text`` names a process that has certainly ended.

    ``text`` is the ``str`` of an ``Owner``; any other text gives False.
    """
    owner = parse_owner(text)
    return owner is not None and owner.known_dead


def parse_owner(text: str) -> Owner | None:
    """Return the ``Owner`` whose ``str`` is ``text``, or None.

    Colons may be replaced by underscores, as in file names.
    """
    parts = text.replace("_", ":").split(":")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() for part in parts[1:]):
        return None
    return Owner(parts[0], parts[1], int(parts[2]), int(parts[3]))


def current_owner() -> Owner:
    """Return the ``Owner`` that identifies this process."""
    return _owner(os.getpid())  # cached by process id, so that a fork is another owner than its parent


@cache
def _owner(pid: int) -> Owner:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
    return Owner(boot, namespace, pid, _start_ticks(pid) or 0)


def _start_ticks(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])
