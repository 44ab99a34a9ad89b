"""Inspects a sandbox's isolation and limits from inside.

Sent as source to ``python3 -I -S -B -c`` in a sandbox (standard library, syntax of Python 3.8). ``walls`` prints facts
about the isolation, ``limits`` how much could be taken of each limited resource; ``memory`` and ``files`` run into the
memory limit, ``flood`` into the cap on output, ``sleep`` into the time limit, ``spill`` into the disk limit of a
recorded build. Its JSON argument bounds what it takes, so that it does not hurt a machine without limits.
"""

# No pathlib: each run of it pays for its imports.
# ruff: noqa: PTH108, PTH110, PTH116, PTH123, PTH208, T201

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import sys
import time
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SOCKETS = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
    "/run/crio/crio.sock", "/run/dbus/system_bus_socket", "/run/systemd/private",
)  # fmt: skip
CALLS = {  # name: number on x86_64 and on aarch64
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "unshare": (272, 97), "setns": (308, 268),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218), "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "reboot": (169, 142), "syslog": (103, 116), "acct": (163, 89), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "fanotify_init": (300, 262), "fsopen": (430, 430), "fsmount": (432, 432),
    "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "quotactl": (179, 60), "swapon": (167, 224), "swapoff": (168, 225),
    "sethostname": (170, 161), "setdomainname": (171, 162), "clone3": (435, 435), "process_madvise": (440, 440),
    "move_pages": (279, 239), "migrate_pages": (256, 238),
}  # fmt: skip
FAMILIES = tuple(family for family in range(3, 46) if family not in {10, 16})  # all but AF_INET6 and AF_NETLINK
SYSTEM = ("/codegate", "/etc/codegate", "/usr/codegate", "/opt/codegate/own", "/opt/codegate/tools/own")
KERNEL = (
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/release_agent",
)  # fmt: skip
HARMLESS = ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9))
PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS = 21, 39
BLOCK = 1 << 18


def refused(action: Callable[[], Any]) -> str:
    """Call ``action``; return its error's name, or "" on success."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return ""


def open_connection(address: tuple[str, int]) -> None:
    """Open a TCP connection."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.settimeout(0.2)
        one.connect(address)


def touch(path: str) -> None:
    """Make a file."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def open_for_writing(path: str) -> None:
    """Open an existing path for writing; write nothing."""
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def call(libc: ctypes.CDLL, number: int, argument: int) -> str:
    """Make system call ``number``; return its error's name, or ""."""
    ctypes.set_errno(0)
    result = libc.syscall(number, argument, 0, 0, 0, 0, 0)
    return errno.errorcode.get(ctypes.get_errno(), "?") if result == -1 else ""


def harmless(path: str) -> bool:
    """Return whether ``path`` is null, zero, full, random or urandom."""
    status = os.stat(path)
    device = (os.major(status.st_rdev), os.minor(status.st_rdev))
    return stat.S_ISCHR(status.st_mode) and device in HARMLESS


def writable() -> list[str]:
    """Return every mount point that this process can write to.

    See proc(5), /proc/self/mountinfo. The root counts if it is mounted writable, whatever its permissions: another
    process may be allowed to write.
    """
    found = []
    with open("/proc/self/mountinfo") as file:
        for line in file:
            fields = line.split()
            place = fields[4]
            open_to_us = place == "/" or (os.access(place, os.W_OK) and not harmless(place))
            if "rw" in fields[5].split(",") and open_to_us:
                found.append(place)
    return sorted(set(found))


def walls() -> dict[str, Any]:
    """Return facts about users, capabilities, mounts, network and system calls."""
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file if ":" in line)
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/net/route") as file:
        routes = [line for line in file.read().splitlines()[1:] if line.split()[0] != "lo"]
    column = 1 if os.uname().machine == "aarch64" else 0
    return {
        "uid": [os.getuid(), os.geteuid(), os.getgid(), os.getegid()],
        "capabilities": [value.strip() for name, value in status.items() if name.startswith("Cap")],
        "no_new_privileges": libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
        "seccomp": libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0),
        "routes": routes,
        "interfaces": sorted(name for _, name in socket.if_nameindex() if name != "lo"),
        "connect": [refused(partial(open_connection, to)) for to in (("169.254.169.254", 80), ("8.8.8.8", 53))],
        "families": {f"address family {family}": refused(partial(socket.socket, family, socket.SOCK_STREAM))
                     for family in FAMILIES},
        "calls": {name: call(libc, numbers[column], 0x10000000 if name == "unshare" else 0)
                  for name, numbers in CALLS.items()},
        "system": {path: refused(partial(touch, path)) for path in SYSTEM},
        "writable": writable(),
        "kernel": min(refused(partial(open_for_writing, path)) for path in KERNEL),
        "supervisor": refused(lambda: os.close(os.open("/proc/1/environ", os.O_RDONLY))),
        "sockets": [path for path in SOCKETS if os.path.exists(path)],
        "variables": sorted(os.environ),
        "files": len(os.listdir("/proc/self/fd")),
        "cores": resource.getrlimit(resource.RLIMIT_CORE)[1],
        "host": os.uname().nodename,
        "release": os.uname().release,
    }  # fmt: skip


