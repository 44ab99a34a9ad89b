"""``codegate sweep``: show the effect of each setting of candidates."""

from dataclasses import asdict

from codegate.cli.options import RunFolders, as_command
from codegate.cli.output import columns, emit, say
from codegate.reporting import render_tables, sweep_of, sweep_tables
from codegate.running import load_run


@as_command()
def command(runs: RunFolders) -> None:
    """Show the effect of each setting of the candidates.

    RUNS are folders of one or more runs. It shows the score by setting, the effect of each setting, the most sensitive
    problems, and where a setting helps and hurts. Reports of such runs (`codegate run`, `codegate report`) have the
    same tables. No model is called, and nothing is gated: the exit code is 0 whatever it shows.
    """
    found = sweep_of([load_run(folder) for folder in runs])
    say(render_tables(sweep_tables(found), width=columns()))
    emit({"schema": "codegate.sweep/1", **asdict(found)})
