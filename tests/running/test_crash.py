"""A run that is killed again and again ends like one that never was, and pays for nothing twice."""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.suite import Suite
from tests.running.world import ModelServer, Said, answer, lines

pytestmark = pytest.mark.bwrap


class Zygote:
    """The process that the runs are forked from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.running.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert self._said() == "ready"

    def run(self, suite: Path, out: Path, url: str) -> int:
        """Start a run and return a descriptor of its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"suite": str(suite), "out": str(out), "url": url}) + "\n")
        self._process.stdin.flush()
        return os.pidfd_open(int(self._said()))

    def ended(self) -> int:
        return int(self._said())

    def close(self) -> None:
        self._process.communicate()

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


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


@pytest.mark.parametrize("kills_wanted", [2, pytest.param(6, marks=pytest.mark.full)])
def test_killed_at_random_points_a_run_loses_nothing_that_was_paid_for(
    suite: Suite, server: ModelServer, tmp_path: Path, zygote: Zygote, kills_wanted: int
) -> None:
    chance = random.Random(20250101)
    asked: list[str] = []

    def script(name: str, turn: int, request: dict[str, Any]) -> Said:
        asked.append(f"{name}/{request['max_tokens']}")
        return Said(answer(name, right=name != "half"), seconds=0.05)

    server.script = script
    started = time.monotonic()
    os.close(zygote.run(suite.folder, tmp_path / "undisturbed", server.url))
    assert zygote.ended() == 0
    whole = time.monotonic() - started
    expected = graded(tmp_path / "undisturbed")
    assert len(expected) == 6
    kills = rounds = 0
    while kills < kills_wanted:
        rounds += 1
        assert rounds < kills_wanted * 2, "the runs are over before they are killed"
        out = tmp_path / f"run-{rounds}"
        while True:
            kept, journalled, mark = attempts(out), whole_lines(out), len(asked)
            child = zygote.run(suite.folder, out, server.url)
            if kills < kills_wanted:
                kill_at_some_moment(child, chance, out, asked, whole)
            os.close(child)
            code = zygote.ended()
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


def kill_at_some_moment(child: int, chance: random.Random, out: Path, asked: list[str], whole: float) -> None:
    """Kill when a call is under way, an attempt or an outcome was just written, or at any moment at all."""
    kind = chance.choice(["call", "attempt", "outcome", "any"])
    limit = time.monotonic() + (chance.uniform(0, whole) if kind == "any" else 60)
    before = {"call": len(asked), "attempt": len(attempts(out)), "outcome": len(whole_lines(out))}
    while time.monotonic() < limit and not select.select([child], [], [], 0.002)[0]:
        now = {"call": len(asked), "attempt": len(attempts(out)), "outcome": len(whole_lines(out))}
        if kind != "any" and now[kind] > before[kind]:
            break
    time.sleep(chance.uniform(0, 0.05))
    with contextlib.suppress(ProcessLookupError):  # it may be over
        signal.pidfd_send_signal(child, signal.SIGKILL)
