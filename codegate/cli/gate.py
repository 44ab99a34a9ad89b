"""``codegate gate``: a finished run against the pinned baseline, or against floors alone."""

from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, config_option, json_option
from codegate.cli.policy import chosen_gate, conclude, project_by, rules_option
from codegate.errors import ExitCode, UsageError
from codegate.operations.rules import check_run
from codegate.operations.runs import gate
from codegate.reporting import terms_of
from codegate.running import Journal


@click.command()
@click.argument("run", type=FOLDER)
@click.option("--baseline", type=FILE, help="The baseline's lock; default as in the configuration, or codegate.lock.")
@config_option
@rules_option
@click.option("--reports", type=FOLDER, help="Where the reports go; default <run>/reports.")
@json_option
def command(run: Path, baseline: Path | None, config: Path | None, rules: str | None, reports: Path | None) -> ExitCode:
    """Compare every candidate of RUN (a run's folder) with the pinned baseline.

    Where no baseline is pinned, critical floors of `gate.cohorts` decide alone, with `gate.must_pass`.

    With --rules-from the lock, its baseline and the policy are those of a commit, whatever the work tree says, and RUN
    has to be of that commit's suite (`codegate run --rules-from`).
    """
    journal = Journal.open(run)
    if rules is None:
        chosen, terms = chosen_gate(config, baseline)
    else:
        project = project_by(rules, config, baseline)
        check_run(journal.manifest, project)
        if (by := project.gate or project.floors) is None:
            raise UsageError(f"{rules} pins no baseline, and its policy has no floors.", "Merge a lock first.")
        chosen, terms = by, terms_of(project.settings)
    report = gate(journal, chosen, reports=reports, terms=terms)
    return conclude(report)
