"""From a run to what the gate compares."""

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating import CandidateSamples, Sample
from codegate.running.outcome import Outcome, Run
from codegate.running.plan import candidate_conditions


def candidate_samples(run: Run, candidate: CandidateSpec) -> CandidateSamples:
    """Return the samples of ``candidate`` in ``run``: one for each planned sample, None where there is no grade."""
    outcomes = {(o.problem, o.sample): o for o in run.of(candidate.key())}
    models = sorted({model for o in outcomes.values() if o.attempt for model in o.attempt.models})
    return CandidateSamples(
        candidate=candidate.key(),
        label=candidate.label,
        model=", ".join(models) or candidate.model or candidate.provider,
        conditions=candidate_conditions(run.manifest, candidate),
        problem_digests=run.manifest.problems,
        excluded=run.manifest.excluded,
        samples={
            problem: tuple(_sample(index, outcomes.get((problem, index))) for index in range(run.manifest.samples))
            for problem in run.manifest.problems
        },
    )


def _sample(index: int, outcome: Outcome | None) -> Sample:
    if outcome is None:
        return Sample(index=index, passed=None, failure="not run")
    if outcome.grade is None:
        return Sample(index=index, passed=None, failure=outcome.fault.cause if outcome.fault else "infrastructure")
    grade = outcome.grade
    return Sample(index=index, passed=grade.resolved, score=grade.score, failure=grade.failure)


def check_finished(run: Run) -> None:
    """Refuse a run that has not tried all that it planned: what was never asked is no fault that a gate tolerates.

    Raises:
        UsageError: some planned outcome is not there; says how many are.
    """
    wanted = {
        (candidate.key(), problem, sample)
        for candidate in run.manifest.candidates
        for problem in run.manifest.problems
        for sample in range(run.manifest.samples)
    }
    made = len(wanted.intersection(outcome.key for outcome in run.outcomes))
    if made < len(wanted):
        raise UsageError(
            f"run {run.manifest.id} is unfinished: {made} of {len(wanted)} outcomes.",
            "Finish it with `codegate run --resume`.",
        )


def choose_candidate(run: Run, name: str | None) -> CandidateSpec:
    """Return the candidate of ``run`` whose label, model or key is ``name``; its only one when ``name`` is None.

    Raises:
        UsageError: none or several fit; lists what there is.
    """
    candidates = run.manifest.candidates
    fitting = [c for c in candidates if name is None or name in {c.label, c.model, c.key()}]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(candidate.label for candidate in candidates)
    wanted = f"{len(fitting)} candidates fit {name!r}" if name else f"the run has {len(candidates)} candidates"
    raise UsageError(f"{wanted}.", f"Name one of: {known}.")
