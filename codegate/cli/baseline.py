"""``codegate baseline``: pin a run, show what is pinned."""

import os
from pathlib import Path

import click

from codegate.cli.options import FILE, FOLDER, json_option
from codegate.cli.output import emit, say
from codegate.errors import UsageError
from codegate.gating import load_pinned, pin, write_baseline, write_lock
from codegate.running import candidate_samples, choose_candidate, load_run


@click.group()
def command() -> None:
    """Pin a run as the baseline, or show the pinned one."""


@command.command("pin")
@click.argument("run", type=FOLDER)
@click.option("--candidate", "name", help="Which candidate, when the run has several.")
@click.option("--out", type=FILE, default=Path("baseline.json"), show_default=True, help="The baseline file.")
@click.option("--lock", type=FILE, default=Path("codegate.lock"), show_default=True, help="The file that pins it.")
@click.option("--replace", is_flag=True, help="Replace a lock or baseline file that is there.")
@json_option
def pin_command(run: Path, name: str | None, out: Path, lock: Path, replace: bool, as_json: bool) -> None:
    """Pin RUN (a run's folder): writes the baseline file and the lock that holds its digest."""
    if os.path.lexists(lock) and not replace:
        raise UsageError(f"{lock} pins a baseline already.", "Give --replace to accept a new one.")
    if os.path.lexists(out) and not replace:  # another lock may pin what is there
        raise UsageError(f"{out} exists already.", "Give another --out, or --replace to write over it.")
    loaded = load_run(run)
    candidate = choose_candidate(loaded, name)
    samples = candidate_samples(loaded, candidate)
    baseline = pin(samples, run=loaded.manifest.id, suite_digest=loaded.manifest.suite_digest)
    write_baseline(out, baseline)
    written = write_lock(lock, out)
    counts = [len(s) for s in samples.samples.values()]
    say(f"pinned {samples.label} ({samples.model}): {len(counts)} problems, {sum(counts)} samples", as_json=as_json)
    say(f"baseline  {out}\nlock      {lock}", as_json=as_json)
    if as_json:
        emit(written.model_dump(mode="json", by_alias=True))


@command.command("show")
@click.option("--lock", type=FILE, default=Path("codegate.lock"), show_default=True, help="The file that pins it.")
@json_option
def show_command(lock: Path, as_json: bool) -> None:
    """Show the pinned baseline, after checking its digests."""
    baseline = load_pinned(lock)
    samples = [sample for many in baseline.samples.samples.values() for sample in many]
    passed = sum(1 for sample in samples if sample.passed)
    say(f"{baseline.samples.label} ({baseline.samples.model}), pinned {baseline.created}", as_json=as_json)
    say(f"{len(baseline.samples.samples)} problems, {passed} of {len(samples)} samples passed", as_json=as_json)
    for field, value in baseline.samples.conditions.items():
        say(f"  {field:11} {value}", as_json=as_json)
    if as_json:
        emit(baseline.model_dump(mode="json", by_alias=True))
