"""PID 1 of every sandbox: runs the host's commands.

This file, with the other ``supervisor_*.py`` ahead of it, is sent to ``python3 -I -S -B`` over standard input and runs
as the first process of a process namespace. It needs nothing but the standard library of Python 3.9 or newer and
imports nothing from the workspace, so the code it watches cannot reach into it. Its messages to the host are numbered
and signed with a key that the host sends after the start; the output of the code inside goes through capped pipes and
is never mixed with them.
"""

# Every sandbox pays for the imports: contextlib, json, pathlib, signal and typing are not among them.
# ruff: noqa: PTH102, PTH123, S108, S606

from __future__ import annotations

import ctypes
import os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any

    # Their texts are above this one in the sandbox.
    from codegate.sandbox.supervisor_files import WORKSPACE, FilesRefused, put, suppress  # noqa: TC004
    from codegate.sandbox.supervisor_host import Host  # noqa: TC004
    from codegate.sandbox.supervisor_relay import RelayPorts  # noqa: TC004

    Header = dict[str, Any]
else:
    import _signal as signal

RECORDS_BYTES = 16 << 20
FLOOD_FACTOR = 64  # a stream that goes this far over its cap is an attack, not a long log: end the command
CHUNK = 1 << 16
REAP_SECONDS = 10.0
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 4, 22, 38, 2


def harden(filters: dict[str, str]) -> dict[str, bool]:
    """Protect the supervisor for good; return which steps worked.

    Processes of the same user can no longer read ``/proc/1``, and the system call filter is installed. ``filters`` has
    the filter of each architecture.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    done = {
        "undumpable": libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0,
        "no_new_privileges": libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0,
        "seccomp": False,
    }
    program = bytes.fromhex(filters.get(os.uname().machine, ""))
    if program and done["no_new_privileges"]:

        class Program(ctypes.Structure):
            _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

        block = Program(len(program) // 8, program)
        done["seccomp"] = libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(block), 0, 0) == 0
    return done


# --- commands --------------------------------------------------------------------------------------------


class Capture:
    """Reads a pipe to its end, keeping its first bytes.

    It keeps ``cap`` bytes. A pipe that brings more than ``flood`` bytes is flooded.
    """

    def __init__(self, cap: int, flood: int) -> None:
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.cap, self.flood = cap, flood
        self.kept, self.seen, self.open = bytearray(), 0, True

    def pull(self) -> bool:
        """Read the pipe once; return whether more may be waiting."""
        try:
            data = os.read(self.reader, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self.open = False
            os.close(self.reader)
            return False
        self.kept += data[: self.cap - len(self.kept)]
        self.seen += len(data)
        return True

    @property
    def flooded(self) -> bool:
        """Return whether more than ``flood`` bytes came."""
        return self.seen > self.flood

    @property
    def truncated(self) -> bool:
        """Return whether more bytes came than were kept."""
        return self.seen > self.cap


class ProcessUsage:
    """Resource usage of the reaped processes, by the kernel's count."""

    def __init__(self) -> None:
        self.cpu, self.peak = 0.0, 0

    def reap(self, wanted: int) -> tuple[bool, int | None]:
        """Reap every dead child.

        Returns:
            whether any child is left; and the status of the process ``wanted``, None if it was not reaped.
        """
        status = None
        while True:
            try:
                pid, ended, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False, status
            if pid == 0:
                return True, status
            self.cpu += used.ru_utime + used.ru_stime
            self.peak = max(self.peak, used.ru_maxrss * 1024)
            if pid == wanted:
                status = ended


