"""Entries of tar archives with fixed times and owners."""

import tarfile
from pathlib import Path
from typing import Final

_TIME: Final = 1_000_000_000  # of every entry


def add_file(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file as ``name``."""
    entry = archive_entry(name, tarfile.REGTYPE)
    status = path.stat()
    entry.size = status.st_size
    entry.mode = 0o755 if status.st_mode & 0o100 else 0o644
    with path.open("rb") as file:
        archive.addfile(entry, file)


def archive_entry(name: str, kind: bytes) -> tarfile.TarInfo:
    """Return an archive entry without its size and link target."""
    entry = tarfile.TarInfo(name)
    entry.type = kind
    entry.mode = 0o644 if kind == tarfile.REGTYPE else 0o755
    entry.mtime = _TIME
    return entry
