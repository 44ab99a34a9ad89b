"""``codegate report``: a run's reports again, with or without a baseline."""

from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, config_option, json_option
from codegate.cli.output import emit, say
from codegate.cli.policy import gate_settings, report_terms
from codegate.gating import load_pinned
from codegate.reporting import build_view, gather, write_reports
from codegate.running import Journal, gate_run


@click.command()
@click.argument("runs", type=FOLDER, nargs=-1, required=True)
@click.option("--baseline", type=FILE, help="Lock of a baseline to show the verdicts against.")
@config_option
@click.option("--out", type=FOLDER, required=True, help="Where the reports go.")
@json_option
def command(runs: tuple[Path, ...], baseline: Path | None, config: Path | None, out: Path, as_json: bool) -> None:
    """Write HTML, JUnit, JSON, CSV and Markdown reports of one or more RUNS (folders).

    Exits 0 when they are written, whatever the verdicts: `codegate gate` is the command that decides.
    """
    policy, _ = gate_settings(config)
    journals = [Journal.open(folder) for folder in runs]
    loaded = [journal.load() for journal in journals]
    verdicts = [verdict for run in loaded for verdict in (gate_run(run, baseline, policy) if baseline else ())]
    evidence = gather(journals, load_pinned(baseline).samples if baseline else None, report_terms(config))
    written = write_reports(build_view(loaded, verdicts, evidence), out)
    for name, path in written.items():
        say(f"{name:9} {path}", as_json=as_json)
    if as_json:
        emit({"schema": "codegate.files/1", "reports": {name: str(path) for name, path in written.items()}})
