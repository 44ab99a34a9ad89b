"""Make a baseline from the samples of finished runs.

All runs given are used. A choice among runs would bias the baseline: pinning the best of five single-sample runs turns
5 % of false alarms into 20 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from codegate import __version__
from codegate.candidates import CandidateSpec
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.gating.baseline import (
    Baseline,
    Lock,
    Pinning,
    PooledRun,
    encode_file,
    missing_samples,
    samples_each,
    utc_time,
)
from codegate.gating.comparability import ABSENT, check_samples, differences, without_quarantined
from codegate.gating.drift import DRIFT_LEVEL, PassRateChange, change_between, counts_of
from codegate.gating.samples import CandidateSamples
from codegate.gating.sentence import probability
from codegate.wording import count_of, join_first

MIN_SAMPLES: Final = 5
"""Least samples per problem of a baseline."""
BASELINE_SAMPLES: Final = 10
"""Default samples per problem of a baseline: the number that the statistics were simulated with."""

_LISTED: Final = 10  # how many differences or missing samples a message names
_PREFIX: Final = 12  # first digits of a digest, which identify it


class DriftShown(CodegateError):
    """The pinned model's new samples differ significantly from stored ones."""

    exit_code = ExitCode.INCONCLUSIVE


@dataclass(frozen=True)
class RunSamples:
    """One candidate's samples in a finished run.

    ``models`` are the models that the answers name.
    """

    run: str
    finished: str
    suite_digest: str
    spec: CandidateSpec
    samples: CandidateSamples
    looks: int = 1
    suite: str = ""
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Origin:
    """Who makes a baseline, at which commit, when; None: unknown."""

    who: str | None = None
    commit: str | None = None
    at: datetime | None = None


def _other_settings(before: CandidateSamples, after: CandidateSamples) -> str:
    """Return the settings that differ, as a clause, or ""."""
    changes = differences(before, after, "candidate").changes
    each = "; ".join(f"{one.field} {one.baseline} → {one.candidate}" for one in changes)
    return f" ({each})" if each else ""


def pool(parts: Sequence[RunSamples]) -> CandidateSamples:
    """Join the samples of several runs into one set.

    Samples are renumbered. A problem that any run has in quarantine is left out. Raises UsageError for no run, a run
    given twice, an incomplete run, a run with several looks, and runs that differ in candidate, model or conditions.
    """
    if not parts:
        raise UsageError("no run was given.", "Name the folder of one run or more.")
    first, pooled = parts[0], parts[0].samples
    for number, part in enumerate(parts):
        _check_whole(part)
        if part.run in {other.run for other in parts[:number]}:
            raise UsageError(f"run {part.run} is given twice: its samples would count double.", "Name each run once.")
        if part.spec.key() != first.spec.key():
            raise UsageError(
                f"run {part.run} is of candidate {part.samples.label} and run {first.run} of {first.samples.label}"
                f"{_other_settings(first.samples, part.samples)}.",
                "Pool runs of one candidate only.",
            )
        _check_model(part.samples.model, first.samples.model, f"run {part.run}", f"run {first.run}")
        if number:
            pooled = _joined(pooled, part.samples, f"run {first.run}", f"run {part.run}")
    return pooled.renumbered()


def pin(
    parts: Sequence[RunSamples],
    *,
    origin: Origin = Origin(),
    min_samples: int = MIN_SAMPLES,
    replaced: Lock | None = None,
) -> Baseline:
    """Make a baseline from the samples of the runs ``parts``.

    ``min_samples`` is the required number per problem. ``replaced`` is the lock that the new baseline replaces. Raises
    UsageError for runs that ``pool`` cannot join, for too few samples, and if ``replaced`` pins another model.
    """
    samples = pool(parts)
    if replaced is not None and replaced.model != samples.model:
        raise UsageError(
            f"the lock pins model {replaced.model!r}, and the runs are of {samples.model!r}.",
            "Only `codegate baseline reset` accepts a new snapshot: "
            f"`codegate baseline reset RUN --from {replaced.digest[:_PREFIX]} --reason WHY`.",
        )
    return _frozen("pin", parts, samples, origin, min_samples, replaced)


