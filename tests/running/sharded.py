"""A shared run made by hand: its plan, its shards' folders, and the same run as one machine makes it."""

from collections.abc import Iterable
from pathlib import Path

from codegate.candidates import CandidateSpec, Message
from codegate.grading import Grade
from codegate.running import Journal, Outcome, RunManifest
from codegate.running.outcome import Fault, ProblemRecord, json_text
from codegate.running.shards import part_of, shard_choice, share
from codegate.solving import Attempt
from tests.running.runs import SPECS

Key = tuple[str, str, int]


def plan(
    problems: int = 7, samples: int = 2, specs: tuple[CandidateSpec, ...] = SPECS, gated_by: str | None = None
) -> RunManifest:
    """Return the plan of a whole run; the order of its problems is not that of their names."""
    names = [f"p-{(3 * number) % problems if problems % 3 else number}" for number in range(problems)]
    return RunManifest(
        id="20250101T000000Z-abcdef",
        created="2025-01-01T00:00:00+00:00",
        codegate="0.1.0",
        suite="hand",
        suite_digest="d" * 64,
        sandbox="bwrap",
        samples=samples,
        looks=(samples,),
        gated_by=gated_by,
        candidates=specs,
        problems={name: f"digest of {name}" for name in names},
        excluded={"p-flaky": "quarantined: flaky"},
        clusters=dict.fromkeys(names[:2], "pull request 7"),
        tags={name: (f"tier:{number % 2}",) for number, name in enumerate(names)},
        conditions={"suite": "d" * 64, "grader": "1", "sandbox": "bwrap"},
        prompts={spec.key(): "none" for spec in specs},
    )


def parts(whole: RunManifest, of: int) -> list[RunManifest]:
    """Return the manifests of all parts, in order."""
    shared = share(whole, of)
    choices = [shard_choice(shard, shared.run_id) for shard in shared.shards]
    return [part_of(whole, choice) for choice in choices if choice is not None]


def attempt(key: Key) -> Attempt:
    """Return what the candidate did: it says something of its own about each sample."""
    candidate, problem, sample = key
    said = (Message(role="assistant", text=f"{candidate} on {problem}, {sample}"),)
    return Attempt(
        solver="reference", prompt_version="none", problem=problem, candidate=candidate, sample=sample, messages=said
    )


def made(manifest: RunManifest, key: Key) -> Outcome:
    """Return an outcome that follows from its key alone: most are solved, some are not, a few are faults."""
    candidate, problem, sample = key
    luck = sum(f"{candidate}{problem}{sample}".encode()) % 7
    grade = fault = None
    if luck:
        resolved = luck < 5
        grade = Grade(
            resolved=resolved, score=100 * resolved, tests_total=1, failure=None if resolved else "logic_error"
        )
    else:
        fault = Fault(cause="sandbox", message="gone.", retries=2)
    return Outcome(
        problem=problem,
        problem_digest=manifest.problems[problem],
        candidate=candidate,
        sample=sample,
        attempt=attempt(key).summary(),
        grade=grade,
        fault=fault,
        finished="2025-01-01T00:00:00+00:00",
    )


def write(folder: Path, manifest: RunManifest, done: Iterable[Key] | None = None) -> Path:
    """Write the run of ``manifest`` with the outcomes ``done``, all by default, the last planned first."""
    Journal.create(folder, manifest)
    lines = []
    for key in reversed(manifest.outcome_keys()) if done is None else done:
        path = folder / "transcripts" / key[0] / f"{key[1]}.{key[2]}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json_text(attempt(key)))  # as a journal does it, without waiting for the disk each time
        lines.append(made(manifest, key).line() + "\n")
    (folder / "problems").mkdir()
    for name in manifest.problems:
        (folder / "problems" / f"{name}.json").write_text(json_text(ProblemRecord(statement=f"# {name}", fix="+x\n")))
    (folder / "outcomes.jsonl").write_text("".join(lines))
    (folder / "calls.log").write_text(f"call {SPECS[0].key()} 0.01\n" * len(lines))
    return folder


def write_shards(folder: Path, whole: RunManifest, of: int) -> list[Path]:
    """Write every shard of a run, and return their folders in order."""
    return [write(folder / f"shard-{number}", part) for number, part in enumerate(parts(whole, of), start=1)]
