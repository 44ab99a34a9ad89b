"""``codegate environments``: export, import and remove built environments."""

from typing import Annotated

import click
from pydantic import Field

from codegate.cli.options import Argument, as_command
from codegate.cli.output import emit, say
from codegate.environments import INDEX, export_built, import_built, prune_built, read_index
from codegate.errors import ExitCode
from codegate.strict import File, Folder
from codegate.wording import count_of


@click.group()
def command() -> None:
    """Export, import or remove built environments."""


@as_command(command, "export")
def export_command(folder: Annotated[Folder, Argument()]) -> None:
    """Write this machine's built environments into FOLDER.

    FOLDER is created if it is absent. Environments that it already has are not written again. It also gets
    environments.json, with the SHA-256 of each archive.
    """
    count = len(export_built(folder))
    say(f"{count_of(count, 'environment')} of this machine in {folder}")
    emit({"schema": "codegate.environments-moved/1", "exported": count})


@as_command(command, "import")
def import_command(
    folder: Annotated[Folder, Argument()],
    index: Annotated[File | None, "A copy of environments.json that you trust; default: the one in FOLDER."] = None,
) -> ExitCode:
    """Import environments from FOLDER that this machine lacks.

    An archive decides what runs beside your tests. Without --index its SHA-256 shows damage, but not who wrote it:
    import what you exported yourself. An archive with another SHA-256 is left out, and the exit code is 2.
    """
    count, refused = import_built(folder, read_index(index or folder / INDEX).sha256)
    say(f"{count_of(count, 'environment')} taken from {folder}")
    for reason in refused:
        say(f"not taken: {reason}")
    emit({"schema": "codegate.environments-moved/1", "imported": count, "refused": refused})
    return ExitCode.USAGE if refused else ExitCode.PASS


@as_command(command, "prune")
def prune_command(days: Annotated[int, Field(ge=0), "Keep those used in the last DAYS days."] = 30) -> None:
    """Remove environments that were not used for a while.

    Their images on a Docker daemon are removed, too. A removed environment is built again when it is needed. A build
    removes the least recently used environments if all take more than 8 GB, or CODEGATE_CACHE_GB.
    """
    count, size = prune_built(days)
    say(f"{count_of(count, 'environment')} removed, {size / 1e9:.1f} GB")
    emit({"schema": "codegate.environments-moved/1", "removed": count, "bytes": size})
