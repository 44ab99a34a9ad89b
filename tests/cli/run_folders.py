"""Run folders written by hand: what a command that only reads runs needs, without any execution."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from codegate.candidates import CandidateSpec, Usage
from codegate.running import Journal
from tests.kit.runs import LATE, attempt, manifest, outcome

SPEC = CandidateSpec(provider="openai", model="m-2025-06-01")
CONDITIONS = {"suite": "d" * 64, "grader": "1", "sandbox": "bwrap"}


def write_run(
    folder: Path,
    results: Mapping[str, Sequence[bool | None]],
    *,
    run: str | None = None,
    at: str = "2026-01-01T03:00:00+00:00",
    spec: CandidateSpec = SPEC,
    model: str | None = None,
    conditions: Mapping[str, str] = CONDITIONS,
    tokens: tuple[int, int] | None = None,
) -> Path:
    """Write a finished run of one candidate; None in ``results`` is a fault.

    Args:
        folder: where to.
        results: passed, failed or faulted samples by problem; as many for each problem.
        run: its id; the folder's name if None.
        at: when it finished.
        spec: the candidate.
        model: what the provider said answered; the candidate's own if None.
        conditions: what was the same for the whole run.
        tokens: of each attempt, input and output.
    """
    samples = max(len(entries) for entries in results.values())
    plan = manifest(
        samples,
        (spec,),
        id=run or folder.name,
        created=at,
        suite_digest=conditions["suite"],
        problems={name: f"digest-{name}" for name in results},
        conditions=dict(conditions),
        prompts={spec.key(): "1"},
    )
    journal = Journal.create(folder, plan)
    usage = Usage() if tokens is None else Usage(input_tokens=tokens[0], output_tokens=tokens[1])
    made = attempt(solver="single_shot", prompt_version="1", models=(model or spec.model,), usage=usage)
    with journal.writing():
        for problem, entries in results.items():
            for index, passed in enumerate(entries):
                fields = {"problem_digest": plan.problems[problem], "attempt": made, "finished": at}
                fields |= {"fault": LATE} if passed is None else {}
                journal.append(outcome(passed, problem, index, spec, **fields))
    return folder


def pattern(problems: int, samples: int, shift: int = 0) -> dict[str, list[bool]]:
    """Return results of which about two thirds passed, spread over problems and samples."""
    return {
        f"p-{i:02}": [i % 5 < 2 or (i % 5 < 4 and (i + j + shift) % 3 > 0) for j in range(samples)]
        for i in range(problems)
    }
