"""Find differences that forbid a comparison with the baseline."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegate.candidates.harness import HARNESS_SEPARATOR
from codegate.errors import UsageError
from codegate.gating.policy import Compared
from codegate.gating.samples import CandidateSamples
from codegate.gating.verdict import Exclusion, Mismatch
from codegate.suite import SANDBOX, is_place_field

ABSENT = "(absent)"
"""Value in a ``Mismatch`` for a field that baseline or candidate lacks."""

UNSET = "unset"
"""Value in a ``Mismatch`` for a setting that is not configured; the provider or the solver then chooses it."""

QUARANTINED = "quarantined: "
"""Prefix of the reason why a run excludes a quarantined problem."""

CHANGED = "changed: "
"""Prefix of the reason why a problem is excluded that differs between baseline and candidate."""

HARNESS: Final = "harness"
"""Name of an agent's setting. Its value lists the harness files with their digests, or is ``none``."""

PACKAGES: Final = "packages of the agent"
"""Field of a ``Mismatch`` with the installed package versions. On another day one recipe can install newer
dependencies."""

_NAME: Final = frozenset({"provider", "model", "base_url"})
"""Settings that name the model and its address."""
_MODEL: Final = _NAME | {"snapshot", "headers", "query"}
"""Settings of the model and of the way to it: a deployment or a gateway needs more than a name."""


@dataclass(frozen=True)
class Differences:
    """What differs between baseline and candidate, besides the samples.

    Attributes:
        mismatches: differences that forbid a comparison.
        changes: differences that are allowed and shown with the verdict.
        controlled: problems that differ only because ``codegate validate`` has added controls since the baseline.
        unproved: the places (sandbox, images) of baseline and candidate, if no proof shows that the suite grades the
            same in both.
    """

    mismatches: tuple[Mismatch, ...]
    changes: tuple[Mismatch, ...] = ()
    unproved: tuple[Mapping[str, str], ...] = ()
    controlled: tuple[str, ...] = ()


def differences(baseline: CandidateSamples, candidate: CandidateSamples, compared: Compared) -> Differences:
    """Return the differences of baseline and candidate, sorted by field.

    Unequal conditions or problems forbid a comparison; the field of a problem is ``problem <id>``. Another sandbox or
    other images are allowed if the suite was proved to grade the same in both. Other settings are allowed if
    ``compared`` is ``candidate``; if it is ``model``, only the model and its address may differ. If only one of two
    agents has a recorded harness, that forbids the comparison too. The field ``model`` is not listed.
    """
    settings = baseline.settings, candidate.settings
    changed = [one for one in _unequal(*settings, UNSET) if one.field != "model"]
    held = tuple(
        one
        for one in changed
        if (compared == "model" and one.field not in _MODEL)
        or (one.field == HARNESS and any("agent" in side and HARNESS not in side for side in settings))
    )
    conditions = condition_differences(baseline.conditions, candidate.conditions, candidate.proved)
    must = (
        *conditions.mismatches,
        *held,
        *_unequal(
            {f"problem {name}": value for name, value in baseline.problem_digests.items()},
            {f"problem {name}": value for name, value in candidate.problem_digests.items()},
        ),
    )
    allowed = [one if one.field != HARNESS else _parts_that_differ(one) for one in changed if one not in held]
    if baseline.packages and not {*candidate.packages} <= {*baseline.packages}:
        old, new = (", ".join(side.packages) for side in (baseline, candidate))
        allowed.append(Mismatch(field=PACKAGES, baseline=old, candidate=new))
    there, here = baseline.problem_digests, candidate.problem_digests
    controlled = (name for name in sorted(there) if there[name] == candidate.plain.get(name) != here.get(name))
    return Differences(must, (*conditions.changes, *allowed), conditions.unproved, tuple(controlled))


def _parts_that_differ(harness: Mismatch) -> Mismatch:
    sides = [set(side.split(HARNESS_SEPARATOR)) for side in (harness.baseline, harness.candidate)]
    old, new = (HARNESS_SEPARATOR.join(sorted(a - b)) for a, b in (sides, reversed(sides)))
    return Mismatch(field=HARNESS, baseline=old or "none", candidate=new or "none")


def changed_model_warning(baseline: CandidateSamples, candidate: CandidateSamples) -> tuple[str, ...]:
    """Return a warning if one name meant two models."""
    left, right = ({name: side.settings.get(name) for name in _NAME} for side in (baseline, candidate))
    if left != right or left["model"] is None or baseline.model == candidate.model:
        return ()
    return (
        f"{left['model']} was served as {baseline.model} for the baseline and as {candidate.model} now: the model "
        "behind the name has changed.",
    )


