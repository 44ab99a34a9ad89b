"""``codegate judge``: compare a model's judgement of patches with execution."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from codegate.cli.options import RunFolder, as_command
from codegate.cli.output import columns, emit, note, say
from codegate.cli.policy import read_settings
from codegate.errors import ExitCode
from codegate.operations.runs import judge
from codegate.reporting import judge_table, render_tables
from codegate.running import CONFIG_NAME, named_candidates
from codegate.running.config import with_prices
from codegate.strict import File


@as_command()
def command(
    run: RunFolder,
    name: Annotated[str | None, "--judge", "provider:model[@base_url]; default: `judge` in codegate.yml."] = None,
    config: Annotated[File | None, f"Configuration file; default {CONFIG_NAME} where there is one."] = None,
) -> ExitCode:
    """Ask a model about patches; compare it with hidden tests.

    RUN is a run's folder. The judge gets the statement and the patch of each attempt, no test, and answers pass or
    fail. Its answers are kept in judge.jsonl in the run's folder; judging again asks only about attempts without an
    answer. If neither --judge nor codegate.yml names a judge, the kept answers are shown. The budget and the limits in
    codegate.yml apply to the run and its judge together.

    Nothing is gated: the exit code is 0 whatever the judge says, and 4 if faults left attempts without a judgement.
    """
    settings, home = read_settings(config)
    named = with_prices(named_candidates((name,), "--judge"), settings.prices)[0] if name is not None else None
    options = settings.run_options(transcripts=home if name is None else Path())
    view, lost = judge(run, named or settings.judge, options, note)
    say(render_tables([judge_table(view.candidates)], width=columns()))
    rows = [{"candidate": entry.label, **asdict(entry.judged)} for entry in view.candidates if entry.judged]
    emit({"schema": "codegate.judge-table/1", "not_judged": lost, "candidates": rows})
    return ExitCode.INFRASTRUCTURE if lost else ExitCode.PASS
