"""Isolation: no network, no host, no secrets, no way to the supervisor."""

import os
import secrets
import socket
import tempfile
from pathlib import Path

from codegate.sandbox.conformance.subject import Check, Subject, answer, expect, python
from codegate.sandbox.contract import Command, SandboxFile

_CONNECT = """
import json, socket, sys
port = int(sys.argv[1])
reached = []
def attempt(name, action):
    try:
        action()
        reached.append(name)
    except OSError:
        pass
def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(1)
        one.connect(address)
for address in (("8.8.8.8", 53), ("169.254.169.254", 80), ("172.17.0.1", port), ("127.0.0.1", port)):
    attempt(str(address), lambda: connect(socket.AF_INET, address))
for address in (("2001:4860:4860::8888", 53), ("fd00:ec2::254", 80), ("::1", port)):
    attempt(str(address), lambda: connect(socket.AF_INET6, address))
def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", ("8.8.8.8", 53))
attempt("datagram", datagram)
attempt("name", lambda: socket.getaddrinfo("example.com", 443))
for family in (17, 38, 40):
    attempt(f"family {family}", lambda: socket.socket(family, socket.SOCK_STREAM))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
print(json.dumps([reached, [name for _, name in socket.if_nameindex()]]))
"""

_WRITABLE = """
import json, os
written = []
for folder, folders, names in os.walk("/"):
    folders[:] = [one for one in folders if not os.path.islink(os.path.join(folder, one))]
    if folder == "/":
        folders[:] = [one for one in folders if one not in ("proc", "workspace")]
    probe = os.path.join(folder, "codegate-probe")
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.unlink(probe)
        written.append(folder)
    except OSError:
        pass
for folder, folders, names in os.walk("/proc/sys"):
    for name in names:
        try:
            os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK))
            written.append(os.path.join(folder, name))
        except OSError:
            pass
for path in ("/proc/sysrq-trigger", "/usr/bin/env", "/etc/passwd", "/proc/1/oom_score_adj"):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        written.append(path)
    except OSError:
        pass
print(json.dumps(written))
"""

_HOST = """
import json, os, sys
seen = []
def look(path):
    try:
        if os.path.isdir(path):
            if os.listdir(path):
                seen.append(path)
        else:
            open(path, "rb").close()
            seen.append(path)
    except OSError:
        pass
for path in sys.argv[1:]:
    look(path)
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
for name in ("environ", "mem", "fd/0", "fd/1", "fd/3", "cwd/x", "root/etc/passwd", "exe", "stack", "syscall"):
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            one = os.open("/proc/1/" + name, flags)
            if flags == os.O_WRONLY or os.read(one, 1):
                done.append(name)
            os.close(one)
        except OSError:
            pass
try:
    os.readlink("/proc/1/fd/1")
    done.append("link")
except OSError:
    pass
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
for limit in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
    try:
        resource.prlimit(1, limit, (0, 0))
        done.append("limit")
    except OSError:
        pass
for action in (lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19),
               lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
               lambda: os.sched_setaffinity(1, {0})):
    try:
        action()
        done.append("priority")
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, 1, None, None) == 0:
    done.append("ptrace")
print(json.dumps(done))
"""

