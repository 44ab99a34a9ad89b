"""The end of a run: gate it when there is a baseline, write the reports, say it, choose the exit code."""

from pathlib import Path

import click

from codegate.cli.output import say
from codegate.errors import ExitCode
from codegate.gating import GatePolicy, load_pinned
from codegate.reporting import Terms, build_view, gather, render_console, render_json, write_reports
from codegate.running import Journal, Run, gate_run, run_exit_code


def conclude(
    run: Run,
    journal: Journal,
    lock: Path | None,
    policy: GatePolicy,
    reports: Path | None,
    *,
    as_json: bool,
    terms: Terms | None = None,
) -> ExitCode:
    """Gate (with a ``lock``), report and return the exit code.

    Args:
        run: the finished run.
        journal: where it is.
        lock: what pins the baseline; None leaves the run ungated.
        policy: the gate's thresholds.
        reports: folder for the reports; None: in the run's folder.
        as_json: print the report's JSON on stdout, and people's lines on stderr.
        terms: prices, weights and limits of the report.
    """
    verdicts = gate_run(run, lock, policy) if lock is not None else ()
    pinned = load_pinned(lock).samples if lock is not None else None
    view = build_view([run], verdicts, gather([journal], pinned, terms))
    written = write_reports(view, reports or journal.folder / "reports")
    if as_json:
        click.echo(render_json(view))
    say(render_console(view), as_json=as_json)
    for name, path in written.items():
        say(f"{name:9} {path}", as_json=as_json)
    return run_exit_code(run, verdicts)
