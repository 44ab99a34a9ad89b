"""``codegate gate``: compare a finished run with the pinned baseline."""

from codegate.cli.options import Baseline, PolicyFile, RunFolder, as_command
from codegate.cli.policy import print_report, project_by, read_settings
from codegate.errors import ExitCode, UsageError
from codegate.operations.requests import Reports, RulesFrom, gate_here
from codegate.operations.rules import check_same_rules
from codegate.operations.runs import gate
from codegate.reporting import terms_of
from codegate.running import Journal


@as_command()
def command(
    run: RunFolder,
    baseline: Baseline = None,
    config: PolicyFile = None,
    rules_from: RulesFrom = None,
    reports: Reports = None,
) -> ExitCode:
    """Compare every candidate of RUN with the pinned baseline.

    RUN is a run's folder. Without a pinned baseline, the critical floors of `gate.cohorts` and `gate.must_pass` decide.

    With --rules-from, the lock, its baseline and the policy are read from a commit, not from the work tree. RUN has
    to be of that commit's suite (`codegate run --rules-from`).
    """
    journal = Journal.open(run)
    if rules_from is None:
        settings, home = read_settings(config)
        # Without floors, a lock that is not there is an error.
        needed = None if settings.gate.critical_floors else home / settings.baseline
        by = gate_here(settings, home, baseline or needed)
    else:
        project = project_by(rules_from, config, baseline)
        settings, by = project.settings, project.gate
        check_same_rules(journal.manifest, project)
        if by is None:
            raise UsageError(f"{rules_from} pins no baseline, and its policy has no floors.", "Merge a lock first.")
    report = gate(journal, by, reports=reports, terms=terms_of(settings))
    return print_report(report, by, rules_from, config, baseline)
