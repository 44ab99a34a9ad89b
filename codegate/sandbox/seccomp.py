"""The system call filter of every sandbox.

The supervisor installs it, and everything that it starts inherits it. Docker has its own filter, but it allows some
calls that this one refuses (io_uring, vsock, changes of the scheduling and limits of another process of the same user).
bubblewrap has no filter. The program is classic BPF as ``seccomp(2)`` describes it, built on the host so that the
supervisor stays small. Where the filter cannot be installed, the preflight reports it.
"""

import errno
import struct
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

# struct seccomp_data of linux/seccomp.h: int nr; u32 arch; u64 instruction_pointer; u64 args[6]
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_ARGUMENTS: Final = 16

# Instructions of linux/bpf_common.h.
_LOAD: Final = 0x20
_EQUAL: Final = 0x15
_AT_LEAST: Final = 0x35
_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000

_CLONE_NEW: Final = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_PRIO_USER: Final = 2
_SUPERVISOR: Final = 1  # process id in the sandbox; other processes must not change its limits and priority


_AUDIT: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The kernel's number of each architecture, in the order of the columns of ``_CALLS``."""
_CALLS: Final = {  # name: number on x86_64 and on aarch64
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "clock_adjtime": (305, 266),
    "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "migrate_pages": (256, 238), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41), "prlimit64": (302, 261), "process_madvise": (440, 440), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "pwritev2": (328, 287), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "request_key": (249, 218), "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268), "setpriority": (141, 140),
    "settimeofday": (164, 170), "socket": (41, 198), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282),
}  # fmt: skip

_ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")  # libraries fall back on ENOSYS
_NOT_ON_SUPERVISOR = ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
_CONDITIONAL = ("clone", "setpriority", "socket", *_NOT_ON_SUPERVISOR)


@cache
def filters() -> dict[str, str]:
    """Return each architecture's filter, as hexadecimal BPF instructions.

    The keys are names as in ``uname -m``.
    """
    return {
        name: b"".join(_program(audit, {call: numbers[column] for call, numbers in _CALLS.items()})).hex()
        for column, (name, audit) in enumerate(_AUDIT.items())
    }


def _program(audit: int, calls: Mapping[str, int]) -> Iterator[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, audit, 1, 0)  # refuses other calling conventions, which have other numbers
    yield _refuse(errno.EPERM)
    yield _step(_LOAD, _NUMBER)
    yield _step(_AT_LEAST, 0x40000000, 0, 1)  # x32 on x86_64
    yield _refuse(errno.ENOSYS)
    for name, number in sorted(calls.items()):
        if name in _CONDITIONAL:
            continue
        yield _step(_EQUAL, number, 0, 1)
        yield _refuse(errno.ENOSYS if name in _ABSENT else errno.EPERM)
    yield from _when(calls["clone"], [_argument(0), _step(_ANY_BIT, _CLONE_NEW, 0, 1), _refuse(errno.EPERM)])
    yield from _when(calls["socket"], _families())
    yield from _when(calls["setpriority"], _priority())
    for name in _NOT_ON_SUPERVISOR:
        steps = [_argument(0), _step(_EQUAL, _SUPERVISOR, 0, 1), _refuse(errno.EPERM)]
        yield from _when(calls[name], steps)
    yield _step(_RETURN, _ALLOW)


def _families() -> list[bytes]:
    count = len(_FAMILIES)
    tests = [_step(_EQUAL, family, count - index, 0) for index, family in enumerate(_FAMILIES)]
    return [_argument(0), *tests, _refuse(errno.EAFNOSUPPORT)]


def _priority() -> list[bytes]:
    return [
        _argument(0),
        _step(_EQUAL, _PRIO_USER, 0, 1),
        _refuse(errno.EPERM),
        _argument(1),  # a process or a process group; the supervisor leads group 1
        _step(_EQUAL, _SUPERVISOR, 0, 1),
        _refuse(errno.EPERM),
    ]


def _when(number: int, steps: list[bytes]) -> Iterator[bytes]:
    """Yield instructions that apply ``steps`` to system call ``number`` only."""
    yield _step(_EQUAL, number, 0, len(steps) + 1)
    yield from steps
    yield _step(_RETURN, _ALLOW)


def _argument(index: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * index)  # the lower half, because these arguments have 32 bits


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _ERRNO | number)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
