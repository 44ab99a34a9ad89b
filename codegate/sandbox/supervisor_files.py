"""The part of the supervisor that writes files.

It writes only below the workspace, and never through a link. It is no module in the sandbox: its source is sent ahead
of that of ``supervisor.py``, as one text with it.
"""

# Every sandbox pays for the imports: contextlib, json, pathlib, signal and typing are not among them.

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Header = dict[str, Any]

WORKSPACE = b"/workspace"
REFUSED = frozenset((
    errno.ENOSPC, errno.EFBIG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EPERM, errno.EEXIST,
    errno.ENAMETOOLONG, errno.ENXIO, errno.EACCES,
))  # fmt: skip
"""Errors of a write that are about the file, not about us."""


class FilesRefused(Exception):
    """Files cannot be written because of the files themselves."""


class suppress:  # noqa: N801 - named as the one of contextlib, which takes longer to import than the supervisor to start
    """Suppress exceptions of the given kinds."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self.kinds = kinds

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self.kinds)


def segments(path: bytes) -> list[bytes]:
    """Return the parts of a relative path.

    Raises:
        FilesRefused: it could lead out of the workspace.
    """
    parts = path.split(b"/")
    if not path or b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        raise FilesRefused(f"{path[:200]!r} is not a plain relative path")
    return parts


def check_link(path: bytes, target: bytes) -> None:
    """Raise FilesRefused for a link that leaves the workspace.

    Its target has to be relative; it is resolved from the link's folder.
    """
    depth = len(segments(path)) - 1
    if not target or b"\0" in target or target.startswith(b"/"):
        raise FilesRefused(f"link {path[:200]!r} has an absolute or empty target")
    for part in target.split(b"/"):
        depth += -1 if part == b".." else 0 if part in (b"", b".") else 1
        if depth < 0:
            raise FilesRefused(f"link {path[:200]!r} leaves the workspace")


class Writer:
    """Writes files below the workspace without following a link."""

    FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

    def __init__(self) -> None:
        self.names: list[bytes] = []
        self.descriptor = os.open(WORKSPACE, self.FOLDER)

    def close(self) -> None:
        """Close the folder that was opened last."""
        os.close(self.descriptor)

    def enter(self, names: list[bytes]) -> int:
        """Return a descriptor of a folder, made if absent.

        ``names`` are the parts of its path in the workspace.
        """
        if names == self.names:
            return self.descriptor
        current = os.open(WORKSPACE, self.FOLDER)
        try:
            for name in names:
                with suppress(FileExistsError):
                    os.mkdir(name, 0o755, dir_fd=current)
                deeper = os.open(name, self.FOLDER, dir_fd=current)
                os.close(current)
                current = deeper
        except OSError:
            os.close(current)
            raise
        os.close(self.descriptor)
        self.names, self.descriptor = names, current
        return current

    def write(self, path: bytes, mode: str, data: memoryview, append: bool) -> None:
        """Write a file, replacing an existing one, or append."""
        parts = segments(path)
        folder, name = self.enter(parts[:-1]), parts[-1]
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        if append:
            flags |= os.O_APPEND
        else:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            if mode == "120000":
                check_link(path, bytes(data))
                os.symlink(bytes(data), name, dir_fd=folder)
                return
            flags |= os.O_CREAT | os.O_EXCL
        descriptor = os.open(name, flags, 0o755 if mode == "100755" else 0o644, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FilesRefused(f"{path[:200]!r} is not a regular file")
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)


def put(header: Header, blob: memoryview) -> Header:
    """Write the files of one message.

    ``files`` of the header lists [path, mode, size, append]; ``blob`` holds the bytes.
    """
    writer = Writer()
    try:
        for text, mode, size, append in header["files"]:
            try:
                path = text.encode("utf-8", "surrogateescape")
                writer.write(path, mode, blob[:size], append)
            except OSError as error:
                if error.errno not in REFUSED:
                    raise
                raise FilesRefused(f"{path[:200]!r}: {error.strerror}") from None
            except UnicodeEncodeError:
                raise FilesRefused(f"{text[:200]!a} is not a file name") from None
            blob = blob[size:]
    finally:
        writer.close()
    return {"ok": True}
