"""Builders of samples for the gating tests."""

from datetime import UTC, datetime
from pathlib import Path

from codegate.candidates import CandidateSpec
from codegate.gating import Baseline, CandidateSamples, RunSamples, Sample, load_pinned
from codegate.gating.baseline import write_lock

SPEC = CandidateSpec(provider="replay", model="x.jsonl", name="x")
NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
CONDITIONS = {"suite": "s" * 64, "grader": "1", "sandbox": "bwrap"}
SETTINGS = {"provider": "replay", "model": "x.jsonl", "prompt": "1", "max_output_tokens": "8192"}


def side(
    results: dict[str, list[bool | None]],
    *,
    label: str = "x",
    conditions: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
) -> CandidateSamples:
    """Return samples of a candidate from passed / failed / infrastructure per problem."""
    return CandidateSamples(
        candidate=f"key-{label}",
        label=label,
        model=f"model-{label}",
        conditions=CONDITIONS if conditions is None else conditions,
        settings=SETTINGS if settings is None else settings,
        problem_digests={problem: f"digest of {problem}" for problem in results},
        samples={
            problem: tuple(
                Sample(
                    index=index,
                    passed=passed,
                    score=None if passed is None else 100.0 * passed,
                    failure="provider.overloaded" if passed is None else None if passed else "logic_error",
                )
                for index, passed in enumerate(entries)
            )
            for problem, entries in results.items()
        },
    )


def uniform(n: int, passed: int, k: int = 1) -> dict[str, list[bool | None]]:
    """Return ``n`` problems with ``k`` samples each, of which the first ``passed`` problems pass throughout."""
    return {f"p{i:03}": [i < passed] * k for i in range(n)}


def part(
    results: dict[str, list[bool | None]],
    run: str = "run-1",
    *,
    spec: CandidateSpec = SPEC,
    conditions: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
    finished: datetime = NOON,
) -> RunSamples:
    """Return what a run has of a candidate, from passed / failed / infrastructure per problem."""
    samples = side(results, label=spec.label, conditions=conditions, settings=settings)
    samples = samples.model_copy(update={"candidate": spec.key()})
    return RunSamples(run, finished.isoformat(), "d" * 64, spec, samples)


def load_baseline(path: Path) -> Baseline:
    """Pin the baseline file ``path``, and read it as a gate does."""
    lock = path.with_name("pinned.lock")
    write_lock(lock, path)
    return load_pinned(lock)
