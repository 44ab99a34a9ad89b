"""Plan a run: candidates x problems x samples, the conditions of comparable runs, and what it takes."""

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Final

from codegate import __version__
from codegate.candidates import CandidateSpec, Prices, cost
from codegate.errors import UsageError
from codegate.gating import QUARANTINED, GatePolicy
from codegate.gating.power import RateModel, typical_model
from codegate.grading import GRADER_VERSION
from codegate.running.journal import Spending
from codegate.running.outcome import Outcome, Run, RunManifest
from codegate.solving import prompt_version_of
from codegate.suite import Problem, ProblemManifest, Provenance, Suite, place_of, proved_places


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out; nothing here but ``transcripts`` and ``precheck`` changes its results.

    Attributes:
        models: model calls under way at once.
        sandboxes: sandboxes at work at once; up to two more wait, started ahead of need.
        max_model_calls: the run stops, resumable, before it makes more calls than this; ``budget_usd`` likewise.
        spent_before: what another run has used of both limits.
        repository: where base commits are, if not where the suite names it.
        transcripts: folder that the paths of ``replay`` candidates are relative to.
        precheck: check that every problem is sound here before the first model call.
    """

    models: int = 4
    sandboxes: int = 2
    max_model_calls: int | None = None
    budget_usd: Decimal | None = None
    spent_before: Spending = field(default_factory=Spending)
    repository: Path | None = None
    transcripts: Path = field(default_factory=Path)
    precheck: bool = True


@dataclass(frozen=True)
class Job:
    """One attempt to make and grade."""

    candidate: CandidateSpec
    problem: Problem
    sample: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Return (candidate, problem, sample), as outcomes have it."""
        return (self.candidate.key(), self.problem.id, self.sample)


def new_run_id() -> str:
    """Return an id that sorts by time and collides with no other run."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def plan_run(
    suite: Suite,
    candidates: Sequence[CandidateSpec],
    samples: int,
    sandbox: str,
    run_id: str,
    *,
    looks: tuple[int, ...] | None = None,
    gated_by: str | None = None,
    images: Mapping[str, str] | None = None,
) -> RunManifest:
    """Return the manifest of a new run; ``images`` are the base images of the sandboxes, by version of Python.

    Raises UsageError for no active problem, no candidate, or one given twice.
    """
    if not candidates:
        raise UsageError("no candidate was given.", "Name one with --candidate, or in codegate.yml.")
    keys = [candidate.key() for candidate in candidates]
    if len(set(keys)) != len(keys):
        raise UsageError("a candidate is listed twice.")
    if not suite.active:
        raise UsageError(f"suite {suite.name} has no active problem.", "See `codegate validate`.")
    place = place_of(sandbox, images or {})
    return RunManifest(
        prompts={candidate.key(): prompt_version_of(candidate) for candidate in candidates},
        id=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        codegate=__version__,
        suite=suite.name,
        suite_digest=suite.digest,
        sandbox=sandbox,
        samples=samples,
        looks=looks or (samples,),
        gated_by=gated_by,
        candidates=tuple(candidates),
        problems={problem.id: problem.digest for problem in suite.active},
        excluded={
            problem.id: f"{QUARANTINED}{problem.manifest.quarantine.reason}"
            for problem in suite.problems
            if problem.manifest.quarantine is not None
        },
        clusters=_clusters(suite.active),
        tags={problem.id: _tags(problem.manifest) for problem in suite.active},
        titles={problem.id: title for problem in suite.active if (title := problem.manifest.provenance.title)},
        conditions={"suite": suite.digest, "grader": GRADER_VERSION, **place},
        plain={problem.id: problem.plain_digest for problem in suite.active if problem.plain_digest != problem.digest},
        proved=proved_places(suite, place),
    )


def _tags(manifest: ProblemManifest) -> tuple[str, ...]:
    """Return the tags for slices of the results; the date is for training cut-offs."""
    known = dict(manifest.tags) | {"language": manifest.language}
    if manifest.kind is not None:
        known["kind"] = manifest.kind
    if manifest.provenance.date is not None:
        known["date"] = manifest.provenance.date.date().isoformat()
    return tuple(f"{name}:{value}" for name, value in sorted(known.items()))


def suite_model(suite: Suite, rate: float, samples: int = 10) -> RateModel:
    """Return the rate model of a suite whose pinned model is expected to pass at ``rate``."""
    if not suite.active:
        raise UsageError(f"suite {suite.name} has no active problem.", "See `codegate validate`.")
    clusters = _clusters(suite.active)
    names = [clusters.get(problem.id, f"problem {problem.id}") for problem in suite.active]
    return typical_model(len(names), rate=rate, samples=samples, clusters=names)


def _clusters(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the change that each problem was mined from, where it gave several problems."""

    def source(provenance: Provenance) -> str | None:
        number = provenance.pull_request
        return f"pull request {number}" if number is not None else provenance.commit

    sources = {problem.id: source(problem.manifest.provenance) for problem in problems}
    counts = Counter(sources.values())
    return {problem: name for problem, name in sources.items() if name is not None and counts[name] > 1}


