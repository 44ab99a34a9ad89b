"""Recorded builds in the cache.

Each is an archive named by its SHA-256, with a JSON file beside it that describes it.
"""

import contextlib
import fcntl
import logging
import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, ValidationError

from codegate.durable import canonical_json, digest, write_atomic
from codegate.environments.recipe import Recipe
from codegate.errors import InfrastructureError, UsageError
from codegate.sandbox import EnvironmentRecipe, Layer, Toolchain
from codegate.sandbox.cache import cache_bytes, drop_unpacked, layers_folder, sweep_folders, temporary_folder
from codegate.strict import Strict, parse_json, read_text
from codegate.suite.model import Sha256

_LOG: Final = logging.getLogger(__name__)
SCHEMA: Final = "codegate.layer/1"
_LARGEST: Final = 32 << 20


class LayerFile(Strict):
    """``<sha256>.json``: the description of the archive ``<sha256>.tar``."""

    schema_: Literal["codegate.layer/1"] = Field(SCHEMA, alias="schema")
    sha256: Sha256
    inputs: Sha256
    asked: Sha256
    day: date
    tree: Sha256
    rebuilt: Sha256 | None
    recipe: Recipe
    resolved: str
    variables: dict[str, str]
    python: str
    interpreter: str
    image: str | None
    toolchains: dict[str, str]
    seconds: float
    steps: tuple[tuple[str, float], ...]
    hosts: dict[str, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TreeOrigin:
    """The day and SHA-256 of the tree that was built."""

    day: date
    tree: str


@dataclass(frozen=True)
class Built:
    """A recorded build.

    Attributes:
        layer: the frozen result.
        environment: how to start sandboxes with the layer.
        recipe: the recipe that was built; a proposed recipe lacks the commands that failed.
        inputs: SHA-256 of the build's inputs.
        resolved: installed versions, as each tool lists them.
        notes: what set-up changed or left out, as sentences.
    """

    layer: Layer
    environment: EnvironmentRecipe
    recipe: Recipe
    inputs: str
    resolved: str
    notes: tuple[str, ...] = ()


@contextlib.contextmanager
def build_lock(inputs: str) -> Iterator[None]:
    """Hold a lock, so that equal inputs are built once.

    Other threads and processes wait for it.

    Raises:
        InfrastructureError: the lock file could not be written.
    """
    try:
        folder = layers_folder()
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f".{inputs}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _refused(error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def new_archive() -> Iterator[Path]:
    """Yield the path at which to write a new archive.

    Its file is removed at the end unless ``store_built`` stored it.

    Raises:
        SandboxError: the disk could not be written.
    """
    sweep_folders(layers_folder())
    with temporary_folder(layers_folder()) as folder:
        yield folder / "archive.tar"


def store_built(archive: Path, described: LayerFile) -> Built:
    """Store a finished archive with its description; return the build.

    If the cache is too large now, other builds are dropped.

    Raises:
        InfrastructureError: the disk could not be written.
    """
    try:
        archive.replace(layers_folder() / f"{described.sha256}.tar")
    except OSError as error:
        raise _refused(error) from error
    document = described.model_dump(mode="json", by_alias=True)
    write_atomic(layers_folder() / f"{described.sha256}.json", canonical_json(document))
    built = _built(described)
    make_room()
    if built is None:
        raise InfrastructureError("the environment was removed while it was built.", "Run it again.")
    return built


def find_built(inputs: str, tree: str, resolved: str | None = None, *, found: bool = False) -> Built | None:
    """Return the most recently used matching build, or None.

    Unreadable files are skipped.

    Args:
        inputs: the result of ``inputs_of``.
        tree: SHA-256 of the tree, which must match too: ``inputs`` covers manifests (such as setup.py), but not the
            modules that they import, so another repository's code may have shaped a build of equal ``inputs``.
        resolved: versions that the build installed, or was pinned to; None: any.
        found: also accept a build of this recipe that left out failed commands.
    """
    for path, described in reversed(kept_layers()):
        if inputs not in {described.inputs, described.asked if found else ""} or described.tree != tree:
            continue
        if resolved in {None, described.resolved} or described.rebuilt == digest(resolved):
            with contextlib.suppress(OSError):
                path.touch()
            if (built := _built(described)) is not None:
                return built
    return None


def kept_layers() -> list[tuple[Path, LayerFile]]:
    """Return cached builds and their paths, least recently used first."""
    paths = sorted(layers_folder().glob("*.json"), key=_modified)
    return [(path, described) for path in paths if (described := read_layer_file(path)) is not None]


def remove_build(path: Path) -> int:
    """Remove an unused build; return its size in bytes.

    ``path`` is the build's JSON file. Return 0 if the build is in use.

    Raises:
        OSError: a file could not be removed.
    """
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0
        size = _size(path)
        path.unlink()  # first, because without it the other files do not count
        path.with_suffix(".tar").unlink()
        drop_unpacked(path.stem)
    return size


def make_room() -> None:
    """Drop the least recently used builds until all fit.

    The limit is ``cache_bytes``; each dropped build is logged.

    Raises:
        UsageError: the limit's variable is no number.
    """
    sizes = {path: _size(path) for path, _ in kept_layers()}
    most, total = cache_bytes(), sum(sizes.values())
    for path in sizes:
        if total <= most:
            return
        with contextlib.suppress(OSError):
            size = remove_build(path)
            if size:
                total -= size
                words = f"environment {path.stem[:12]} is removed ({size / 1e9:.1f} GB): it was used least recently"
                _LOG.info("%s, and all take more than CODEGATE_CACHE_GB, %g GB", words, most / 1e9)
    if total > most:
        _LOG.info("environments in use take %.1f GB, more than CODEGATE_CACHE_GB, %g GB", total / 1e9, most / 1e9)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.with_suffix(".tar").stat().st_size * (2 if path.with_suffix("").is_dir() else 1)
    return 0


def read_layer_file(path: Path) -> LayerFile | None:
    """Return the description of a build in ``path``, or None.

    None if the file is broken, or if the build's archive is missing.
    """
    try:
        described = LayerFile.model_validate(parse_json(read_text(path, _LARGEST), str(path)))
    except (UsageError, ValidationError):
        return None
    return described if described.sha256 == path.stem and path.with_suffix(".tar").is_file() else None


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _built(described: LayerFile) -> Built | None:
    """Return a cached build, or None if it is gone.

    It cannot be removed from the cache as long as its ``layer`` object exists.
    """
    archive = layers_folder() / f"{described.sha256}.tar"
    layer = Layer(described.sha256, archive, tuple(sorted(described.variables.items())), described.python)
    try:
        descriptor = os.open(archive.with_suffix(".json"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    weakref.finalize(layer, os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not archive.is_file():
        return None
    environment = EnvironmentRecipe(
        python=described.interpreter,
        image=described.image,
        layer=layer,
        toolchains=tuple(Toolchain(name, version) for name, version in sorted(described.toolchains.items())),
        system=described.recipe.packages,
    )
    return Built(layer, environment, described.recipe, described.inputs, described.resolved, described.notes)


def _refused(error: OSError) -> InfrastructureError:
    return InfrastructureError(
        f"cannot write to {layers_folder()}: {error.strerror or error}.",
        "Free some space, or choose another folder with CODEGATE_CACHE.",
    )
