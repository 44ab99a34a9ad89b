"""``result.json``: plan and outcomes of a run without times, machines and ids.

Equal results have equal bytes, whatever the order and the number of machines.
"""

import json
from pathlib import Path
from typing import Any, Final

from codegate.durable import write_atomic
from codegate.running.outcome import Outcome, Run

RESULT: Final = "result.json"
RESULT_SCHEMA: Final = "codegate.result/1"
_PLAN: Final = ("suite", "suite_digest", "samples", "looks", "conditions", "prompts", "problems")


def result_text(run: Run) -> str:
    """Return the result of ``run`` as JSON in ASCII, outcomes in the order of the plan."""
    manifest = run.manifest
    plan = manifest.model_dump(mode="json", include=set(_PLAN))
    made = {outcome.key: outcome for outcome in run.outcomes}
    keys = [
        (candidate.key(), problem, sample)
        for problem, sample in manifest.planned()
        for candidate in manifest.candidates
    ]
    document = {
        "schema": RESULT_SCHEMA,
        **plan,
        "excluded": dict(sorted(manifest.excluded.items())),
        "candidates": [candidate.key() for candidate in manifest.candidates],
        "outcomes": [_entry(made[key]) for key in keys if key in made],
    }
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False).replace("##[", "#\\u0023[") + "\n"


def write_result(run: Run, folder: Path) -> None:
    """Write ``result.json`` into the run's ``folder``."""
    write_atomic(folder / RESULT, result_text(run).encode("ascii"))


def _entry(outcome: Outcome) -> dict[str, Any]:
    grade, attempt, fault = outcome.grade, outcome.attempt, outcome.fault
    return {
        "candidate": outcome.candidate,
        "problem": outcome.problem,
        "sample": outcome.sample,
        "resolved": grade.resolved if grade else None,
        "score": grade.score if grade else None,
        "tests_passed": grade.tests_passed if grade else None,
        "tests_total": grade.tests_total if grade else None,
        "failure": grade.failure if grade else None,
        "fault": fault.cause if fault else None,
        "answer": attempt.answer if attempt else None,
    }
