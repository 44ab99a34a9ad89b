"""What a kernel shows of the whole machine, and what a sandbox sees of it instead.

Counters of the machine (its dentries, free memory, blocks read) are written by every sandbox and can be read by the
next one: with them a program could tell whether it was here before, and a run of the real tests from a control.
"""

import os
from pathlib import Path
from typing import Final

from codegate.durable import digest
from codegate.sandbox.contract import SandboxError

HARMLESS: Final = frozenset({
    "cmdline", "cpuinfo", "crypto", "devices", "filesystems", "mounts", "net", "self", "thread-self", "uptime",
    "version",
})  # fmt: skip
"""Names in ``/proc`` that are of the process itself, say the same at every look, or are a clock."""

_COUNTING: Final = (
    "acpi", "allocinfo", "asound", "buddyinfo", "bus", "cgroups", "config.gz", "consoles", "diskstats", "dma",
    "driver", "dynamic_debug", "execdomains", "fb", "fs", "interrupts", "iomem", "ioports", "irq", "kallsyms", "kcore",
    "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "loadavg", "locks",
    "lockdep", "lockdep_stats", "lock_stat", "mdstat", "meminfo", "misc", "modules", "mtrr", "pagetypeinfo",
    "partitions", "pressure", "sched_debug", "schedstat", "scsi", "slabinfo", "softirqs", "spl", "swaps", "sys",
    "sysrq-trigger", "sysvipc", "timer_list", "timer_stats", "tty", "vmallocinfo", "vmstat", "zoneinfo",
)  # fmt: skip
_SYSTEM: Final = (
    "block", "bus", "class", "dev", "devices", "firmware", "hypervisor", "kernel", "module", "power", "fs/bcache",
    "fs/bpf", "fs/btrfs", "fs/erofs", "fs/ext4", "fs/f2fs", "fs/fuse", "fs/nfs", "fs/pstore", "fs/resctrl",
    "fs/selinux", "fs/smackfs", "fs/virtiofs", "fs/xfs",
)  # fmt: skip
# Of a control group its own supervisor needs the kills alone. What else there is counts what the group is charged for,
# which is the dentries and the pages that no earlier one was: of both versions of control groups.
_CONTROLLERS: Final = (
    "blkio", "cpu", "cpu,cpuacct", "cpuacct", "cpuacct,cpu", "cpuset", "debug", "devices", "freezer", "hugetlb", "misc",
    "net_cls", "net_cls,net_prio", "net_prio", "net_prio,net_cls", "perf_event", "pids", "rdma", "systemd", "unified",
)  # fmt: skip
_MEMORY: Final = (
    "memory.failcnt", "memory.kmem.failcnt", "memory.kmem.max_usage_in_bytes", "memory.kmem.slabinfo",
    "memory.kmem.tcp.failcnt", "memory.kmem.tcp.max_usage_in_bytes", "memory.kmem.tcp.usage_in_bytes",
    "memory.kmem.usage_in_bytes", "memory.max_usage_in_bytes", "memory.memsw.failcnt",
    "memory.memsw.max_usage_in_bytes", "memory.memsw.usage_in_bytes", "memory.numa_stat", "memory.stat",
    "memory.usage_in_bytes",
)  # fmt: skip
_UNIFIED: Final = (
    "cpu.pressure", "cpu.stat", "cpu.stat.local", "hugetlb.1GB.current", "hugetlb.2MB.current", "io.pressure",
    "io.stat", "irq.pressure", "memory.current", "memory.numa_stat", "memory.peak", "memory.pressure", "memory.stat",
    "memory.swap.current", "memory.swap.peak", "memory.zswap.current", "misc.current", "pids.current", "pids.peak",
    "rdma.current",
)  # fmt: skip

MASKED: Final = (
    *(f"/proc/{name}" for name in _COUNTING),
    *(f"/sys/{name}" for name in _SYSTEM),
    *(f"/sys/fs/cgroup/{name}" for name in (*_CONTROLLERS, *_UNIFIED)),
    *(f"/sys/fs/cgroup/memory/{name}" for name in _MEMORY),
)
"""Paths that a container runtime hides; those that are not there do not matter to it.

``/proc/stat`` is not among them: a runtime can only hide a file whole, and programs count processors by it.
"""


def substitutes(cache: Path) -> list[str]:
    """Return bubblewrap's arguments that put constant files and empty folders over what ``/proc`` says of the machine.

    Args:
        cache: folder for the constant files.

    Raises:
        SandboxError: they cannot be written.
    """
    folder = _written(cache)
    arguments: list[str] = []
    for path in sorted(Path("/proc").iterdir()):
        if path.name.isdigit() or path.name in HARMLESS or path.is_symlink():
            continue
        if path.is_dir():
            arguments += ["--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)]
        else:
            own = folder / path.name
            arguments += ["--ro-bind", str(own if own.exists() else folder / "empty"), str(path)]
    return arguments


def _written(cache: Path) -> Path:
    """Return the folder of the constant files: for programs that ask how large the machine is, in their form."""
    processors = range(len(os.sched_getaffinity(0)))
    ticks = " 100 0 100 1000 0 0 0 0 0 0"
    files = {
        "empty": "",
        "loadavg": "0.00 0.00 0.00 1/1 1\n",
        "meminfo": "".join(f"{name + ':':<16}{size:>8} kB\n" for name, size in _MEMINFO.items()),
        "stat": f"cpu {ticks}\n"
        + "".join(f"cpu{number}{ticks}\n" for number in processors)
        + "intr 0\nctxt 0\nbtime 1000000000\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
        "vmstat": "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfault 0\npgmajfault 0\n",
    }
    folder = cache / "kernel" / digest(files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = folder / name
            if not path.exists() or path.read_text("ascii") != text:
                draft = folder / f".{name}.{os.getpid()}"
                draft.write_text(text, "ascii")
                draft.chmod(0o444)
                draft.replace(path)
    except OSError as error:
        raise SandboxError(
            f"cannot write to {folder}: {error}.", "Choose another folder with CODEGATE_CACHE."
        ) from error
    return folder


_MEMINFO: Final = {
    "MemTotal": 8 << 20,
    "MemFree": 4 << 20,
    "MemAvailable": 6 << 20,
    "Buffers": 1 << 18,
    "Cached": 1 << 20,
    "SwapCached": 0,
    "Active": 1 << 20,
    "Inactive": 1 << 20,
    "SwapTotal": 0,
    "SwapFree": 0,
    "Shmem": 0,
    "Slab": 1 << 18,
    "SReclaimable": 1 << 18,
}
