"""Collects what an agent changed: prints a JSON object of the files that differ from those it was given.

Standard input is a JSON object of SHA-256 by path. Values printed are base64 texts, or null for a file that is gone;
``"too large"`` and ``"no file"`` stand for what is not taken.
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

FILE_BYTES = 1 << 20
ALL_BYTES = 8 << 20
MOST_NEW = 1000
SKIPPED = {
    ".git", ".hg", ".hypothesis", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", ".venv", "__pycache__",
    "node_modules", "venv",
}  # fmt: skip


def content(path: str, known: str | None) -> bytes | str | bool | None:
    """Return a file's bytes, or what stands for them; True if it is as ``known``."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    if not stat.S_ISREG(mode):
        return "no file"
    with open(path, "rb") as file:
        data = file.read(FILE_BYTES + 1)
        digest = hashlib.sha256(data)
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() == known:
        return True
    return data if len(data) <= FILE_BYTES else "too large"


def new_files(given: dict[str, str]) -> Iterator[str]:
    """Yield paths that were not given, those nearest to the top first."""
    folders = [""]
    while folders:
        below = []
        for folder in folders:
            try:
                names = sorted(os.listdir(folder or "."))
            except OSError:
                continue
            for name in names:
                path = folder + "/" + name if folder else name
                try:
                    mode = os.lstat(path).st_mode
                except OSError:
                    continue
                if stat.S_ISDIR(mode):
                    if name not in SKIPPED and not name.endswith(".egg-info"):
                        below.append(path)
                elif path not in given:
                    yield path
        folders = below


def main() -> None:
    given = json.loads(sys.stdin.buffer.read())
    changed: dict[str, str | bool | None] = {}
    size = 0
    paths = list(given)
    for path in new_files(given):
        paths.append(path)
        if len(paths) - len(given) >= MOST_NEW:
            break
    for path in paths:
        data = content(path, given.get(path))
        if data is True or (data == "no file" and given.get(path) == "link"):
            continue
        if isinstance(data, bytes):
            size += len(data)
            changed[path] = base64.b64encode(data).decode("ascii") if size <= ALL_BYTES else "too large"
        else:
            changed[path] = data
    sys.stdout.write(json.dumps(changed))


main()
