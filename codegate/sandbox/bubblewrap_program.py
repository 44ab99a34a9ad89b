"""Find a ``bwrap`` that works, and build its arguments."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Final

from codegate.host_program import run_program
from codegate.sandbox import control_group
from codegate.sandbox.contract import PreparedEnvironment, SandboxLimits, SandboxUnavailable
from codegate.sandbox.remote.link import JOIN
from codegate.sandbox.session import TOOLS, USER_ID, WORKSPACE, Scope, scope_of, shared_memory_bytes, workspace_bytes
from codegate.sandbox.stream import BOOTSTRAP

_LEAST_VERSION: Final = (0, 8)  # the first version with --disable-userns and --size
_PROBE_SECONDS: Final = 10.0
_RESERVE: Final = 4  # address space per process, as a multiple of its memory: Java reserves much and uses little
MASKED_FILES: Final = (
    "acpi", "asound", "interrupts", "kallsyms", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "scsi",
    "sysrq-trigger", "timer_list", "timer_stats",
)  # fmt: skip
"""Names below ``/proc`` that sandboxes hide, as Docker does by default."""


def find_bubblewrap() -> str:
    """Return the path of a ``bwrap`` that works here.

    Raises:
        SandboxUnavailable: none works; the message has the reason and a remedy.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxUnavailable(
            "bubblewrap is not installed.", "Install it, for example `apt-get install bubblewrap`."
        )
    version = bubblewrap_version(program)
    match = re.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < _LEAST_VERSION:
        raise SandboxUnavailable(
            f"bubblewrap is too old ({version or 'no version'}).", "Version 0.8 or newer is needed."
        )
    probe = _ask([*bare_system(program), "/bin/true"])
    if probe.returncode != 0:
        said = probe.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SandboxUnavailable(f"bubblewrap cannot make a sandbox here ({said}).", _remedy())
    return program


def bubblewrap_version(program: str) -> str:
    """Return the version line of ``program``, for example ``bubblewrap 0.8.0``.

    Raises:
        SandboxUnavailable: the program cannot be run.
    """
    return " ".join(_ask([program, "--version"]).stdout.decode("utf-8", "replace").split())[:100]


def group_parents() -> control_group.GroupParents | None:
    """Return where to make sandboxes' control groups, or None.

    None: this user can make no control group, so only limits of single processes apply.

    Raises:
        SandboxUnavailable: root can make no control group, and limits of single processes do not bind root.
    """
    parents = control_group.find_parents()
    if parents is not None:
        group = control_group.ControlGroup(parents, SandboxLimits())
        joined = _ask(["/bin/sh", "-c", JOIN, "sh", *group.member_files, "--", "/bin/true"])
        group.remove()
        if joined.returncode == 0:
            return parents
    if os.geteuid() == 0:  # the kernel does not apply RLIMIT_NPROC to root
        raise SandboxUnavailable(
            "bubblewrap as root needs a control group to bound processes, and none can be made here.",
            "Run as an ordinary user, or use Docker.",
        )
    return None


def isolation() -> list[str]:
    """Return bubblewrap's arguments for namespaces, user and variables.

    These arguments are the same for every sandbox. No capability is kept.
    """
    return [
        "--unshare-all", "--unshare-user", "--disable-userns", "--uid", str(USER_ID), "--gid", str(USER_ID),
        "--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
        "--hostname", "sandbox",
    ]  # fmt: skip


def system_links() -> Iterator[str]:
    """Yield bubblewrap's arguments that provide ``/bin``, ``/lib`` and the like."""
    for name in ("bin", "lib", "lib32", "lib64", "sbin"):
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))


def bare_system(program: str, *capabilities: str) -> list[str]:
    """Return bubblewrap's command for a sandbox with only ``/usr``."""
    return [
        program, *isolation(), *(part for name in capabilities for part in ("--cap-add", name)),
        "--ro-bind", "/usr", "/usr", *system_links(), "--proc", "/proc", "--dev", "/dev",
    ]  # fmt: skip


def contents(
    tools: PurePath,
    interpreter: Sequence[str],
    masks: Sequence[str],
    limits: SandboxLimits,
    writable: Sequence[str],
) -> list[str]:
    """Return bubblewrap's last arguments: file systems and the supervisor.

    Args:
        tools: folder on the host with the programs of every sandbox.
        interpreter: command that starts Python for the supervisor.
        masks: arguments that hide files of ``/proc``.
        limits: the sandbox's limits.
        writable: arguments that mount the writable folders.
    """
    # All of /proc is read-only. A sandbox of the real root could otherwise change the host by /proc/sys.
    return [
        "--proc", "/proc", *masks, "--remount-ro", "/proc", "--dev", "/dev",
        "--size", str(shared_memory_bytes(limits)), "--tmpfs", "/dev/shm",  # noqa: S108 - the sandbox's own
        *writable,
        "--ro-bind", str(tools), TOOLS,
        "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LC_ALL", "C.UTF-8",
        "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKSPACE,
        "--", *interpreter, "-I", "-S", "-B", "-c", BOOTSTRAP,
    ]  # fmt: skip


def command_scope(environment: PreparedEnvironment, limits: SandboxLimits, *, grouped: bool, file_bytes: int) -> Scope:
    """Return the limits and variables of a sandbox's commands.

    ``grouped``: a control group limits the sandbox's memory; otherwise each process has a limit of its own.
    ``file_bytes`` is the largest size of a file; 0: the size of the workspace.
    """
    resource_limits = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": int(limits.lifetime_seconds * max(limits.cpus, 1)) + 1,
        "RLIMIT_FSIZE": file_bytes or workspace_bytes(limits),
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": limits.pids,
    }
    if grouped:
        return scope_of(environment, resource_limits)
    memory = {"RLIMIT_DATA": limits.memory_bytes, "RLIMIT_AS": limits.memory_bytes * _RESERVE}
    return scope_of(environment, {**resource_limits, **memory}, int(limits.memory_bytes * 0.9))


def _ask(argv: list[str]) -> "subprocess.CompletedProcess[bytes]":
    try:
        return run_program(argv, env={}, seconds=_PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxUnavailable(f"bubblewrap cannot be run: {error}.") from error


def _remedy() -> str:
    settings = {
        "kernel/apparmor_restrict_unprivileged_userns": ("1", "AppArmor blocks user namespaces: allow them for "
            "bwrap with a profile, or `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`."),
        "kernel/unprivileged_userns_clone": ("0", "User namespaces are off: `sysctl -w "
            "kernel.unprivileged_userns_clone=1`."),
        "user/max_user_namespaces": ("0", "User namespaces are off: `sysctl -w user.max_user_namespaces=10000`."),
    }  # fmt: skip
    for name, (blocking, remedy) in settings.items():
        with contextlib.suppress(OSError):
            if Path("/proc/sys", name).read_text(encoding="ascii").strip() == blocking:
                return remedy
    return "User namespaces seem to be blocked, as in most containers: use Docker instead."
