"""Archives of recorded builds: written from sandboxes, checked when read.

A repository's code wrote their content, so nothing here unpacks an archive, follows a link or trusts a name. An archive
is a tar with two folders, ``env`` and ``tree``. A folder's entry comes before those of its content. Owners are not
kept.
"""

import contextlib
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Final, Protocol, TypeAlias, cast

from typing_extensions import override

from codegate.sandbox.contract import Layer, SandboxError
from codegate.sandbox.session import WORKSPACE

BUILT: Final = "/opt/env"
PARTS: Final = {"env": BUILT, "tree": WORKSPACE}
"""The folders of an archive, with their paths in sandboxes."""
TRANSIENT: Final = ("cache", "tmp")
"""Folders of ``BUILT`` that only the build needs: download caches, and TMPDIR. Archives leave out their content."""
BUILD_FOLDERS: Final = ("bin", "home", *TRANSIENT)
"""Folders of ``BUILT`` that a new build begins with."""
_ROOTS: Final = tuple(PARTS)
_COPY_BYTES: Final = 1 << 18
_CUT_SHORT: Final = "the archive of a build is cut short."
_TYPES: Final = {tarfile.AREGTYPE: tarfile.REGTYPE} | {
    kind: kind for kind in (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)
}

Entry: TypeAlias = tuple[tarfile.TarInfo, IO[bytes] | None]
"""A member of an archive, with a stream of its bytes if it is a file. Read the stream before you take the next member.
"""


class Source(Protocol):
    """A readable stream that holds a tar."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; b"" at the end."""
        ...


class BlockStream(Source):
    """A ``Source`` over an iterator of byte blocks."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._rest = b""

    @override
    def read(self, size: int, /) -> bytes:
        self._rest = self._rest or next(self._parts, b"")
        part, self._rest = self._rest[:size], self._rest[size:]
        return part


def freeze(env: Source, tree: Source, tracked: Collection[str], archive: Path) -> str:
    """Write a build's archive; return its SHA-256.

    Args:
        env: tar of ``/opt/env``, with that folder as its first member.
        tree: tar of the workspace, with that folder as its first member.
        tracked: see ``BuildSandbox.freeze``.
        archive: a file that does not exist yet.

    Raises:
        SandboxError: a tar is cut short, or the archive cannot be written.
    """
    written = hashlib.sha256()
    try:
        with archive.open("xb") as file, tempfile.TemporaryFile(dir=archive.parent) as spare:
            try:
                for block in tar_blocks(_checked_entries(_frozen(env, tree, frozenset(tracked), spare))):
                    written.update(block)
                    file.write(block)
            except BaseException:
                with contextlib.suppress(OSError):
                    archive.unlink()
                raise
    except OSError as error:
        raise SandboxError(f"cannot write what was built to {archive}: {error}.", "Free some space.") from error
    return written.hexdigest()


def read_layer(layer: Layer) -> Iterator[Entry]:
    """Yield the entries of a layer's archive.

    Use them only once all are read, because the SHA-256 is checked at the end.

    Raises:
        SandboxError: the archive is missing, changed or malformed.
    """
    remedy = "Remove it and what is beside it; the next run builds it again."
    try:
        with layer.archive.open("rb") as file:
            whole = _HashingReader(file)
            yield from _checked_entries((_renamed_entry(member, member.name), data) for member, data in _members(whole))
            if whole.sha256.hexdigest() != layer.sha256:
                raise SandboxError(f"the environment's archive {layer.archive} has changed since it was made.", remedy)
    except OSError as error:
        raise SandboxError(f"the environment's archive {layer.archive} cannot be read: {error}.", remedy) from error


def tar_blocks(entries: Iterable[Entry]) -> Iterator[bytes]:
    """Yield the bytes of a tar of ``entries``.

    Raises:
        SandboxError: a file has fewer bytes than its entry says.
    """
    block = bytearray()
    for entry, data in entries:
        block += entry.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
        left = entry.size if data is not None else 0
        while data is not None and left:
            part = _part(data, min(left, _COPY_BYTES))
            if not part:
                raise SandboxError(_CUT_SHORT)
            left -= len(part)
            block += part
            if len(block) >= _COPY_BYTES:
                yield bytes(block)
                block.clear()
        block += bytes(-entry.size % tarfile.BLOCKSIZE)
    yield bytes(block + bytes(2 * tarfile.BLOCKSIZE))


class _HashingReader:
    """A reader that computes the SHA-256 of all it reads."""

    def __init__(self, source: Source) -> None:
        self.sha256 = hashlib.sha256()
        self._source = source
        self._last = b""

    def read(self, size: int, /) -> bytes:
        data = self._source.read(size)
        self.sha256.update(data)
        self._last = (self._last + data)[-tarfile.BLOCKSIZE :]
        return data

    def ended(self) -> bool:
        """Read the rest; return whether the tar is complete."""
        while self.read(_COPY_BYTES):
            pass
        return self._last == bytes(tarfile.BLOCKSIZE)


def _members(source: _HashingReader) -> Iterator[Entry]:
    try:
        file = cast("IO[bytes]", source)  # tarfile calls no method but ``read``
        with tarfile.open(fileobj=file, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # it would keep all of them
                yield member, archive.extractfile(member) if member.isreg() else None
    except tarfile.TarError as error:
        raise SandboxError(f"the archive of a build cannot be read: {error}.") from error
    if not source.ended():  # tarfile takes invalid data after the first member for the end
        raise SandboxError(_CUT_SHORT)


def _renamed_entry(member: tarfile.TarInfo, name: str) -> tarfile.TarInfo:
    """Return ``member`` as ``name``, without owner and set-id bits."""
    entry = tarfile.TarInfo(name)
    entry.type = b"sparse" if member.issparse() else _TYPES.get(member.type, member.type)
    entry.mode = member.mode & 0o777
    entry.mtime = max(0, int(member.mtime))
    entry.size = member.size if entry.type == tarfile.REGTYPE else 0
    entry.linkname = member.linkname
    return entry


def _checked_entries(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Check and yield each of ``entries``.

    Raises:
        SandboxError: an entry is not below ``env`` or ``tree``, is a duplicate, comes before its folder, is a hard link
            to no earlier file, or is neither a file, a folder nor a link.
    """
    seen: dict[str, bytes] = {}
    for entry, data in entries:
        first, *rest = entry.name.split("/")
        if first not in _ROOTS or any(part in {"", ".", ".."} for part in rest) or "\0" in entry.name + entry.linkname:
            fault = "is neither below env nor below tree"
        elif entry.name in seen:
            fault = "is there twice"
        elif rest and seen.get(entry.name.rpartition("/")[0]) != tarfile.DIRTYPE:
            fault = "does not come after its folder"  # the missing folder could be a link to anywhere
        elif entry.type == tarfile.LNKTYPE and seen.get(entry.linkname, tarfile.DIRTYPE) == tarfile.DIRTYPE:
            fault = "is a hard link to no file before it"
        elif entry.type not in _TYPES or (entry.type == tarfile.SYMTYPE and not entry.linkname):
            fault = "is no file, folder or link"
        elif not rest and entry.type != tarfile.DIRTYPE:
            fault = "is no folder"
        else:
            seen[entry.name] = entry.type
            yield entry, data
            continue
        raise SandboxError(f"the archive of a build has a member that {fault}: {entry.name[:200]!a}.")


