"""Folders as tar archives whose bytes depend on their content alone."""

import hashlib
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_TIME: Final = 1_000_000_000  # of every entry


class _Hashed(io.RawIOBase):
    """Writes to ``file``, if any, and knows the SHA-256 of what was written."""

    def __init__(self, file: IO[bytes] | None) -> None:
        self.file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: "ReadableBuffer", /) -> int:
        self.sha256.update(data)
        return len(memoryview(data)) if self.file is None else self.file.write(data)


def pack(folder: Path, parts: Sequence[str], file: IO[bytes] | None = None) -> str:
    """Write the folders ``parts`` of ``folder`` to ``file``, if any, as a tar archive; return its SHA-256."""
    hashed = _Hashed(file)
    with tarfile.open(fileobj=hashed, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        for part in parts:
            add_folder(archive, folder / part, part)
    return hashed.sha256.hexdigest()


def add_folder(archive: tarfile.TarFile, source: Path, target: str) -> None:
    """Add a folder as ``target``, links as links; nothing of the file system's times and owners."""
    archive.addfile(archive_entry(target, tarfile.DIRTYPE))
    for path in sorted(source.rglob("*")):
        name = f"{target}/{path.relative_to(source).as_posix()}"
        if path.is_symlink():
            link = archive_entry(name, tarfile.SYMTYPE)
            link.linkname = str(path.readlink())
            archive.addfile(link)
        elif path.is_dir():
            archive.addfile(archive_entry(name, tarfile.DIRTYPE))
        elif path.is_file():
            add_file(archive, path, name)


def add_file(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file as ``name``, like ``add_folder``."""
    entry = archive_entry(name, tarfile.REGTYPE)
    status = path.stat()
    entry.size = status.st_size
    entry.mode = 0o755 if status.st_mode & 0o100 else 0o644
    with path.open("rb") as file:
        archive.addfile(entry, file)


def archive_entry(name: str, kind: bytes) -> tarfile.TarInfo:
    """Return an entry of an archive, without its size and the target of a link."""
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = 0o644 if kind == tarfile.REGTYPE else 0o755
    entry.mtime = _TIME
    return entry
