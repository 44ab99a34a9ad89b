"""Carries a supervisor's stream as lines of text.

It is uploaded with the environment to a rented machine and runs as root there (standard library of Python 3.9 or
newer), because the SDKs of providers carry text and not bytes.

Its first line of output is ``READY``. The first line of its input is a JSON object with ``argv`` (bubblewrap's),
``hidden`` (names below ``/proc``), ``user``, ``pids`` and ``memory`` (bytes in total; null: the machine has no control
groups). After that each line of its input is base64 for the supervisor, or ``!`` with a program to run beside the
sandbox, as JSON in base64. Each line of its output is ``o`` (from the supervisor), ``e`` (bubblewrap's errors) or ``x``
(output of such a program; nothing: its end) with base64 behind it, or ``m`` at the end if the kernel killed a process
for memory. The sandbox ends with its input.
"""

# No pathlib: each sandbox pays for its imports.
# ruff: noqa: PTH102, PTH103, PTH106, PTH110, PTH112, PTH123

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

READY = "\x02ready"
MASKED, INTERPRETER = "{masked}", "{interpreter}"  # what stands for them in ``argv``
CHUNK = 1 << 16
GROUPS = "/sys/fs/cgroup"
JOIN = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"'
"""Joins the control groups whose files are named before ``--``, then becomes the command after it."""
USER_NAMESPACES = "/proc/sys/user/max_user_namespaces"


def masks(names: Iterable[str]) -> Iterator[str]:
    """Yield bubblewrap's arguments that hide existing ``names`` of ``/proc``."""
    for path in (f"/proc/{name}" for name in names):
        if os.path.isdir(path):
            yield from ("--size", "4096", "--tmpfs", path, "--remount-ro", path)
        elif os.path.exists(path):
            yield from ("--ro-bind", "/dev/null", path)


class Group:
    """A control group (cgroups(7)); without ``memory``, none is made."""

    def __init__(self, memory: int | None, pids: int) -> None:
        self.folders: list[str] = []
        self.events = ""
        self.mounts: list[str] = []
        if memory is None:
            return
        name = f"codegate-{os.getpid()}"
        most = {"pids.max": pids}
        if os.path.exists(f"{GROUPS}/cgroup.controllers"):
            delegate()
            self._make(f"{GROUPS}/{name}", {"memory.max": memory, "memory.swap.max": 0, **most})
            self.events, place = "memory.events", GROUPS
        else:
            self._make(f"{GROUPS}/memory/{name}", {"memory.limit_in_bytes": memory, "memory.swappiness": 0})
            self._make(f"{GROUPS}/pids/{name}", most)
            self.events, place = "memory.oom_control", f"{GROUPS}/memory"
        self.mounts = ["--ro-bind", self.folders[0], place]  # where the supervisor counts the kernel's kills

    def _make(self, folder: str, settings: dict[str, int]) -> None:
        os.mkdir(folder)
        self.folders.append(folder)
        for name, value in settings.items():
            if os.path.exists(f"{folder}/{name}"):
                write_kernel_file(f"{folder}/{name}", str(value))

    def killed(self) -> bool:
        """Return whether the kernel's out-of-memory killer ended a process."""
        if not self.folders:
            return False
        with open(f"{self.folders[0]}/{self.events}") as file:
            return any(line.startswith("oom_kill ") and line.split()[1] != "0" for line in file)

    def remove(self) -> None:
        """Remove the empty control groups, as far as possible."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def delegate() -> None:
    """Enable limits below the topmost control group."""
    control = f"{GROUPS}/cgroup.subtree_control"
    with contextlib.suppress(OSError):
        write_kernel_file(control, "+memory +pids")
        return
    os.makedirs(f"{GROUPS}/others", exist_ok=True)
    with open(f"{GROUPS}/cgroup.procs") as file:
        for process in file.read().split():
            with contextlib.suppress(OSError):  # it has ended
                write_kernel_file(f"{GROUPS}/others/cgroup.procs", process)
    write_kernel_file(control, "+memory +pids")


def write_kernel_file(path: str, text: str) -> None:
    """Write one of the kernel's files."""
    with open(path, "w") as file:
        file.write(text)


def fill_placeholders(argv: Iterable[str], names: Iterable[str], group: Group) -> Iterator[str]:
    """Yield ``argv`` with this machine's values for its placeholders.

    They are the arguments that hide ``names`` of ``/proc`` and show ``group``, and the path of Python.
    """
    for part in argv:
        if part == MASKED:
            yield from (*masks(names), *group.mounts)
        elif part == INTERPRETER:
            yield os.path.realpath(sys.executable)
        # gVisor has no such limit; the supervisor's filter refuses namespaces as well.
        elif part != "--disable-userns" or os.path.exists(USER_NAMESPACES):
            yield part


def print_stream(source: IO[bytes], kind: bytes, lock: threading.Lock) -> None:
    """Print all of ``source`` as lines: ``kind``, then base64."""
    while True:
        data = os.read(source.fileno(), CHUNK)
        if not data:
            return
        line = memoryview(kind + base64.b64encode(data) + b"\n")
        with lock:
            while line:
                line = line[os.write(1, line) :]


def run_beside(argv: list[str], lock: threading.Lock) -> None:
    """Run a program outside the sandbox; print its output."""
    with contextlib.suppress(OSError):
        program = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if program.stdout is not None:
            print_stream(program.stdout, b"x", lock)
        program.wait()
    with lock:
        os.write(1, b"x\n")


def main() -> None:
    """Run bubblewrap; carry its streams as text over stdin/stdout."""
    os.write(1, f"{READY}\n".encode("ascii"))
    wanted = json.loads(sys.stdin.buffer.readline())
    group = Group(wanted["memory"], wanted["pids"])
    user = str(wanted["user"])  # not root, whom the kernel holds to no number of processes
    process = subprocess.Popen(
        ["/bin/sh", "-c", JOIN, "sh", *(f"{folder}/cgroup.procs" for folder in group.folders), "--",
         "setpriv", "--reuid", user, "--regid", user, "--clear-groups",
         *fill_placeholders(wanted["argv"], wanted["hidden"], group)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={}, cwd="/", start_new_session=True,
    )  # fmt: skip
    lock = threading.Lock()
    carriers = [
        threading.Thread(target=print_stream, args=(source, kind, lock), daemon=True)
        for source, kind in ((process.stdout, b"o"), (process.stderr, b"e"))
    ]
    for carrier in carriers:
        carrier.start()

    def forward_input() -> None:
        try:
            for line in sys.stdin.buffer:
                if line.startswith(b"!"):
                    argv = json.loads(base64.b64decode(line[1:]))
                    threading.Thread(target=run_beside, args=(argv, lock), daemon=True).start()
                elif process.stdin is not None:
                    process.stdin.write(base64.b64decode(line))
                    process.stdin.flush()
        finally:
            process.kill()

    threading.Thread(target=forward_input, daemon=True).start()
    process.wait()
    for carrier in carriers:
        carrier.join(5)
    if group.killed():
        os.write(1, b"m\n")
    group.remove()
    os._exit(0)  # past the thread that waits for input


if __name__ == "__main__":
    main()
