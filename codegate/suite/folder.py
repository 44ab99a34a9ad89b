"""Read untrusted folders, without links and within size limits."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.strict import read_bytes
from codegate.suite.tree import Tree, TreeFile, is_plain_path

MAX_FILE_BYTES: Final = 16 << 20
MAX_FOLDER_BYTES: Final = 512 << 20
MAX_FOLDER_FILES: Final = 50_000
_MAX_ENTRIES: Final = 4 * MAX_FOLDER_FILES  # folders count too: empty ones can be without end


def path_inside(folder: Path, relative: str) -> Path:
    """Return the path ``folder/relative`` if no part is a link.

    Raises:
        UsageError: a part is a link.
    """
    path = folder
    for part in relative.split("/"):
        path = path / part
        if os.path.islink(path):  # noqa: PTH114  it does not raise
            raise UsageError(f"{path} is a symbolic link; suites hold none.", "Put the file or folder itself there.")
    return path


def read_folder(root: Path) -> dict[str, bytes]:
    """Return the files below ``root``, by relative path.

    Raises:
        UsageError: ``root`` is not a folder, or holds a link, an unusable name, or more than the limits allow.
    """
    files: dict[str, bytes] = {}
    size = 0
    for path in _walk(root):
        relative = path.relative_to(root).as_posix()
        if not is_plain_path(relative):
            raise UsageError(f"{str(path)!r} is not a usable path.")
        if len(files) >= MAX_FOLDER_FILES:
            raise UsageError(f"{root} holds more than {MAX_FOLDER_FILES} files.")
        files[relative] = read_bytes(path, MAX_FILE_BYTES)
        size += len(files[relative])
        if size > MAX_FOLDER_BYTES:
            raise UsageError(f"the files in {root} have more than {MAX_FOLDER_BYTES >> 20} MiB.")
    return files


def base_folder(suite: Path, folder: str) -> Tree:
    """Return the base tree in ``folder`` of a suite.

    Raises:
        UsageError: it is not a folder, or holds a link, an unusable name, or more than the limits allow.
    """
    root = path_inside(suite, folder)
    if not os.path.isdir(root):  # noqa: PTH112  it does not raise
        raise UsageError(f"{root} does not exist; the suite names it as a base tree.")
    return Tree({path: TreeFile(data) for path, data in read_folder(root).items()})


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the paths of files, links and devices below ``folder``."""
    waiting = [folder]
    left = _MAX_ENTRIES
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as found:
                entries = sorted(islice(found, left + 1), key=lambda entry: entry.name)
            left -= len(entries)
            if left < 0:
                raise UsageError(f"{folder} holds more than {_MAX_ENTRIES} files and folders.")
            modes = [entry.stat(follow_symlinks=False).st_mode for entry in entries]
        except OSError as error:
            raise UsageError(f"cannot read {place}: {error.strerror or error}.") from error
        for entry, mode in zip(entries, modes, strict=True):
            if stat.S_ISDIR(mode):
                waiting.append(Path(entry.path))
            else:
                yield Path(entry.path)  # a link or a device too: it is not read