def _frozen(env: Source, tree: Source, tracked: frozenset[str], spare: IO[bytes]) -> Iterator[Entry]:
    for root, source, left_out in ((_ROOTS[0], env, frozenset(TRANSIENT)), (_ROOTS[1], tree, tracked)):
        yield from _folder_entries(root, _members(_HashingReader(source)), left_out, spare)


def _folder_entries(root: str, members: Iterator[Entry], left_out: frozenset[str], spare: IO[bytes]) -> Iterator[Entry]:
    """Yield the archive's entries of one folder, named below ``root``.

    ``members`` are the tar entries of the folder. Entries at or below the paths ``left_out`` are skipped. Their bytes
    go to the file ``spare``, because a later entry can be a hard link to a skipped file.
    """
    shared = {folder for path in left_out for folder in _folders(path)}
    waiting: dict[str, tarfile.TarInfo] = {}  # folders with left-out content, yielded only before a kept entry in them
    aside: dict[str, tuple[tarfile.TarInfo, int]] = {}
    names: dict[str, str] = {}  # name in the archive, by path, of a kept entry or of the file with its bytes
    for member, given in members:
        path, data = _relative_path(member.name), given
        entry = _renamed_entry(member, f"{root}/{path}" if path else root)
        if entry.type not in _TYPES:
            continue
        if path in left_out or any(folder in left_out for folder in _folders(path)):
            if entry.type in {tarfile.REGTYPE, tarfile.SYMTYPE}:
                aside[path] = entry, _append(spare, data)
            continue
        if entry.type == tarfile.DIRTYPE and path in shared:
            waiting[path] = entry
            continue
        if entry.type == tarfile.LNKTYPE:
            target = _relative_path(member.linkname)
            if target in names:
                entry.linkname = names[target]
            elif target in aside:
                original, place = aside[target]
                entry = _renamed_entry(original, entry.name)
                data = spare if entry.type == tarfile.REGTYPE else None
                spare.seek(place)
                names[target] = entry.name
            else:
                continue
        for folder in _folders(path):
            if folder in waiting:
                yield waiting.pop(folder), None
        if entry.type != tarfile.DIRTYPE:
            names[path] = entry.name
        yield entry, data
        if not path and root == _ROOTS[0]:
            temporary = _renamed_entry(entry, f"{root}/{TRANSIENT[1]}")
            temporary.mode = 0o755
            yield temporary, None


def _relative_path(name: str) -> str:
    """Return a member's path below the tar's top folder."""
    return name.rstrip("/").partition("/")[2]


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _append(spare: IO[bytes], data: IO[bytes] | None) -> int:
    place = spare.seek(0, os.SEEK_END)
    while data is not None and (part := _part(data, _COPY_BYTES)):
        spare.write(part)
    return place


def _part(data: IO[bytes], size: int) -> bytes:
    try:
        return data.read(size)
    except tarfile.TarError as error:
        raise SandboxError(_CUT_SHORT) from error
