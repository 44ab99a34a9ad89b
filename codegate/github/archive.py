"""Reads a few known files out of a zip that a stranger made.

Nothing is extracted to a path that the archive names: the caller says which members it wants, and gets their bytes.
Format: PKWARE APPNOTE.TXT 6.3.10, section 4.3.16 (end record).
"""

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Final

from codegate.errors import UsageError
from codegate.strict import shown
from codegate.suite import is_plain_path

MAX_MEMBERS: Final = 10_000

_END: Final = struct.Struct("<4s4H2LH")
_MAX_DIRECTORY_BYTES: Final = 4 << 20
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


class BadArchive(UsageError):
    """An archive that is none, is broken, or is made to harm."""


def read_members(
    data: bytes, wanted: Callable[[str], object], most_bytes: int, place: str
) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each wanted file in the zip ``data``; nothing else in it is looked at.

    Args:
        data: the archive.
        wanted: whether a name is that of a wanted file.
        most_bytes: that the wanted files may have together, checked before the first of them is read.
        place: what the archive is, for error messages.

    Raises:
        BadArchive: it is not a plain zip, a wanted file is damaged, encrypted, given twice or named as a path that
            leaves a folder, or they have more bytes.
    """
    try:
        with _opened(data) as archive:
            members = [member for member in archive.infolist() if wanted(member.filename) and not member.is_dir()]
            if len({member.filename for member in members}) < len(members):
                raise ValueError("a file is in it twice")
            if sum(member.file_size for member in members) > most_bytes:
                raise ValueError(f"its files have more than {most_bytes} bytes")
            for member in members:
                yield member.filename, _content(archive, member)
    except (ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        cause = shown(error).removesuffix(".") or type(error).__name__
        raise BadArchive(f"{place} is no usable archive: {cause}.") from error
    except (OSError, struct.error, OverflowError, IndexError) as error:  # offsets that lead nowhere
        raise BadArchive(f"{place} is no usable archive: its directory is damaged.") from error


def _opened(data: bytes) -> zipfile.ZipFile:
    """Open a zip after comparing its last record with its size: the directory is what costs memory."""
    if len(data) < _END.size:
        raise ValueError("it does not end as a zip does")
    mark, _, _, _, count, size, offset, comment = _END.unpack(data[-_END.size :])
    if mark != b"PK\x05\x06" or comment:
        raise ValueError("it does not end as a zip does")
    if count > MAX_MEMBERS or size > _MAX_DIRECTORY_BYTES:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    if size + offset + _END.size != len(data):  # zip64, or something before or between its parts
        raise ValueError("its directory is not where it says")
    return zipfile.ZipFile(BytesIO(data))


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if not is_plain_path(member.filename):
        raise ValueError(f"{shown(member.filename)!r} is no plain name")
    if member.compress_type not in _METHODS:
        raise ValueError(f"{shown(member.filename)!r} is compressed in a way that no artifact is")
    content = archive.read(member)  # never more than its size, and its checksum is compared
    if len(content) != member.file_size:
        raise ValueError(f"{shown(member.filename)!r} has another size than it says")
    return content
