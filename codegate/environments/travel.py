"""Export and import built environments as a folder of archives.

A machine that imports them builds nothing and needs no package index. Each recorded build is two files: ``KEY.tar``,
its archive, and ``KEY.json``, its description; ``KEY`` is the SHA-256 of the description. ``KEY.ruff`` is the linter,
which every sandbox has. ``environments.json`` has the SHA-256 of each archive: a reader who trusts it can trust all of
them.
"""

import contextlib
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from codegate.durable import digest, sha256, sha256_of, write_atomic
from codegate.environments.store import kept_layers, new_archive, read_layer_file, remove_build
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox import remove_layer_images
from codegate.sandbox.cache import layers_folder, temporary_folder
from codegate.sandbox.tools import MACHINES, RUFF_VERSION, program_place
from codegate.strict import Strict
from codegate.suite.model import Sha256

INDEX: Final = "environments.json"
SUFFIXES: Final = (".tar", ".json", ".ruff")
"""Suffixes of files whose names begin with a key."""
_INDEX_BYTES: Final = 1 << 20
_DAY: Final = 24 * 3600


class ArchiveIndex(Strict):
    """``environments.json``: the SHA-256 of each archive."""

    schema_: Literal["codegate.environments/1"] = Field("codegate.environments/1", alias="schema")
    sha256: Mapping[Sha256, Sha256] = Field(max_length=10_000, description="SHA-256 of each archive, by key.")


def read_index(path: Path) -> ArchiveIndex:
    """Return an index of environments.

    Raises:
        UsageError: the file cannot be read, or is no index.
    """
    try:
        with path.open("rb") as file:
            return ArchiveIndex.model_validate_json(file.read(_INDEX_BYTES))
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{path} is no index of environments.", "`codegate environments export` writes one."
        ) from error


def export_built(target: Path) -> dict[str, str]:
    """Export all built environments; return archives' SHA-256 by key.

    Raises:
        UsageError: ``target`` has an index that cannot be read.
        InfrastructureError: the disk could not be written.
    """
    known = read_index(target / INDEX).sha256 if (target / INDEX).exists() else {}
    found: dict[str, str] = {}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, described in kept_layers():
            data = path.read_bytes()
            key = sha256(data)
            found[key] = described.sha256
            _copy(path.with_suffix(".tar"), target / f"{key}.tar")
            write_atomic(target / f"{key}.json", data)
        for machine in MACHINES:
            if (ruff := program_place("ruff", RUFF_VERSION, machine)).is_file():
                found[key := _ruff_key(machine)] = sha256_of(ruff)
                _copy(ruff, target / f"{key}.ruff")
    except OSError as error:
        raise InfrastructureError(f"cannot write to {target}: {error}.", "Free some space.") from error
    index = ArchiveIndex(sha256=dict(sorted({**known, **found}.items())))
    write_atomic(target / INDEX, index.model_dump_json(by_alias=True, indent=2).encode("ascii") + b"\n")
    return found


def import_built(source: Path, trusted: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Import the trusted environments of ``source`` that are new.

    ``trusted`` has, by key, the SHA-256 of each archive that may be imported.

    Returns:
        The number of imported environments, and why each of the others was refused.

    Raises:
        InfrastructureError: the disk could not be written.
    """
    count, problems = 0, []
    try:
        for machine in MACHINES:
            if (sha := trusted.get(_ruff_key(machine))) and (why := _take_ruff(source, machine, sha)):
                problems.append(why)
        for key, sha in trusted.items():
            place = layers_folder() / f"{sha}.json"
            if (source / f"{key}.json").is_file() and not place.exists():
                why = _take(source, key, sha, place)
                count += not why
                problems += [f"{key}.tar {why}"] if why else []
    except OSError as error:
        raise InfrastructureError(f"cannot take the environments of {source}: {error}.", "Free some space.") from error
    return count, tuple(problems)


def prune_built(days: int) -> tuple[int, int]:
    """Remove environments unused for ``days`` days, and their images.

    Returns:
        The number of removed environments, and the freed bytes on this machine and in images.

    Raises:
        InfrastructureError: the disk could not be written.
    """
    count = size = 0
    try:
        for path, _ in kept_layers():
            if path.stat().st_mtime < time.time() - days * _DAY:
                dropped = remove_build(path)
                count, size = count + bool(dropped), size + dropped
    except OSError as error:
        raise InfrastructureError(f"cannot remove environments: {error}.", "Remove the folder by hand.") from error
    _, of_images = remove_layer_images({described.sha256 for _, described in kept_layers()})
    return count, size + of_images


def _copy(file: Path, target: Path) -> None:
    """Copy a file, unless ``target`` has the same size already."""
    if not target.is_file() or target.stat().st_size != file.stat().st_size:
        unfinished_copy = target.with_name(f".codegate-{target.name}")
        shutil.copyfile(file, unfinished_copy)
        unfinished_copy.replace(target)


def _ruff_key(machine: str) -> str:
    return digest(["ruff", RUFF_VERSION, machine])


def _take_ruff(source: Path, machine: str, expected: str) -> str:
    """Import the linter for ``machine``; return why it is refused.

    It must have the SHA-256 ``expected``. The result is "" if it was imported, is here already, or is not in
    ``source``.
    """
    place, file = program_place("ruff", RUFF_VERSION, machine), source / f"{_ruff_key(machine)}.ruff"
    if place.is_file() or not file.is_file():
        return ""
    with temporary_folder(place.parents[2]) as made:
        copy = made / place.relative_to(place.parents[2])
        copy.parent.mkdir(parents=True)
        shutil.copyfile(file, copy)
        if sha256_of(copy) != expected:
            return f"{file.name} does not have the recorded SHA-256"
        copy.chmod(0o755)
        with contextlib.suppress(OSError):  # another process was first
            copy.parents[1].rename(place.parents[1])
    return ""


def _take(source: Path, key: str, expected: str, place: Path) -> str:
    """Import one build; return why it is refused, or "".

    ``key`` names its files in ``source``; ``expected`` is the SHA-256 of its archive, and ``place`` the new path of its
    description.
    """
    data = (source / f"{key}.json").read_bytes()
    if sha256(data) != key:
        return "does not come with the description that was recorded"
    with new_archive() as copy:
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(source / f"{key}.tar", copy)
        if not copy.is_file() or sha256_of(copy) != expected:
            return "does not have the recorded SHA-256"
        copy.replace(place.with_suffix(".tar"))
    write_atomic(place, data)
    if read_layer_file(place) is None:
        place.unlink()
        return "is of a build that is unknown here"
    return ""
