"""Looks at what a test process left in the workspace, once its descendants are dead too, and clears it.

Like ``pytest_driver`` this text is sent into the sandbox. Standard input brings ``{"watched": {path: sha256}, "wipe":
bool}``; argument 1 is the pipe's descriptor. Answers with the watched paths that are not as they were.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys

FOLDERS = (".", "/tmp", "/dev/shm")
LARGEST = 64 << 20


def digest(path: str) -> str:
    """Return the SHA-256 of the regular file ``path``, or nothing when it is not one (any more)."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
                return ""
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


def clear(folder: str) -> None:
    """Remove everything in ``folder``."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    for entry in list(os.scandir(folder)):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def main() -> None:
    """Report one JSON document over the pipe; a non-zero exit status means that something is left."""
    settings = json.load(sys.stdin)
    os.chmod(".", 0o755)
    changed = [path for path, wanted in settings["watched"].items() if digest(path) != wanted]
    if settings["wipe"]:
        for folder in FOLDERS:
            clear(folder)
        os.mkdir("/tmp/home", 0o700)
    os.write(int(sys.argv[1]), json.dumps(changed[:20]).encode("ascii"))


main()
