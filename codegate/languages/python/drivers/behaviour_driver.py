"""Record unusual actions of the code under test.

These are uses of the network, files, processes and programs. The driver of a Python test runner executes this text
before the repository can be imported. ``begin`` installs an audit hook (PEP 578), which the interpreter calls before
the operation itself and which cannot be removed again; ``finish`` reports the events that were not reported yet. The
first event of each kind is reported at once, so that it is recorded even if the process is killed for it.

It is evidence and no proof. The hook is in the process that it watches: native code, a child process, or Python code
that looks for these very objects goes unnoticed, and links are not followed. Nothing is refused here; the sandbox does
that. The hook must not raise, and must not swallow exceptions that a signal handler raises inside it, so it catches
nothing and looks at types instead.
"""

from __future__ import annotations

import _socket
import _thread
import os
import posixpath
import sys
from typing import Any, Callable

MOST_DETAILS = 5
LONGEST_DETAIL = 200
FORKED = "a copy of itself"
#: Where reading is no event, apart from the workspace and the interpreter. What has secrets comes first.
READABLE = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/opt/")
SECRET = (
    "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/", "/etc/ssl/private/", "/etc/krb5.keytab",
    "/etc/kubernetes/", "/etc/docker/", "/root/", "/home/", "/run/", "/var/run/", "/var/lib/docker/",
    "/var/lib/kubelet/", "/var/lib/containerd/", "/var/spool/", "/boot/", "/mnt/", "/host/", "/sys/firmware/",
    "/sys/kernel/debug/", "/sys/kernel/security/", "/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys",
    "/proc/sysrq-trigger", "/proc/kpage",
)  # fmt: skip
DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts/",
    "/dev/shm/", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/dev/mqueue/",
)  # fmt: skip
OWN_PROCESS = ("self", "thread-self")
SOCKETS = ("/docker.sock", "/containerd.sock", "/podman.sock", "/crio.sock")
INTERNET = (_socket.AF_INET, getattr(_socket, "AF_INET6", -1), getattr(_socket, "AF_VSOCK", -1))


def event_text(value: Any) -> str:
    """Return an audit event's argument (path, host, number) as text."""
    # For any other value, it is the name of its type.
    if isinstance(value, str):
        text = str.__str__(value)
    elif isinstance(value, (bytes, bytearray)):
        text = bytes(value).decode("utf-8", "backslashreplace")
    elif type(value) is int:
        text = str(value)
    else:
        text = "<%s>" % type(value).__name__
    return text[: LONGEST_DETAIL * 4]


