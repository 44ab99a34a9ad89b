"""``codegate mine choose``: a smaller suite from a larger one."""

from pathlib import Path

import click

from codegate.cli.options import FOLDER, json_option
from codegate.cli.output import emit, say
from codegate.errors import ExitCode
from codegate.mining import write_selection
from codegate.suite import load_suite


@click.command("choose")
@click.argument("suite", type=FOLDER)
@click.option("--out", type=FOLDER, required=True, help="Folder of the smaller suite; a suite there is replaced.")
@click.option("--size", type=click.IntRange(min=1), required=True, help="How many problems: 10, 30 and 100 are usual.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what chance decides.")
@json_option
def command(suite: Path, out: Path, size: int, seed: int) -> ExitCode:
    """Choose problems of SUITE in turns from its components, tiers and years, the freshest first."""
    chosen = write_selection(load_suite(suite), out, size, seed)
    fewer = f", all that {suite} has: fewer than {size}" if len(chosen.problems) < size else ""
    say(f"{out}: {len(chosen.problems)} problems{fewer}")
    emit({"schema": "codegate.selection/1", "suite_digest": chosen.digest, "problems": chosen.manifest.problems})
    return ExitCode.PASS
