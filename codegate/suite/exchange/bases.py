"""Writing suites whose problems keep their base trees in the suite's folder."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codegate.durable import write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.suite.model import LockedEnvironment, Problem, Suite
from codegate.suite.store import load_suite, write_suite
from codegate.suite.tree import Tree


def check_new(folder: Path) -> None:
    """Refuse a place where something is already.

    Raises:
        UsageError: it exists, and is no empty folder.
    """
    if os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already.", "Choose another folder.")


def write_new_suite(
    folder: Path,
    *,
    name: str,
    repository: str | None,
    environments: Sequence[LockedEnvironment],
    problems: Sequence[Problem],
    bases: Mapping[str, Tree],
    scanned: str | None = None,
    canary: str | None = None,
) -> Suite:
    """Write a new suite with its base trees; it appears complete or not at all.

    Args:
        folder: where; must not exist, or be empty.
        name: the suite's name.
        repository: path of the repository, relative to ``folder``, or None.
        environments: each with the texts of its locks.
        problems: in the order that they will run in.
        bases: by folder, relative to the suite, each base tree that is kept there. Its files are plain files.
        scanned: the newest commit that mining has looked at.
        canary: that of the suite that this one is a copy of; None makes one.

    Raises:
        UsageError: something is there already, or a problem cannot be stored as files.
        InfrastructureError: the disk refused.
    """
    check_new(folder)
    facts: dict[str, Any] = {
        "name": name,
        "repository": repository,
        "environments": environments,
        "scanned": scanned,
        "canary": canary,
    }
    aside = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".codegate-import-", dir=folder.parent))
        made = aside / "suite"
        # A suite takes its base folders over from the one that it replaces: first one without problems, then they.
        write_suite(made, problems=(), **facts)
        for place, tree in bases.items():
            for path, file in tree.items():
                write_atomic(made / place / path, file.data)
        write_suite(made, problems=problems, **facts)
        if folder.is_dir():
            folder.rmdir()
        made.rename(folder)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write suite {folder}: {error.strerror or error}.", "Free some space or choose another folder."
        ) from error
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
    return load_suite(folder)
