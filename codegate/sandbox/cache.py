"""The cache folder, whose files codegate can make again."""

import contextlib
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.sandbox.contract import SandboxError
from codegate.sandbox.ownership import current_owner, parse_owner

_BOUND: Final = "CODEGATE_CACHE_GB"
_USUAL_GB: Final = "8"
_STALE_SECONDS: Final = 86_400.0


def cache_folder() -> Path:
    """Return codegate's cache folder.

    The variable CODEGATE_CACHE names the folder; default: ``codegate`` below XDG_CACHE_HOME or ``~/.cache``.
    """
    given = os.environ.get("CODEGATE_CACHE")
    if given:
        return Path(given).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or ""
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "codegate"


def cache_bytes() -> int:
    """Return the cache's limit for recorded builds, in bytes.

    The variable CODEGATE_CACHE_GB sets the limit; default: 8 GB.

    Raises:
        UsageError: CODEGATE_CACHE_GB is no number.
    """
    text = os.environ.get(_BOUND) or _USUAL_GB
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise UsageError(f"{_BOUND} is {text[:100]!r}, which is no number of gigabytes.", f"Set it to {_USUAL_GB}.")
    return int(number * 1e9)


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder below ``parent``; remove it unless renamed.

    Raises:
        SandboxError: the cache's folder cannot be written.
    """
    folder = own_folder(parent)
    try:
        yield folder
    finally:
        if folder.exists():
            remove_tree(folder)


def own_folder(parent: Path) -> Path:
    """Return a new folder below ``parent``, named after this process.

    ``sweep_folders`` removes it once this process is dead.

    Raises:
        SandboxError: the cache's folder cannot be written.
    """
    with explain_disk_errors(f"make a folder in {parent}"):
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=parent, prefix=f".{str(current_owner()).replace(':', '_')}-"))


@contextlib.contextmanager
def explain_disk_errors(what: str) -> Iterator[None]:
    """Turn an OSError in the block into SandboxError: "cannot ``what``"."""
    try:
        yield
    except OSError as error:
        raise SandboxError(
            f"cannot {what}: {error}.", "Free some space, or choose another folder with CODEGATE_CACHE."
        ) from error


def sweep_folders(parent: Path) -> int:
    """Remove the folders that dead processes left; return their number.

    Only folders below ``parent`` that ``own_folder`` made are removed.
    """
    removed = 0
    for path in parent.glob(".*-*"):
        owner = parse_owner(path.name[1:].rpartition("-")[0])
        with contextlib.suppress(OSError):
            # Whether an owner of another boot or machine lives is unknown, so only its old folders are removed.
            old = time.time() - path.stat().st_mtime > _STALE_SECONDS
            if owner is not None and (owner.known_dead or (old and owner.boot != current_owner().boot)):
                remove_tree(path)
                removed += 1
    return removed


def drop_unpacked(sha256: str) -> None:
    """Remove the unpacked copy of a layer, if any.

    The copy is renamed first, so that after an interruption no sandbox uses what is left.

    Raises:
        SandboxError: the cache's folder cannot be written.
    """
    folder = layers_folder() / sha256
    if folder.is_dir():
        with temporary_folder(folder.parent) as taken, contextlib.suppress(OSError):
            folder.rename(taken / "layer")


def remove_tree(path: Path) -> None:
    """Remove a folder of untrusted code, whatever its files' modes."""
    argv, environment = (
        ["rm", "-rf", "--one-file-system", "--", str(path)],
        {"PATH": os.environ.get("PATH", os.defpath)},
    )
    if subprocess.run(argv, env=environment, capture_output=True, check=False).returncode:
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(path)], env=environment, capture_output=True, check=False)
        subprocess.run(argv, env=environment, capture_output=True, check=False)


def layers_folder() -> Path:
    """Return the cache's folder of unpacked layers."""
    return cache_folder() / "layers"
