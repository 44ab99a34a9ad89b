"""Checks of isolation from the host, its secrets and supervisors."""

import os
import secrets
import tempfile
from pathlib import Path

from codegate.sandbox.conformance.preflight import preflight, read_walls
from codegate.sandbox.conformance.subject import Subject, expect, json_output, run_python
from codegate.sandbox.contract import Command, SandboxFile

_HOST = """
import json, os, sys
seen = []
for path in sys.argv[1:]:
    try:
        if os.path.isdir(path) and not os.listdir(path):
            continue
        os.close(os.open(path, os.O_RDONLY))
        seen.append(path)
    except OSError:
        pass
print(json.dumps(seen))
"""

_SECRETS = """
import glob, json, os, sys
found = []
needle = sys.argv[1].encode()[::-1]
paths = [path for name in ("environ", "cmdline", "mountinfo", "cgroup", "maps", "status", "comm")
         for path in glob.glob("/proc/[0-9]*/" + name)]
for path in paths + ["/etc/passwd", "/etc/hosts", "/etc/hostname", "/proc/mounts"]:
    if path == f"/proc/{os.getpid()}/cmdline":
        continue
    try:
        if needle in open(path, "rb").read():
            found.append(path)
    except OSError:
        pass
if any(needle.decode() in value for value in os.environ.values()):
    found.append("os.environ")
print(json.dumps([found, len(paths)]))
"""

_SUPERVISOR = """
import ctypes, json, os, resource, signal
done = []
def attempt(name, action, *arguments):
    try:
        if action(*arguments) != b"":
            done.append(name)
    except OSError:
        pass
for name in ("environ", "mem", "fd/0", "fd/1", "fd/3", "cwd/x", "root/etc/passwd", "exe", "stack", "syscall"):
    attempt(name, lambda: os.read(os.open("/proc/1/" + name, os.O_RDONLY), 1))
    attempt(name, os.open, "/proc/1/" + name, os.O_WRONLY)
attempt("link", os.readlink, "/proc/1/fd/1")
for limit in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
    attempt("limit", resource.prlimit, 1, limit, (0, 0))
attempt("priority", os.setpriority, os.PRIO_PROCESS, 1, 19)
attempt("priority", os.setpriority, os.PRIO_USER, 0, 19)
attempt("priority", os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
attempt("priority", os.sched_setaffinity, 1, {0})
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, 1, None, None) == 0:
    done.append("ptrace")
print(json.dumps(done))
"""

_CONVENTIONS = """
import ctypes, json, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
made = []
if os.uname().machine == "x86_64":
    made = [number for number in (250, 321, 425) if libc.syscall(0x40000000 | number, 0, 0, 0, 0, 0) != -1]
    child = os.fork()
    if child == 0:
        block = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        block.write(bytes.fromhex("53b820010000bb00000000cd805bc3"))  # keyctl by int 0x80
        address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        os._exit(ctypes.CFUNCTYPE(ctypes.c_int)(address)() >= 0)
    made += ["int 0x80"] if os.waitpid(child, 0)[1] == 256 else []
unshare, clone = (97, 220) if os.uname().machine == "aarch64" else (272, 56)
for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
    for call, argument in ((unshare, flag), (clone, flag | 17)):
        made += [hex(flag)] if libc.syscall(call, argument, 0, 0, 0, 0) != -1 else []
print(json.dumps(made))
"""


def walls_and_limits(subject: Subject) -> None:
    """Check that the preflight passes and forbidden calls are refused."""
    preflight(subject.backend, subject.environment)
    with subject.sandbox() as sandbox:
        calls = read_walls(sandbox)["calls"]
    allowed = {name: error for name, error in calls.items() if error not in {"EPERM", "ENOSYS"}}
    expect(allowed == {}, "EPERM or ENOSYS", allowed)


