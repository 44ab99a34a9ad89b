"""Export and import built environments as a folder of archives.

A machine that imports them builds nothing. A recorded build is two files there: ``KEY.tar``, its archive, and
``KEY.json``, its description. ``KEY`` is the SHA-256 of the latter, so whoever trusts a key and the archive's SHA-256
trusts both.
"""

import contextlib
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codegate.durable import sha256, sha256_of, write_atomic
from codegate.environments.store import drop, kept_layers, read_layer_file, unfinished
from codegate.errors import InfrastructureError
from codegate.sandbox import (
    export_environments,
    import_environments,
    prune_environments,
    remove_layer_images,
    write_index,
)
from codegate.sandbox.cache import layers_folder

_DAY: Final = 24 * 3600


def export_built(target: Path) -> dict[str, str]:
    """Write every built environment to ``target``.

    Returns the archives' SHA-256 by key.

    Raises:
        UsageError: ``target`` has an index that cannot be read.
        InfrastructureError: the disk refused, or an environment is no longer what was built.
    """
    found = export_environments(target)
    recorded: dict[str, str] = {}
    try:
        for path, described in kept_layers():
            data = path.read_bytes()
            key = sha256(data)
            recorded[key] = described.sha256
            archive = target / f"{key}.tar"
            if not archive.is_file() or archive.stat().st_size != path.with_suffix(".tar").stat().st_size:
                unfinished_copy = target / f".codegate-{key}"
                shutil.copyfile(path.with_suffix(".tar"), unfinished_copy)
                unfinished_copy.replace(archive)
            write_atomic(target / f"{key}.json", data)
    except OSError as error:
        raise InfrastructureError(f"cannot write to {target}: {error}.", "Free some space.") from error
    write_index(target, recorded)
    return {**found, **recorded}


def import_built(source: Path, trusted: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Import the trusted environments of ``source`` that are new here.

    Args:
        source: a folder that ``export_built`` wrote.
        trusted: the SHA-256 of each archive that may be taken, by key.

    Returns:
        How many were taken, and for each that was refused a clause that says why.

    Raises:
        InfrastructureError: the disk refused.
    """
    recorded = {key: digest for key, digest in trusted.items() if (source / f"{key}.json").is_file()}
    count, refused = import_environments(source, {key: trusted[key] for key in trusted.keys() - recorded.keys()})
    problems = list(refused)
    for key, digest in recorded.items():
        why = _take(source, key, digest)
        count += why is None
        problems += [f"{key}.tar {why}"] if why else []
    return count, tuple(problems)


def prune_built(days: int) -> tuple[int, int]:
    """Remove environments unused for ``days`` days, and their images.

    Returns:
        How many environments, and how many bytes on this machine and in the images.

    Raises:
        InfrastructureError: the disk refused.
    """
    count, size = prune_environments(days)
    try:
        for path, _ in kept_layers():
            if path.stat().st_mtime < time.time() - days * _DAY:
                dropped = drop(path)
                count, size = count + bool(dropped), size + dropped
    except OSError as error:
        raise InfrastructureError(f"cannot remove environments: {error}.", "Remove the folder by hand.") from error
    _, of_images = remove_layer_images({described.sha256 for _, described in kept_layers()})
    return count, size + of_images


def _take(source: Path, key: str, digest: str) -> str | None:
    """Import one recorded build.

    Returns why it is refused, "" if it is here already, None if it was imported.
    """
    place = layers_folder() / f"{digest}.json"
    if place.exists():
        return ""
    try:
        data = (source / f"{key}.json").read_bytes()
        if sha256(data) != key:
            return "does not come with the description that was recorded"
        with unfinished() as copy:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(source / f"{key}.tar", copy)
            if not copy.is_file() or sha256_of(copy) != digest:
                return "does not have the recorded SHA-256"
            copy.replace(place.with_suffix(".tar"))
        write_atomic(place, data)
    except OSError as error:
        raise InfrastructureError(f"cannot take the environments of {source}: {error}.", "Free some space.") from error
    if read_layer_file(place) is None:
        place.unlink()
        return "is of a build that is unknown here"
    return None
