"""The first question: what is configured wrongly shows in it, before the rest of a run is paid for."""

import json
from pathlib import Path
from typing import Any

import pytest

from codegate.errors import CodegateError, UsageError
from codegate.running import Journal, Progress
from codegate.suite import Suite, load_suite
from tests.running.test_soundness import break_fix
from tests.running.world import Execute, ModelServer, Said, Script, answer, run_here

pytestmark = pytest.mark.bwrap


def declined(message: str, status: int = 400, **more: Any) -> Said:
    return Said(raw=json.dumps({"error": {"message": message, **more}}).encode(), status=status)


TEMPERATURE = declined(
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    type="invalid_request_error",
    param="temperature",
    code="unsupported_value",
)


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (TEMPERATURE, 2, "`sampling.temperature`"),
        (declined("You exceeded your current quota.", 429, code="insufficient_quota"), 4, "out of credit"),
    ],
)
@pytest.mark.requirement("V3")
def test_a_declined_first_request_ends_the_run(
    suite: Suite, server: ModelServer, tmp_path: Path, said: Said, code: int, words: str
) -> None:
    server.script = lambda name, turn, request: said
    with pytest.raises(CodegateError) as caught:
        run_here(suite, tmp_path / "r", server.spec(sampling={"temperature": 0}))
    assert caught.value.exit_code == code
    assert words in str(caught.value)
    assert f"codegate run {suite.folder} --resume {tmp_path / 'r'}" in str(caught.value)
    assert len(server.asked) == 1
    server.reset()
    assert all(outcome.grade for outcome in run_here(suite, tmp_path / "r").outcomes)


def test_a_declined_request_of_one_problem_ends_no_resumed_run(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: declined("Not this one.") if name == "double" else Said(answer(name))
    with pytest.raises(UsageError, match="Not this one"):
        execute(server.spec())
    solved = {outcome.problem: outcome.grade is not None for outcome in execute().outcomes}
    assert solved == {"calc-double": False, "calc-half": True, "calc-square": True}


def test_progress_counts_all_planned_outcomes_from_the_first_question_on(
    execute: Execute, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    totals: list[int] = []

    def note(step: Progress) -> None:
        totals.extend([step.total] if step.outcome is not None else [])

    execute(server.spec(), samples=2, progress=note, precheck=True)
    assert totals == [6] * 6


def cut(limit: int) -> Script:
    """Return a script of a server that stops at the request's output limit, or before it at ``limit`` tokens."""
    return lambda name, turn, request: Said("Let me think.", finish="length", tokens=min(limit, request["max_tokens"]))


@pytest.mark.parametrize(
    ("prices", "cost"), [(None, "95400 more output tokens."), ({"input": 1, "output": 10}, "tokens, at most $0.95.")]
)
def test_a_limit_that_truncates_the_first_answers_ends_the_run(
    execute: Execute, server: ModelServer, prices: Any, cost: str
) -> None:
    server.script = cut(100_000)
    with pytest.raises(UsageError) as caught:
        execute(server.spec(sampling={"max_output_tokens": 200}, prices=prices), samples=3)
    assert "the first 3 answers of openai:model-x" in str(caught.value)
    assert "Raise `sampling.max_output_tokens` from 200 to 32000" in str(caught.value)
    assert cost in str(caught.value)
    assert len(server.asked) == 3
    run = execute()  # it is the user's to go on
    assert {o.grade.failure for o in run.outcomes if o.grade} == {"truncated"}
    assert len(server.asked) == 9


@pytest.mark.requirement("V3")
@pytest.mark.parametrize(
    ("script", "settings", "advice"),
    [
        (cut(100_000), {"sampling": {"max_output_tokens": 200}, "max_prompt_tokens": 3000}, "from 200 to 400;"),
        (cut(700), {}, r"below `sampling.max_output_tokens` \(32000\): raise the output limit or the context of the"),
        (
            lambda *_: declined("prompt is too long: 900 tokens > 512 maximum"),
            {},
            "context_overflow.*prompt is too long.*larger context",
        ),
    ],
)
def test_the_limit_that_cuts_the_first_answers_is_named(
    execute: Execute, server: ModelServer, script: Script, settings: dict[str, Any], advice: str
) -> None:
    server.script = script
    with pytest.raises(UsageError, match=advice):
        execute(server.spec(**settings), samples=3)
    assert len(server.asked) == 3


def test_one_truncated_answer_ends_nothing(execute: Execute, server: ModelServer) -> None:
    server.script = lambda name, turn, request: (
        cut(200)(name, turn, request) if name == "double" else Said(answer(name))
    )
    run = execute(server.spec(), samples=3)
    assert {o.grade.failure for o in run.outcomes if o.grade} == {"truncated", None}
    assert len(server.asked) == 9


def test_a_request_that_only_a_problem_meets_ends_the_run_before_all_problems_are_checked(
    execute: Execute, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    server.script = lambda name, turn, request: declined("Incorrect API key provided.", 401, code="invalid_api_key")
    with pytest.raises(UsageError, match="Check the key"):
        execute(server.spec(), precheck=True)
    record = Journal.open(tmp_path / "r").soundness()
    assert record is not None
    assert len(record.problems) == 1, "of three"
    server.reset()
    execute()
    assert len(server.asked) == 3


def test_a_candidate_is_asked_first_even_where_the_first_problems_are_not_sound(
    own_suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_fix(own_suite, "double")
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    server.script = lambda name, turn, request: declined("Incorrect API key provided.", 401, code="invalid_api_key")
    with pytest.raises(UsageError, match="the first request of"):
        run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec(), precheck=True)
