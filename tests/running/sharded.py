"""A shared run made by hand: its plan, its shards' folders, and the same run as one machine makes it."""

from collections.abc import Iterable
from pathlib import Path

from codegate.candidates import CandidateSpec, Message
from codegate.running import Journal, Outcome, RunManifest
from codegate.running.outcome import ProblemRecord, json_text
from codegate.running.shards import plan_parts, shard_choice, shard_manifest
from codegate.solving import Attempt
from tests.kit.runs import SPECS, manifest, outcome

Key = tuple[str, str, int]


def plan(
    problems: int = 7, samples: int = 2, specs: tuple[CandidateSpec, ...] = SPECS, gated_by: str | None = None
) -> RunManifest:
    """Return the plan of a whole run; the order of its problems is not that of their names."""
    names = [f"p-{(3 * number) % problems if problems % 3 else number}" for number in range(problems)]
    return manifest(
        samples,
        specs,
        gated_by=gated_by,
        problems={name: f"digest of {name}" for name in names},
        excluded={"p-flaky": "quarantined: flaky"},
        clusters=dict.fromkeys(names[:2], "pull request 7"),
        tags={name: (f"tier:{number % 2}",) for number, name in enumerate(names)},
    )


def parts(whole: RunManifest, of: int) -> list[RunManifest]:
    """Return the manifests of all parts, in order."""
    shared = plan_parts(whole, of)
    choices = [shard_choice(shard, shared.run_id) for shard in shared.shards]
    return [shard_manifest(whole, choice) for choice in choices if choice is not None]


def attempt(key: Key) -> Attempt:
    """Return what the candidate did: it says something of its own about each sample."""
    candidate, problem, sample = key
    said = (Message(role="assistant", text=f"{candidate} on {problem}, {sample}"),)
    return Attempt(
        solver="reference", prompt_version="none", problem=problem, candidate=candidate, sample=sample, messages=said
    )


def made(plan: RunManifest, key: Key) -> Outcome:
    """Return an outcome that follows from its key alone: most are solved, some are not, a few are faults."""
    candidate, problem, sample = key
    luck = sum(f"{candidate}{problem}{sample}".encode()) % 7
    return outcome(
        luck < 5 if luck else None,
        problem,
        sample,
        problem_digest=plan.problems[problem],
        candidate=candidate,
        attempt=attempt(key).summary(),
        finished="2025-01-01T00:00:00+00:00",
    )


def write(folder: Path, plan: RunManifest, done: Iterable[Key] | None = None) -> Path:
    """Write the run of ``plan`` with the outcomes ``done``, all by default, the last planned first."""
    Journal.create(folder, plan)
    lines = []
    for key in reversed(plan.outcome_keys()) if done is None else done:
        path = folder / "transcripts" / key[0] / f"{key[1]}.{key[2]}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json_text(attempt(key)))  # as a journal does it, without waiting for the disk each time
        lines.append(made(plan, key).line() + "\n")
    (folder / "problems").mkdir()
    for name in plan.problems:
        (folder / "problems" / f"{name}.json").write_text(json_text(ProblemRecord(statement=f"# {name}", fix="+x\n")))
    (folder / "outcomes.jsonl").write_text("".join(lines))
    (folder / "calls.log").write_text(f"call {SPECS[0].key()} 0.01\n" * len(lines))
    return folder


def write_shards(folder: Path, whole: RunManifest, of: int) -> list[Path]:
    """Write every shard of a run, and return their folders in order."""
    return [write(folder / f"shard-{number}", part) for number, part in enumerate(parts(whole, of), start=1)]
