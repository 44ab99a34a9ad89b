"""``codegate baseline``: pin, show, refresh and reset baselines."""

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import click
from pydantic import Field

from codegate.cli.options import OneCandidate, RunFolders, as_command
from codegate.cli.output import emit, say
from codegate.errors import UsageError
from codegate.gating import Baseline, Lock, load_lock, load_pinned, pinning
from codegate.gating.baseline import Pinning, samples_each
from codegate.gating.decision import lost_words
from codegate.gating.drift import PassRateChange, counts_of, pass_rate, rate_words
from codegate.gating.pinning import MIN_SAMPLES
from codegate.grading import GRADER_VERSION
from codegate.operations.baselines import check_absent, origin, pin, read_runs, write_with_lock
from codegate.strict import File
from codegate.wording import count_of

_LOCK: Final = Path("codegate.lock")
_PREFIX: Final = 12  # first digits of a digest that are shown


@click.group()
def command() -> None:
    """Pin runs as the baseline; show or change it."""


_Lock = Annotated[File, "The file that says which baseline is pinned."]
_REASON: Final = "Reason, kept in the baseline's provenance."
_MinSamples = Annotated[int, Field(ge=1), "Least samples per problem; 10 are better."]


@as_command(command, "pin")
def pin_command(
    runs: RunFolders,
    name: OneCandidate = None,
    min_samples: _MinSamples = MIN_SAMPLES,
    lock: _Lock = _LOCK,
    out: Annotated[File, "The baseline file."] = Path("baseline.json"),
    replace: Annotated[bool, "Replace a lock or baseline file of the same model that is there."] = False,
) -> None:
    """Pin all samples of all runs as the baseline.

    Writes the baseline file, and the lock with its digest.

    RUN: folders of finished runs of one candidate under the same conditions; all of them count.
    """
    before: Baseline | None = None
    with suppress(UsageError):  # the lock's file may be elsewhere, or broken
        before = load_pinned(lock)
    made, written = pin(read_runs(runs, name), out, lock, replace=replace, min_samples=min_samples)
    _conclude(made, written, out, lock, "pinned")
    if before is not None:
        say(f"it passes {rate_words(made.samples)}; the baseline that it replaces, {rate_words(before.samples)}")


@as_command(command, "refresh")
def refresh_command(
    runs: RunFolders,
    name: OneCandidate = None,
    min_samples: _MinSamples = MIN_SAMPLES,
    lock: _Lock = _LOCK,
    accept_drift: Annotated[bool, "Accept new samples that differ from the stored ones."] = False,
    reason: Annotated[str, _REASON] = "",
) -> None:
    """Add new samples of the pinned model to the baseline.

    Refused, with exit code 3, if they differ from the stored ones by more than chance (exact test, p < 0.01).

    RUN: folders of finished runs of the pinned model, made since the pinning; all of them count.
    """
    made, change = pinning.refresh(
        load_pinned(lock),
        read_runs(runs, name),
        accept_drift=accept_drift,
        reason=reason,
        origin=origin(),
        min_samples=min_samples,
    )
    place = lock.parent / load_lock(lock).baseline
    say(f"stored against new samples: {change.words()}")
    _conclude(made, write_with_lock(made, place, lock), place, lock, "refreshed", change)


@as_command(command, "reset")
def reset_command(
    runs: RunFolders,
    name: OneCandidate = None,
    min_samples: _MinSamples = MIN_SAMPLES,
    lock: _Lock = _LOCK,
    *,
    old: Annotated[str, "--from", "The model that is pinned now, or its baseline's digest."],
    reason: Annotated[str, _REASON],
    out: Annotated[File | None, "The baseline file; default: the one that the lock names."] = None,
) -> None:
    """Pin another model instead of the pinned one.

    This is the only way to accept a new snapshot.

    RUN: folders of finished runs of the new model; all of them count.
    """
    pinned = load_lock(lock)
    if out is not None:
        check_absent(out)
    made = pinning.reset(pinned, old, read_runs(runs, name), reason=reason, origin=origin(), min_samples=min_samples)
    place = out or lock.parent / pinned.baseline
    _conclude(made, write_with_lock(made, place, lock), place, lock, f"{pinned.model} is replaced by")


