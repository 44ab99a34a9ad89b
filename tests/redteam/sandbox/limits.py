"""Attacks on what a sandbox may use: processes, memory, disk, files, descriptors, output, time."""

# An attack is sent as it stands, and needs no objects for paths.
# ruff: noqa: PTH123, PTH207, PTH211

import ctypes
import errno
import glob
import os
import resource
import select
import signal
import socket
import time
from typing import Any

from tests.redteam.sandbox.prelude import DISK, FILES, MARK, MEMORY, PIDS, Seen, linger


def sb_01_fork_bomb(seen: Seen) -> None:
    """Fork until it is refused."""
    reader, writer = os.pipe()
    made: list[int] = []
    try:
        while len(made) < 400:
            child = os.fork()
            if child == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            made.append(child)
    except OSError as error:
        seen.noted.append(errno.errorcode[error.errno or 0])
    os.close(writer)
    seen.must_hold("processes", len(made) < PIDS, len(made))


def sb_01_bomb_that_stays(seen: Seen) -> None:
    """Leave as many hidden processes as there may be, and end."""
    try:
        for _ in range(PIDS):
            linger()
    except OSError as error:
        seen.noted.append(errno.errorcode[error.errno or 0])
    made = len(glob.glob("/proc/[0-9]*"))
    seen.must_hold("hidden processes", PIDS // 2 < made <= PIDS + 1, made)


def sb_02_memory_of_many(seen: Seen) -> None:
    """Take too much together, each process little."""
    children = []
    for _ in range(12):
        child = os.fork()
        if child == 0:
            code = 3
            try:
                block = bytearray(b"x") * (80 << 20)
                time.sleep(1)
                code = 0 if block else 3
            finally:
                os._exit(code)
        children.append(child)
    ended = [os.waitpid(child, 0)[1] for child in children]
    seen.must_hold("960 MiB in twelve processes", any(ended), ended)


def sb_02_memory_of_the_kernel(seen: Seen) -> None:
    """Take memory that belongs to no process: files without a name, and full pipes and sockets."""
    descriptor = os.memfd_create("x") if hasattr(os, "memfd_create") else -1
    taken = 0
    try:
        while taken < 1 << 30:
            other = os.memfd_create("x")
            taken += os.write(other, bytes(16 << 20))
    except OSError as error:
        seen.noted.append(errno.errorcode[error.errno or 0])
    seen.must_hold("memory in files without a name", taken < MEMORY, (taken, descriptor))


def sb_03_swap(seen: Seen) -> None:
    """Use swap beyond the memory limit."""
    seen.call("swapon", 167, 224)
    seen.call("swapoff", 168, 225)
    with open("/proc/self/status", encoding="ascii") as file:
        swapped = [line.split()[1] for line in file if line.startswith("VmSwap")]
    seen.must_hold("swapped out", swapped in ([], ["0"]), swapped)


def sb_04_disk(seen: Seen) -> None:
    """Write everywhere until it is refused."""
    total = 0
    for folder in (".", "/tmp", "/dev/shm", "/var/tmp", "/run", "/", "/dev", "/opt", "/home", "/dev/mqueue"):
        try:
            for number in range(300):
                with open(f"{folder}/{MARK}-{number}", "wb", buffering=0) as file:
                    total += file.write(bytes(1 << 20))
        except OSError as error:
            seen.noted.append(f"{folder} {errno.errorcode[error.errno or 0]}")
    seen.must_hold("written", total <= DISK + (MEMORY >> 2), total)


def sb_06_descriptors(seen: Seen) -> None:
    """Open files, sockets and event queues until it is refused."""
    kinds: dict[str, Any] = {
        "files": lambda: os.open("/dev/null", os.O_RDONLY),
        "sockets": socket.socketpair,
        "queues": select.epoll,
    }
    for name, make in kinds.items():
        held: list[Any] = []
        try:
            while len(held) < 5000:
                held.append(make())
        except OSError as error:
            seen.noted.append(f"{name} {errno.errorcode[error.errno or 0]}")
        seen.must_hold(name, len(held) < FILES, len(held))
        for one in held:
            if isinstance(one, int):
                os.close(one)
        del held
    seen.must_fail("more", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096)))


def sb_07_flood(seen: Seen) -> None:
    """Print without end, to both streams, past every capture."""
    block = b"\xff\x00flood" * 8192
    for _ in range(4000):
        for descriptor in (1, 2):
            os.write(descriptor, block)
    seen.noted.append("drained")


