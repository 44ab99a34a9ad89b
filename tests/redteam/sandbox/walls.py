"""Attacks on what is around a sandbox: network, files, kernel, keys, the harness."""

# An attack is sent as it stands, and needs no objects for paths.
# ruff: noqa: PTH101, PTH104, PTH106, PTH108, PTH112, PTH114, PTH115, PTH116, PTH118, PTH123, PTH207, PTH208, PTH211

import ctypes
import errno
import fcntl
import glob
import mmap
import os
import resource
import shutil
import socket
import stat
import subprocess
import termios
import time
from typing import Any

from tests.redteam.sandbox.prelude import MARK, PORT, SECRET, Seen


def sb_14_network(seen: Seen) -> None:
    """Reach anything: the world, the cloud's metadata, the host, other containers, names."""

    def reach(family: int, kind: int, address: tuple[Any, ...]) -> None:
        with socket.socket(family, kind) as one:
            one.settimeout(0.3)
            one.connect(address)
            if kind == socket.SOCK_DGRAM:
                one.send(b"x")

    for address in ("8.8.8.8", "169.254.169.254", "172.17.0.1", "172.17.0.2", "10.0.2.2", "192.168.0.1", "127.0.0.1"):
        for port in (PORT, 53, 80, 2375):
            seen.must_fail(f"{address}:{port}", lambda address=address, port=port: reach(  # type: ignore[misc]
                socket.AF_INET, socket.SOCK_STREAM, (address, port)))  # fmt: skip
    seen.must_fail("datagram", lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)))
    seen.must_fail("broadcast", lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, ("255.255.255.255", 9)))
    for address in ("2001:4860:4860::8888", "fd00:ec2::254", "fe80::1", "::1"):
        seen.must_fail(address, lambda address=address: reach(  # type: ignore[misc]
            socket.AF_INET6, socket.SOCK_STREAM, (address, PORT)))  # fmt: skip
    seen.must_fail("name", lambda: socket.getaddrinfo("example.com", 443))
    seen.must_fail("host's name", lambda: socket.getaddrinfo("host.docker.internal", 443))
    seen.must_hold("interfaces", [name for _, name in socket.if_nameindex()] == ["lo"], socket.if_nameindex())


def sb_15_families(seen: Seen) -> None:
    """Open sockets of every family: most of them are no network at all, and none is fenced off by one."""
    for family in range(3, 46):
        if family in {10, 16}:
            continue
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            seen.must_fail(f"{family}/{kind}", lambda family=family, kind=kind: socket.socket(  # type: ignore[misc]
                family, kind))  # fmt: skip
    seen.must_fail("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    seen.must_fail("raw 6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58))


def sb_15_abstract_sockets(seen: Seen) -> None:
    """Reach a socket of the host that has a name but no file."""
    with socket.socket(socket.AF_UNIX) as one:
        seen.must_fail("the host's own", lambda: one.connect(f"\0{MARK}"))
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        named = [line.split()[-1] for line in file.read().splitlines()[1:] if len(line.split()) > 7]
    seen.must_hold("names", not any("shim" in name or MARK in name or "docker" in name for name in named), named)


