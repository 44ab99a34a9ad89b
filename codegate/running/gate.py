"""Compare a finished run with its baseline: verdicts, exit code."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.durable import digest
from codegate.errors import ExitCode, UsageError
from codegate.gating import Baseline, CandidateSamples, GatePolicy, Sample, Verdict, compare, confirm, worst_first
from codegate.gating.baseline import EXPIRE_DAYS, Age
from codegate.gating.cohorts import unseen_floors
from codegate.gating.comparability import only_stored_answers, without_problems
from codegate.gating.floors import against_floors
from codegate.gating.verdict import Exclusion
from codegate.running.endings import limit_advice, mostly_lost_candidates
from codegate.running.faults import lost_answers
from codegate.running.outcome import Outcome, Run, RunManifest
from codegate.running.plan import candidate_settings, tags_of
from codegate.suite import Suite
from codegate.wording import count_of

_KEPT: Final = ("candidate", "label", "baseline_label", "margin", "alpha", "looks", "look", "samples", "max_samples",
                "candidates", "level", "level_regressed", "mismatches", "changes")  # fmt: skip
"""Fields of a verdict that has no result."""


def samples_at_look(run: Run, candidate: str) -> int:
    """Return the samples per problem at the last completed comparison."""
    made = {(outcome.problem, outcome.sample) for outcome in run.of(candidate)}
    most, names = run.manifest.samples, run.manifest.problems
    complete = next((sample for sample in range(most) if any((name, sample) not in made for name in names)), most)
    return max((look for look in run.manifest.looks if look <= complete), default=0)


def candidate_samples(run: Run, candidate: CandidateSpec) -> CandidateSamples:
    """Return a candidate's results in the gate's form.

    A sample that was planned and not run has ``passed`` None. In a run with several planned comparisons, samples after
    the last completed one are left out. Raises UsageError if the run is a shard or covers only a part of the suite.
    """
    if run.manifest.shard is not None:
        raise UsageError(
            f"this is shard {run.manifest.shard.words} of run {run.manifest.id}, not the run.",
            "Merge its shards with `codegate merge`.",
        )
    if run.manifest.part is not None:
        raise UsageError(
            f"run {run.manifest.id} has only {run.manifest.part}.",
            "Run the whole suite to gate, pin or watch.",
        )
    outcomes = {(o.problem, o.sample): o for o in run.of(candidate.key())}
    width = samples_at_look(run, candidate.key()) if run.manifest.sequential else run.manifest.samples
    models = sorted({model for o in outcomes.values() if o.attempt for model in o.attempt.models})
    agents = [o.attempt.agent for o in outcomes.values() if o.attempt and o.attempt.agent]
    return CandidateSamples(
        candidate=candidate.key(),
        label=candidate.label,
        model=", ".join(models) or candidate.model or candidate.provider,
        conditions=run.manifest.conditions,
        plain=run.manifest.plain,
        proved=run.manifest.proved,
        settings=candidate_settings(run.manifest, candidate),
        problem_digests=run.manifest.problems,
        excluded=run.manifest.excluded,
        clusters=run.manifest.clusters,
        packages=tuple(sorted({agent.lock for agent in agents if agent.lock is not None})),
        limits=limit_advice(candidate, outcomes.values()),
        tags={
            problem: tuple(tag for tag in tags if not tag.startswith("date:"))
            for problem, tags in run.manifest.tags.items()
            if problem in run.manifest.problems
        },
        samples={
            problem: tuple(_sample(index, outcomes.get((problem, index))) for index in range(width))
            for problem in run.manifest.problems
        },
    )


def _sample(index: int, outcome: Outcome | None) -> Sample:
    if outcome is None:
        return Sample(index=index, passed=None, failure="not run")
    lost = lost_answers(outcome)
    if outcome.grade is None:
        cause = outcome.fault.cause if outcome.fault else "infrastructure"
        return Sample(index=index, passed=None, failure=cause, lost=lost)
    grade, answer = outcome.grade, outcome.attempt.answer if outcome.attempt else None
    return Sample(
        index=index, passed=grade.resolved, score=grade.score, failure=grade.failure, answer=answer, lost=lost
    )


def choose_candidate(run: Run, name: str | None) -> CandidateSpec:
    """Return the run's candidate with this label, model or key.

    ``name`` None means the only candidate. Raises UsageError if none or several match.
    """
    candidates = run.manifest.candidates
    fitting = [c for c in candidates if name is None or name in {c.label, c.model, c.key()}]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(candidate.label for candidate in candidates)
    wanted = (
        f"{len(fitting)} candidates fit {name!r}" if name else f"the run has {count_of(len(candidates), 'candidate')}"
    )
    raise UsageError(f"{wanted}.", f"Name one of: {known}.")


@dataclass(frozen=True)
class Gate:
    """What decides verdicts.

    Without a baseline the policy's critical floors and ``must_pass`` decide.
    """

    baseline: Baseline | None
    policy: GatePolicy

    @property
    def digest(self) -> str:
        """Return the digest of baseline and policy.

        Parts of the policy that cannot change a verdict are left out.
        """
        shown_only = {"max_p95_latency", "max_cost_per_resolved", "on_inconclusive"}
        policy = self.policy.model_dump(mode="json", exclude=shown_only)
        own = {"baseline": self.baseline.digest} if self.baseline is not None else {}
        return digest({**own, "policy": policy})

    @property
    def looks(self) -> tuple[int, ...]:
        """Return the samples per problem at each planned comparison."""
        return self.policy.looks if self.baseline is not None else (1,)

    @property
    def confirm_samples(self) -> int:
        """Return the fresh baseline samples that confirm a regression."""
        return self.policy.confirm_samples if self.baseline is not None else 0


def gate_of_floors(policy: GatePolicy) -> Gate | None:
    """Return the gate of critical floors; None without any."""
    return Gate(None, policy) if policy.critical_floors else None


def gate_candidate(run: Run, candidate: CandidateSpec, gate: Gate) -> Verdict:
    """Return the verdict on a candidate's samples so far."""
    old = _excluded_by_age(run, gate.policy)
    return _with_excluded(_decided(run, candidate, gate, old), old)