def other_conventions(subject: Subject) -> None:
    """Check that x32 and 32-bit system calls are filtered too.

    None of them may make a namespace.
    """
    made = subject.probe(_CONVENTIONS)
    expect(made == [], "no call by another convention", made)


def own_loopback(subject: Subject) -> None:
    """Check that programs in a sandbox can connect over loopback."""
    program = """
import json, socket
said = []
for name in ("127.0.0.1", "localhost", socket.gethostname()):
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection((name, server.getsockname()[1])) as one:
            two, _ = server.accept()
            two.sendall(b"hello")
            said.append(one.recv(5).decode())
            two.close()
print(json.dumps(said))
"""
    seen = subject.probe(program)
    expect(seen == ["hello"] * 3, "a loopback that works", seen)


def counts_outside_connections(subject: Subject) -> None:
    """Check that only connections to outside addresses are counted.

    ``Completed.unreachable`` is 2 for a command with two such connections, and 0 for one over loopback. If the kernel
    does not count, the value is always None.
    """
    away = """
import socket
for family, kind, address in ((socket.AF_INET, socket.SOCK_STREAM, "192.0.2.1"),
                              (socket.AF_INET, socket.SOCK_DGRAM, "192.0.2.2")):
    with socket.socket(family, kind) as one:
        try:
            one.connect((address, 53))
        except OSError:
            pass
"""
    here = "import socket as s; one = s.create_server(('127.0.0.1', 0)); s.create_connection(one.getsockname()).close()"
    with subject.sandbox() as sandbox:
        seen = [run_python(sandbox, program).unreachable for program in (here, away, here)]
    expect(seen in ([0, 2, 0], [None] * 3), "two attempts, or none known", seen)


def no_host_files(subject: Subject) -> None:
    """Check that host files and container sockets are invisible."""
    with (
        tempfile.NamedTemporaryFile(prefix="codegate-canary-") as canary,
        tempfile.NamedTemporaryFile(prefix=".codegate-canary-", dir=Path.home()) as own,
        subject.sandbox() as sandbox,
    ):
        paths = (
            canary.name, own.name, str(Path.home() / ".ssh"), str(Path.cwd()), "/etc/shadow", "/etc/machine-id",
            "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/host", "/dev/sda",
            "/dev/vda", "/dev/mem", "/dev/kvm", "/dev/fuse",
        )  # fmt: skip
        seen = json_output(run_python(sandbox, _HOST, *paths))
    expect(seen == [], "no host file", seen)


def no_secrets(subject: Subject) -> None:
    """Check that codegate's own variables are found nowhere inside."""
    name, value = "CODEGATE_CONFORMANCE_SECRET", secrets.token_hex(16)
    os.environ[name] = value
    try:
        with subject.sandbox() as sandbox:
            found, looked = json_output(run_python(sandbox, _SECRETS, value[::-1]))
            listed = sandbox.run(Command(("env",))).stdout.decode()
    finally:
        del os.environ[name]
    expect(looked >= 10, "something to look at", looked)
    expect(found == [] and name not in listed, "no trace of the secret", (found, listed))


def closed_supervisor(subject: Subject) -> None:
    """Check that code cannot read, limit or kill the supervisor."""
    with subject.sandbox() as sandbox:
        done = json_output(run_python(sandbox, _SUPERVISOR))
        expect(done == [], "no hand on the supervisor", done)
        expect(sandbox.run(Command(("true",))).ok, "a supervisor alive", "none")


def forged_frames(subject: Subject) -> None:
    """Check that output that imitates a supervisor's message stays output."""
    forged = bytes(7) + b"\1" + bytes(7) + b"\x40" + bytes(32) + b'\0\0\0\x0b{"ok":true}'
    with subject.sandbox() as sandbox:
        sandbox.put((SandboxFile("forged", forged),))
        done = sandbox.run(Command(("cat", "forged")))
        expect(done.stdout == forged, "the bytes as output", done)
        expect(sandbox.run(Command(("true",))).ok, "a stream in order", "none")
