"""Convert a run's outcomes to the samples that the gate compares."""

from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating import CandidateSamples, Sample
from codegate.running.endings import limit_advice
from codegate.running.outcome import Outcome, Run
from codegate.running.plan import candidate_settings


def samples_at_look(run: Run, candidate: str) -> int:
    """Return the samples per problem at a candidate's last complete look; 0 before the first."""
    made = {(outcome.problem, outcome.sample) for outcome in run.of(candidate)}
    complete = run.manifest.samples
    for sample in range(run.manifest.samples):
        if any((name, sample) not in made for name in run.manifest.problems):
            complete = sample
            break
    return max((look for look in run.manifest.looks if look <= complete), default=0)


def candidate_samples(run: Run, candidate: CandidateSpec) -> CandidateSamples:
    """Return the planned samples of ``candidate``; with several looks, those of complete looks.

    Raises:
        UsageError: the run is a shard.
    """
    if run.manifest.shard is not None:
        raise UsageError(
            f"this is shard {run.manifest.shard.words} of run {run.manifest.id}, not the run.",
            "Merge its shards with `codegate merge`.",
        )
    outcomes = {(o.problem, o.sample): o for o in run.of(candidate.key())}
    width = samples_at_look(run, candidate.key()) if run.manifest.sequential else run.manifest.samples
    models = sorted({model for o in outcomes.values() if o.attempt for model in o.attempt.models})
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
    if outcome.grade is None:
        return Sample(index=index, passed=None, failure=outcome.fault.cause if outcome.fault else "infrastructure")
    grade, answer = outcome.grade, outcome.attempt.answer if outcome.attempt else None
    return Sample(index=index, passed=grade.resolved, score=grade.score, failure=grade.failure, answer=answer)


def choose_candidate(run: Run, name: str | None) -> CandidateSpec:
    """Return the candidate with this label, model or key; None: the only one.

    Raises:
        UsageError: none or several match; lists the candidates.
    """
    candidates = run.manifest.candidates
    fitting = [c for c in candidates if name is None or name in {c.label, c.model, c.key()}]
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(candidate.label for candidate in candidates)
    wanted = f"{len(fitting)} candidates fit {name!r}" if name else f"the run has {len(candidates)} candidates"
    raise UsageError(f"{wanted}.", f"Name one of: {known}.")