def sb_15_netlink(seen: Seen) -> None:
    """Change the network by asking the kernel."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as one:
        # RTM_NEWLINK of a dummy interface (rtnetlink(7)): header, then ifinfomsg
        one.bind((0, 0))
        body = b"\0" * 16
        one.send(
            (32).to_bytes(4, "little") + (16).to_bytes(2, "little") + (0x605).to_bytes(2, "little") + bytes(8) + body
        )
        one.settimeout(1)
        answer = one.recv(4096)
    code = int.from_bytes(answer[16:20], "little", signed=True)
    seen.must_hold("a new interface", code < 0, code)
    for kind in (9, 6):  # audit, firewall
        try:
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, kind) as one:
                one.bind((0, 1))
            seen.must_hold("netlink group", kind != 9, kind)
        except OSError as error:
            seen.noted.append(f"netlink {kind} {errno.errorcode[error.errno or 0]}")


def sb_16_container_sockets(seen: Seen) -> None:
    """Find a socket of a daemon anywhere."""
    found = []
    for folder, folders, names in os.walk("/"):
        folders[:] = [] if folder.startswith("/proc") else folders
        for name in names:
            path = f"{folder}/{name}"
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    found.append(path)
            except OSError:
                continue
    seen.must_hold("sockets", found == [], found)


def sb_18_keys(seen: Seen) -> None:
    """Look for a key of the harness in every process and every small file."""
    needle, found = SECRET.encode(), []
    own = f"/proc/{os.getpid()}/"
    places = [path for name in ("environ", "cmdline", "mountinfo", "maps", "cgroup", "comm", "auxv")
              for path in glob.glob(f"/proc/[0-9]*/{name}") + glob.glob(f"/proc/[0-9]*/task/*/{name}")]  # fmt: skip
    for folder in ("/etc", "/run", "/tmp", "/dev/shm", "/opt/codegate/tools", "/proc/sys/kernel"):
        places += [f"{where}/{name}" for where, _, names in os.walk(folder) for name in names[:500]]
    for path in places:
        try:
            if not stat.S_ISREG(os.stat(path).st_mode) or (path.startswith(own) and path.endswith("maps")):
                continue
            with open(path, "rb") as file:
                if needle in file.read(1 << 16):
                    found.append(path)
        except OSError:
            continue
    seen.must_hold("keys", found == [] and not any(SECRET in value for value in os.environ.values()), found)
    seen.must_hold("places", len(places) > 20, len(places))
    seen.must_fail("the watcher's variables", lambda: os.open("/proc/1/environ", os.O_RDONLY))
    seen.must_fail("the watcher's memory", lambda: os.open("/proc/1/mem", os.O_RDWR))


def sb_19_host_facts(seen: Seen) -> None:
    """Learn which machine this is."""
    seen.must_hold("name", os.uname().nodename == "sandbox", os.uname().nodename)
    for path in ("/etc/machine-id", "/etc/shadow", "/sys/class/dmi/id/product_serial", "/proc/kcore", "/dev/mem",
                 "/dev/kmem", "/var/lib/docker", "/root/.ssh", "/home/runner", "/github/workspace"):  # fmt: skip
        seen.must_fail(path, lambda path=path: os.open(path, os.O_RDONLY))  # type: ignore[misc]
    others = [path for path in glob.glob("/proc/[0-9]*") if int(path[6:]) > 10_000]
    seen.must_hold("processes of the host", len(glob.glob("/proc/[0-9]*")) < 20 and not others, others)


def sb_20_setuid(seen: Seen) -> None:
    """Become root by a program that makes whoever runs it root."""
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file if ":" in line)
    seen.must_hold("no new privileges", status.get("NoNewPrivs", "1").strip() == "1", status.get("NoNewPrivs"))
    seen.must_hold("capabilities", all(int(v, 16) == 0 for k, v in status.items() if k.startswith("Cap")), "some")
    for command in (
        ["su", "-c", "id -u"],
        ["sudo", "-n", "id", "-u"],
        ["newgrp", "root"],
        ["mount", "-t", "tmpfs", "x", "/mnt"],
    ):
        try:
            done = subprocess.run(command, capture_output=True, timeout=5, check=False, stdin=subprocess.DEVNULL)
            seen.must_hold(command[0], done.stdout.strip() != b"0", done.returncode)
            if command[0] == "mount":
                seen.must_hold("mount", done.returncode != 0, done.returncode)
        except (OSError, subprocess.TimeoutExpired) as error:
            seen.noted.append(f"{command[0]} {type(error).__name__}")
    for action in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
        seen.must_fail("to be root", action)
    seen.must_fail("root's file", lambda: os.chown("cell/work.py", 0, 0))


def sb_21_kernel_surface(seen: Seen) -> None:
    """Make the system calls that only an escape needs."""
    for name, x86_64, aarch64 in (
        ("mount", 165, 40), ("umount2", 166, 39), ("pivot_root", 155, 41), ("setns", 308, 268), ("bpf", 321, 280),
        ("perf_event_open", 298, 241), ("io_uring_setup", 425, 425), ("io_uring_enter", 426, 426),
        ("io_uring_register", 427, 427), ("userfaultfd", 323, 282), ("keyctl", 250, 219), ("add_key", 248, 217),
        ("request_key", 249, 218), ("ptrace", 101, 117), ("process_vm_readv", 310, 270),
        ("process_vm_writev", 311, 271),
        ("kexec_load", 246, 104), ("kexec_file_load", 320, 294), ("init_module", 175, 105), ("finit_module", 313, 273),
        ("delete_module", 176, 106), ("settimeofday", 164, 170), ("clock_settime", 227, 112),
        ("clock_adjtime", 305, 266),
        ("reboot", 169, 142), ("syslog", 103, 116), ("acct", 163, 89), ("open_by_handle_at", 304, 265),
        ("name_to_handle_at", 303, 264), ("fanotify_init", 300, 262), ("fsopen", 430, 430), ("fsmount", 432, 432),
        ("move_mount", 429, 429), ("open_tree", 428, 428), ("mount_setattr", 442, 442), ("kcmp", 312, 272),
        ("pidfd_getfd", 438, 438), ("quotactl", 179, 60), ("sethostname", 170, 161), ("setdomainname", 171, 162),
        ("clone3", 435, 435), ("process_madvise", 440, 440), ("move_pages", 279, 239), ("migrate_pages", 256, 238),
    ):  # fmt: skip
        seen.call(name, x86_64, aarch64)
    for flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x00000080):
        seen.call(f"unshare {flag:x}", 272, 97, flag)
        if flag != 0x80:
            seen.call(f"clone {flag:x}", 56, 220, flag | 17, 0, 0, 0, 0)


def sb_21_other_conventions(seen: Seen) -> None:
    """Make the same calls by the machine's older conventions, past a filter that knows only one."""
    if os.uname().machine != "x86_64":
        seen.noted.append("one convention only")
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for number in (250, 321, 425):
        ctypes.set_errno(0)
        result = libc.syscall(0x40000000 | number, 0, 0, 0, 0, 0)
        seen.must_hold("x32", result == -1, ctypes.get_errno())
    child = os.fork()
    if child == 0:
        block = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        block.write(b"\x53\xb8\x20\x01\x00\x00\xbb\x00\x00\x00\x00\xcd\x80\x5b\xc3")  # keyctl (288) by int 0x80
        address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        os._exit(0 if result >= 0 else 7)
    status = os.waitpid(child, 0)[1]
    seen.must_hold("int 0x80", status != 0, status)


