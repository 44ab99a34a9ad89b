"""What the baseline's commands say about a baseline, in words and as a document."""

from dataclasses import asdict
from typing import Any, Final

from codegate.gating import Baseline
from codegate.gating.baseline import Pinning, samples_each
from codegate.gating.drift import BaselineDifference, counts_of, pass_rate
from codegate.wording import count_of

_SHOWN: Final = 20  # how many problems people are shown
_PREFIX: Final = 12  # digits of a digest


def summary(baseline: Baseline) -> dict[str, Any]:
    """Return everything about a baseline but its single samples, as one document."""
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


def summary_words(baseline: Baseline) -> list[str]:
    """Return the same for people."""
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
        "conditions:",
        *(f"  {field:11} {value}" for field, value in sorted(baseline.samples.conditions.items())),
        "settings:",
        *(f"  {field:17} {value}" for field, value in sorted(baseline.samples.settings.items())),
    ]
    if total < made:
        lines.append(f"note: {made - total} of {made} samples repeat an answer word for word, and count once")
    if each < 10:
        lines.append(f"note: {count_of(each, 'sample')} per problem; with 10, later verdicts depend less on their luck")
    if age.words():
        lines.append(f"warning: {age.words()}")
    else:
        lines.append(f"age: {age.days} days")
    return lines


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


def difference_document(found: BaselineDifference) -> dict[str, Any]:
    """Return what changed between two baselines as one document."""
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


def difference_words(found: BaselineDifference) -> list[str]:
    """Return the same for people."""
    same = found.models[0] == found.models[1]
    lines = [f"model {found.models[0]} in both" if same else f"model {found.models[0]} -> {found.models[1]}"]
    lines += [f"condition {one.field}: {one.baseline} -> {one.candidate}" for one in found.conditions]
    for word, names in (("added", found.added), ("removed", found.removed), ("altered", found.altered)):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            lines.append(f"{word} {count_of(len(names), 'problem')}: {', '.join(names[:_SHOWN])}{more}")
    moved = [one for one in found.problems if one.difference]
    lines += [
        f"  {one.problem}: {one.before[0]}/{one.before[1]} -> {one.after[0]}/{one.after[1]}" for one in moved[:_SHOWN]
    ]
    if len(moved) > _SHOWN:
        lines.append(f"  and {len(moved) - _SHOWN} more problems with another rate")
    lines.append(f"pass rate {found.change.words()}" if found.change else "no problem is the same in both")
    return lines