def excluded_by_date(tags: Collection[str], policy: GatePolicy) -> bool:
    """Return whether the policy's ``newer_than`` excludes a problem.

    ``tags`` are the problem's tags. A problem without a date is excluded as well.
    """
    day = policy.newer_than
    return day is not None and not any(tag > f"date:{day}" for tag in tags if tag.startswith("date:"))


def check_policy(policy: GatePolicy, suite: Suite) -> None:
    """Raise UsageError if the policy does not fit the suite.

    A policy does not fit if it names a problem or tag that the suite lacks, or if its date excludes every problem.
    """
    tags = {problem.id: tags_of(problem.manifest) for problem in suite.active}
    problems = {name: own for name, own in tags.items() if not excluded_by_date(own, policy)}
    newer = f" newer than {policy.newer_than} (`gate.newer_than`)" if policy.newer_than is not None else ""
    if newer and not problems:
        raise UsageError(f"suite {suite.name} has no active problem{newer}.", "Correct the day, or mine more problems.")
    for name in policy.must_pass:
        if name not in problems:
            raise UsageError(
                f"`gate.must_pass` names {name!r}, which is no active problem of suite {suite.name}{newer}.",
                f"Did you mean {near[0]}?" if (near := get_close_matches(name, problems, 1)) else "Remove it.",
            )
    carried = {tag for own in problems.values() for tag in own}
    for tag, meant in unseen_floors(carried, policy).items():
        raise UsageError(
            f"`gate.cohorts` has a floor for {tag!r}, a tag that no problem of suite {suite.name}{newer} "
            f"carries{meant}",
            "`codegate mine report SUITE` counts the problems by tag.",
        )


def _excluded_by_age(run: Run, policy: GatePolicy) -> dict[str, str]:
    tags, reason = run.manifest.tags, f"not newer than {policy.newer_than} (`gate.newer_than`)"
    return {name: reason for name in run.manifest.problems if excluded_by_date(tags.get(name, ()), policy)}


def _with_excluded(verdict: Verdict, old: Mapping[str, str]) -> Verdict:
    listed = tuple(Exclusion(problem=name, side="both", reason=reason) for name, reason in old.items())
    return verdict.model_copy(update={"excluded": (*verdict.excluded, *listed)}) if old else verdict


def _decided(run: Run, candidate: CandidateSpec, gate: Gate, gone: Mapping[str, str]) -> Verdict:
    baseline, looks, together = gate.baseline, run.manifest.looks, len(run.manifest.candidates)
    samples = without_problems(candidate_samples(run, candidate), gone)
    if baseline is None:
        return against_floors(samples, gate.policy, together)
    stored = without_problems(baseline.samples, gone)
    if (age := baseline.age()).state == "expired" and not gate.policy.allow_expired:
        old, new = _aged(stored, f"{age.days} days"), _aged(samples, f"under {EXPIRE_DAYS} days")
        verdict = compare(old, new, gate.policy, looks=looks, candidates=together)
        return verdict.model_copy(update={"reason": _renewal(baseline, age)})
    verdict = compare(stored, samples, gate.policy, looks=looks, candidates=together)
    if verdict.kind != "regressed" or run.confirmation is None:
        return verdict
    pinned, pooled = baseline.spec, {one.id for one in baseline.runs}
    if run.confirmation.manifest.id in pooled:  # a refresh has added the confirming samples to the baseline
        return verdict
    if [candidate.key() for candidate in run.confirmation.manifest.candidates] != [pinned.key()]:
        return verdict
    fresh = without_problems(candidate_samples(run.confirmation, pinned), gone)
    return confirm(stored, fresh, samples, gate.policy, looks=looks, candidates=together)


