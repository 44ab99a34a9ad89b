"""A run with ``max_minutes`` ends before its job's limit, and pays nothing twice."""

import json
from pathlib import Path

import pytest

from codegate.running.calls import CallLimitReached, TimeLimit
from codegate.suite import Suite
from tests.running.world import NAMES, Execute, ModelServer, Said, answer, codegate, run_here

pytestmark = pytest.mark.bwrap


def lengthen(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    """Pretend that work whose kind begins with ``prefix`` took an hour."""
    record = TimeLimit.record

    def longer(limit: TimeLimit, kind: str, began: float) -> None:
        record(limit, kind, began - 3600 * kind.startswith(prefix))

    monkeypatch.setattr(TimeLimit, "record", longer)


def test_a_run_out_of_time_is_exit_2_and_continues_without_paying_twice(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    server.script = lambda name, turn, request: Said(answer(name), seconds=1.5)
    run = ("run", suite.folder, "--sandbox", "bwrap", "--candidate", server.candidate, "--out", "r", "--models", "1")
    stopped = codegate(*run, "--max-minutes", "0.02", "--json", cwd=tmp_path)
    assert stopped.code == 2
    error = stopped.document["error"]
    assert "the limit of 0.02 minutes leaves no time for more after" in error["cause"]
    assert error["remedy"].startswith("Continue with:\ncodegate run"), "there is no limit to raise"
    assert "--max-minutes 0.02 --models 1 --sandbox bwrap --json --resume r" in error["remedy"]
    assert len(server.asked) <= 1
    again = ("--candidate", server.candidate, "--resume", "r")
    assert codegate("run", suite.folder, *again, cwd=tmp_path).code == 0
    assert sorted(server.asked) == sorted(NAMES)


@pytest.mark.parametrize("kind", ["attempt", "call"])
def test_no_attempt_and_no_call_begins_that_would_end_after_the_limit(
    execute: Execute, server: ModelServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    lengthen(monkeypatch, "attempt" if kind == "attempt" else server.spec().key())
    with pytest.raises(CallLimitReached, match="limit of 9 minutes leaves no time for more after 1 of 3 outcomes"):
        execute(server.spec(), models=1, jobs=1, max_minutes=9)
    assert len(server.asked) == 1, "the first problem showed how long one takes"


def test_no_run_of_the_full_test_suite_begins_that_would_end_after_the_limit(
    suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengthen(monkeypatch, "full test suite")
    run = run_here(suite, tmp_path / "r", server.spec(), models=1, jobs=1, max_minutes=9, full_test_suite=True)
    assert {one.grade and one.grade.resolved for one in run.outcomes} == {True}
    assert 1 <= sum(one.regressions is not None for one in run.outcomes) < 3, "at most one in each of two threads"


def test_no_wait_for_a_provider_begins_that_would_end_after_the_limit(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: Said(status=429, headers={"Retry-After": "800"})
    with pytest.raises(CallLimitReached, match="after 0 of 3 outcomes"):
        execute(server.spec(), max_minutes=9)


def test_problems_that_were_found_sound_in_time_are_not_checked_again(
    execute: Execute, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengthen(monkeypatch, "soundness")
    for done in (1, 2):
        with pytest.raises(CallLimitReached):
            execute(server.spec(), precheck=True, jobs=1, max_minutes=9)
        assert len(json.loads((tmp_path / "r" / "soundness.json").read_text())["problems"]) == done
    assert not server.asked
