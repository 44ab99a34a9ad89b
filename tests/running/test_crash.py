"""A run that is killed again and again ends like one that never was, and pays for nothing twice."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.suite import Suite
from tests.running.world import ModelServer, Said, answer, lines, run_here, start

pytestmark = pytest.mark.bwrap


def started(suite: Suite, out: Path) -> "subprocess.Popen[str]":
    """Start a run of the two candidates of ``codegate.yml``, or go on with it.

    Of a precheck's record test_time_limit.py shows the same.
    """
    again = ("--resume" if (out / "run.json").exists() else "--out", out)
    words = ("run", suite.folder, "--config", "codegate.yml", "--sandbox", "bwrap", "--no-precheck", *again)
    return start(*words, cwd=out.parent, remembering=True)


def attempts(out: Path) -> set[str]:
    return {f"{path.parent.name}/{path.name}" for path in out.glob("transcripts/*/*.json")}


def graded(out: Path) -> dict[tuple[str, str], Any]:
    """Return what must not depend on crashes: per candidate and problem, patch and grade without its timings."""
    found = {}
    for line in (out / "outcomes.jsonl").read_text().splitlines():
        outcome = json.loads(line)
        times = {"seconds", "cpu_seconds", "peak_memory_bytes", "output", "tests"}
        grade = {name: value for name, value in outcome["grade"].items() if name not in times}
        found[outcome["candidate"], outcome["problem"]] = (outcome["attempt"]["patch"], grade)
    return found


@pytest.mark.parametrize("kills_wanted", [1, pytest.param(6, marks=pytest.mark.full)])
def test_killed_at_random_points_a_run_loses_nothing_that_was_paid_for(
    suite: Suite, server: ModelServer, tmp_path: Path, kills_wanted: int
) -> None:
    chance = random.Random(20250101)
    asked: list[str] = []

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        asked.append(f"{name}/{request['max_tokens']}")
        return Said(answer(name, right=name != "half"), seconds=0.05)

    server.script = script
    candidates = [server.spec(sampling={"max_output_tokens": number}) for number in (100, 200)]
    dumped = [spec.model_dump(mode="json", exclude_none=True) for spec in candidates]
    (tmp_path / "codegate.yml").write_text(json.dumps({"candidates": dumped, "concurrency": {"models": 2}}))
    begun = time.monotonic()
    run_here(suite, tmp_path / "undisturbed", *candidates, models=2)
    whole = time.monotonic() - begun
    expected = graded(tmp_path / "undisturbed")
    assert len(expected) == 6
    kills = rounds = 0
    while kills < kills_wanted:
        rounds += 1
        assert rounds < kills_wanted * 2, "the runs are over before they are killed"
        out = tmp_path / f"run-{rounds}"
        while True:
            kept, journalled, mark = attempts(out), whole_lines(out), len(asked)
            child = started(suite, out)
            if kills < kills_wanted:
                kill_at_some_moment(child, chance, out, asked, whole)
            child.communicate()
            code = child.returncode
            again = [_transcript(name, out) for name in asked[mark:]]
            assert not kept.intersection(again), "the calls of a kept attempt were repeated"
            assert len(again) == len(set(again)), "a call was made twice in one execution"
            assert whole_lines(out).startswith(journalled), "a journalled outcome was lost"
            if code == 0:
                break
            assert code == -signal.SIGKILL
            kills += 1
        assert graded(out) == expected
        assert len(lines(out)) == 6


def whole_lines(out: Path) -> bytes:
    """Return the journal without a line that a crash cut short."""
    path = out / "outcomes.jsonl"
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def _transcript(name: str, out: Path) -> str:
    """Return where the attempt is kept that a request, ``function/limit of tokens``, belongs to."""
    problem, _, tokens = name.partition("/")
    specs = [CandidateSpec.model_validate(each) for each in json.loads((out / "run.json").read_text())["candidates"]]
    [spec] = [spec for spec in specs if spec.sampling.max_output_tokens == int(tokens)]
    return f"{spec.key()}/calc-{problem}.0.json"


def kill_at_some_moment(
    child: "subprocess.Popen[str]", chance: random.Random, out: Path, asked: list[str], whole: float
) -> None:
    """Kill when a call is under way, an attempt or an outcome was just written, or at any moment at all."""
    kind = chance.choice(["call", "attempt", "outcome", "any"])
    limit = time.monotonic() + (chance.uniform(0, whole) if kind == "any" else 60)
    before = {"call": len(asked), "attempt": len(attempts(out)), "outcome": len(whole_lines(out))}
    while time.monotonic() < limit and child.poll() is None:
        time.sleep(0.01)
        now = {"call": len(asked), "attempt": len(attempts(out)), "outcome": len(whole_lines(out))}
        if kind != "any" and now[kind] > before[kind]:
            break
    time.sleep(chance.uniform(0, 0.05))
    with contextlib.suppress(ProcessLookupError):  # it may be over
        os.killpg(child.pid, signal.SIGKILL)
