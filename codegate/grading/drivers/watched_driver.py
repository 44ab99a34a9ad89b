"""Report files that a test process and its descendants changed.

Standard input brings parts of files: the path; the file's size, the part's position and the part's size; the part. A
NUL follows the path and the numbers. The answer is the paths that have changed, each followed by a NUL. Few modules are
imported, because every run of tests pays for them: hashlib alone takes half the time of the program.
"""

from __future__ import annotations

import os
import stat
import sys


def has_part(path: bytes, size: int, position: int, part: bytes) -> bool:
    """Return whether a file of ``size`` has ``part`` at ``position``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode) or facts.st_size != size:
                return False
            file.seek(position)
            return file.read(len(part)) == part
    except OSError:
        return False


def main() -> None:
    """Read the files; send the paths of changed ones."""
    given, at = sys.stdin.buffer.read(), 0
    os.chmod(".", 0o755)
    changed = []
    while at < len(given):  # a position: to cut off what is done would copy all the rest for each file
        middle = given.index(b"\0", at)
        start = given.index(b"\0", middle + 1) + 1
        size, position, length = map(int, given[middle + 1 : start - 1].split())
        path, at = given[at:middle], start + length
        if not has_part(path, size, position, given[start:at]):
            changed.append(path)
    os.write(int(sys.argv[1]), b"".join(path + b"\0" for path in changed[:20]))


main()