def _conclude(
    baseline: Baseline,
    written: Lock,
    out: Path,
    lock: Path,
    done: str,
    change: PassRateChange | None = None,
) -> None:
    counts = [len(entries) for entries in baseline.samples.samples.values()]
    what = f"{baseline.samples.label} ({baseline.samples.model})"
    say(f"{done} {what}: {count_of(len(counts), 'problem')}, {count_of(sum(counts), 'sample')}")
    if not any(sample.passed for entries in baseline.samples.samples.values() for sample in entries):
        say("warning: no sample passed, so nothing can be worse than this baseline; `codegate report RUN` shows why")
    if baseline.samples.conditions.get("grader") != GRADER_VERSION:
        say("warning: another version of codegate graded these samples, so no gate by this version compares with them")
    say(*_lost_note(baseline), f"baseline  {out}\nlock      {lock}")
    emit(
        {
            "schema": "codegate.pinned/1",
            "lock": written.model_dump(mode="json", by_alias=True),
            "drift": None if change is None else vars(change),
            "baseline": _summary(baseline),
        }
    )


@as_command(command, "show")
def show_command(lock: _Lock = _LOCK) -> None:
    """Check the digests of the pinned baseline, and show it.

    It shows samples, pass rate, age, provenance and conditions.
    """
    baseline = load_pinned(lock)
    say(*_summary_words(baseline))
    emit(_summary(baseline))


def _summary(baseline: Baseline) -> dict[str, Any]:
    counts = counts_of(baseline.samples)
    age = baseline.age()
    whole = baseline.model_dump(mode="json", by_alias=True, exclude={"samples", "baseline_schema"})
    return {
        "schema": "codegate.baseline-summary/1",
        **whole,
        "label": baseline.samples.label,
        "model": baseline.samples.model,
        "conditions": dict(baseline.samples.conditions),
        "settings": dict(baseline.samples.settings),
        "excluded": dict(baseline.samples.excluded),
        "age": {"days": age.days, "state": age.state},
        "problems": len(counts),
        "samples": samples_each(baseline.samples),
        "independent_samples": sum(n for _, n in counts.values()),
        "pass_rate": asdict(pass_rate(counts)),
        "rates": {problem: {"passed": passed, "n": n} for problem, (passed, n) in counts.items()},
    }


def _summary_words(baseline: Baseline) -> list[str]:
    counts = counts_of(baseline.samples)
    age = baseline.age()
    passed = sum(passed for passed, _ in counts.values())
    total = sum(n for _, n in counts.values())
    each = samples_each(baseline.samples)
    made = sum(len(entries) for entries in baseline.samples.samples.values())
    lines = [
        f"{baseline.samples.label} ({baseline.samples.model}), baseline {baseline.digest[:_PREFIX]}",
        f"{count_of(len(counts), 'problem')} x {count_of(each, 'sample')}, {passed} of {total} passed; "
        f"pass rate {rate_words(baseline.samples)}",
        f"made of {count_of(len(baseline.runs), 'run')}, all of their samples:",
        *(
            f"  {run.id}  finished {run.finished}, {count_of(run.samples, 'sample')} per problem"
            for run in baseline.runs
        ),
        "done to it:",
        *(f"  {_event_words(event)}" for event in baseline.provenance),
        "conditions, with the grader's version:",
        *(f"  {field:11} {value}" for field, value in sorted(baseline.samples.conditions.items())),
        "settings:",
        *(f"  {field:17} {value or 'none'}" for field, value in sorted(baseline.samples.settings.items())),
    ]
    if total < made:
        lines.append(f"note: {made - total} of {made} samples repeat an answer word for word, and count once")
    lines += _lost_note(baseline)
    if each < 10:
        lines.append(f"note: {count_of(each, 'sample')} per problem; with 10, later verdicts depend less on their luck")
    if age.days is None or age.words():
        lines.append(f"warning: {age.words()}")
    else:
        lines.append(f"age: {count_of(age.days, 'day')}")
    return lines


def _lost_note(baseline: Baseline) -> list[str]:
    """Return a note on samples that lost an answer."""
    samples = [sample for entries in baseline.samples.samples.values() for sample in entries]
    repeated = sum(bool(sample.lost) for sample in samples)
    if not repeated:
        return []
    return [
        f"note: {repeated} of {count_of(len(samples), 'sample')} lost an answer before the graded one"
        f"{lost_words(baseline.samples)}; a regression must show with them as failures, too"
    ]


def _event_words(event: Pinning) -> str:
    text = f"{event.at}  {event.action} by {event.who or 'unknown'}"
    if event.commit:
        text += f" at {event.commit[:_PREFIX]}"
    text += f", {count_of(len(event.runs), 'run')}"
    if event.predecessor:
        text += f", before it {event.predecessor_model} ({event.predecessor[:_PREFIX]})"
    if event.drift is not None:
        text += f", drift test p={event.drift:.3f}"
    return f"{text}: {event.reason}" if event.reason else text
