"""Outcomes and runs made by hand, for the tests that need no execution."""

from codegate.candidates import CandidateSpec
from codegate.grading import Grade
from codegate.running import Outcome, RunManifest
from codegate.running.outcome import Fault
from codegate.solving import AttemptSummary

SPECS = (CandidateSpec(provider="reference"), CandidateSpec(provider="empty", name="nothing"))
PROBLEMS = {"p-1": "1" * 64, "p-2": "2" * 64}


def manifest(samples: int = 2, specs: tuple[CandidateSpec, ...] = SPECS) -> RunManifest:
    return RunManifest(
        id="20250101T000000Z-abcdef",
        created="2025-01-01T00:00:00+00:00",
        codegate="0.1.0",
        suite="hand",
        suite_digest="d" * 64,
        sandbox="bwrap",
        samples=samples,
        looks=(samples,),
        candidates=specs,
        problems=PROBLEMS,
        conditions={"suite": "d" * 64, "grader": "1", "sandbox": "bwrap"},
        prompts={spec.key(): "none" for spec in specs},
    )


def outcome(
    resolved: bool | None, problem: str = "p-1", sample: int = 0, spec: CandidateSpec = SPECS[0], patch: str = ""
) -> Outcome:
    """Return a graded outcome, or (None) a fault."""
    grade = None
    if resolved is not None:
        failure = None if resolved else "logic_error"
        grade = Grade(resolved=resolved, score=100 * resolved, tests_total=1, failure=failure)
    return Outcome(
        problem=problem,
        problem_digest=PROBLEMS[problem],
        candidate=spec.key(),
        sample=sample,
        attempt=AttemptSummary(solver="reference", prompt_version="none", patch=patch, models=("m-1",)),
        grade=grade,
        fault=Fault(cause="sandbox", message="gone.", retries=2) if grade is None else None,
    )
