"""Built environments in a folder of archives: a machine that imports them builds nothing and needs no package index.

An archive is a tar file named by what the environment was made from. ``environments.json`` beside them has the SHA-256
of each, recorded when it was written.
"""

import hashlib
import posixpath
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codegate.durable import write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.environment import COMPLETE, PARTS, put_in_place
from codegate.sandbox.packing import pack

INDEX: Final = "environments.json"
_REMEDY: Final = "Export the environments again."
_INDEX_BYTES: Final = 1 << 20
_DAY: Final = 24 * 3600
_KEY: Final = re.compile(r"[0-9a-f]{64}")


class ArchiveIndex(BaseModel):
    """``environments.json``: what each archive's bytes are."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_: Literal["codegate.environments/1"] = Field("codegate.environments/1", alias="schema")
    sha256: Mapping[str, str] = Field(max_length=10_000, description="SHA-256 of `KEY.tar`, by key.")


def export_environments(target: Path) -> int:
    """Write every environment that is built here into ``target``, and return how many were not there yet.

    Raises:
        UsageError: ``target`` has an index that cannot be read.
        InfrastructureError: the disk refused.
    """
    known = dict(read_index(target / INDEX).sha256) if (target / INDEX).exists() else {}
    built = sorted(path.parent for path in (cache_folder() / "environments").glob(f"*/{COMPLETE}"))
    new = [folder for folder in built if _KEY.fullmatch(folder.name) and folder.name not in known]
    try:
        target.mkdir(parents=True, exist_ok=True)
        for folder in new:
            with tempfile.NamedTemporaryFile(dir=target, prefix=".codegate-", delete=False) as file:
                unfinished = Path(file.name)
                try:
                    known[folder.name] = pack(folder, PARTS, file)
                    file.flush()
                    unfinished.chmod(0o644)
                    unfinished.rename(target / f"{folder.name}.tar")
                except BaseException:
                    unfinished.unlink(missing_ok=True)
                    raise
    except OSError as error:
        raise InfrastructureError(f"cannot write to {target}: {error}.", "Free some space.") from error
    index = ArchiveIndex(schema="codegate.environments/1", sha256=dict(sorted(known.items())))
    write_atomic(target / INDEX, index.model_dump_json(by_alias=True, indent=2).encode("ascii") + b"\n")
    return len(new)


def import_environments(source: Path, index: Path | None = None) -> int:
    """Take the environments in ``source`` that are not here yet, and return how many they were.

    Who wrote the archives decides what runs beside the tests: an index from elsewhere makes sure of them, the one in
    ``source`` only of their transport.

    Args:
        source: a folder that ``export_environments`` wrote.
        index: a copy of its index that is trusted; None: its own.

    Raises:
        UsageError: the index cannot be read, or an archive is not what it says.
        InfrastructureError: the disk refused.
    """
    root = cache_folder() / "environments"
    count = 0
    try:
        for key, expected in read_index(index or source / INDEX).sha256.items():
            if _KEY.fullmatch(key) is None:
                raise UsageError(f"{source / INDEX} names no environment by {key[:80]!r}.", _REMEDY)
            folder, archive = root / key, source / f"{key}.tar"
            if (folder / COMPLETE).is_file():
                continue
            if archive.is_symlink() or not archive.is_file():
                raise UsageError(f"{archive} is missing.", _REMEDY)
            if _sha256(archive) != expected:
                raise UsageError(f"{archive} is not what its index says.", _REMEDY)
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=root, prefix=".building-", ignore_cleanup_errors=True) as name:
                unpacked = Path(name) / "environment"
                _unpack(archive, unpacked)
                put_in_place(unpacked, expected, folder)
            count += 1
    except OSError as error:
        raise InfrastructureError(f"cannot take the environments of {source}: {error}.", "Free some space.") from error
    return count


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


def _unpack(archive: Path, target: Path) -> None:
    """Unpack folders, files and links of an environment; links come last, so that nothing is written through one."""
    links: list[tarfile.TarInfo] = []
    try:
        with tarfile.open(archive, "r:") as members:
            for member in members:
                place = _inside(target, member.name)
                if member.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                elif member.issym():
                    _inside(target, posixpath.join(posixpath.dirname(member.name), member.linkname))
                    links.append(member)
                elif member.isreg() and (data := members.extractfile(member)) is not None:
                    with place.open("xb") as file:
                        shutil.copyfileobj(data, file)
                    place.chmod(0o755 if member.mode & 0o100 else 0o644)
                else:
                    raise ValueError(f"{member.name[:200]!r} is neither a file nor a folder nor a link")
        for link in links:
            (target / link.name).symlink_to(link.linkname)
    except (tarfile.TarError, ValueError, FileExistsError, FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{archive} cannot be unpacked: {error}.", _REMEDY) from error
    missing = [part for part in PARTS if not (target / part).is_dir()]
    if missing:
        raise UsageError(f"{archive} has no folder {missing[0]}.", _REMEDY)


def _inside(target: Path, name: str) -> Path:
    parts = posixpath.normpath(name).split("/")
    if "\0" in name or parts[0] not in PARTS:
        raise ValueError(f"{name[:200]!r} is outside of the environment's folders")
    return target.joinpath(*parts)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
