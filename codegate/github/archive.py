"""Reads a few known files out of a zip that a stranger made.

An artifact is a zip whose every byte may be an attacker's. Nothing is ever extracted to a path that the archive
names: the caller names the members that it knows and how large each may be, and gets their bytes. An archive that is
odd in any way, also in members that nobody asked for, is refused as a whole.
Format: PKWARE APPNOTE.TXT 6.3.10, sections 4.3.16 (end record) and 4.4.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codegate.errors import InfrastructureError, UsageError
from codegate.strict import shown
from codegate.suite import is_plain_path

MAX_MEMBERS: Final = 10_000

_END: Final = struct.Struct("<4s4H2LH")
_END_MARK: Final = b"PK\x05\x06"
_HEADER_BYTES: Final = 30
_MAX_DIRECTORY_BYTES: Final = 4 << 20
_ZIP64_FIELD: Final = 0x0001
_RATIO: Final = 400  # deflate gives 1032 at most, and JSON that repeats itself some 100
_SMALL: Final = 1 << 20  # up to this size a ratio is no danger
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED_OR_PATCHED: Final = 0x1 | 0x20 | 0x40 | 0x2000
_KINDS: Final = frozenset({0, stat.S_IFREG, stat.S_IFDIR})
_PIECE: Final = 1 << 20


class BadArchive(UsageError):
    """An archive that is none, is broken, or is made to harm."""


def read_members(data: bytes, wanted: Mapping[str, int], place: str) -> dict[str, bytes]:
    """Return those of the ``wanted`` files that the zip ``data`` holds.

    Args:
        data: the archive.
        wanted: most bytes of each file, by its name in the archive.
        place: what the archive is, for error messages.

    Raises:
        BadArchive: it is no zip, or not one that an honest program makes of regular files: damaged, encrypted, of
            zip64, with links, names that leave the folder or are given twice, sizes that lie, or more than the
            limits allow.
    """
    with _reading(data, place) as archive:
        members = _checked(archive, wanted)
        return {name: _inflated(archive, member, wanted[name]) for name, member in members.items()}


@contextmanager
def _reading(data: bytes, place: str) -> Iterator[zipfile.ZipFile]:
    """Open the zip ``data``; whatever is wrong with it is a BadArchive."""
    try:
        with _opened(data) as archive:
            yield archive
    except (ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise BadArchive(f"{place} is no usable archive: {_words(error)}.") from error
    except (OSError, struct.error, OverflowError, IndexError) as error:  # offsets that lead nowhere
        raise BadArchive(f"{place} is no usable archive: its directory is damaged.") from error


def unpack(data: bytes, folder: Path, names: re.Pattern[str], most_bytes: int, place: str) -> tuple[str, ...]:
    """Write those files of the zip ``data`` whose names match ``names`` into ``folder``, and return their names.

    Args:
        data: the archive.
        folder: where the files go; it and the folders below it are made.
        names: matches plain relative names only.
        most_bytes: that the files may have together.
        place: what the archive is, for error messages.

    Raises:
        BadArchive: as ``read_members``, or the files have more bytes than that together.
        InfrastructureError: the disk refused.
    """
    with _reading(data, place) as archive:
        wanted = {name: most_bytes for name in archive.namelist() if names.fullmatch(name)}
        members = _checked(archive, wanted)
        if sum(member.file_size for member in members.values()) > most_bytes:
            raise ValueError(f"its files have more than {most_bytes} bytes")
        for name, member in members.items():
            _write(folder / name, _inflated(archive, member, most_bytes))
        return tuple(members)


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise InfrastructureError(f"cannot write {path}: {error.strerror or error}.", "Free some space.") from error


def _opened(data: bytes) -> zipfile.ZipFile:
    if len(data) < _END.size or data[-_END.size :][:4] != _END_MARK:
        raise ValueError("it does not end as a zip does")
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack(data[-_END.size :])
    if disk or first_disk or here != count or comment:
        raise ValueError("its last record contradicts itself")
    if count > MAX_MEMBERS or size > _MAX_DIRECTORY_BYTES:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    if size + offset + _END.size != len(data):  # zip64, or something before or between its parts
        raise ValueError("its directory is not where it says")
    archive = zipfile.ZipFile(io.BytesIO(data))
    if len(archive.infolist()) != count:
        raise ValueError("it has another number of members than it says")
    return archive


def _checked(archive: zipfile.ZipFile, wanted: Mapping[str, int]) -> dict[str, zipfile.ZipInfo]:
    seen: set[str] = set()
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        _check(member)
        if member.header_offset + _HEADER_BYTES + member.compress_size > archive.start_dir:
            raise ValueError(f"{shown(member.filename)!r} is not where it says")
        name = member.filename.removesuffix("/")
        if name in seen:
            raise ValueError(f"{shown(name)!r} is in it twice")
        seen.add(name)
        if member.filename in wanted:
            if member.file_size > wanted[name]:
                raise ValueError(f"{shown(name)!r} is larger than {wanted[name]} bytes")
            found[name] = member
    return found


def _check(member: zipfile.ZipInfo) -> None:
    name = shown(member.orig_filename)
    if member.orig_filename != member.filename or not is_plain_path(member.filename.removesuffix("/")):
        raise ValueError(f"{name!r} is no plain name")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in _KINDS or (kind == stat.S_IFDIR) > member.is_dir():
        raise ValueError(f"{name!r} is a link or another odd file")
    if member.is_dir() and member.file_size:
        raise ValueError(f"{name!r} is a folder and a file at once")
    if member.flag_bits & _ENCRYPTED_OR_PATCHED:
        raise ValueError(f"{name!r} is encrypted")
    if member.compress_type not in _METHODS:
        raise ValueError(f"{name!r} is compressed in a way that no artifact is")
    if _ZIP64_FIELD in _extra_fields(member.extra):
        raise ValueError(f"{name!r} is of zip64, which nothing of its size needs")
    if member.file_size > _SMALL and member.file_size > _RATIO * member.compress_size:
        raise ValueError(f"{name!r} would grow more than {_RATIO} times")


def _extra_fields(extra: bytes) -> Iterator[int]:
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        yield kind
        extra = extra[4 + length :]


def _inflated(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    data = bytearray()
    with archive.open(member) as file:
        while piece := file.read(_PIECE):  # to its end, where its checksum is compared
            data += piece
            if len(data) > most:
                raise ValueError(f"{shown(member.filename)!r} is larger than {most} bytes")
    if len(data) != member.file_size:
        raise ValueError(f"{shown(member.filename)!r} has another size than it says")
    return bytes(data)


def _words(error: Exception) -> str:
    return shown(error).removesuffix(".") or type(error).__name__