class Watcher:
    """Counts unusual actions of the tested code, by kind.

    Args:
        send: writes one record of the given fields; does nothing in a forked copy of the process.
        roots: folders in which everything may be read and written.
        readable: folders that may be read.
    """

    def __init__(self, send: Callable[..., None], roots: list[str], readable: list[str]) -> None:
        self.send, self.getcwd, self.getpid = send, os.getcwd, os.getpid
        self.roots = tuple(root.rstrip("/") + "/" for root in roots if root.rstrip("/"))
        self.fast = (*self.roots, *(root.rstrip("/") + "/" for root in readable if root.rstrip("/")), *READABLE)
        self.process, self.parent, self.name = os.getpid(), os.getppid(), os.uname().nodename
        self.counts: dict[str, int] = {}
        self.details: dict[str, list[str]] = {}
        self.known: set[tuple[str, str]] = set()
        self.kept: dict[str, int] = {}
        self.lock, self.open = _thread.allocate_lock(), True
        self.changing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self.checks: dict[str, Callable[[Any], None]] = {
            "open": self.on_open,
            "os.listdir": self.on_read,
            "os.scandir": self.on_read,
            "socket.connect": self.on_address,
            "socket.bind": self.on_bind,
            "socket.sendto": self.on_address,
            "socket.sendmsg": self.on_address,
            "socket.getaddrinfo": self.on_name,
            "socket.gethostbyname": self.on_name,
            "socket.gethostbyaddr": self.on_name,
            "os.kill": self.on_kill,
            "os.killpg": self.on_kill,
            "subprocess.Popen": self.on_program,
            "os.posix_spawn": self.on_program,
            "os.exec": self.on_program,
            "os.system": self.on_program,
            "os.fork": self.on_fork,
            "os.forkpty": self.on_fork,
        }
        for name in ("remove", "rmdir", "mkdir", "chmod", "chown", "truncate", "rename", "link", "symlink", "setxattr"):
            self.checks["os." + name] = self.on_change

    def note(self, kind: str, detail: str) -> None:
        """Count an unusual action; report each kind's first at once."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        detail = detail[:LONGEST_DETAIL].encode("utf-8", "backslashreplace").decode("utf-8")
        kept = self.kept.get(kind, 0)
        if kept < MOST_DETAILS and (kind, detail) not in self.known:
            self.known.add((kind, detail))
            self.kept[kind] = kept + 1
            self.details.setdefault(kind, []).append(detail)
        if not kept:
            self.report()

    def report(self, last: bool = False) -> None:
        """Send the unusual actions since the last report."""
        # The lock keeps threads from sending after the last record.
        if not self.lock.acquire(last, 5.0 if last else -1):
            return  # the next report includes it
        try:
            if self.open:
                counts, details = self.counts, self.details
                self.counts, self.details = {}, {}
                self.send(kind="behaviour", counts=counts, details=details)
        finally:
            self.open = self.open and not last
            self.lock.release()

    def absolute_path(self, path: Any) -> str:
        """Return ``path`` as an absolute path, or "" if impossible."""
        # A path below the process's own root folder in /proc becomes the path that it leads to. Empty: the folder is
        # gone.
        text = event_text(path)
        if text[:1] != "/":
            try:
                text = self.getcwd() + "/" + text
            except FileNotFoundError:  # the folder was removed
                return ""
        text = "/" + posixpath.normpath(text).lstrip("/")
        for name in (*OWN_PROCESS, str(self.process)):
            if text.startswith("/proc/%s/root/" % name):
                return text[len("/proc/%s/root" % name) :]
        return text

    def is_forbidden(self, path: str) -> bool:
        """Return whether reading ``path`` is an event to record."""
        if path.startswith(self.fast):  # an interpreter may lie in a home folder
            return path.endswith(SOCKETS)
        if path.startswith("/proc/"):
            owner, _, rest = path[len("/proc/") :].partition("/")
            if owner in OWN_PROCESS or owner == str(self.process):
                return rest.startswith(("mem", "root")) and rest != "mems_allowed"
            if owner.isdigit():
                return True
        if path.startswith("/dev/"):
            return not path.startswith(DEVICES)
        return path.startswith(SECRET) or path in ("/root", "/home", "/run", "/var/run") or path.endswith(SOCKETS)

    def is_writable(self, path: str) -> bool:
        own = ("/proc/self/", "/proc/thread-self/", "/proc/%d/" % self.process)
        return (path + "/").startswith(self.roots) or path.startswith((*DEVICES, *own))

    def on_open(self, args: Any) -> None:
        path = args[0] if args else None
        flags = args[2] if len(args) > 2 and type(args[2]) is int else 0
        if type(path) is str and path.startswith(self.fast if not flags & self.changing else self.roots):
            if "/../" not in path and not path.endswith(SOCKETS):
                return
        elif not isinstance(path, (str, bytes)):
            return  # a descriptor
        self.record_use(path, flags & self.changing)

    def record_use(self, path: Any, changing: int) -> None:
        """Record the use of a path if that is unusual.

        ``changing`` is not 0 if the use is a write.
        """
        # It is noted only if it is an event.
        place = self.absolute_path(path)
        if not place:
            return
        if self.is_forbidden(place):
            self.note("files", ("write " if changing else "read ") + place)
        elif changing and not self.is_writable(place):
            self.note("writes", "write " + place)

    def on_read(self, args: Any) -> None:
        if args and isinstance(args[0], (str, bytes)):
            self.record_use(args[0], 0)

    def on_change(self, args: Any) -> None:
        for path in args[:2]:  # relative ones may be meant from another folder
            if isinstance(path, (str, bytes)) and event_text(path)[:1] == "/":
                self.record_use(path, 1)

    def on_address(self, args: Any, verb: str = "connect") -> None:
        if len(args) < 2 or not isinstance(args[0], _socket.socket):
            return
        family, address = _socket.socket.family.__get__(args[0]), args[1]
        if family == _socket.AF_UNIX:
            self.on_unix_socket(address)
        elif family in INTERNET and isinstance(address, tuple) and address:
            host = event_text(address[0])
            if verb == "bind" or (isinstance(address[0], (str, bytes)) and self.is_local(host)):
                self.note("local", "%s %s" % (verb, host))
            else:
                self.note("network", "connect " + ":".join(map(event_text, address[:2])))

    def on_bind(self, args: Any) -> None:
        self.on_address(args, "bind")

    def on_unix_socket(self, address: Any) -> None:
        """Record a connection to a Unix socket: local or forbidden.

        Forbidden are sockets of container engines, and sockets outside of writable folders.
        """
        text = event_text(address)
        place = self.absolute_path(text) if text[:1] not in ("", "\0") else ""
        if not place or (self.is_writable(place) and not place.endswith(SOCKETS)):
            self.note("local", "connect a socket in the file system")
        else:
            self.note("files", "connect " + place)

    def on_name(self, args: Any) -> None:
        host = args[0] if args else None
        if not isinstance(host, (str, bytes)) or not host:
            return
        text = event_text(host)
        if not is_number(text):  # an IP address needs no look-up
            self.note("local" if self.is_local(text) else "network", "look up " + text)

    def is_local(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        own = name in ("", "localhost", "0.0.0.0", "::", "::1", self.name.lower())
        looped = name.startswith(("127.", "::ffff:127.")) and is_number(name)
        return own or looped or name.endswith(".localhost")

    def on_kill(self, args: Any) -> None:
        if len(args) > 1 and args[1] and args[0] in (1, -1, self.parent):
            self.note("signals", "signal %s to process %s" % (event_text(args[1]), event_text(args[0])))

    def on_program(self, args: Any) -> None:
        self.note("processes", event_text(args[0]) if args else "")

    def on_fork(self, args: Any) -> None:  # noqa: ARG002
        self.note("processes", FORKED)


def is_number(host: str) -> bool:
    """Return whether a host is an IP address."""
    return ":" in host or all(part.isdigit() for part in host.split("."))


def begin(send: Callable[..., None], workspace: str, packages: str) -> Callable[[], None]:
    """Start recording unusual actions; return the function that ends it.

    ``send`` gets an empty record at once, and one at the first action of each kind. The returned function sends what
    was not yet sent; the driver calls it before its own last record. Access below ``workspace`` is usual, and so is
    reading in ``packages``, the environment's folder of packages.
    """
    environment = os.environ
    roots = [workspace, "/tmp", "/var/tmp", "/dev/shm", environment.get("TMPDIR", ""), environment.get("HOME", "")]
    watch = Watcher(send, roots, [packages, sys.prefix, sys.base_prefix])
    checks = watch.checks
    report = watch.report

    def hook(event: str, args: Any) -> None:
        check = checks.get(event)
        if check is not None and watch.open:
            check(args)

    report()  # nothing so far, which is more than not to know
    sys.addaudithook(hook)

    def finish() -> None:
        report(last=True)

    return finish
