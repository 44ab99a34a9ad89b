"""``codegate record``: write a run's answers as transcripts for ``replay``."""

from pathlib import Path
from typing import Annotated

import yaml

from codegate.cli.options import RunFolder, as_command
from codegate.cli.output import emit, json_wanted, note, write
from codegate.operations.runs import record_run
from codegate.strict import Folder


@as_command()
def command(run: RunFolder, out: Annotated[Folder, "Folder of the transcripts."] = Path("recorded")) -> None:
    """Write the answers of RUN as transcripts for replay.

    It prints the candidates that replay them, for a codegate.yml in the current folder. Replaying needs no network
    and no key, and is graded like any run. Of an agent, its patch is replayed.
    """
    written = record_run(run, out)
    candidates = [spec.model_dump(mode="json", exclude_defaults=True) for spec in written.values()]
    note(f"wrote {', '.join(str(path) for path in written)}")
    emit({"schema": "codegate.recorded/1", "candidates": candidates})
    if not json_wanted():
        write(yaml.safe_dump({"candidates": candidates}, sort_keys=False).rstrip("\n"))