def condition_differences(
    there: Mapping[str, str], here: Mapping[str, str], proved: Sequence[Mapping[str, str]]
) -> Differences:
    """Return the conditions that differ between two runs.

    ``there`` is the earlier run. Places (sandbox, images) in ``proved`` may differ, because the suite grades the same
    there.
    """
    unequal = tuple(
        one
        for one in _unequal(there, here)
        # An environment is absent on one side if the problems differ, or if a sandbox has no images.
        if not (is_place_field(one.field) and one.field != SANDBOX and ABSENT in {one.baseline, one.candidate})
    )
    places = tuple(one for one in unequal if is_place_field(one.field))
    if not places:
        return Differences(unequal)
    both = [{name: value for name, value in side.items() if is_place_field(name)} for side in (there, here)]
    found = [next((one for one in proved if place.items() <= one.items()), None) for place in both]
    others = tuple(one for one in unequal if one not in places)
    if found[0] is not None and found[1] is not None:
        shared = found[0].keys() & found[1].keys()
        old, new = ({name: side[name] for name in shared} for side in (found[0], found[1]))
        return Differences(others, _unequal(old, new))
    return Differences(unequal, (), tuple(place for place, proof in zip(both, found, strict=True) if proof is None))


def _unequal(left: Mapping[str, str], right: Mapping[str, str], absent: str = ABSENT) -> tuple[Mismatch, ...]:
    return tuple(
        Mismatch(field=name, baseline=left.get(name, absent), candidate=right.get(name, absent))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    )


def without_quarantined(
    baseline: CandidateSamples, candidate: CandidateSamples
) -> tuple[CandidateSamples, CandidateSamples, tuple[Exclusion, ...]]:
    """Return both arguments without quarantined problems, and the exclusions."""
    gone = {
        problem: reason
        for ran, other in ((baseline, candidate), (candidate, baseline))
        for problem, reason in other.excluded.items()
        if reason.startswith(QUARANTINED) and problem in ran.problem_digests and problem not in other.problem_digests
    }
    return _without_both(baseline, candidate, gone)


def without_changed(
    baseline: CandidateSamples, candidate: CandidateSamples
) -> tuple[CandidateSamples, CandidateSamples, tuple[Exclusion, ...]]:
    """Return both arguments with identical problems only, and the exclusions.

    The suite's digest is removed from the conditions, because it differs if any problem does.
    """
    old, new = baseline.problem_digests, candidate.problem_digests
    gone: dict[str, str] = {}
    for name in old.keys() | new.keys():
        if old.get(name) != new.get(name):
            how = "is new" if name not in old else "is gone" if name not in new else "has changed"
            gone[name] = f"{CHANGED}{how} since the baseline was made"
    left, right = (
        side.model_copy(update={"conditions": {key: own for key, own in side.conditions.items() if key != "suite"}})
        for side in (baseline, candidate)
    )
    return _without_both(left, right, gone)


def _without_both(
    baseline: CandidateSamples, candidate: CandidateSamples, gone: Mapping[str, str]
) -> tuple[CandidateSamples, CandidateSamples, tuple[Exclusion, ...]]:
    exclusions = tuple(Exclusion(problem=name, side="both", reason=gone[name]) for name in sorted(gone))
    return _without(baseline, gone), _without(candidate, gone), exclusions


def without_problems(side: CandidateSamples, gone: Mapping[str, str]) -> CandidateSamples:
    """Return the samples with the problems in ``gone`` excluded.

    ``gone`` has the reason by problem.
    """
    return _without(side, gone).model_copy(update={"excluded": {**side.excluded, **gone}})


def only_stored_answers(baseline: CandidateSamples, candidate: CandidateSamples) -> bool:
    """Return whether all graded answers are copies of the baseline's."""
    stored = {problem: {sample.answer for sample in entries} for problem, entries in baseline.samples.items()}
    answers = [
        (problem, sample.answer)
        for problem, entries in candidate.samples.items()
        for sample in entries
        if sample.passed is not None
    ]
    return bool(answers) and all(
        answer is not None and answer in stored.get(problem, set()) for problem, answer in answers
    )


def _without(side: CandidateSamples, gone: Collection[str]) -> CandidateSamples:
    return side.model_copy(
        update={
            "problem_digests": {name: value for name, value in side.problem_digests.items() if name not in gone},
            "samples": {name: value for name, value in side.samples.items() if name not in gone},
        }
    )


def check_samples(samples: CandidateSamples, side: str) -> None:
    """Raise UsageError, naming ``side``, if samples contradict each other."""
    where = f"{side} {samples.label!r}"
    unknown = sorted(samples.samples.keys() - samples.problem_digests.keys())
    if unknown:
        raise UsageError(
            f"{where} has samples of problem {unknown[0]!r} but no digest of it.",
            "Build the samples from one complete run of one suite.",
        )
    for problem in sorted(samples.samples):
        indices = [sample.index for sample in samples.samples[problem]]
        if len(set(indices)) != len(indices):
            double = next(index for index in indices if indices.count(index) > 1)
            raise UsageError(
                f"{where} has sample {double} of problem {problem!r} more than once.",
                "Restore the run's files.",
            )
        if indices != sorted(indices):
            raise UsageError(
                f"{where} has the samples of problem {problem!r} out of order: {indices[:10]}.",
                "Sort them by index.",
            )
