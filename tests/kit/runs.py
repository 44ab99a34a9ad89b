"""Outcomes and plans of runs made by hand, for the tests that need no execution."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from codegate.candidates import CandidateSpec
from codegate.gating import Baseline, RunSamples, pin
from codegate.gating.baseline import write_baseline, write_lock
from codegate.grading import Grade
from codegate.running import Outcome, Run, RunManifest, candidate_samples
from codegate.running.outcome import Fault
from codegate.solving import AttemptSummary

SPECS = (CandidateSpec(provider="reference"), CandidateSpec(provider="empty", name="nothing"))
PROBLEMS = {"p-1": "1" * 64, "p-2": "2" * 64}
LATE = Fault(cause="provider.timeout", message="late.", retries=3)


def manifest(samples: int = 2, specs: tuple[CandidateSpec, ...] = SPECS, **fields: Any) -> RunManifest:
    """Return a plan; ``fields`` are further ones of it, or other values of these."""
    known: dict[str, Any] = {
        "id": "20250101T000000Z-abcdef",
        "created": "2025-01-01T00:00:00+00:00",
        "codegate": "0.1.0",
        "suite": "hand",
        "suite_digest": "d" * 64,
        "sandbox": "bwrap",
        "samples": samples,
        "looks": (samples,),
        "candidates": specs,
        "problems": PROBLEMS,
        "conditions": {"suite": "d" * 64, "grader": "1", "sandbox": "bwrap"},
        "prompts": {spec.key(): "none" for spec in specs},
    }
    return RunManifest(**known | fields)


def grade(resolved: bool) -> Grade:
    failure = None if resolved else "logic_error"
    return Grade(resolved=resolved, score=100 * resolved, tests_total=1, failure=failure)


def outcome(
    resolved: bool | None, problem: str = "p-1", sample: int = 0, spec: CandidateSpec = SPECS[0], **fields: Any
) -> Outcome:
    """Return a graded outcome, or (None) a fault; ``fields`` are further ones of it, or other values of these."""
    known: dict[str, Any] = {
        "problem": problem,
        "problem_digest": PROBLEMS.get(problem),
        "candidate": spec.key(),
        "sample": sample,
        "attempt": attempt(),
        "grade": None if resolved is None else grade(resolved),
        "fault": Fault(cause="sandbox", message="gone.", retries=2) if resolved is None else None,
    }
    return Outcome(**known | fields)


def attempt(**fields: Any) -> AttemptSummary:
    return AttemptSummary(**{"solver": "reference", "prompt_version": "none", "models": ("m-1",)} | fields)


def solved(plan: RunManifest) -> Run:
    """Return the run in which every planned sample is solved."""
    specs = {spec.key(): spec for spec in plan.candidates}
    made = (
        outcome(True, problem, sample, specs[key], problem_digest=plan.problems[problem])
        for key, problem, sample in plan.outcome_keys()
    )
    return Run(manifest=plan, outcomes=tuple(made))


def pinned(run: Run, spec: CandidateSpec, *, days: int = 0, name: str = "r-1") -> Baseline:
    """Return the baseline of a run's samples, finished so many days ago; ``name`` is what it calls the run."""
    finished = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    samples = candidate_samples(run, spec)
    return pin([RunSamples(name, finished, run.manifest.suite_digest, spec, samples)], min_samples=1)


def write_pinned(folder: Path, baseline: Baseline) -> Path:
    """Write ``baseline.json`` and ``codegate.lock``; return the lock."""
    write_baseline(folder / "baseline.json", baseline)
    write_lock(folder / "codegate.lock", folder / "baseline.json")
    return folder / "codegate.lock"
