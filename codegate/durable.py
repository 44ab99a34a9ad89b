"""Canonical JSON, digests, and writes that survive a crash."""

import errno
import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from codegate.errors import InfrastructureError, UsageError

_BLOCK: Final = 1 << 20


def canonical_json(value: Any) -> bytes:
    """Return ``value`` as canonical JSON: UTF-8, sorted keys, no blanks.

    Raises:
        ValueError: ``value`` holds NaN or an infinity.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def sha256(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256; raise OSError if it is unreadable."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of ``value``."""
    return sha256(canonical_json(value))


def write_atomic(path: Path, data: bytes) -> None:
    """Replace the content of ``path`` by ``data``, atomically.

    After a crash the file has the old bytes or the new.

    Raises:
        InfrastructureError: the file cannot be written (full disk, read-only, no permission).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".codegate-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise _disk_error(path, error) from error


def check_new_folder(path: Path) -> None:
    """Raise UsageError unless ``path`` is missing or an empty folder."""
    if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
        raise UsageError(f"{path} exists already.", "Choose another folder.")


def append_line(path: Path, line: bytes) -> None:
    """Append ``line`` and a newline; wait until they are stored.

    Only one process may append to a file at a time. A failed write leaves the file as it was.

    Raises:
        InfrastructureError: the line cannot be written.
        ValueError: ``line`` holds a newline.
    """
    if b"\n" in line:
        raise ValueError("a line holds no newline")
    try:
        created = not path.exists()
        # O_NOFOLLOW refuses a link; O_NONBLOCK fails on a pipe that has no reader, instead of waiting.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            _append(descriptor, line + b"\n")
        finally:
            os.close(descriptor)
        if created:
            _sync_folder(path.parent)
    except OSError as error:
        raise _disk_error(path, error) from error


def drop_torn_line(path: Path, limit: int) -> None:
    """Remove a last line that a crash left incomplete.

    Raises:
        UsageError: the file has more than ``limit`` bytes.
        InfrastructureError: the file cannot be read or shortened.
    """
    try:
        with path.open("rb+") as file:
            end = whole = file.seek(0, os.SEEK_END)
            if end > limit:
                raise UsageError(f"{path} is larger than {limit} bytes.")
            while whole > 0:
                start = max(0, whole - _BLOCK)
                file.seek(start)
                found = file.read(whole - start).rfind(b"\n")
                whole = start + found + 1 if found >= 0 else start
                if found >= 0:
                    break
            if whole != end:
                file.truncate(whole)
                os.fsync(file.fileno())
    except FileNotFoundError:
        return
    except OSError as error:
        raise InfrastructureError(
            f"cannot repair {path}: {error.strerror or error}.", "Check the disk and its permissions."
        ) from error


def _append(descriptor: int, data: bytes) -> None:
    before = os.fstat(descriptor).st_size
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, before)
        raise


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def _disk_error(path: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        f"cannot write {path}: {error.strerror or error}.", "Check its space and permissions, or choose another folder."
    )
