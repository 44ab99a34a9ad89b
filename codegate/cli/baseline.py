"""``codegate baseline``: pin, show, compare, check, refresh and reset baselines."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import click
from pydantic import Field

from codegate.cli.options import Argument, OneCandidate, RunFolders, as_command
from codegate.cli.output import emit, say
from codegate.errors import ExitCode
from codegate.gating import Baseline, CandidateSamples, Lock, differences, load_lock, load_pinned, pinning
from codegate.gating.baseline import Pinning, load_baseline, samples_each
from codegate.gating.comparability import without_quarantined
from codegate.gating.decision import lost_words
from codegate.gating.drift import BaselineDifference, PassRateChange, counts_of, difference_of, pass_rate
from codegate.gating.pinning import MIN_SAMPLES
from codegate.gating.sentence import controls_words
from codegate.operations.baselines import check_absent, origin, pin, read_runs, write_with_lock
from codegate.running import plan_run
from codegate.running.plan import candidate_settings
from codegate.strict import File, Folder
from codegate.suite import load_suite
from codegate.wording import count_of, join_first

_LOCK: Final = Path("codegate.lock")
_SHOWN: Final = 20  # most findings or problems in the output for people
_PREFIX: Final = 12  # first digits of a digest that are shown


@click.group()
def command() -> None:
    """Pin runs as the baseline; show, check or change it."""


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
    made, written = pin(read_runs(runs, name), out, lock, replace=replace, min_samples=min_samples)
    _conclude(made, written, out, lock, "pinned")


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


@as_command(command, "diff")
def diff_command(old: Annotated[File, Argument()], new: Annotated[File, Argument()]) -> None:
    """Show what changed from one baseline file to another.

    OLD and NEW are the files.
    """
    found = difference_of(load_baseline(old), load_baseline(new))
    say(*_difference_words(found))
    emit(_difference_document(found))


@as_command(command, "verify")
def verify_command(
    lock: _Lock = _LOCK,
    suite: Annotated[Folder | None, "Also check that a run of this suite would be comparable today."] = None,
) -> ExitCode:
    """Check the baseline's lock, age and suite.

    Exits 0 if all is well, 3 if the baseline has expired or a run could not be compared with it, and 2 if lock or
    baseline is broken.
    """
    baseline = load_pinned(lock)
    age = baseline.age()
    findings = [age.words()] if age.state in {"expired", "future"} else []
    warnings = [age.words()] if age.state == "old" else []
    if suite is not None:
        found, noted = _incomparable(baseline, suite)
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


def _incomparable(baseline: Baseline, folder: Path) -> tuple[list[str], list[str]]:
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
        f"pass rate {pass_rate(counts).words()} problems",
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


def _difference_document(found: BaselineDifference) -> dict[str, Any]:
    return {
        "schema": "codegate.baseline-diff/1",
        "models": list(found.models),
        "conditions": [one.model_dump(mode="json") for one in found.conditions],
        "added": list(found.added),
        "removed": list(found.removed),
        "altered": list(found.altered),
        "problems": [
            {
                "problem": one.problem,
                "before": {"passed": one.before[0], "n": one.before[1]},
                "after": {"passed": one.after[0], "n": one.after[1]},
                "difference": one.difference,
            }
            for one in found.problems
        ],
        "change": None if found.change is None else asdict(found.change),
    }


def _difference_words(found: BaselineDifference) -> list[str]:
    same = found.models[0] == found.models[1]
    lines = [f"model {found.models[0]} in both" if same else f"model {found.models[0]} -> {found.models[1]}"]
    lines += [f"condition {one.field}: {one.baseline} -> {one.candidate}" for one in found.conditions]
    for word, names in (("added", found.added), ("removed", found.removed), ("altered", found.altered)):
        if names:
            lines.append(f"{word} {count_of(len(names), 'problem')}: {join_first(names, _SHOWN)}")
    moved = [one for one in found.problems if one.difference]
    lines += [
        f"  {one.problem}: {one.before[0]}/{one.before[1]} -> {one.after[0]}/{one.after[1]}" for one in moved[:_SHOWN]
    ]
    if len(moved) > _SHOWN:
        lines.append(f"  and {len(moved) - _SHOWN} more problems with another rate")
    lines.append(f"pass rate {found.change.words()}" if found.change else "no problem is the same in both")
    return lines