def out_of_memory_kills() -> int:
    """Return the number of out-of-memory kills; 0 if unknown."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path, "rb") as file:
                for line in file:
                    if line.startswith(b"oom_kill "):
                        return int(line.split()[1])
        except (OSError, ValueError):
            continue
    return 0


def unreachable() -> int | None:
    """Return the number of packets without a route, or None.

    In a sandbox without a network, each connection or look-up to an outside address counts, whichever process makes it.
    None if the kernel does not count.
    """
    found = None
    for path, name in (("/proc/self/net/snmp", b"OutNoRoutes"), ("/proc/self/net/snmp6", b"Ip6OutNoRoutes")):
        with suppress(OSError, ValueError, IndexError), open(path, "rb") as file:
            lines = [line.split() for line in file.readlines()]
            if path.endswith("6"):
                counts = [int(line[1]) for line in lines if line[0] == name]
            else:  # a line of names, then one of values
                counts = [int(lines[number + 1][line.index(name)]) for number, line in enumerate(lines) if name in line]
            found = (found or 0) + sum(counts) if counts else found
    return found


def become(request: Header, limits: dict[str, int], descriptors: list[int]) -> None:
    """Turn the forked child into the command; never return.

    ``descriptors`` become the command's descriptors 0, 1, 2 and so on.
    """
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for target, source in enumerate(descriptors):
            os.dup2(source, target)
            os.set_inheritable(target, True)
        os.closerange(len(descriptors), os.sysconf("SC_OPEN_MAX"))
        with suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(b"1000")  # when memory runs out the kernel takes the command, not its watcher
        for name, value in limits.items():
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (limit, limit))
        os.umask(0o022)
        os.chdir(WORKSPACE)
        argv = [part.encode("utf-8", "surrogateescape") for part in request["argv"]]
        variables = {
            key.encode("utf-8", "surrogateescape"): value.encode("utf-8", "surrogateescape")
            for key, value in request["environment"].items()
        }
        os.execvpe(argv[0], argv, variables)
    except BaseException as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        message = f"sandbox: cannot run {request['argv'][:1]}: {error}\n"
        os.write(2, message.encode("utf-8", "replace"))
        os._exit(code)
    os._exit(126)


class CommandRun:
    """A command and its descendants, until all have ended."""

    def __init__(self, host: Host, request: Header, stdin: memoryview, limits: dict[str, int]) -> None:
        self.host, self.stdin, self.usage = host, stdin, ProcessUsage()
        # It listens before the command can connect.
        self.relay = RelayPorts(host, request["relay"]) if request["relay"] else None
        cap = request["output_bytes"]
        self.output = Capture(cap, cap * FLOOD_FACTOR)
        self.errors = Capture(cap, cap * FLOOD_FACTOR)
        self.captures = [self.output, self.errors]
        if request["records"]:
            self.captures.append(Capture(RECORDS_BYTES, RECORDS_BYTES * 4))
        source, self.sink = os.pipe()
        os.set_blocking(self.sink, False)
        self.started = time.monotonic()
        self.deadline = min(self.started + request["timeout"], host.deadline - 1)
        self.pid = os.fork()
        if self.pid == 0:
            become(request, limits, [source, *(capture.writer for capture in self.captures)])
        os.close(source)
        for capture in self.captures:
            os.close(capture.writer)

    def feed(self) -> bool:
        """Write some standard input; return whether more is left."""
        try:
            self.stdin = self.stdin[os.write(self.sink, self.stdin[:CHUNK]) :]
        except BlockingIOError:
            return True
        except OSError:
            return False
        return len(self.stdin) > 0

    def watch(self, wake: int) -> tuple[int | None, bool]:
        """Serve the pipes until the command ends or must end.

        It must end when it floods its output, when its time is up, or when the host says so. ``wake`` is the pipe that
        the SIGCHLD handler writes to.

        Returns:
            the command's status, or None if it did not end by itself; and whether its time was up.
        """
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        poll.register(self.host.reader, select.POLLIN)
        if len(self.stdin):
            poll.register(self.sink, select.POLLOUT)
        else:
            os.close(self.sink)
            self.sink = -1
        readers = {capture.reader: capture for capture in self.captures}
        for reader in readers:
            poll.register(reader, select.POLLIN)
        relay = self.relay
        if relay is not None:
            relay.attach(poll)
        while True:
            while relay is not None and self.host.waiting():
                header, data = self.host.receive()
                if "end" in header:
                    return None, False
                relay.take(header, data)
            remaining = self.deadline - time.monotonic()
            if remaining <= 0:
                return None, True
            for descriptor, event in poll.poll(min(remaining, 3600) * 1000 + 1):
                if descriptor in readers:
                    capture = readers[descriptor]
                    capture.pull()
                    if not capture.open:
                        poll.unregister(descriptor)
                        del readers[descriptor]  # a connection may get its number
                    if capture.flooded:
                        return None, False
                elif descriptor == self.sink:
                    if not self.feed():
                        poll.unregister(self.sink)
                        os.close(self.sink)
                        self.sink = -1
                elif descriptor == wake:
                    drain(wake)
                    status = self.usage.reap(self.pid)[1]
                    if status is not None:
                        return status, False
                elif relay is None:
                    os._exit(0)  # the host went away, or spoke out of turn
                elif descriptor == self.host.reader:
                    self.host.pull()
                else:
                    relay.serve(descriptor, event)

    def end(self) -> int | None:
        """Kill and reap all other processes; return the command's status.

        None if ``watch`` has returned the status before.
        """
        if self.relay is not None:
            self.relay.close()
        status = None
        limit = time.monotonic() + REAP_SECONDS
        while True:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            left, seen = self.usage.reap(self.pid)
            status = seen if status is None else status
            if not left:
                break
            if time.monotonic() > limit:
                raise RuntimeError("a process of the command cannot be killed")
            time.sleep(0.002)
        if self.sink >= 0:
            os.close(self.sink)
        for capture in self.captures:
            while capture.open and capture.pull():
                pass
            if capture.open:
                os.close(capture.reader)
        return status

    def finish(self, wake: int) -> tuple[Header, tuple[bytes, ...]]:
        """Run the command; return the reply's header and captured bytes.

        ``wake`` is the pipe that the SIGCHLD handler writes to.
        """
        kills, before = out_of_memory_kills(), unreachable()
        status, timed_out = self.watch(wake)
        wall = time.monotonic() - self.started
        last = self.end()
        status = last if status is None else status
        drain(wake)
        records = self.captures[2] if len(self.captures) > 2 else None
        after = unreachable()
        blobs = tuple(bytes(capture.kept) for capture in self.captures)
        header = {
            "ok": True,
            "exit_code": os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            "timed_out": timed_out,
            "out_of_memory_kills": max(0, out_of_memory_kills() - kills),
            "truncated": self.output.truncated or self.errors.truncated,
            "records_truncated": records is not None and records.truncated,
            "wall": wall,
            "cpu": self.usage.cpu,
            "peak": self.usage.peak,
            "unreachable": None if before is None or after is None else max(0, after - before),
            "sizes": [len(blob) for blob in blobs],
        }
        return header, blobs


def drain(descriptor: int) -> None:
    """Empty the pipe that the SIGCHLD handler writes to."""
    with suppress(BlockingIOError):
        while os.read(descriptor, CHUNK):
            pass


# --- the loop --------------------------------------------------------------------------------------------


def main() -> None:
    """Serve the host until it leaves or the lifetime ends."""
    if os.getpid() != 1:  # kill(-1) below would otherwise be aimed at the whole machine
        raise SystemExit("the supervisor runs only as the first process of a process namespace")
    host = Host()
    hello, _ = host.receive()
    host.key = bytes.fromhex(hello["key"])
    host.deadline = time.monotonic() + hello["lifetime"]
    hardened = harden(hello["filters"])
    files = min(hello["limits"]["RLIMIT_NOFILE"], resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Python's handler would let any process inside end us
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    with suppress(OSError):
        os.mkdir("/tmp/home", 0o700)
    host.send({"ok": True, "version": list(sys.version_info[:3]), "python": sys.executable, **hardened})
    while True:
        request, blob = host.receive()
        blobs: tuple[bytes, ...] = ()
        try:
            if request["op"] == "put":
                reply = put(request, blob)
            elif request["op"] == "relay":
                continue  # for a connection of a command that has ended
            else:
                reply, blobs = CommandRun(host, request, blob, hello["limits"]).finish(wake)
        except FilesRefused as error:
            reply = {"ok": False, "refused": True, "error": str(error)}
        except Exception as error:
            reply = {"ok": False, "refused": False, "error": f"{type(error).__name__}: {error}"}
        host.send(reply, *blobs)


if __name__ == "__main__":
    main()
