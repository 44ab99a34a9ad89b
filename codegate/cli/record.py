"""``codegate record``: write a run's answers as transcripts for ``replay``."""

from pathlib import Path

import click
import yaml

from codegate.cli.options import FOLDER, json_option
from codegate.cli.output import emit, json_wanted, note, write
from codegate.operations.runs import record_run


@click.command()
@click.argument("run", type=FOLDER)
@click.option("--out", type=FOLDER, default="recorded", show_default=True, help="Folder of the transcripts.")
@json_option
def command(run: Path, out: Path) -> None:
    """Write the answers of RUN as transcripts for replay.

    It prints the candidates that replay them, for a codegate.yml in --out. Replaying needs no network and no key, and
    is graded like any run. For an agent, its patch is replayed.
    """
    written = record_run(run, out)
    candidates = [spec.model_dump(mode="json", exclude_defaults=True) for spec in written.values()]
    note(f"wrote {', '.join(str(path) for path in written)}")
    emit({"schema": "codegate.recorded/1", "candidates": candidates})
    if not json_wanted():
        write(yaml.safe_dump({"candidates": candidates}, sort_keys=False).rstrip("\n"))
