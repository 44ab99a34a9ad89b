"""Bytes that survive: canonical JSON, digests, atomic replacement and fsynced appends."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from codegate.errors import InfrastructureError


def canonical_json(value: Any) -> bytes:
    """Return the one JSON encoding of ``value``: sorted keys, no blanks, UTF-8, no NaN.

    Raises:
        ValueError: ``value`` holds NaN or an infinity.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def sha256(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of ``value``."""
    return sha256(canonical_json(value))


def write_atomic(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data`` so that a crash leaves the old bytes or the new, never a mixture.

    Raises:
        InfrastructureError: the disk refused (full, read-only, no permission).
    """
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:80]}.", delete=False) as file:
            name = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
        name = None
        _sync_folder(path.parent)
    except OSError as error:
        raise _disk_error(path, error) from error
    finally:
        if name is not None:
            Path(name).unlink(missing_ok=True)


def append_line(path: Path, line: bytes) -> None:
    """Append ``line`` and a newline to ``path`` in one write, and wait until the disk has it.

    Raises:
        InfrastructureError: the disk refused.
    """
    try:
        created = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            data = memoryview(line + b"\n")
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if created:
            _sync_folder(path.parent)
    except OSError as error:
        raise _disk_error(path, error) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _disk_error(path: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        f"cannot write {path}: {error.strerror or error}.", "Free some space or choose another folder."
    )