def _aged(samples: CandidateSamples, age: str) -> CandidateSamples:
    return samples.model_copy(update={"conditions": {**samples.conditions, "age of the baseline": age}})


def _renewal(baseline: Baseline, age: Age) -> str:
    spec = baseline.spec
    short = spec.short_form()
    candidate = f"--candidate {short}" if short else "--config FILE"
    where = "" if short else f" (FILE lists {spec.label} with its settings, see `codegate baseline show`)"
    return (
        f"The pinned baseline has expired: its newest samples are {age.days} days old, and {EXPIRE_DAYS} days are the "
        f"limit. Renew it: `codegate run SUITE {candidate} --no-gate --samples 10 --out runs/renewed`{where}, then "
        "`codegate baseline refresh runs/renewed`. To gate with it as it is, set `gate.allow_expired: true`."
    )


def settled_candidates(run: Run, gate: Gate) -> frozenset[str]:
    """Return keys of candidates whose verdict more samples cannot change.

    A baseline under other conditions, or a policy under which no candidate can pass, settles a candidate before it has
    samples. In a run with several planned comparisons, a clear verdict settles a candidate as well. Without a baseline
    no candidate is settled.
    """
    if gate.baseline is None:
        return frozenset()
    settled = set()
    run = run.model_copy(update={"confirmation": None})  # a confirmation does not reopen a planned comparison
    for candidate in run.manifest.candidates:
        verdict = gate_candidate(run, candidate, gate)
        decided = run.manifest.sequential and (verdict.kind != "inconclusive" or verdict.futile)
        hopeless = verdict.futile and not run.of(candidate.key())
        if verdict.kind == "incomparable" or hopeless or (decided and samples_at_look(run, candidate.key())):
            settled.add(candidate.key())
    return frozenset(settled)


class Unfinished(UsageError):
    """A run lacks planned outcomes."""


def check_finished(run: Run, settled: Collection[str] = (), name: str = "", folder: Path | None = None) -> None:
    """Raise Unfinished if a planned outcome is missing.

    Outcomes of candidates whose keys are in ``settled`` may be missing. The message names the run ``name`` and says how
    to continue it in ``folder``.
    """
    wanted = {key for key in run.manifest.outcome_keys() if key[0] not in settled}
    made = len(wanted.intersection(outcome.key for outcome in run.outcomes))
    if made < len(wanted):
        raise Unfinished(
            f"{name or f'run {run.manifest.id}'} is unfinished: {made} of {len(wanted)} outcomes.",
            f"Finish it with `codegate run SUITE --resume {folder or 'RUN'}`{', or run it again' if name else ''}.",
        )
    if run.confirmation is not None:
        check_finished(run.confirmation, folder=folder)


def check_gate(manifest: RunManifest, gate: Gate | None) -> None:
    """Raise UsageError if ``gate`` cannot decide a run.

    A gate cannot decide if the run has several planned comparisons and was planned for another gate, or if a model was
    trained after ``gate.newer_than``.
    """
    if manifest.sequential:
        check_planned_gate(manifest, gate)
    if gate is not None:
        pinned = (gate.baseline.spec,) if gate.baseline is not None else ()
        check_cutoffs((*manifest.candidates, *pinned), gate.policy)


def check_planned_gate(manifest: RunManifest, gate: Gate | None) -> None:
    """Raise UsageError if the run was planned for another gate.

    Without ``gate``, the run must have been planned without one. A gate without a baseline may also decide a run that
    was planned without a gate.
    """
    if manifest.gated_by == (gate.digest if gate is not None else None):
        return
    if manifest.gated_by is None:
        if gate is None or gate.baseline is None:
            return
        raise UsageError(
            f"run {manifest.id} was planned without a baseline, but one is configured.",
            "Leave it out (--no-gate), or plan the run again.",
        )
    if gate is None:
        raise UsageError(
            f"run {manifest.id} was planned for a gate, but neither a baseline nor a critical floor is given.",
            "Restore codegate.lock and codegate.yml, or say with --config and --baseline where they are.",
        )
    raise UsageError(
        f"run {manifest.id} was planned for another baseline or gate policy than the current one.",
        "Restore codegate.lock and `gate` in codegate.yml as they were, or start a new run.",
    )


