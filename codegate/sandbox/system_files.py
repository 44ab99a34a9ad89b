"""What bubblewrap shows of this machine's own files: what programs need to run, and not all that is installed.

It is about what a slim base image has: the less there is, the less do results depend on the machine.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from codegate.sandbox.interpreter import Interpreter
from codegate.sandbox.remote_link import masks
from codegate.sandbox.session import PYTHON

MASKED_FILES: Final = (
    "acpi", "asound", "interrupts", "kallsyms", "kcore", "keys", "kmsg", "latency_stats", "sched_debug", "scsi",
    "sysrq-trigger", "timer_list", "timer_stats",
)  # fmt: skip
_WHOLE: Final = ("bin", "sbin", "lib32", "lib64", "libx32")
_LIBRARIES: Final = ("*-linux-*", "python3*", "locale", "ssl", "terminfo", "git-core")
_SHARED: Final = (
    "ca-certificates", "file", "git-core", "i18n", "locale", "mime", "misc", "perl*", "terminfo", "zoneinfo",
)  # fmt: skip


def shown(interpreter: Interpreter) -> list[Path]:
    """Return the folders and files of ``/usr`` that a sandbox sees, and the interpreter's; links are not followed."""
    usr, own = Path("/usr"), interpreter.prefix
    found = [usr / name for name in _WHOLE]
    # Debian's way; elsewhere the libraries are in one folder with everything else.
    if any(usr.glob("lib/*-linux-*")):
        found += [path for name in _LIBRARIES for path in usr.glob(f"lib/{name}")]
        found += [path for path in usr.glob("lib/*") if not path.is_dir() or path.is_symlink()]
    else:
        found.append(usr / "lib")
    found += [path for name in _SHARED for path in usr.glob(f"share/{name}")]
    local = usr / "local"
    found += [local / "bin", *local.glob("lib/*.so*"), *local.glob("lib/python3*"), *local.glob("lib/*-linux-*")]
    if own not in {usr, local}:
        found.append(own)
    return sorted({path for path in found if path.exists() or path.is_symlink()})


def binds(paths: list[Path]) -> Iterator[str]:
    """Yield bubblewrap's arguments that show ``paths`` of ``/usr`` at their own places, and links as links."""
    for path in paths:
        if path.is_relative_to("/usr"):
            if path.is_symlink():
                yield from ("--symlink", str(path.readlink()), str(path))
            else:
                yield from ("--ro-bind", str(path), str(path))


def hidden(interpreter: Interpreter) -> dict[Path, str]:
    """Return the folders that are empty inside, and the place of each there.

    Packages that happen to be installed on this machine: what code in a sandbox can import must not depend on it. And
    the standard library's own tests, which images leave out too.
    """
    roots = [Path("/usr/lib"), Path("/usr/local/lib"), Path("/usr/lib64"), Path("/usr/local/lib64")]
    names = ("site-packages", "dist-packages", "test", "idlelib/idle_test")
    folders = [Path("/usr/lib/python3/dist-packages")]
    folders += [path for root in roots for name in names for path in root.glob(f"python3*/{name}")]
    inside = {folder: str(folder) for folder in folders if folder.is_dir() and not folder.is_symlink()}
    if not interpreter.prefix.is_relative_to("/usr"):
        for path in (path for name in names for path in interpreter.prefix.glob(f"lib/python3*/{name}")):
            inside[path] = str(Path(PYTHON) / path.relative_to(interpreter.prefix))
    return inside


def masked() -> list[str]:
    """Return bubblewrap's arguments that hide what no program needs of ``/proc``: what Docker masks by default."""
    return list(masks(MASKED_FILES))
