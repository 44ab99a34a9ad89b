"""Runs of agents: their calls are bounded by the run's budget, and a run that was killed pays for none twice."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, Prices
from codegate.grading import Sandboxes
from codegate.running import faults
from codegate.running.calls import CallLimitReached
from codegate.sandbox import SandboxError
from codegate.suite import Suite
from tests.kit.scripted_model import AGENT, Run, Say, ScriptedModel, Turn, Use
from tests.running.world import NAMES, knowing, lines, only, results, run_here, start, wait_until

pytestmark = pytest.mark.bwrap
MODEL = "scripted-2026-01-01"


def play(turn: Turn) -> Say | Run | Use:
    """Fix the function that the statement names, in three steps."""
    steps = [Run("ls"), knowing(replace(turn, results=0)), Run("ls"), Say("Fixed.")]
    return steps[min(turn.results, 3)]


def spec(model: ScriptedModel, **changes: Any) -> CandidateSpec:
    return CandidateSpec.model_validate(
        {
            "agent": "command", "command": ["{python}", "-c", AGENT], "minutes": 2,
            "model": f"openai:{MODEL}@{model.url}/v1", **changes,
        }
    )  # fmt: skip


@pytest.mark.requirement("C8")
def test_agents_solve_the_suite_and_together_never_exceed_a_budget(suite: Suite, tmp_path: Path) -> None:
    # 1000 input and 50 output tokens a call: one cent; the worst case of a call is below ten.
    prices = Prices(input=Decimal(9), output=Decimal(20), cache_read=Decimal(9))
    with ScriptedModel(play) as model:
        candidate = spec(model, prices=prices.model_dump(mode="json"), sampling={"max_output_tokens": 100})
        with pytest.raises(CallLimitReached, match=r"budget of \$0\.10"):  # noqa: PT012 - what came instead is told
            run = run_here(suite, tmp_path / "run", candidate, budget_usd=Decimal("0.10"), models=8, jobs=4)
            pytest.fail(f"{model.answered} calls: {[outcome.fault or outcome.attempt for outcome in run.outcomes]}")
        paid = model.answered
        assert paid * Decimal("0.01") <= Decimal("0.10")
        run = run_here(suite, tmp_path / "run", candidate, budget_usd=Decimal(5), models=8, jobs=4)
    assert results(tmp_path / "run") == {(f"calc-{name}", 0): True for name in NAMES}
    assert {outcome.attempt.iterations for outcome in run.outcomes if outcome.attempt} == {4}
    assert model.answered == 4 * 3, "what an attempt had paid for before the budget ended it was not paid again"
    assert not list((tmp_path / "run").glob("transcripts/*/*.answers")), "what was kept for a crash is gone"


def test_an_attempt_whose_dollars_are_used_up_is_resumed_without_a_sandbox(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_pause", lambda *_: 0.0)
    out, opened = tmp_path / "run", Counter[str]()
    open_for_agent = Sandboxes.open_for_agent

    def counted(sandboxes: Sandboxes, *asked: Any) -> Any:
        opened["sandboxes"] += 1
        return open_for_agent(sandboxes, *asked)

    monkeypatch.setattr(Sandboxes, "open_for_agent", counted)
    with ScriptedModel(play, status=502, failures=99) as model:
        # A request costs two to three cents at most, and so does one that failed.
        terms = {"prices": {"input": 9, "output": 20}, "sampling": {"max_output_tokens": 100}, "usd": "0.04"}
        candidate = spec(model, **terms)
        for requests, sandboxes in ((3, 3), (0, 0)):
            opened.clear()
            before = len(model.requests)
            run = run_here(suite, out, candidate)
            causes = {outcome.fault.cause if outcome.fault else None for outcome in run.outcomes}
            assert causes == {"agent.dollars_lost"}
            assert (len(model.requests) - before, opened["sandboxes"]) == (requests, sandboxes)
    (message,) = {outcome.fault.message for outcome in run.outcomes if outcome.fault}
    assert "Resuming cannot complete this attempt: raise `usd`" in message


def test_a_sandbox_that_cannot_be_opened_for_an_agent_loses_no_answer(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_pause", lambda *_: 0.0)
    opened = Sandboxes.open_for_agent

    def gone(*_: Any) -> Any:
        raise SandboxError("the daemon is gone.")

    with ScriptedModel(play) as model:
        candidate = spec(model)
        monkeypatch.setattr(Sandboxes, "open_for_agent", gone)
        down = run_here(suite, tmp_path / "run", candidate)
        causes = {outcome.fault.cause for outcome in down.outcomes if outcome.fault}
        assert not model.requests
        monkeypatch.setattr(Sandboxes, "open_for_agent", opened)
        run = run_here(suite, tmp_path / "run", candidate)
    assert causes == {"environment"}
    assert [outcome.lost for outcome in run.outcomes] == [{}] * 3
    assert all(outcome.grade and outcome.grade.resolved for outcome in run.outcomes)


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.full)])
@pytest.mark.timeout(1200)
def test_a_run_that_is_killed_pays_for_no_call_twice(own_suite: Suite, tmp_path: Path, kills: int) -> None:
    names = NAMES if kills > 1 else NAMES[:1]
    suite, calls = only(own_suite, *names), 4 * len(names)

    def slowly(turn: Turn) -> Say | Run | Use:
        time.sleep(0.05)
        return play(turn)

    bodies: list[str] = []
    with ScriptedModel(slowly) as model:
        killed = rounds = 0
        while killed < kills:
            rounds += 1
            out, mark = tmp_path / f"run-{rounds}", len(model.requests)
            config = tmp_path / "codegate.yml"
            candidate = spec(model).model_dump(mode="json", exclude_none=True)
            config.write_text(json.dumps({"candidates": [candidate], "samples": 1}))
            while True:
                process = _start(suite, out, config, remembering=kills == 1)
                if killed < kills:
                    call = len(model.requests) + 1 + (killed * 37 + 2) % calls
                    _kill_in(process, model, call, pause=killed * 13 % 10 / 20)
                process.communicate()
                code = process.returncode
                if code == 0:
                    break
                assert code == -signal.SIGKILL
                killed += 1
            assert results(out) == {(f"calc-{name}", 0): True for name in names}
            bodies = [json.dumps(request.body, sort_keys=True) for request in model.requests[mark:]]
            # A call that was under way when its run was killed may have been answered.
            under_way = len(bodies) - calls
            assert 0 <= under_way <= len(names) * killed
            assert max(bodies.count(body) for body in bodies) <= 1 + killed
    assert len(lines(out)) == len(names)


def _start(suite: Suite, out: Path, config: Path, *, remembering: bool) -> "subprocess.Popen[str]":
    again = "--resume" if (out / "run.json").exists() else "--out"
    options = ("--config", config, "--sandbox", "bwrap", "--no-precheck", again, out)
    return start("run", suite.folder, *options, cwd=out.parent, remembering=remembering)


def _kill_in(process: "subprocess.Popen[str]", model: ScriptedModel, call: int, pause: float) -> None:
    """Kill ``process`` in the call of this number or a pause after it; it may be over before."""
    wait_until(lambda: len(model.requests) >= call or process.poll() is not None, 120)
    time.sleep(pause)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