def check_cutoffs(candidates: Sequence[CandidateSpec], policy: GatePolicy) -> None:
    """Raise UsageError if a model's training ended after ``gate.newer_than``."""
    day = policy.newer_than
    for spec in candidates:
        if day is not None and spec.training_cutoff is not None and spec.training_cutoff > day:
            raise UsageError(
                f"{spec.label} has the training cut-off {spec.training_cutoff}, after `gate.newer_than`, {day}.",
                "Set `gate.newer_than` to the later day; in a pull request that of the base commit counts.",
            )


def gate_run(run: Run, gate: Gate, folder: Path | None = None) -> tuple[Verdict, ...]:
    """Return each candidate's verdict on a finished run.

    Verdicts warn of an old baseline, of a baseline compared with itself, and of a regression that no fresh samples
    confirmed. ``folder`` is the run's, for messages.

    Raises:
        UsageError: the run is unfinished or was planned for another gate.
    """
    check_gate(run.manifest, gate)
    settled = settled_candidates(run, gate)
    given_up = _given_up(run, settled)
    check_finished(run, settled | given_up, folder=folder)
    verdicts = []
    for candidate in run.manifest.candidates:
        verdict = gate_candidate(run, candidate, gate)
        if candidate.key() in given_up:
            verdict = _without_result(verdict, run)
        warnings = [*verdict.warnings, *_baseline_warnings(run, candidate, gate, verdict)]
        if verdict.kind == "regressed" and verdict.confirmed is None and gate.confirm_samples:
            warnings.append("not confirmed by a fresh baseline run")
        verdicts.append(verdict.model_copy(update={"warnings": tuple(warnings)}))
    return tuple(verdicts)


def _given_up(run: Run, settled: Collection[str]) -> frozenset[str]:
    """Return keys of candidates whose missing samples faults prevented.

    A run makes no more samples of a candidate that lost most of them while another one can be sampled.
    """
    down = mostly_lost_candidates(run).difference(settled)
    if not run.manifest.sequential or len(down) == len(run.manifest.candidates):
        return frozenset()
    planned = len(run.manifest.problems) * run.manifest.samples
    return frozenset(key for key in down if len(run.of(key)) < planned)


def _without_result(verdict: Verdict, run: Run) -> Verdict:
    made = run.of(verdict.candidate)
    faults = Counter(outcome.fault.cause for outcome in made if outcome.grade is None and outcome.fault)
    reason = (
        f"Faults took {faults.total()} of {len(made)} samples, most often {faults.most_common(1)[0][0]}, so no more "
        "were made and nothing was decided. `codegate run SUITE --resume RUN` goes on."
    )
    return Verdict(kind="infrastructure", reason=reason, **{name: getattr(verdict, name) for name in _KEPT})


def _baseline_warnings(run: Run, candidate: CandidateSpec, gate: Gate, verdict: Verdict) -> Iterator[str]:
    if (baseline := gate.baseline) is None:
        return
    age = baseline.age()
    if age.words() and (age.state != "expired" or gate.policy.allow_expired):
        yield f"the baseline is not fresh: {age.words()}"
    if run.manifest.id in {one.id for one in baseline.runs}:
        yield f"run {run.manifest.id} is part of the pinned baseline, so it is compared with itself"
    # Equal wrong answers prove nothing, because many models give them. So a regressed candidate gets no such warning.
    elif verdict.kind != "regressed" and only_stored_answers(baseline.samples, candidate_samples(run, candidate)):
        yield "every answer is one of the pinned baseline's own, so the baseline is compared with itself"


def run_exit_code(run: Run, verdicts: Sequence[Verdict], settled: Collection[str] = ()) -> ExitCode:
    """Return the exit code of a run: its worst verdict's.

    Without verdicts it is 4 if an outcome is missing or ended with a fault, else 3 if any candidate is settled, else 0.
    ``settled`` has the keys of candidates whose outcomes never count as missing.
    """
    deciding = next(iter(worst_first(verdicts)), None)
    if deciding is not None:
        return deciding.exit_code
    wanted = {key for key in run.manifest.outcome_keys() if key[0] not in settled}
    if wanted.difference(outcome.key for outcome in run.outcomes if outcome.grade is not None):
        return ExitCode.INFRASTRUCTURE
    return ExitCode.INCONCLUSIVE if settled else ExitCode.PASS