def reset(
    lock: Lock,
    old: str,
    parts: Sequence[RunSamples],
    *,
    reason: str,
    origin: Origin = Origin(),
    min_samples: int = MIN_SAMPLES,
) -> Baseline:
    """Make a baseline of another model than the pinned one.

    ``old`` must name what is pinned now: the model, or at least the first 12 digits of the baseline's digest. Raises
    UsageError if something else is pinned, for runs that ``pool`` cannot join, or for too few samples.
    """
    by_digest = len(old) >= _PREFIX and lock.digest.startswith(old)
    if old != lock.model and not by_digest:
        raise UsageError(
            f"{old!r} is not what is pinned: that is model {lock.model!r}, baseline {lock.digest[:_PREFIX]}.",
            "Pass the pinned model or digest with --from; another reset may have replaced it meanwhile.",
        )
    if not reason.strip() or len(reason) > 1000:
        raise UsageError("a reset needs a reason of 1 to 1000 characters.", "Pass it with --reason.")
    samples = pool(parts)
    if samples.model == lock.model:
        raise UsageError(
            f"the runs are of {lock.model!r}, which is already pinned.",
            "Add them with `codegate baseline refresh`, or pin them with `codegate baseline pin --replace`.",
        )
    return _frozen("reset", parts, samples, origin, min_samples, lock, reason=reason.strip())


def refresh(
    baseline: Baseline,
    parts: Sequence[RunSamples],
    *,
    accept_drift: bool = False,
    reason: str = "",
    origin: Origin = Origin(),
    min_samples: int = MIN_SAMPLES,
) -> tuple[Baseline, PassRateChange]:
    """Add new samples to a baseline; return baseline and change.

    The returned change is in the model's pass rate.

    Raises:
        DriftShown: the samples differ (exact test, two-sided p < 0.01) and ``accept_drift`` is not set.
        UsageError: another candidate, model or condition; a run that is in the baseline; too few samples.
    """
    fresh, stored = pool(parts), baseline.samples
    known = {run.id for run in baseline.runs}
    if again := [part.run for part in parts if part.run in known]:
        raise UsageError(f"run {again[0]} is already in the baseline.", "Pass runs that were made since.")
    _check_model(fresh.model, stored.model, "the new runs", "the baseline")
    if fresh.candidate != stored.candidate:
        raise UsageError(
            f"the new runs are of candidate {fresh.label}, configured differently from the pinned {stored.label}"
            f"{_other_settings(stored, fresh)}.",
            "Run the pinned candidate as it was, or pin the new one with `codegate baseline pin --replace`.",
        )
    joined = _joined(stored, fresh, "the baseline", "the new runs")
    change = change_between(counts_of(stored), counts_of(fresh))
    if change is None:
        raise UsageError("the new runs and the baseline have no problem in common.", "Run the same suite.")
    if change.p < DRIFT_LEVEL and not accept_drift:
        raise DriftShown(
            f"the pinned model has drifted: {change.words()}.",
            "Check the environment and the provider first. To keep the change, pin the new runs with "
            "`codegate baseline pin --replace`, or add them with --accept-drift.",
        )
    accepted = f"drift accepted ({probability(change.p)})" if change.p < DRIFT_LEVEL else ""
    reason = "; ".join(text for text in (accepted, reason.strip()) if text)[:1000]
    samples = joined.renumbered()
    return _frozen("refresh", parts, samples, origin, min_samples, baseline, drift=change.p, reason=reason), change