def sb_08_odd_files(seen: Seen) -> None:
    """Leave what must not be fetched: a huge file of nothing, a pipe, a deep and a wide folder, links to the host."""
    with open(f"{MARK}-sparse", "wb") as file:
        seen.must_fail("5 GiB of nothing", lambda: os.ftruncate(file.fileno(), 5 << 30))
    os.mkfifo(f"{MARK}-pipe")
    os.symlink("/etc/shadow", f"{MARK}-link")
    os.symlink(f"{MARK}-round", f"{MARK}-round")
    seen.must_fail("a device", lambda: os.mknod(f"{MARK}-device", 0o60666, os.makedev(254, 0)))
    folder = os.open(".", os.O_RDONLY)
    for _ in range(2000):
        os.mkdir("d", dir_fd=folder)
        folder, old = os.open("d", os.O_RDONLY, dir_fd=folder), folder
        os.close(old)
    os.close(folder)


def sb_09_full_pipes(seen: Seen) -> None:
    """Stuff every descriptor that was inherited, so that whoever reads it has to drink it."""
    for descriptor in range(3, 64):
        try:
            os.set_blocking(descriptor, False)
            for _ in range(200):
                os.write(descriptor, os.urandom(65536))
        except OSError as error:
            seen.noted.append(f"{descriptor} {errno.errorcode[error.errno or 0]}")


def sb_10_daemon(seen: Seen) -> None:
    """Leave a process that outlives the command."""
    for _ in range(3):
        linger()
    seen.noted.append("three left")


def sb_11_deaf(seen: Seen) -> None:
    """Ignore every signal and never end."""
    linger()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        time.sleep(60)


def sb_12_stop_the_watcher(seen: Seen) -> None:
    """Kill, stop and bother the first process and the one above."""
    for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGCHLD):
        for pid in {1, os.getppid()} - {os.getpid()}:
            try:
                os.kill(pid, number)
            except OSError as error:
                seen.noted.append(errno.errorcode[error.errno or 0])
    seen.noted.append("still here")


def sb_13_spinners(seen: Seen) -> None:
    """Spin in many processes: together they get no more than their share."""
    begun = time.monotonic()
    children = []
    for _ in range(16):
        child = os.fork()
        if child == 0:
            while time.monotonic() - begun < 2:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    times = os.times()
    share = (times.children_user + times.children_system) / (time.monotonic() - begun)
    seen.must_hold("processors", share < 1.5, round(share, 2))


def sb_26_shared_leftovers(seen: Seen) -> None:
    """Leave shared memory, semaphores and message queues behind."""
    libc = ctypes.CDLL(None, use_errno=True)
    key = int(MARK.partition(".")[0]) & 0x7FFFFFFF
    for name, call in (
        ("shmget", lambda: libc.shmget(key, 1 << 20, 0o1666)),
        ("semget", lambda: libc.semget(key, 4, 0o1666)),
    ):
        seen.noted.append(f"{name} {call()}")  # type: ignore[no-untyped-call]
    seen.noted.append(f"msgget {libc.msgget(key, 0o1666)}")
    mq = getattr(ctypes.CDLL("librt.so.1", use_errno=True), "mq_open", None)
    if mq is not None:
        ctypes.set_errno(0)
        queue = mq(f"/{MARK}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        seen.must_hold("message queue", queue == -1, (queue, ctypes.get_errno()))
    for number in range(50):
        with open(f"/dev/shm/{MARK}-{number}", "wb") as file:
            file.write(b"x")


def sb_38_outlive_memory(seen: Seen) -> None:
    """Ask the kernel to spare the attacker when memory runs out, and to take its watcher."""

    def score(path: str, value: bytes) -> None:
        with open(path, "wb", buffering=0) as file:
            file.write(value)

    seen.must_fail("to be spared", lambda: score("/proc/self/oom_score_adj", b"-1000"))
    seen.must_fail("the watcher's score", lambda: score("/proc/1/oom_score_adj", b"1000"))
    seen.must_fail("more memory", lambda: score("/sys/fs/cgroup/memory/memory.limit_in_bytes", b"-1"))
    seen.must_fail("more memory", lambda: score("/sys/fs/cgroup/memory.max", b"max"))


def sb_41_raise_limits(seen: Seen) -> None:
    """Raise every limit there is."""
    for name in ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_MSGQUEUE", "RLIMIT_CPU"):
        kind = getattr(resource, name, None)
        if kind is None or resource.getrlimit(kind)[1] == resource.RLIM_INFINITY:
            continue
        high = resource.getrlimit(kind)[1] + 1
        seen.must_fail(name, lambda kind=kind, high=high: resource.setrlimit(kind, (high, high)))  # type: ignore[misc]
    seen.must_fail("RLIMIT_NICE", lambda: os.nice(-5))
    seen.must_fail("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)))
