"""What a run will do: candidates x problems x samples, and the conditions that make two runs comparable."""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from codegate import __version__
from codegate.candidates import CandidateSpec
from codegate.errors import UsageError
from codegate.gating import QUARANTINED, RateModel, typical_model
from codegate.grading import GRADER_VERSION
from codegate.running.outcome import RunManifest
from codegate.solving import prompt_version_of
from codegate.suite import Problem, ProblemManifest, Provenance, Suite, place_of, proved_places


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
    """Return the manifest of a new run of ``candidates`` on ``suite``; ``RunManifest`` says what the values mean.

    ``images`` are the base images of the sandboxes, by version of Python.

    Raises:
        UsageError: no active problem, no candidate, or one given twice.
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
        conditions={"suite": suite.digest, "grader": GRADER_VERSION, **place},
        proved=proved_places(suite, place),
    )


def _tags(manifest: ProblemManifest) -> tuple[str, ...]:
    """Return the tags that results are sliced by; that of the day is for training cut-offs."""
    known = dict(manifest.tags) | {"language": manifest.language}
    if manifest.kind is not None:
        known["kind"] = manifest.kind
    if manifest.provenance.date is not None:
        known["date"] = manifest.provenance.date.date().isoformat()
    return tuple(f"{name}:{value}" for name, value in sorted(known.items()))


def suite_model(suite: Suite, rate: float, samples: int = 10) -> RateModel:
    """Return what is known of a suite's pass rates before there is a baseline: problems of usual difficulty.

    Args:
        suite: the suite.
        rate: pass rate that the pinned model is expected to have, in 0..1.
        samples: samples per problem that its baseline is to have.

    Raises:
        UsageError: the suite has no active problem.
    """
    if not suite.active:
        raise UsageError(f"suite {suite.name} has no active problem.", "See `codegate validate`.")
    clusters = _clusters(suite.active)
    names = [clusters.get(problem.id, f"problem {problem.id}") for problem in suite.active]
    return typical_model(len(names), rate=rate, samples=samples, clusters=names)


def _clusters(problems: Sequence[Problem]) -> dict[str, str]:
    """Return the change that each problem was mined from, where it gave several: what breaks one may break all."""
    sources = {problem.id: _source(problem.manifest.provenance) for problem in problems}
    counts = Counter(sources.values())
    return {problem: source for problem, source in sources.items() if source is not None and counts[source] > 1}


def _source(provenance: Provenance) -> str | None:
    if provenance.pull_request is not None:
        return f"pull request {provenance.pull_request}"
    return provenance.commit


def candidate_settings(manifest: RunManifest, candidate: CandidateSpec) -> dict[str, str]:
    """Return what a comparison tests of ``candidate``, by field: its settings, and the prompt's version in the run."""
    return candidate.settings() | {"prompt": manifest.prompts.get(candidate.key(), "unknown")}


def check_resumable(manifest: RunManifest, suite: Suite) -> None:
    """Refuse to mix outcomes that were made under different conditions in one run.

    Raises:
        UsageError: the suite, the grader or a prompt is not what it was when the run began.
    """
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
    """Refuse to go on with a run on other base images than it began with.

    Raises:
        UsageError: a tag has moved; names the image to go on with.
    """
    for field, name in place_of(manifest.sandbox, images).items():
        before = manifest.conditions.get(field)
        if before != name:
            raise UsageError(
                f"run {manifest.id} began with {field} {before}, and here it is {name}.",
                f"Set CODEGATE_BASE_IMAGE={before}, or start a new run.",
            )


def jobs(manifest: RunManifest, suite: Suite) -> tuple[Job, ...]:
    """Return every job of a run, sample by sample and problem by problem, so that candidates stay abreast."""
    problems = {problem.id: problem for problem in suite.problems}
    return tuple(
        Job(candidate, problems[problem], sample)
        for problem, sample in manifest.planned()
        for candidate in manifest.candidates
    )
