"""``codegate merge``: join a run's shards and gate the run."""

from functools import partial
from typing import Annotated

from codegate.cli.options import Argument, Baseline, PolicyFile, as_command
from codegate.cli.output import note
from codegate.cli.policy import print_report, project_by, read_settings
from codegate.errors import ExitCode, UsageError
from codegate.operations.requests import Reports, RulesFrom, gate_here
from codegate.operations.rules import check_same_rules
from codegate.operations.runs import merge
from codegate.reporting import terms_of
from codegate.running import Journal
from codegate.running.gate import gate_of_floors
from codegate.running.shards import shard_folders
from codegate.strict import Folder


@as_command()
def command(
    shards: Annotated[tuple[Folder, ...], Argument()],
    out: Annotated[Folder | None, "Folder of the run; default runs/<id>."] = None,
    run_id: Annotated[str | None, "Id that the run must have, as `codegate plan --shards N` gave it."] = None,
    baseline: Baseline = None,
    config: PolicyFile = None,
    rules_from: RulesFrom = None,
    reports: Reports = None,
) -> ExitCode:
    """Join a run's SHARDS, report the run and gate it.

    It is compared with the baseline that it was planned with. SHARDS are the folders that `codegate run --shard` wrote,
    or a folder that contains them. Every shard must be there exactly once, finished, and of the same run; otherwise the
    command names those at fault, writes nothing and exits with 2. The result is a run like any other. No model is
    called: if a candidate regressed, `codegate run --resume` on the merged run samples the pinned model again.

    With --rules-from, the lock, its baseline and the policy are read from a commit, not from the work tree. The run
    has to be planned so: `codegate plan` and `codegate run --shard` take the same --rules-from.
    """
    folders = shard_folders(shards)
    manifest = Journal.open(folders[0]).manifest
    gated = manifest.gated_by is not None
    if baseline is not None and not gated:
        raise UsageError("the run was planned without a baseline.", "Leave it out; `codegate gate` compares it.")
    if rules_from is None:
        settings, home = read_settings(config)
        alone = None if manifest.no_gate else gate_of_floors(settings.gate)
        by = gate_here(settings, home, baseline) if gated else alone
        report = merge(folders, out, by, run_id=run_id, reports=reports, terms=terms_of(settings))
    else:
        project = project_by(rules_from, config, baseline)
        by = None if manifest.no_gate else project.gate
        check = partial(check_same_rules, project=project)
        report = merge(folders, out, by, run_id=run_id, check=check, reports=reports, terms=terms_of(project.settings))
    note(f"run {report.run.manifest.id} in {report.folder}")
    if by is None or by.baseline is None:
        words = "gated by floors alone" if by is not None else "not gated"
        note(f"{words}: the run was planned {'with --no-gate' if manifest.no_gate else 'without a baseline'}")
    return print_report(report, by, rules_from, config, baseline)
