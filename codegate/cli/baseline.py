"""``codegate baseline``: the life of the pinned baseline, from the pinning to the reset."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from codegate.cli.baseline_words import difference_document, difference_words, summary, summary_words
from codegate.cli.options import FILE, FOLDER, Decorated, json_option
from codegate.cli.output import emit, say
from codegate.errors import ExitCode
from codegate.gating import Baseline, CandidateSamples, Lock, differences, load_lock, load_pinned
from codegate.gating.baseline import load_baseline
from codegate.gating.comparability import without_quarantined
from codegate.gating.drift import Change, difference_of
from codegate.gating.pinning import MIN_SAMPLES
from codegate.gating.sentence import controls_words
from codegate.operations import pin, read_runs, refresh, reset
from codegate.running import plan_run
from codegate.running.plan import candidate_settings
from codegate.suite import load_suite
from codegate.wording import count_of

_LOCK: Final = Path("codegate.lock")
_SHOWN: Final = 20  # how many findings or problems people are shown


@click.group()
def command() -> None:
    """Pin runs as the baseline; show, compare, check, refresh or reset it."""


def _runs_argument(function: Decorated) -> Decorated:
    return click.argument("runs", metavar="RUN [RUN ...]", nargs=-1, required=True, type=FOLDER)(function)


def _lock_option(function: Decorated) -> Decorated:
    return click.option(
        "--lock", type=FILE, default=_LOCK, show_default=True, help="The file that says which baseline is pinned."
    )(function)


def _candidate_option(function: Decorated) -> Decorated:
    return click.option("--candidate", "name", help="Which candidate, when the runs have several.")(function)


def _samples_option(function: Decorated) -> Decorated:
    return click.option(
        "--min-samples",
        type=click.IntRange(min=1),
        default=MIN_SAMPLES,
        show_default=True,
        help="Least samples per problem; 10 are better.",
    )(function)


def _pinning(*, model: str) -> Callable[[Decorated], Decorated]:
    """Add the arguments of what pins runs; ``model`` says in the help whose runs they are."""

    def add(function: Decorated) -> Decorated:
        function.__doc__ = f"{function.__doc__}\n\n    RUN: folders of finished runs of {model}; all of them count."
        for option in (json_option, _lock_option, _samples_option, _candidate_option, _runs_argument):
            function = option(function)
        return function

    return add


@command.command("pin")
@_pinning(model="one candidate under the same conditions")
@click.option("--out", type=FILE, default=Path("baseline.json"), show_default=True, help="The baseline file.")
@click.option("--replace", is_flag=True, help="Replace a lock or baseline file of the same model that is there.")
def pin_command(
    runs: tuple[Path, ...], name: str | None, out: Path, lock: Path, replace: bool, min_samples: int
) -> None:
    """Pin all samples of all runs: writes the baseline file and the lock that holds its digest."""
    made, written = pin(read_runs(runs, name), out, lock, replace=replace, min_samples=min_samples)
    _conclude(made, written, out, lock, "pinned")


@command.command("refresh")
@_pinning(model="the pinned model, made since")
@click.option("--replace", is_flag=True, help="Keep none of the stored samples, instead of adding to them.")
@click.option("--accept-drift", is_flag=True, help="Accept new samples that differ from the stored ones.")
@click.option("--reason", default="", help="Reason, kept in the baseline's provenance.")
def refresh_command(
    runs: tuple[Path, ...],
    name: str | None,
    lock: Path,
    replace: bool,
    accept_drift: bool,
    reason: str,
    min_samples: int,
) -> None:
    """Add new samples of the pinned model to the baseline.

    Refused, with exit code 3, when they differ from the stored ones by more than chance (exact test, p < 0.01).
    """
    made, written, change = refresh(
        lock, read_runs(runs, name), replace=replace, accept_drift=accept_drift, reason=reason, min_samples=min_samples
    )
    say(f"stored against new samples: {change.words()}")
    _conclude(made, written, lock.parent / written.baseline, lock, "refreshed", change)


@command.command("reset")
@_pinning(model="the new model")
@click.option("--from", "old", required=True, help="The model that is pinned now, or its baseline's digest.")
@click.option("--reason", required=True, help="Reason, kept in the baseline's provenance.")
@click.option("--out", type=FILE, help="The baseline file; default: the one that the lock names.")
def reset_command(
    runs: tuple[Path, ...],
    name: str | None,
    old: str,
    reason: str,
    out: Path | None,
    lock: Path,
    min_samples: int,
) -> None:
    """Pin another model instead of the pinned one: the only way that a new snapshot is accepted."""
    pinned = load_lock(lock)
    made, written = reset(lock, old, read_runs(runs, name), reason=reason, out=out, min_samples=min_samples)
    place = lock.parent / written.baseline
    _conclude(made, written, place, lock, f"{pinned.model} is replaced by")


def _conclude(
    baseline: Baseline,
    written: Lock,
    out: Path,
    lock: Path,
    done: str,
    change: Change | None = None,
) -> None:
    counts = [len(entries) for entries in baseline.samples.samples.values()]
    what = f"{baseline.samples.label} ({baseline.samples.model})"
    say(f"{done} {what}: {count_of(len(counts), 'problem')}, {count_of(sum(counts), 'sample')}")
    if not any(sample.passed for entries in baseline.samples.samples.values() for sample in entries):
        say("warning: no sample passed, so nothing can be worse than this baseline; `codegate report RUN` shows why")
    say(f"baseline  {out}\nlock      {lock}")
    emit(_pinned_document(written, baseline, change))


def _pinned_document(lock: Lock, baseline: Baseline, change: Change | None) -> dict[str, Any]:
    return {
        "schema": "codegate.pinned/1",
        "lock": lock.model_dump(mode="json", by_alias=True),
        "drift": None if change is None else vars(change),
        "baseline": summary(baseline),
    }


@command.command("show")
@_lock_option
@json_option
def show_command(lock: Path) -> None:
    """Show the pinned baseline, after checking its digests: samples, pass rate, age, provenance, conditions."""
    baseline = load_pinned(lock)
    for line in summary_words(baseline):
        say(line)
    emit(summary(baseline))


@command.command("diff")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@json_option
def diff_command(old: Path, new: Path) -> None:
    """Show what changed from one baseline file to another: OLD and NEW."""
    found = difference_of(load_baseline(old), load_baseline(new))
    for line in difference_words(found):
        say(line)
    emit(difference_document(found))


@command.command("verify")
@_lock_option
@click.option("--suite", type=FOLDER, help="Also check that a run of this suite would be comparable today.")
@json_option
def verify_command(lock: Path, suite: Path | None) -> ExitCode:
    """Check the baseline against its lock, its age, and a suite.

    Exits 0 when all is well, 3 when a run could not be compared with it or it has expired, and 2 when lock or
    baseline is broken.
    """
    baseline = load_pinned(lock)
    age = baseline.age()
    findings = [age.words()] if age.state in {"expired", "future"} else []
    warnings = [age.words()] if age.state == "old" else []
    if suite is not None:
        found, noted = _against(baseline, suite)
        findings += found
        warnings += noted
    say(f"{baseline.samples.label} ({baseline.samples.model}): file, lock and digests agree")
    for kind, lines in (("note", warnings), ("fault", findings)):
        for line in lines[:_SHOWN]:
            say(f"{kind}: {line}")
        if len(lines) > _SHOWN:
            say(f"{kind}: and {len(lines) - _SHOWN} more")
    emit(
        {
            "schema": "codegate.verification/1",
            "digest": baseline.digest,
            "usable": not findings,
            "faults": findings,
            "notes": warnings,
        }
    )
    return ExitCode.INCONCLUSIVE if findings else ExitCode.PASS


def _against(baseline: Baseline, folder: Path) -> tuple[list[str], list[str]]:
    """Return why a run of the suite in ``folder`` would not be comparable today, and what else to know."""
    suite = load_suite(folder)
    sandbox = baseline.samples.conditions.get("sandbox", "")
    manifest = plan_run(suite, [baseline.spec], 1, sandbox, "verify")
    today = CandidateSamples(
        candidate=baseline.samples.candidate,
        label=baseline.samples.label,
        model=baseline.samples.model,
        conditions=manifest.conditions,
        settings=candidate_settings(manifest, baseline.spec),
        plain=manifest.plain,
        problem_digests=manifest.problems,
        excluded=manifest.excluded,
        samples={},
    )
    stored, now, quarantined = without_quarantined(baseline.samples, today)
    found = differences(stored, now, "candidate")
    faults = [f"{one.field}: {one.baseline} in the baseline, {one.candidate} in {folder}" for one in found.mismatches]
    if found.controlled:
        faults.insert(0, controls_words(found.controlled))
    notes = [f"{one.field} has changed: {one.baseline} -> {one.candidate}" for one in found.changes]
    return faults, [*notes, *(f"{one.problem} would be left out: {one.reason}" for one in quarantined)]
