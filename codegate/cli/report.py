"""``codegate report``: a run's reports again, with or without a baseline."""

from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, json_option
from codegate.cli.output import emit, say
from codegate.gating import GatePolicy
from codegate.reporting import build_view, write_reports
from codegate.running import gate_run, load_run


@click.command()
@click.argument("runs", type=FOLDER, nargs=-1, required=True)
@click.option("--baseline", type=FILE, help="Lock of a baseline to show the verdicts against.")
@click.option("--out", type=FOLDER, required=True, help="Where the reports go.")
@json_option
def command(runs: tuple[Path, ...], baseline: Path | None, out: Path, as_json: bool) -> None:
    """Write HTML, JUnit, JSON, CSV and Markdown reports of one or more RUNS (folders)."""
    loaded = [load_run(folder) for folder in runs]
    verdicts = [verdict for run in loaded for verdict in (gate_run(run, baseline, GatePolicy()) if baseline else ())]
    written = write_reports(build_view(loaded, verdicts), out)
    for name, path in written.items():
        say(f"{name:9} {path}", as_json=as_json)
    if as_json:
        emit({"schema": "codegate.files/1", "reports": {name: str(path) for name, path in written.items()}})
