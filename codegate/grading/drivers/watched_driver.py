"""Report files that a test process and its descendants changed.

Standard input brings each file's path, the size of its content, and that content, a NUL behind path and size. It
answers with the paths that have changed, a NUL behind each. Every run of tests pays for the imports: hashlib alone
takes half the time of the program.
"""

from __future__ import annotations

import os
import stat
import sys


def has_content(path: bytes, content: bytes) -> bool:
    """Return whether a file has exactly this content."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            return stat.S_ISREG(facts.st_mode) and facts.st_size == len(content) and file.read() == content
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
        path, at = given[at:middle], start + int(given[middle + 1 : start - 1])
        if not has_content(path, given[start:at]):
            changed.append(path)
    os.write(int(sys.argv[1]), b"".join(path + b"\0" for path in changed[:20]))


main()
