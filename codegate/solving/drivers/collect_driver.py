"""List the files that an agent changed, or print some.

Standard input is a JSON object: ``given`` has mode and git's object id of each file by path, ``read`` the paths to
print. With ``read``, the output has their contents in base64. Without, it has the paths that are ``gone``, mode and
size of those that are ``changed`` and ``new``, and the content of every ``.gitignore`` (``rules``). Links are never
followed; only files and links are listed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LINK, FILE, PROGRAM = "120000", "100644", "100755"
SKIPPED = {".git", ".hg"}


def all_files() -> Iterator[tuple[str, os.stat_result]]:
    """Yield path and status of each link and file."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            os.chmod(folder or ".", 0o700)
            names = os.listdir(folder or ".")
        except OSError:  # too long a path for any answer
            continue
        for name in names:
            path = folder + "/" + name if folder else name
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                if name not in SKIPPED:
                    folders.append(path)
            elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield path, status


def mode_of(status: os.stat_result) -> str:
    """Return git's mode of a file."""
    return LINK if stat.S_ISLNK(status.st_mode) else PROGRAM if status.st_mode & stat.S_IXUSR else FILE


def content(path: str, status: os.stat_result) -> bytes:
    """Return a file's bytes, or a link's target."""
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(path))
    os.chmod(path, 0o600)
    with open(path, "rb") as file:
        return file.read()


def changed_files(given: dict[str, list[str]]) -> dict[str, object]:
    """Return what differs from the files ``given``.

    ``gone`` lists missing paths. ``changed`` and ``new`` have mode and size by path, ``rules`` each ``.gitignore`` in
    base64.
    """
    changed: dict[str, tuple[str, int]] = {}
    new: dict[str, tuple[str, int]] = {}
    rules: dict[str, str] = {}
    missing = set(given)
    for path, status in all_files():
        missing.discard(path)
        mode = mode_of(status)
        if path.rpartition("/")[2] == ".gitignore" and mode != LINK:
            rules[path] = base64.b64encode(content(path, status)).decode("ascii")
        if path not in given:
            new[path] = mode, status.st_size
            continue
        data = content(path, status)
        if [mode, hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()] != given[path]:
            changed[path] = mode, len(data)
    return {"gone": sorted(missing), "changed": changed, "new": new, "rules": rules}


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    if "read" in asked:
        found = {path: base64.b64encode(content(path, os.lstat(path))).decode("ascii") for path in asked["read"]}
        sys.stdout.write(json.dumps(found))
    else:
        sys.stdout.write(json.dumps(changed_files(asked["given"])))


main()
