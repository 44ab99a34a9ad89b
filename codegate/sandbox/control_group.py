"""Control groups that limit a bubblewrap sandbox in total.

They limit memory, processes and processor time, by either kernel interface (cgroup v1 with one tree per controller, and
v2). A group is made next to or below the caller's own. Where the machine forbids that, only the limits of each process
apply.
"""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codegate.sandbox.contract import SandboxError, SandboxLimits
from codegate.sandbox.ownership import current_owner, is_dead_owner

_ROOT: Final = Path("/sys/fs/cgroup")
_PERIOD_MICROSECONDS: Final = 100_000
EXTRA_PROCESSES: Final = 2  # bubblewrap and the supervisor, beside the processes of commands
_NAME: Final = re.compile(r"^codegate-([0-9a-f-]+_\d+_\d+_\d+)-[0-9a-f]{12}$")


@dataclass(frozen=True)
class GroupParents:
    """The existing control groups below which new ones are made.

    ``folders`` has a folder by each controller's name (cgroup v1), or a single folder by the key ``unified`` (v2).
    """

    folders: Mapping[str, Path]

    @property
    def unified(self) -> bool:
        """Return whether the groups are of cgroup v2."""
        return "unified" in self.folders


class ControlGroup:
    """The control group of one sandbox.

    Raises:
        SandboxError: the group cannot be made or limited.
    """

    def __init__(self, parents: GroupParents, limits: SandboxLimits) -> None:
        self._parents = parents
        name = f"codegate-{str(current_owner()).replace(':', '_')}-{secrets.token_hex(6)}"
        self._folders = {key: folder / name for key, folder in parents.folders.items()}
        try:
            for folder in self._folders.values():
                folder.mkdir()
            for file, value in self._settings(limits):
                file.write_text(value, encoding="ascii")
        except OSError as error:
            self.remove(0)
            raise SandboxError(f"cannot set up a control group: {error}.") from error

    def _settings(self, limits: SandboxLimits) -> list[tuple[Path, str]]:
        memory, pids = str(limits.memory_bytes), str(limits.pids + EXTRA_PROCESSES)
        quota = str(max(1000, int(limits.cpus * _PERIOD_MICROSECONDS)))
        if self._parents.unified:
            folder = self._folders["unified"]
            return [
                (folder / "memory.max", memory),
                *_if_there(folder / "memory.swap.max", "0"),
                (folder / "pids.max", pids),
                *_if_there(folder / "cpu.max", f"{quota} {_PERIOD_MICROSECONDS}"),
            ]
        memory_folder = self._folders["memory"]
        settings = [
            (memory_folder / "memory.limit_in_bytes", memory),
            *_if_there(memory_folder / "memory.memsw.limit_in_bytes", memory),
            *_if_there(memory_folder / "memory.swappiness", "0"),
            (self._folders["pids"] / "pids.max", pids),
        ]
        if "cpu" in self._folders:
            settings += _if_there(self._folders["cpu"] / "cpu.cfs_period_us", str(_PERIOD_MICROSECONDS))
            settings += _if_there(self._folders["cpu"] / "cpu.cfs_quota_us", quota)
        return settings

    @property
    def member_files(self) -> tuple[str, ...]:
        """Return the files where a process joins by writing 0."""
        return tuple(str(folder / "cgroup.procs") for folder in self._folders.values())

    def out_of_memory_kills(self) -> int:
        """Return the number of the group's out-of-memory kills."""
        name = "memory.events" if self._parents.unified else "memory.oom_control"
        folder = self._folders.get("unified") or self._folders["memory"]
        with contextlib.suppress(OSError, ValueError):
            for line in (folder / name).read_text(encoding="ascii").splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0

    def remove(self, seconds: float = 5.0) -> bool:
        """Remove the group once empty; return whether it is gone.

        Wait at most ``seconds`` for its last process to end.
        """
        return _remove(list(self._folders.values()), seconds)


def find_parents() -> GroupParents | None:
    """Return the groups below which this process can make groups.

    None if this process may make no control group.
    """
    own = _own_groups()
    parents = _find_v1(own) or _find_v2(own)
    if parents is None:
        return None
    try:
        ControlGroup(parents, SandboxLimits()).remove(0)
    except SandboxError:
        return None
    return parents


def sweep(parents: GroupParents) -> int:
    """Remove the control groups of dead processes' sandboxes.

    Returns:
        the number of sandboxes.
    """
    stale: dict[str, list[Path]] = {}
    roots = {_ROOT} if parents.unified else {_ROOT / controller for controller in parents.folders}
    for root in roots:
        for place, folders, _ in os.walk(root):
            for name in folders:
                if (match := _NAME.match(name)) and is_dead_owner(match[1]):
                    stale.setdefault(name, []).append(Path(place, name))
    return sum(_remove(folders, 2.0) for folders in stale.values())


def _remove(folders: list[Path], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while True:
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if not any(folder.exists() for folder in folders):
            return True
        if time.monotonic() > limit:
            return False
        time.sleep(0.005)


def _if_there(file: Path, value: str) -> list[tuple[Path, str]]:
    return [(file, value)] if file.exists() else []


def _own_groups() -> dict[str, str]:
    """Return the paths of this process's control groups, by controller.

    The key "" stands for cgroup v2; see proc(5).
    """
    groups = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            for controller in controllers.split(","):
                groups[controller] = path
    return groups


def _find_v1(own: Mapping[str, str]) -> GroupParents | None:
    folders = {}
    for controller in ("memory", "pids", "cpu"):
        if controller in own:
            folder = _ROOT / controller / own[controller].lstrip("/")
            folders[controller] = folder if folder.is_dir() else _ROOT / controller
    return GroupParents(folders) if {"memory", "pids"} <= folders.keys() else None


def _find_v2(own: Mapping[str, str]) -> GroupParents | None:
    """Return the nearest cgroup v2 that can limit its children.

    The search goes up from our own group, to one whose ``cgroup.subtree_control`` lists ``memory`` and ``pids``. None
    if there is none.
    """
    folder = _ROOT / own.get("", "/").lstrip("/")
    while folder.is_relative_to(_ROOT):
        with contextlib.suppress(OSError):
            enabled = (folder / "cgroup.subtree_control").read_text(encoding="ascii").split()
            if {"memory", "pids"} <= set(enabled):
                return GroupParents({"unified": folder})
        folder = folder.parent
    return None
