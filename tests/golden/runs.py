"""Run folders in the format that ``codegate run`` writes: for commands that read runs and execute nothing."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

SUITE: Final = "d" * 64
#: The keys of the two candidates: a digest of what a spec says.
KEYS: Final = {"m-2025-06-01": "9d7045627d7af8cc", "m-2025-12-01": "0ffebbd287c0f0cf"}

_NOW: Final = datetime.now(UTC).isoformat(timespec="seconds")  # a baseline expires


def write_run(
    folder: Path, results: Mapping[str, Sequence[bool | None]], model: str = "m-2025-06-01", grader: str = "1"
) -> Path:
    """Write a finished run of one candidate: passed, failed or (None) faulted samples by problem."""
    folder.mkdir(parents=True)
    samples = max(len(each) for each in results.values())
    manifest = {
        "schema": "codegate.run/1", "id": folder.name, "created": _NOW, "codegate": "0", "suite": "hand",
        "suite_digest": SUITE, "sandbox": "bwrap", "samples": samples, "looks": [samples],
        "candidates": [{"provider": "openai", "model": model}],
        "problems": {problem: f"digest-{problem}" for problem in results},
        "conditions": {"suite": SUITE, "grader": grader, "sandbox": "bwrap"}, "prompts": {KEYS[model]: "1"},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(manifest))
    outcomes = [
        {
            "schema": "codegate.outcome/1", "problem": problem, "problem_digest": f"digest-{problem}",
            "candidate": KEYS[model], "sample": index, "finished": _NOW,
            "attempt": {"solver": "single_shot", "prompt_version": "1", "models": [model]},
            **_result(passed),
        }
        for problem, each in results.items()
        for index, passed in enumerate(each)
    ]  # fmt: skip
    (folder / "outcomes.jsonl").write_text("".join(f"{json.dumps(outcome)}\n" for outcome in outcomes))
    return folder


def write_judgements(folder: Path, problems: Sequence[str], model: str) -> None:
    """Write what a judge said of the first sample of ``problems``: that it passes."""
    header = {"schema": "codegate.judge/1", "judge": "j", "key": "0" * 16, "prompt": "judge/1"}
    lines = [{"candidate": KEYS[model], "problem": problem, "sample": 0, "passed": True} for problem in problems]
    (folder / "judge.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (header, *lines)))


def _result(passed: bool | None) -> dict[str, object]:
    if passed is None:
        return {"grade": None, "fault": {"cause": "provider.timeout", "message": "late.", "retries": 3}}
    failure = None if passed else "logic_error"
    return {"grade": {"resolved": passed, "score": 100.0 * passed, "tests_total": 1, "failure": failure}}