def processes(most: int) -> list[Any]:
    """Fork ``most`` times or until refused; return [count, error]."""
    reader, writer = os.pipe()
    made: list[int] = []
    reason = ""
    while len(made) < most and not reason:
        reason = refused(lambda: made.append(os.fork()))
        if 0 in made:  # the child
            os.close(writer)
            os.read(reader, 1)
            os._exit(0)
    os.close(writer)
    for child in made:
        os.waitpid(child, 0)
    os.close(reader)
    return [len(made), reason]


def descriptors(most: int) -> list[Any]:
    """Open ``most`` files or until refused; return [count, error]."""
    opened: list[int] = []
    reason = ""
    while len(opened) < most and not reason:
        reason = refused(lambda: opened.append(os.open("/dev/null", os.O_RDONLY)))
    for one in opened:
        os.close(one)
    return [len(opened), reason]


def fill_disk(folder: str, most: int, seconds: float = 0) -> list[Any]:
    """Write ``most`` bytes or until refused; return [bytes, error].

    If the disk takes all bytes, the files stay for ``seconds``.
    """
    names: list[str] = []
    total, reason = 0, ""
    while total < most and not reason:
        names.append(f"{folder}/probe-{len(names)}")
        try:
            with open(names[-1], "wb", buffering=0) as file:
                total += file.write(bytes(BLOCK)) or 0
        except OSError as error:
            reason = errno.errorcode.get(error.errno or 0, str(error))
    time.sleep(0 if reason else seconds)
    for name in names:
        if os.path.exists(name):
            os.unlink(name)
    return [total, reason]


def make_files(folder: str, most: int) -> list[Any]:
    """Make ``most`` files or until refused; return [count, error]."""
    made, reason = 0, ""
    while made < most and not reason:
        reason = refused(partial(os.mknod, f"{folder}/probe-{made}"))
        made += not reason
    for number in range(made):
        os.unlink(f"{folder}/probe-{number}")
    return [made, reason]


def grow(folder: str, size: int) -> str:
    """Make a sparse file; return its error or ""."""
    path = folder + "/probe"
    with open(path, "wb") as file:
        reason = refused(lambda: os.ftruncate(file.fileno(), size))
    os.unlink(path)
    return reason


def limits(wanted: dict[str, Any]) -> dict[str, Any]:
    """Use up each resource; return the amounts reached, by name.

    ``wanted`` has, by name, the amount at which to stop. ``disk`` and ``inodes`` have one amount for each folder.
    """
    return {
        "processes": processes(wanted["processes"]),
        "descriptors": descriptors(wanted["descriptors"]),
        "disk": {folder: fill_disk(folder, most) for folder, most in wanted["disk"].items()},
        "inodes": {folder: make_files(folder, most) for folder, most in wanted["inodes"].items()},
        "file": grow("/workspace", wanted["file"]),
    }


def touched_memory(size: int) -> bytearray:
    """Return ``size`` bytes of memory, each page written once."""
    block = bytearray(size)
    block[:: resource.getpagesize()] = b"x" * len(range(0, size, resource.getpagesize()))
    return block


def memory(wanted: dict[str, Any]) -> list[Any]:
    """Fork processes that hold memory all at the same time.

    ``wanted`` has the number of ``processes``, and the ``bytes`` of each.

    Returns:
        the number of processes that got their memory, and the exit status of each.
    """
    ready, tell = os.pipe()
    wait, release = os.pipe()
    children = []
    for _ in range(wanted["processes"]):
        child = os.fork()
        if child == 0:
            code = 3
            try:
                os.close(release)
                block = touched_memory(wanted["bytes"])
                os.write(tell, block[:1])
                os.close(tell)
                os.read(wait, 1)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(tell)
    held = 0
    while held < len(children) and (said := os.read(ready, 64)):
        held += len(said)
    os.close(release)
    return [held, [os.waitpid(child, 0)[1] for child in children]]


def main(wish: str, text: str) -> None:
    """Run probe ``wish`` with JSON arguments ``text``; print its result."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    wanted = json.loads(text)
    if wish == "flood":
        block = b"x" * 65536
        for _ in range(wanted["blocks"]):
            os.write(1, block)
        return
    if wish == "sleep":
        time.sleep(wanted["seconds"])
        return
    made: Any
    if wish == "walls":
        made = walls()
    elif wish == "limits":
        made = limits(wanted)
    elif wish == "memory":
        made = memory(wanted)
    elif wish == "spill":
        made = fill_disk(wanted["folder"], wanted["most"], wanted["seconds"])
    else:
        ballast = touched_memory(wanted["ballast"])  # fewer files then reach the limit
        made = [*make_files(wanted["folder"], wanted["most"]), len(ballast)]
    print(json.dumps(made))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
