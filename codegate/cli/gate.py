"""``codegate gate``: a finished run against the pinned baseline."""

from pathlib import Path

import click

from codegate.cli.conclude import conclude
from codegate.cli.options import FILE, FOLDER, json_option
from codegate.errors import ExitCode
from codegate.gating import GatePolicy
from codegate.running import CONFIG_NAME, Journal, load_config


@click.command()
@click.argument("run", type=FOLDER)
@click.option("--baseline", type=FILE, default=Path("codegate.lock"), show_default=True, help="The baseline's lock.")
@click.option("--config", type=FILE, help=f"Where the policy is; default {CONFIG_NAME} where there is one.")
@click.option("--reports", type=FOLDER, help="Where the reports go; default <run>/reports.")
@json_option
def command(run: Path, baseline: Path, config: Path | None, reports: Path | None, as_json: bool) -> ExitCode:
    """Compare every candidate of RUN (a run's folder) with the pinned baseline."""
    path = config or (Path(CONFIG_NAME) if Path(CONFIG_NAME).exists() else None)
    policy = load_config(path).gate if path else GatePolicy()
    journal = Journal.open(run)
    return conclude(journal.load(), journal, baseline, policy, reports, as_json=as_json)