def sb_22_kernel_settings(seen: Seen) -> None:
    """Write where the kernel listens."""
    paths = ["/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
             "/proc/sys/vm/overcommit_memory",
             "/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/file-max", "/sys/kernel/uevent_helper",
             "/sys/fs/cgroup/release_agent",
             "/proc/self/uid_map", "/proc/self/setgroups", "/proc/1/uid_map", "/proc/scsi/scsi"]  # fmt: skip
    paths += glob.glob("/sys/fs/cgroup/*/release_agent") + glob.glob("/sys/fs/cgroup/*/cgroup.procs")
    paths += [f"{folder}/{name}" for folder, _, names in os.walk("/proc/sys") for name in names]

    def write(path: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(descriptor, b"0 0 1")
        finally:
            os.close(descriptor)

    for path in paths:
        seen.must_fail(path, lambda path=path: write(path))  # type: ignore[misc]


def sb_24_leaked_descriptors(seen: Seen) -> None:
    """Leave by a descriptor that the runtime forgot, or overwrite the runtime itself."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
            if os.path.isdir(f"/proc/self/fd/{name}"):
                inside = target.startswith(("/workspace", "/proc", "/tmp", "/opt/codegate"))
                seen.must_hold(f"descriptor {name}", inside, target)
                up = f"/proc/self/fd/{name}/../../../../../../etc/machine-id"
                seen.must_fail("up from it", lambda up=up: os.open(up, os.O_RDONLY))  # type: ignore[misc]
        except OSError:
            continue
    for number in range(3, 30):
        seen.must_fail("a working folder", lambda number=number: os.chdir(  # type: ignore[misc]
            f"/proc/1/fd/{number}"))  # fmt: skip
    for path in ("/proc/self/exe", "/proc/1/exe", "/usr/bin/env", "/bin/sh"):
        seen.must_fail(path, lambda path=path: os.open(path, os.O_WRONLY))  # type: ignore[misc]


def sb_27_read_only_places(seen: Seen) -> None:
    """Write to what is read-only by a way around."""
    for root in ("", "/proc/self/root", "/proc/self/cwd/..", "/proc/thread-self/root", "/workspace/../."):
        for place in ("/usr/bin", "/etc", "/opt/codegate", "/opt/codegate/site", "/lib", "/proc/sys"):
            path = f"{root}{place}/{MARK}"
            seen.must_fail(path, lambda path=path: os.open(path, os.O_CREAT | os.O_WRONLY))  # type: ignore[misc]
    site = next(iter(glob.glob("/opt/codegate/site/*.py") + glob.glob("/opt/codegate/site/*/*.py")), "/etc/passwd")
    for action in (
        lambda: os.link("/etc/passwd", "passwd"), lambda: os.rename(site, "moved"), lambda: os.unlink(site),
        lambda: os.chmod(site, 0o777), lambda: os.utime("/etc/passwd"), lambda: os.truncate(site, 0),
        lambda: os.open(site, os.O_RDWR), lambda: os.removexattr(site, "user.x"),
    ):  # fmt: skip
        seen.must_fail("a change", action)


def sb_29_escapes(seen: Seen) -> None:
    """Talk to the operator's terminal and to the machine that reads the log."""
    text = f"\x1b]0;{MARK}\x07\x1b[2J\x1b]52;c;eA==\x07\x9b31m\r::add-mask::pass\n"
    text += f"::set-output name=x::{MARK}\n##[error]{MARK}\n"
    os.write(1, text.encode())
    os.write(2, text.encode())
    seen.noted.append(text)


def sb_30_terminal(seen: Seen) -> None:
    """Type into the terminal of whoever started it."""
    for path in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0"):
        seen.must_fail(path, lambda path=path: fcntl.ioctl(  # type: ignore[misc]
            os.open(path, os.O_RDWR | os.O_NOCTTY), termios.TIOCSTI, b"x"))  # fmt: skip
    for descriptor in range(8):
        seen.must_fail("a key", lambda descriptor=descriptor: fcntl.ioctl(  # type: ignore[misc]
            descriptor, termios.TIOCSTI, b"x"))  # fmt: skip
        seen.must_hold("terminal", not os.isatty(descriptor), descriptor)


def sb_35_identity(seen: Seen) -> None:
    """Change the machine's name, its clock, and its order of things."""
    seen.must_fail("name", lambda: socket.sethostname("other"))
    seen.must_fail("clock", lambda: time.clock_settime(time.CLOCK_REALTIME, 0.0))
    seen.must_fail("priority of others", lambda: os.setpriority(os.PRIO_USER, 0, 19))
    seen.must_fail("priority of the watcher", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
    seen.must_fail("processors of the watcher", lambda: os.sched_setaffinity(1, {0}))
    seen.must_fail("limits of the watcher", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)))


