"""``codegate gate``: a finished run against the pinned baseline, or against floors alone."""

from pathlib import Path

import click

from codegate.cli.conclude import conclude
from codegate.cli.options import FILE, FOLDER, config_option, json_option
from codegate.cli.policy import chosen_gate
from codegate.errors import ExitCode
from codegate.operations import gate
from codegate.running import Journal


@click.command()
@click.argument("run", type=FOLDER)
@click.option("--baseline", type=FILE, help="The baseline's lock; default as in the configuration, or codegate.lock.")
@config_option
@click.option("--reports", type=FOLDER, help="Where the reports go; default <run>/reports.")
@json_option
def command(run: Path, baseline: Path | None, config: Path | None, reports: Path | None) -> ExitCode:
    """Compare every candidate of RUN (a run's folder) with the pinned baseline.

    Where no baseline is pinned, critical floors of `gate.cohorts` decide alone, with `gate.must_pass`.
    """
    journal = Journal.open(run)
    chosen, terms = chosen_gate(config, baseline)
    report = gate(journal, chosen, reports=reports, terms=terms)
    return conclude(report)
