"""``codegate environments``: export, import and remove built environments."""

from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, json_option
from codegate.cli.output import emit, say
from codegate.environments import INDEX, export_built, import_built, prune_built, read_index
from codegate.errors import ExitCode
from codegate.wording import count_of


@click.group()
def command() -> None:
    """Export, import or remove built environments."""


@command.command("export")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@json_option
def export_command(folder: Path) -> None:
    """Write this machine's built environments into FOLDER.

    FOLDER is made if it is absent. Environments that it has already are not written again. It also gets
    environments.json, with the SHA-256 of each archive.
    """
    count = len(export_built(folder))
    say(f"{count_of(count, 'environment')} of this machine in {folder}")
    emit({"schema": "codegate.environments-moved/1", "exported": count})


@command.command("import")
@click.argument("folder", type=FOLDER)
@click.option("--index", type=FILE, help="A copy of environments.json that you trust; default: the one in FOLDER.")
@json_option
def import_command(folder: Path, index: Path | None) -> ExitCode:
    """Import environments from FOLDER that this machine lacks.

    An archive decides what runs beside your tests. Without --index its SHA-256 shows damage, and not who wrote it:
    import what you exported yourself. An archive that has another SHA-256 is left out, and the exit code is 2.
    """
    count, refused = import_built(folder, read_index(index or folder / INDEX).sha256)
    say(f"{count_of(count, 'environment')} taken from {folder}")
    for reason in refused:
        say(f"not taken: {reason}")
    emit({"schema": "codegate.environments-moved/1", "imported": count, "refused": refused})
    return ExitCode.USAGE if refused else ExitCode.PASS


@command.command("prune")
@click.option(
    "--days", type=click.IntRange(min=0), default=30, show_default=True, help="Keep those used in the last DAYS days."
)
@json_option
def prune_command(days: int) -> None:
    """Remove environments that were not used for a while.

    Their images on a Docker daemon are removed, too. A removed environment is built again when it is needed. A build
    removes the least recently used ones if all take more than 8 GB, or CODEGATE_CACHE_GB.
    """
    count, size = prune_built(days)
    say(f"{count_of(count, 'environment')} removed, {size / 1e9:.1f} GB")
    emit({"schema": "codegate.environments-moved/1", "removed": count, "bytes": size})
