"""The first question: what is configured wrongly shows in it, before the rest of a run is paid for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.errors import CodegateError, UsageError
from codegate.running import Journal, RunOptions, RunSpec, run_suite
from codegate.suite import Suite, load_suite
from tests.running.test_soundness import break_fix
from tests.running.world import NAMES, ModelServer, Said, answer, lines, run_here

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


def test_progress_counts_all_planned_outcomes_from_the_first_question_on(
    suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    totals: list[int] = []
    request = RunSpec(suite.folder, (server.spec(),), 2, "bwrap", tmp_path / "r", options=RunOptions())
    run_suite(request, lambda step: totals.append(step.total) if step.outcome is not None else None, lambda _: None)
    assert totals == [6] * 6


def test_all_candidates_whose_first_request_fails_are_named(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, turn, request: (
        TEMPERATURE if request.get("temperature") is not None else Said(answer(name))
    )
    cold = [server.spec(name=f"cold {n}", sampling={"temperature": n}) for n in (0, 1)]
    with pytest.raises(UsageError, match=r"first request of cold 0 failed.*first request of cold 1 failed"):
        run_here(suite, tmp_path / "r", *cold, server.spec(), CandidateSpec(provider="reference"))
    assert len(server.asked) == 3
    assert [line["grade"]["resolved"] for line in lines(tmp_path / "r") if line["grade"]] == [True]


def cut(limit: int) -> Callable[[str, int, dict[str, Any]], Said]:
    """Return a script of a server that stops at the request's output limit, or before it at ``limit`` tokens."""
    return lambda name, turn, request: Said("Let me think.", finish="length", tokens=min(limit, request["max_tokens"]))


@pytest.mark.parametrize(
    ("prices", "cost"), [(None, "95400 more output tokens."), ({"input": 1, "output": 10}, "tokens, at most $0.95.")]
)
def test_a_limit_that_truncates_the_first_answers_ends_the_run(
    suite: Suite, server: ModelServer, tmp_path: Path, prices: Any, cost: str
) -> None:
    server.script = cut(100_000)
    with pytest.raises(UsageError) as caught:
        run_here(suite, tmp_path / "r", server.spec(sampling={"max_output_tokens": 200}, prices=prices), samples=3)
    assert "the first 3 answers of openai:model-x" in str(caught.value)
    assert "Raise `sampling.max_output_tokens` from 200 to 32000" in str(caught.value)
    assert cost in str(caught.value)
    assert len(server.asked) == 3
    run = run_here(suite, tmp_path / "r")  # it is the user's to go on
    assert {o.grade.failure for o in run.outcomes if o.grade} == {"truncated"}
    assert len(server.asked) == 9


def test_no_limit_is_advised_that_a_small_context_has_no_room_for(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    server.script = cut(100_000)
    small = server.spec(sampling={"max_output_tokens": 200}, max_prompt_tokens=3000)
    with pytest.raises(UsageError, match=r"Raise `sampling.max_output_tokens` from 200 to 400;"):
        run_here(suite, tmp_path / "r", small, samples=3)


def test_a_servers_own_limit_is_not_called_ours(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = cut(700)
    with pytest.raises(UsageError, match=r"below `sampling.max_output_tokens` \(32000\): raise the output limit or"):
        run_here(suite, tmp_path / "r", server.spec(), samples=3)


@pytest.mark.requirement("V3")
def test_a_context_that_is_too_small_ends_the_run(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, turn, request: declined("prompt is too long: 900 tokens > 512 maximum")
    with pytest.raises(UsageError, match=r"context_overflow.*prompt is too long.*larger context"):
        run_here(suite, tmp_path / "r", server.spec(), samples=3)
    assert len(server.asked) == 3


def test_one_truncated_answer_ends_nothing(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, turn, request: (
        cut(200)(name, turn, request) if name == "double" else Said(answer(name))
    )
    run = run_here(suite, tmp_path / "r", server.spec(), samples=3)
    assert {o.grade.failure for o in run.outcomes if o.grade} == {"truncated", None}
    assert len(server.asked) == 9


@pytest.mark.full
def test_the_same_declined_request_stops_its_candidate(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, turn, request: (
        Said(answer(name)) if request["max_tokens"] != 77 or len(server.asked) <= 2 else declined("Because.")
    )
    late = server.spec(sampling={"max_output_tokens": 77})
    run = run_here(suite, tmp_path / "r", late, server.spec(), samples=5, models=1)
    assert [o.fault.cause for o in run.of(late.key()) if o.fault] == ["provider.bad_request"] * 14
    assert all(o.grade and o.grade.resolved for o in run.of(server.spec().key()))
    assert len(server.asked) == 15 + 1 + 5


@pytest.mark.full
def test_declined_requests_between_answers_stop_nothing(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    server.script = lambda name, turn, request: declined("Odd.") if name == "half" else Said(answer(name))
    run = run_here(suite, tmp_path / "r", server.spec(), samples=8, models=1)
    assert len(server.asked) == 8 * len(NAMES)
    assert sum(outcome.fault is not None for outcome in run.outcomes) == 8


def test_a_request_that_only_a_problem_meets_ends_the_run_before_all_problems_are_checked(
    suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    server.script = lambda name, turn, request: declined("Incorrect API key provided.", 401, code="invalid_api_key")
    with pytest.raises(UsageError, match="Check the key"):
        run_here(suite, tmp_path / "r", server.spec(), precheck=True)
    record = Journal.open(tmp_path / "r").soundness()
    assert record is not None
    assert len(record.problems) == 1, "of three"
    server.reset()
    run_here(suite, tmp_path / "r")
    assert len(server.asked) == 3


def test_answers_that_a_limit_cuts_end_a_run_of_which_only_the_first_problems_are_checked(
    suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    server.script = cut(100_000)
    with pytest.raises(UsageError, match="a limit cut all of the first 1 answers"):
        run_here(suite, tmp_path / "r", server.spec(sampling={"max_output_tokens": 200}), precheck=True)
    assert len(server.asked) == 1


def test_a_candidate_is_asked_first_even_where_the_first_problems_are_not_sound(
    own_suite: Suite, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_fix(own_suite, "double")
    monkeypatch.setattr("codegate.running.scheduler.MOST_FIRST", 1)
    server.script = lambda name, turn, request: declined("Incorrect API key provided.", 401, code="invalid_api_key")
    with pytest.raises(UsageError, match="the first request of"):
        run_here(load_suite(own_suite.folder), tmp_path / "r", server.spec(), precheck=True)