def sb_36_supervisor(seen: Seen) -> None:
    """Reach into the first process: its memory, its streams, its files."""
    for name in (
        "mem",
        "environ",
        "maps",
        "fd/0",
        "fd/1",
        "fd/3",
        "cwd",
        "root",
        "exe",
        "stack",
        "syscall",
        "io",
        "ns/net",
    ):
        for flags in (os.O_RDONLY, os.O_WRONLY):

            def read(name: str = name, flags: int = flags) -> None:
                descriptor = os.open(f"/proc/1/{name}", flags)
                if flags == os.O_RDONLY and not os.read(descriptor, 1):
                    raise OSError(errno.ENODATA, name)

            seen.must_fail(f"{name}", read)
    seen.must_fail("a link", lambda: os.readlink("/proc/1/fd/1"))
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(1)
        seen.call("pidfd_getfd", 438, 438, descriptor, 0, 0)


def sb_37_namespaces(seen: Seen) -> None:
    """Join or make namespaces, in which more would be allowed."""
    for path in glob.glob("/proc/[0-9]*/ns/*"):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        seen.call(f"setns {path[6:]}", 308, 268, descriptor, 0)
        os.close(descriptor)
    for tool in ("unshare", "nsenter", "bwrap", "mount", "chroot"):
        program = shutil.which(tool)
        if program is not None:
            given = {"unshare": ["-Ur", "true"], "nsenter": ["-t", "1", "-a", "true"],
                     "mount": ["--bind", "/tmp", "/mnt"],
                     "bwrap": ["--ro-bind", "/", "/", "true"], "chroot": ["/", "true"]}[tool]  # fmt: skip
            done = subprocess.run([program, *given], capture_output=True, timeout=10, check=False)
            seen.must_hold(tool, done.returncode != 0, done.returncode)


def sb_40_replaced_workspace(seen: Seen) -> None:
    """Put links where the next command looks for its files."""
    for name in os.listdir("."):
        path = os.path.join(".", name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
        os.symlink("/etc", path)
    seen.must_fail("the workspace itself", lambda: os.rmdir("/workspace"))
    seen.must_fail("another place", lambda: os.rename("/workspace", "/tmp/workspace"))
    os.chmod(".", 0)
