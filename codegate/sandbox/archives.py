"""Built environments in a folder of archives: a machine that imports them builds nothing and needs no package index.

An archive is a tar file named by what the environment was made from. ``environments.json`` beside them has the SHA-256
of each, recorded when it was written.
"""

import hashlib
import os
import posixpath
import shutil
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, ValidationError

from codegate.durable import sha256_of, write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox.cache import cache_folder, temporary_folder
from codegate.sandbox.environment import COMPLETE, PARTS, content_of, put_in_place
from codegate.sandbox.packing import pack
from codegate.strict import Strict

INDEX: Final = "environments.json"
_INDEX_BYTES: Final = 1 << 20
_DAY: Final = 24 * 3600
_BAD_ARCHIVE: Final = (tarfile.TarError, ValueError, FileExistsError, FileNotFoundError, NotADirectoryError)
_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class ArchiveIndex(Strict):
    """``environments.json``: what each archive's bytes are."""

    schema_: Literal["codegate.environments/1"] = Field("codegate.environments/1", alias="schema")
    sha256: Mapping[_Sha256, _Sha256] = Field(max_length=10_000, description="SHA-256 of `KEY.tar`, by key.")


def export_environments(target: Path) -> dict[str, str]:
    """Write every environment that is built here into ``target``, and return the archives' SHA-256 by key.

    Raises:
        UsageError: ``target`` has an index that cannot be read.
        InfrastructureError: the disk refused, or an environment is no longer what was built.
    """
    folders = sorted(path.parent for path in (cache_folder() / "environments").glob(f"*/{COMPLETE}"))
    built = {folder.name: content for folder in folders if (content := content_of(folder))}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for key, content in built.items():
            archive = target / f"{key}.tar"
            if archive.is_file() and sha256_of(archive) == content:
                continue
            with tempfile.NamedTemporaryFile(dir=target, prefix=".codegate-", delete=False) as file:
                unfinished = Path(file.name)
                try:
                    folder = cache_folder() / "environments" / key
                    if pack(folder, PARTS, file) != content:
                        raise InfrastructureError(f"{folder} has changed since it was built.", "Remove it.")
                    file.flush()
                    unfinished.chmod(0o644)
                    unfinished.rename(archive)
                except BaseException:
                    unfinished.unlink(missing_ok=True)
                    raise
    except OSError as error:
        raise InfrastructureError(f"cannot write to {target}: {error}.", "Free some space.") from error
    write_index(target, built)
    return built


def write_index(target: Path, built: Mapping[str, str]) -> None:
    """Add archives to the index in ``target``: their SHA-256 by key; raises as ``read_index``."""
    known = dict(read_index(target / INDEX).sha256) if (target / INDEX).exists() else {}
    index = ArchiveIndex(schema="codegate.environments/1", sha256=dict(sorted({**known, **built}.items())))
    write_atomic(target / INDEX, index.model_dump_json(by_alias=True, indent=2).encode("ascii") + b"\n")


def import_environments(source: Path, trusted: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Take the archives in ``source`` that ``trusted`` names and that are not here yet.

    An archive decides what runs beside the tests, and on this machine where it has a toolchain.

    Args:
        source: a folder that ``export_environments`` wrote.
        trusted: the SHA-256 of each archive that may be taken, by key.

    Returns:
        How many were taken, and for each that was refused a clause that says why.

    Raises:
        InfrastructureError: the disk refused.
    """
    root = cache_folder() / "environments"
    count, refused = 0, []
    try:
        for key, expected in trusted.items():
            folder, archive = root / key, source / f"{key}.tar"
            if content_of(folder) is not None or not archive.is_file():
                continue
            with temporary_folder(root) as made:
                unpacked = made / "environment"
                try:
                    _unpack(archive, expected, unpacked)
                except _BAD_ARCHIVE as error:
                    refused.append(f"{archive.name} {error}")
                    continue
                put_in_place(unpacked, expected, folder)
            count += 1
    except OSError as error:
        raise InfrastructureError(f"cannot take the environments of {source}: {error}.", "Free some space.") from error
    return count, tuple(refused)


def prune_environments(days: int) -> tuple[int, int]:
    """Remove the environments that nothing used for ``days`` days, and return how many, and their size in bytes.

    Raises:
        InfrastructureError: the disk refused.
    """
    count = size = 0
    try:
        for marker in sorted((cache_folder() / "environments").glob(f"*/{COMPLETE}")):
            if marker.stat().st_mtime < time.time() - days * _DAY:
                size += sum(path.lstat().st_size for path in marker.parent.rglob("*"))
                marker.unlink()  # a folder without it is built anew
                shutil.rmtree(marker.parent)
                count += 1
    except OSError as error:
        raise InfrastructureError(f"cannot remove environments: {error}.", "Remove the folder by hand.") from error
    return count, size


def read_index(path: Path) -> ArchiveIndex:
    """Read an index; raises UsageError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return ArchiveIndex.model_validate_json(file.read(_INDEX_BYTES))
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{path} is no index of environments.", "`codegate environments export` writes one."
        ) from error


def _unpack(archive: Path, expected: str, target: Path) -> None:
    """Unpack folders, files and links of an environment; links come last, so that nothing is written through one.

    Raises one of ``_BAD_ARCHIVE`` for an archive of another SHA-256 than ``expected``, or that has anything else.
    """
    links: list[tuple[Path, str]] = []
    with archive.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != expected:
            raise ValueError("does not have the recorded SHA-256")
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:") as members:
            for member in members:
                place = _inside(target, member.name)
                if member.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                elif member.issym():
                    links.append((place, member.linkname))
                elif member.isreg() and (data := members.extractfile(member)) is not None:
                    with place.open("xb") as written:
                        shutil.copyfileobj(data, written)
                    place.chmod(0o755 if member.mode & 0o100 else 0o644)
                else:
                    raise ValueError(f"has {member.name[:200]!r}, which is neither a file nor a folder nor a link")
    for place, to in links:
        _check_real(target, place.parent)
        place.symlink_to(to)
    for place, _ in links:  # where one leads may depend on all
        _check_real(target, place)
    missing = [part for part in PARTS if not (target / part).is_dir()]
    if missing:
        raise ValueError(f"has no folder {missing[0]}")


def _inside(target: Path, name: str) -> Path:
    parts = posixpath.normpath(name).split("/")
    if "\0" in name or parts[0] not in PARTS:
        raise ValueError(f"has {name[:200]!r}, which is outside of the environment's folders")
    return target.joinpath(*parts)


def _check_real(target: Path, place: Path) -> None:
    if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(target)):
        raise ValueError(
            f"has {str(place.relative_to(target))[:200]!r}, which leads outside of the environment's folders"
        )