def candidate_settings(manifest: RunManifest, candidate: CandidateSpec) -> dict[str, str]:
    """Return the settings of ``candidate`` by field, with the run's version of its prompt."""
    return candidate.settings() | {"prompt": manifest.prompts.get(candidate.key(), "unknown")}


def check_resumable(manifest: RunManifest, suite: Suite) -> None:
    """Raise UsageError if suite, grader or a prompt changed since the run began."""
    if suite.digest != manifest.suite_digest:
        raise UsageError(
            f"run {manifest.id} was made with another version of suite {manifest.suite} "
            f"({manifest.suite_digest[:12]}, {suite.folder} is {suite.digest[:12]}).",
            "Restore that version, or start a new run.",
        )
    now = plan_run(suite, manifest.candidates, manifest.samples, manifest.sandbox, manifest.id)
    for what, before, after in (
        ("grader", manifest.conditions.get("grader"), GRADER_VERSION),
        ("prompts", manifest.prompts, now.prompts),
    ):
        if before != after:
            raise UsageError(
                f"run {manifest.id} was made by codegate {manifest.codegate} with other {what} than this version has.",
                "Continue it with that version, or start a new run.",
            )


def check_place(manifest: RunManifest, images: Mapping[str, str]) -> None:
    """Raise UsageError if the run began on other base images; names the image to continue with."""
    for key, name in place_of(manifest.sandbox, images).items():
        before = manifest.conditions.get(key)
        if before != name:
            raise UsageError(
                f"run {manifest.id} began with {key} {before}; here it is {name}.",
                f"Set CODEGATE_BASE_IMAGE={before}, or start a new run.",
            )


def jobs(manifest: RunManifest, suite: Suite) -> tuple[Job, ...]:
    """Return the jobs of a run by sample, problem and candidate, so that candidates advance together."""
    problems = {problem.id: problem for problem in suite.problems}
    return tuple(
        Job(candidate, problems[problem], sample)
        for problem, sample in manifest.planned()
        for candidate in manifest.candidates
    )


BASELINE_SAMPLES: Final = 10
"""Default samples per problem of a baseline: the number that the statistics were simulated with."""

_RETRIES: Final = 10  # one spare call per ten, and ten more, because failed tries count too


@dataclass(frozen=True)
class SampleExpense:
    """Means over ``samples`` samples of runs; None where none reports a value.

    Tokens are those of requests and of answers; ``model_seconds`` is time in calls, ``grading_seconds`` in sandboxes.
    """

    samples: int
    input_tokens: float | None
    output_tokens: float | None
    usd: Decimal | None
    model_seconds: float | None
    grading_seconds: float | None

    def minutes(self, samples: float, models: int, sandboxes: int) -> float | None:
        """Return the minutes for ``samples``: the longer of calls and gradings, which run concurrently."""
        if self.model_seconds is None or self.grading_seconds is None:
            return None
        return samples * max(self.model_seconds / models, self.grading_seconds / sandboxes) / 60


def sample_expense(runs: Sequence[Run], prices: Prices | None) -> SampleExpense:
    """Return the mean expense of a graded sample in ``runs``, at ``prices``."""
    made = [outcome for run in runs for outcome in run.outcomes if outcome.attempt and outcome.grade]
    usages = [outcome.attempt.usage for outcome in made if outcome.attempt]
    costs = [sum_ for usage in usages if (sum_ := cost(usage, prices)) is not None]
    return SampleExpense(
        samples=len(made),
        input_tokens=_mean([usage.input_tokens for usage in usages if usage.input_tokens is not None]),
        output_tokens=_mean([usage.output_tokens for usage in usages if usage.output_tokens is not None]),
        usd=sum(costs, Decimal(0)) / len(costs) if costs else None,
        model_seconds=_mean([_model_seconds(outcome) for outcome in made]),
        grading_seconds=_mean([outcome.grading_seconds for outcome in made]),
    )


def _model_seconds(outcome: Outcome) -> float:
    return outcome.attempt.model_seconds + outcome.attempt.tool_seconds if outcome.attempt else 0.0


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


@dataclass(frozen=True)
class CallNeeds:
    """Most model calls, without retries, of a baseline and of a gate with its confirmation."""

    baseline: int
    gate: int

    @property
    def limit(self) -> int:
        """Return the least limit under which each run can finish, with room for retries."""
        most = max(self.baseline, self.gate)
        return most + most // _RETRIES + _RETRIES if most else 0


def call_needs(
    problems: int, candidates: Sequence[CandidateSpec], policy: GatePolicy, samples: int | None = None
) -> CallNeeds:
    """Return the most model calls of a baseline and of a gate of ``candidates``.

    ``samples`` default to the policy's most.

    The pinned model is taken to need as many calls as the candidate that needs most.
    """
    calls = [1 if candidate.solver == "single_shot" else candidate.max_iterations for candidate in candidates
             if candidate.calls_a_model]  # fmt: skip
    pinned = max(calls, default=0)
    most = samples or policy.max_samples
    return CallNeeds(
        baseline=problems * BASELINE_SAMPLES * pinned,
        gate=problems * (most * sum(calls) + policy.confirm_samples * pinned),
    )