_KERNEL = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    "x86_64": {"mount": 165, "umount2": 166, "pivot_root": 155, "unshare": 272, "setns": 308, "bpf": 321,
               "perf_event_open": 298, "io_uring_setup": 425, "userfaultfd": 323, "keyctl": 250, "add_key": 248,
               "kexec_load": 246, "init_module": 175, "settimeofday": 164, "process_vm_readv": 310, "reboot": 169,
               "open_by_handle_at": 304, "fsopen": 430, "swapon": 167, "sethostname": 170, "clone3": 435},
    "aarch64": {"mount": 40, "umount2": 39, "pivot_root": 41, "unshare": 97, "setns": 268, "bpf": 280,
                "perf_event_open": 241, "io_uring_setup": 425, "userfaultfd": 282, "keyctl": 219, "add_key": 217,
                "kexec_load": 104, "init_module": 105, "settimeofday": 170, "process_vm_readv": 270, "reboot": 142,
                "open_by_handle_at": 265, "fsopen": 430, "swapon": 224, "sethostname": 161,
                "clone3": 435},
}[os.uname().machine]
refused = {}
for name, number in calls.items():
    ctypes.set_errno(0)
    argument = 0x10000000 if name == "unshare" else 0
    result = libc.syscall(number, argument, 0, 0, 0, 0, 0)
    refused[name] = [result, ctypes.get_errno()]
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
print(json.dumps([refused, {key: status[key].strip() for key in
      ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")}]))
"""


def no_network(subject: Subject) -> None:
    """Nothing is reachable by any family: not the world, the cloud's metadata, the host, or its loopback."""
    with socket.create_server(("0.0.0.0", 0)) as server, subject.sandbox() as sandbox:  # noqa: S104 - the bait
        reached, interfaces = answer(python(sandbox, _CONNECT, str(server.getsockname()[1])))
    expect(reached == [], "nothing reached", reached)
    expect(interfaces == ["lo"], "only a loopback", interfaces)


def own_loopback(subject: Subject) -> None:
    """Programs inside can talk to each other over the loopback, under its name and the machine's too."""
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


def no_host_files(subject: Subject) -> None:
    """Files of the host, a fresh canary among them, and container sockets are not to be seen."""
    with tempfile.NamedTemporaryFile(prefix="codegate-canary-") as canary, subject.sandbox() as sandbox:
        paths = (
            canary.name, "/root", "/home", str(Path.home()), str(Path.cwd()), "/etc/shadow", "/etc/machine-id",
            "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/host", "/dev/sda",
            "/dev/vda", "/dev/mem", "/dev/kvm", "/dev/fuse",
        )  # fmt: skip
        seen = answer(python(sandbox, _HOST, *paths))
    expect(seen == [], "no host file", seen)


def no_secrets(subject: Subject) -> None:
    """A variable of the harness is found nowhere inside: not in a process's environment, arguments or mounts."""
    name, value = "CODEGATE_CONFORMANCE_SECRET", secrets.token_hex(16)
    os.environ[name] = value
    try:
        with subject.sandbox() as sandbox:
            found, looked = answer(python(sandbox, _SECRETS, value[::-1]))
            listed = sandbox.run(Command(("env",))).stdout.decode()
    finally:
        del os.environ[name]
    expect(looked >= 10, "something to look at", looked)
    expect(found == [] and name not in listed, "no trace of the secret", (found, listed))


def read_only_system(subject: Subject) -> None:
    """Nothing can be written but the workspace and the two temporary folders; no kernel setting can be."""
    written = subject.probe(_WRITABLE)
    places = {"/tmp", "/tmp/home", "/dev/shm"}  # noqa: S108 - the sandbox's own
    expect(set(written) <= places, "a read-only system", sorted(set(written) - places))


def closed_supervisor(subject: Subject) -> None:
    """The supervisor's memory, streams and limits are out of reach, and no signal ends it."""
    with subject.sandbox() as sandbox:
        done = answer(python(sandbox, _SUPERVISOR))
        expect(done == [], "no hand on the supervisor", done)
        expect(sandbox.run(Command(("true",))).ok, "a supervisor alive", "none")


def forged_frames(subject: Subject) -> None:
    """What the code prints is output, whatever it looks like."""
    forged = bytes(7) + b"\1" + bytes(7) + b"\x40" + bytes(32) + b'\0\0\0\x0b{"ok":true}'
    with subject.sandbox() as sandbox:
        sandbox.put((SandboxFile("forged", forged),))
        done = sandbox.run(Command(("cat", "forged")))
        expect(done.stdout == forged, "the bytes as output", done)
        expect(sandbox.run(Command(("true",))).ok, "a stream in order", "none")


def closed_kernel(subject: Subject) -> None:
    """No capabilities, no new privileges, a filter, and no system call that only an escape needs."""
    refused, status = subject.probe(_KERNEL)
    allowed = {name: result for name, result in refused.items() if result[0] != -1 or result[1] not in {1, 38}}
    expect(allowed == {}, "EPERM or ENOSYS", allowed)
    expect({status[name] for name in status if name.startswith("Cap")} == {"0" * 16}, "no capability", status)
    expect((status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), "no new privileges, a filter", status)


CHECKS: tuple[Check, ...] = (
    no_network,
    own_loopback,
    no_host_files,
    no_secrets,
    read_only_system,
    closed_supervisor,
    forged_frames,
    closed_kernel,
)
