"""Plan runs: manifest, jobs, options and number of model calls."""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from codegate import __version__
from codegate.candidates import CandidateSpec, Price
from codegate.errors import UsageError
from codegate.gating import QUARANTINED, GatePolicy
from codegate.gating.pinning import BASELINE_SAMPLES
from codegate.gating.power import RateModel, typical_model
from codegate.grading import GRADER_VERSION
from codegate.running.call_log import Spending
from codegate.running.outcome import ProblemOrigin, RunManifest
from codegate.solving import prompt_version_of
from codegate.strict import Strict
from codegate.suite import Problem, ProblemManifest, Provenance, Suite, proved_places, sandbox_place


class RunLimits(Strict):
    """The limits that end a run early."""

    max_model_calls: int | None = Field(
        default=None,
        ge=1,
        strict=True,
        description="The run stops, resumable, before it makes more model calls than this; every request counts.",
    )
    max_minutes: float | None = Field(
        default=None,
        gt=0,
        description="Minutes for each start of a run. Work that would end later is not begun, and the run stops, "
        "resumable.",
    )
    budget_usd: Price | None = Field(
        default=None,
        description="The run stops, resumable, before a model call that might take its costs above so many US dollars; "
        "the prices of every candidate that calls a model then have to be known.",
        json_schema_extra={"format": "decimal"},
    )


EngineName = Annotated[
    Literal["local", "ray"],
    Field(
        description="Where sandboxes are: on this machine, or on the nodes of the Ray cluster at RAY_ADDRESS; "
        "default local."
    ),
]

FullTestSuite = Annotated[
    bool,
    Field(
        description="Run the repository's full test suite on each answer that compiles, and report which answers break "
        "it; no verdict depends on it."
    ),
]


class RunOptions(RunLimits):
    """How to execute a run: limits, concurrency, folders.

    Only ``transcripts``, ``precheck``, ``cache`` and ``full_test_suite`` change its results.

    Attributes:
        models: most model calls at once.
        jobs: most sandboxes at work at once; up to two more are started ahead of need.
        budget_usd_per_month: for all runs in folders beside this one that began in this month (UTC).
        spent_before: calls and dollars of another run that count against these limits.
        repository: where base commits are; None: where the suite says.
        transcripts: folder to which the paths of ``replay`` candidates are relative.
        precheck: check first that every candidate answers, and that every problem is sound here.
        cache: folder of answers that runs share; None: no answer is reused.
        engine: whether sandboxes are on this machine or on the nodes of a Ray cluster; agents always work on this one.
        full_test_suite: whether the repository's test files are run on each answer, beside the hidden tests.
    """

    models: int = 4
    jobs: int = 2
    budget_usd_per_month: Decimal | None = None
    spent_before: Spending = Spending()
    repository: Path | None = None
    transcripts: Path = Path()
    precheck: bool = True
    cache: Path | None = None
    engine: EngineName = "local"
    full_test_suite: FullTestSuite = False

    @property
    def budgeted(self) -> bool:
        """Return whether a limit in dollars is set."""
        return self.budget_usd is not None or self.budget_usd_per_month is not None


@dataclass(frozen=True)
class AttemptJob:
    """An attempt to be made and graded."""

    candidate: CandidateSpec
    problem: Problem
    sample: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Return candidate key, problem id and sample, like ``Outcome.key``."""
        return (self.candidate.key(), self.problem.id, self.sample)


def new_run_id() -> str:
    """Return a unique id that sorts by time."""
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
    """Plan a new run; return its manifest.

    ``images`` are the base images of the sandboxes, by Python version. The other arguments are fields of the manifest.
    Raises UsageError without an active problem or a candidate, or if a candidate is listed twice.
    """
    if not candidates:
        raise UsageError("no candidate was given.", "Name one with --candidate, or in codegate.yml.")
    keys = [candidate.key() for candidate in candidates]
    if len(set(keys)) != len(keys):
        raise UsageError("a candidate is listed twice.")
    if not suite.active:
        raise UsageError(f"suite {suite.name} has no active problem.", "See `codegate validate`.")
    place = sandbox_place(sandbox, images or {})
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
        tags={problem.id: tags_of(problem.manifest) for problem in suite.active},
        origins={problem.id: origin_of(problem.manifest.provenance) for problem in suite.active},
        conditions={"suite": suite.digest, "grader": GRADER_VERSION, **place},
        plain={problem.id: problem.plain_digest for problem in suite.active if problem.plain_digest != problem.digest},
        proved=proved_places(suite, place),
    )


def tags_of(manifest: ProblemManifest) -> tuple[str, ...]:
    """Return a problem's tags as ``name:value``.

    The problem's date, kind and language are added as tags; the language only if there is no tag `language`.
    """
    known = {"language": manifest.language} | manifest.tags
    if manifest.kind is not None:
        known["kind"] = manifest.kind
    if manifest.provenance.date is not None:
        known["date"] = manifest.provenance.date.date().isoformat()
    return tuple(f"{name}:{value}" for name, value in sorted(known.items()))


def origin_of(found: Provenance) -> ProblemOrigin:
    """Return the change that a problem was mined from."""
    return ProblemOrigin(
        title=found.title,
        date=found.date.date().isoformat() if found.date is not None else None,
        commit=found.commit,
        pull_request=found.pull_request,
        issues=found.issues,
        project=found.project,
    )


def suite_model(suite: Suite) -> RateModel:
    """Return the assumed distribution of a suite's pass rates."""
    if not suite.active:
        raise UsageError(f"suite {suite.name} has no active problem.", "See `codegate validate`.")
    clusters = _clusters(suite.active)
    return typical_model([clusters.get(problem.id, f"problem {problem.id}") for problem in suite.active])


