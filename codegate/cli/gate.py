"""``codegate gate``: compare a finished run with the pinned baseline."""

from codegate.cli.options import Baseline, PolicyFile, RunFolder, as_command
from codegate.cli.policy import print_report, project_by, read_settings
from codegate.errors import ExitCode, UsageError
from codegate.gating import load_pinned
from codegate.operations.requests import Reports, RulesFrom
from codegate.operations.rules import check_same_rules
from codegate.operations.runs import gate
from codegate.reporting import terms_of
from codegate.running import Gate, Journal


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

    With --rules-from, the lock, its baseline and the policy are those of a commit, whatever the work tree says. RUN has
    to be of that commit's suite (`codegate run --rules-from`).
    """
    journal = Journal.open(run)
    if rules_from is None:
        settings, home = read_settings(config)
        lock = home / settings.baseline
        alone = baseline is None and settings.gate.critical_floors and not settings.gates_with(lock)
        by = Gate(None if alone else load_pinned(baseline or lock), settings.gate)
    else:
        project = project_by(rules_from, config, baseline)
        settings = project.settings
        check_same_rules(journal.manifest, project)
        if project.gate is None:
            raise UsageError(f"{rules_from} pins no baseline, and its policy has no floors.", "Merge a lock first.")
        by = project.gate
    report = gate(journal, by, reports=reports, terms=terms_of(settings))
    return print_report(report, by)
