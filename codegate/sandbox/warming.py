"""Everything that a sandbox can read is in memory before the first one runs.

The kernel tells a program how many blocks were read from a disk for it (``getrusage``), and a file that was read once
is in memory for whoever reads it next. With files that nobody had read, one run could tell a later one that it had
been. What is read here is charged to codegate's own control group, or to one that is gone: no sandbox can push it out.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from codegate.durable import digest
from codegate.sandbox.contract import Command, Sandbox, SandboxLimits

LIMITS: Final = SandboxLimits(lifetime_seconds=180, memory_bytes=4 << 30, disk_bytes=1 << 20)
_AGAIN_SECONDS: Final = 600.0  # another process does not read again what one has just read
_CHUNK: Final = 128 << 10  # the least that any kernel takes of one advice

READER: Final = """
import os, stat
for root in ("/usr", "/opt", "/bin", "/lib", "/etc", "/root", "/srv", "/var", "/home"):
    for folder, folders, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            try:
                if stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, "rb", buffering=0) as file:
                        while file.read(1 << 20):
                            pass
            except OSError:
                pass
"""


def warm(what: object, read: Callable[[], None], cache: Path) -> None:
    """Do ``read`` unless it was done a short while ago.

    Args:
        what: names what is read, as JSON has it.
        read: reads it.
        cache: folder that remembers when it was.
    """
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
    mark = cache / "warm" / digest([boot, what])
    with contextlib.suppress(OSError):
        if abs(time.time() - mark.stat().st_mtime) < _AGAIN_SECONDS:
            return
    read()
    with contextlib.suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def read_folders(roots: Iterable[Path], apart: frozenset[Path] = frozenset()) -> None:
    """Have the kernel read every file at or below ``roots``, those in ``apart`` excepted; it may end after this."""
    for root in roots:
        if root.is_file():
            _advise(root)
        for folder, folders, names in os.walk(root):
            folders[:] = [one for one in folders if Path(folder, one) not in apart]
            for name in names:
                _advise(Path(folder, name))


def read_inside(sandbox: Sandbox) -> None:
    """Read every file that a sandbox sees, from inside, where the files are on another machine."""
    sandbox.run(Command(("{python}", "-I", "-S", "-B", "-c", READER), timeout_seconds=LIMITS.lifetime_seconds - 10))


def _advise(path: Path) -> None:
    with contextlib.suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(file)
            if stat.S_ISREG(status.st_mode):
                for start in range(0, status.st_size, _CHUNK):
                    os.posix_fadvise(file, start, _CHUNK, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(file)