def _clusters(problems: Sequence[Problem]) -> dict[str, str]:
    projects = {_project(problem) for problem in problems}

    def source(problem: Problem) -> str | None:
        number = problem.manifest.provenance.pull_request
        # In a suite of several repositories, pull requests of different repositories can have the same number.
        of = f" of {_project(problem)}" if len(projects) > 1 else ""
        return f"pull request {number}{of}" if number is not None else problem.manifest.provenance.commit

    sources = {problem.id: source(problem) for problem in problems}
    counts = Counter(sources.values())
    return {problem: name for problem, name in sources.items() if name is not None and counts[name] > 1}


def _project(problem: Problem) -> str:
    return problem.manifest.provenance.project or problem.manifest.tags.get("repository", "")


def candidate_settings(manifest: RunManifest, candidate: CandidateSpec) -> dict[str, str]:
    """Return a candidate's settings and prompt version, by field name."""
    return candidate.settings() | {"prompt": manifest.prompts.get(candidate.key(), "unknown")}


def check_resumable(manifest: RunManifest, suite: Suite) -> None:
    """Raise UsageError if suite, grader or prompts have changed."""
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
    """Raise UsageError if the run began with other base images.

    ``images`` are this machine's, by Python version.
    """
    for key, name in sandbox_place(manifest.sandbox, images).items():
        before = manifest.conditions.get(key)
        if before != name:
            raise UsageError(
                f"run {manifest.id} began with {key} {before}; here it is {name}.",
                f"Set CODEGATE_BASE_IMAGE={before}, or start a new run.",
            )


def jobs(manifest: RunManifest, suite: Suite) -> tuple[AttemptJob, ...]:
    """Return a run's jobs in order of sample, problem, candidate."""
    problems = {problem.id: problem for problem in suite.problems}
    return tuple(
        AttemptJob(candidate, problems[problem], sample)
        for problem, sample in manifest.planned()
        for candidate in manifest.candidates
    )


_RETRIES: Final = 10  # spare calls, because failed tries count too: one for every ten, plus ten


@dataclass(frozen=True)
class CallNeeds:
    """The most model calls that baseline and gate can need.

    ``gate`` includes calls of the pinned model that confirm a regression. Retries are not counted.
    """

    baseline: int
    gate: int

    @property
    def limit(self) -> int:
        """Return a sufficient limit of calls, with room for retries."""
        most = max(self.baseline, self.gate)
        return most + most // _RETRIES + _RETRIES if most else 0


def call_needs(
    problems: int, candidates: Sequence[CandidateSpec], policy: GatePolicy, samples: int | None = None
) -> CallNeeds:
    """Return the most model calls that baseline and gate need.

    ``samples`` defaults to the policy's most. The pinned model is assumed to need as many calls as the candidate that
    needs the most.
    """
    calls = [1 if candidate.solver == "single_shot" else candidate.max_iterations for candidate in candidates
             if candidate.calls_a_model]  # fmt: skip
    pinned = max(calls, default=0)
    most = samples or policy.max_samples
    return CallNeeds(
        baseline=problems * BASELINE_SAMPLES * pinned,
        gate=problems * (most * sum(calls) + policy.confirm_samples * pinned),
    )