def _frozen(
    action: Literal["pin", "refresh", "reset"],
    parts: Sequence[RunSamples],
    samples: CandidateSamples,
    origin: Origin,
    min_samples: int,
    before: Baseline | Lock | None,
    *,
    drift: float | None = None,
    reason: str = "",
) -> Baseline:
    """Make a baseline from ``samples``; add ``action`` to its provenance.

    ``before`` is the baseline, or its lock, that the new baseline follows. A baseline's runs and provenance are kept.
    """
    each = samples_each(samples)
    if each < min_samples:
        raise UsageError(
            f"the baseline would have {count_of(each, 'sample')} per problem; at least {min_samples} are "
            "needed, because its sampling error is part of every later verdict.",
            f"Run it with `codegate run SUITE --samples 10`, add more runs of it, or pass --min-samples {each}.",
        )
    old = before if isinstance(before, Baseline) else None
    event = Pinning(
        action=action,
        at=(origin.at or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
        who=origin.who,
        commit=origin.commit,
        runs=tuple(part.run for part in parts),
        predecessor=before.digest if before else None,
        predecessor_model=old.samples.model if old else before.model if isinstance(before, Lock) else None,
        drift=drift,
        reason=reason,
    )
    made = Baseline(
        created=event.at,
        codegate=__version__,
        spec=old.spec if old else parts[0].spec,
        runs=(*(old.runs if old else ()), *map(_pooled_run, parts)),
        suite_digest=old.suite_digest if old else parts[0].suite_digest,
        complete=True,
        samples=samples,
        provenance=(*(old.provenance if old else ()), event),
        digest="0" * 64,
    )
    try:
        made = made.sealed()
        encode_file(made)
    except UnicodeEncodeError:
        raise UsageError(
            f"run {made.runs[-1].id!r} holds text that is not Unicode (half a surrogate pair), so it cannot be pinned.",
            "Look for it in the candidate's name and the problems' ids.",
        ) from None
    return made


def _pooled_run(part: RunSamples) -> PooledRun:
    try:
        return PooledRun(id=part.run, finished=utc_time(part.finished), samples=samples_each(part.samples))
    except ValueError as error:
        raise UsageError(f"run {part.run} has no usable time: {error}.", "Restore the run's files.") from error


def _joined(left: CandidateSamples, right: CandidateSamples, left_name: str, right_name: str) -> CandidateSamples:
    """Join two sets of samples of the same candidate.

    Problems that either set has in quarantine are left out. The names stand for the sets in messages.
    """
    left, right, _ = without_quarantined(left, right)
    if differing := differences(left, right, "model").mismatches:
        named = [
            f"{one.field} (only in {right_name})" if one.baseline == ABSENT
            else f"{one.field} (only in {left_name})" if one.candidate == ABSENT
            else f"{one.field} ({one.baseline[:_PREFIX]} in {left_name}, {one.candidate[:_PREFIX]} in {right_name})"
            for one in differing
        ]  # fmt: skip
        raise UsageError(
            f"{left_name} and {right_name} were made under different conditions: {join_first(named, _LISTED, '; ')}.",
            "Only samples made under the same conditions can be pooled; to go on under new ones, pin runs made under "
            "them with `codegate baseline pin --replace`.",
        )
    samples = {problem: left.samples[problem] + right.samples[problem] for problem in left.samples}
    return right.model_copy(
        update={
            "samples": samples,
            "excluded": {**left.excluded, **right.excluded},
            "packages": tuple(sorted({*left.packages, *right.packages})),
        }
    )


def _check_whole(part: RunSamples) -> None:
    if part.looks > 1:
        raise UsageError(
            f"run {part.run} was gated and stopped as soon as its verdict was clear, so its samples are a biased "
            "estimate of the model's pass rate.",
            "Pin runs of a fixed number of samples: `codegate run SUITE --samples 10`.",
        )
    if len(part.models) > 1:
        raise UsageError(
            f"in run {part.run} several models answered: {join_first(part.models)}.",
            "A baseline is of one snapshot: run it again, and name a model that no other one replaces during the run.",
        )
    check_samples(part.samples, f"run {part.run}:")
    missing = join_first(missing_samples(part.samples), _LISTED, "; ")
    if missing or not part.samples.problem_digests:
        raise UsageError(
            f"run {part.run} is incomplete and cannot be pinned: {missing or 'it has no problems'}.",
            "Finish it with `codegate run --resume` and pin it then.",
        )


def _check_model(found: str, wanted: str, where: str, other: str) -> None:
    if found != wanted:
        raise UsageError(
            f"in {where} the model {found!r} answered, in {other} it was {wanted!r}.",
            "A baseline is of one snapshot; accept another one with `codegate baseline reset`.",
        )
