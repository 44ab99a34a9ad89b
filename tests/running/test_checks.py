"""The first small request to each candidate: what no retry fixes ends a run before any sandbox is prepared."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS
from codegate.errors import CodegateError, InfrastructureError, UsageError
from codegate.grading import Sandboxes
from codegate.running import Journal, readiness
from codegate.running.calls import CallLimitReached
from codegate.suite import Suite
from tests.kit.scripted_model import Say, ScriptedModel
from tests.running.test_first import TEMPERATURE, declined
from tests.running.world import Execute, ModelServer, Said, answer, run_here

pytestmark = pytest.mark.bwrap

WRONG_KEY = declined("Incorrect API key provided.", 401, code="invalid_api_key")
PRICES = {"input": 1000, "output": 1_000_000}
"""An answer of the server, of 10 tokens in and 5 out, costs $5.01."""


@pytest.fixture(autouse=True)
def _sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every problem for sound, which ``test_soundness.py`` checks: two test runs each."""
    monkeypatch.setattr(readiness, "_check", lambda *_, **__: None)


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a sandbox is prepared."""

    def refuse(*arguments: object) -> None:
        raise AssertionError("a sandbox was prepared")

    monkeypatch.setattr(Sandboxes, "prepare", refuse)


@pytest.mark.usefixtures("no_sandbox")
@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (WRONG_KEY, 2, "Check the key in OPENAI_API_KEY"),
        (declined("The model `x` does not exist.", 404, code="model_not_found"), 2, "does not exist or was retired"),
        (TEMPERATURE, 2, "`sampling.temperature`"),
        (declined("You exceeded your current quota.", 429, code="insufficient_quota"), 4, "out of credit"),
        (declined("Because."), 2, "Because."),
    ],
)
def test_what_no_retry_fixes_ends_a_run_before_any_sandbox(
    execute: Execute, server: ModelServer, tmp_path: Path, said: Said, code: int, words: str
) -> None:
    server.greeting = lambda request: said
    with pytest.raises(CodegateError) as caught:
        execute(server.spec(sampling={"temperature": 0}), precheck=True)
    assert caught.value.exit_code == code
    assert words in str(caught.value)
    assert re.search(rf"start a new run; else continue with:\n.* --resume {tmp_path / 'r'}$", str(caught.value))
    assert (len(server.greeted), server.asked) == (1, [])


@pytest.mark.usefixtures("no_sandbox")
def test_every_candidate_that_is_declined_is_named(execute: Execute, server: ModelServer) -> None:
    server.greeting = lambda request: TEMPERATURE if request.get("temperature") is not None else Said("OK")
    cold = [server.spec(name=f"cold {n}", sampling={"temperature": n}) for n in (0, 1)]
    with pytest.raises(CodegateError, match=r"first request of cold 0 failed.*first request of cold 1 failed"):
        execute(*cold, server.spec(), precheck=True)
    assert len(server.greeted) == 3


@pytest.mark.usefixtures("no_sandbox")
def test_a_helper_that_does_not_exist_ends_a_run_before_any_sandbox(execute: Execute, server: ModelServer) -> None:
    missing = declined("The model `tiny-1` does not exist.", 404, code="model_not_found")
    server.greeting = lambda request: missing if request["model"] == "tiny-1" else Said("OK")
    agent = {"name": "opencode", "version": "1.18.33"}
    spec = server.spec(solver="agent", agent=agent, harness={"models": {"small": "tiny-1"}, "laid": ()})
    with pytest.raises(UsageError, match=r"first request of .*tiny-1.* failed: .*does not exist or was retired"):
        execute(spec, precheck=True)
    assert sorted(request["model"] for request in server.greeted) == [spec.model, "tiny-1"]


@pytest.mark.usefixtures("no_sandbox")
def test_a_server_that_cannot_be_reached_is_an_infrastructure_fault(execute: Execute, tmp_path: Path) -> None:
    with ScriptedModel(lambda turn: Say("")) as model:
        spec = CandidateSpec(provider="openai", model="m-1", base_url=f"{model.url}/v1")
    # With a cache there may be no call to make, so the server is not looked for before.
    with pytest.raises(InfrastructureError, match=r"first request of openai:m-1.*the connection failed"):
        execute(spec, precheck=True, cache=tmp_path / "cache")


def test_the_request_has_the_candidates_own_settings(execute: Execute, server: ModelServer) -> None:
    loop = server.spec(solver="tool_loop", sampling={"temperature": 0.5, "seed": 7})
    execute(loop, server.spec(sampling={"max_output_tokens": 100}), precheck=True)
    first, second = sorted(server.greeted, key=lambda request: request["max_tokens"], reverse=True)
    assert (first["temperature"], first["seed"], first["max_tokens"]) == (0.5, 7, 256)
    assert first["tools"][0]["function"]["name"] == "read_file"
    assert (second["max_tokens"], "tools" in second) == (100, False)


def test_it_is_paid_once_and_its_cost_counts_against_the_budget(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    server.script = lambda name, turn, request: declined("Because.")
    spec = server.spec(prices=PRICES, sampling={"max_output_tokens": 6})
    with pytest.raises(CodegateError, match="the first request of"):
        run_here(suite, tmp_path / "r", spec, precheck=True)
    journal = Journal.open(tmp_path / "r")
    assert (journal.calls.spending().calls, journal.calls.spending().usd) == (1, Decimal("5.01")), (
        "the declined one is not billed"
    )
    server.script = lambda name, turn, request: Said(answer(name))
    run_here(suite, tmp_path / "r", precheck=True)
    assert len(server.greeted) == 1, "it is known to answer"
    with pytest.raises(CallLimitReached, match="the budget of \\$1 is reached"):
        run_here(suite, tmp_path / "poor", spec, precheck=True, budget_usd=Decimal(1))
    assert len(server.greeted) == 1


def test_it_takes_no_call_from_the_limit(execute: Execute, server: ModelServer) -> None:
    run = execute(server.spec(), precheck=True, max_model_calls=3)
    assert all(outcome.grade for outcome in run.outcomes)
    assert (len(server.greeted), len(server.asked)) == (1, 3)


def test_who_needs_no_call_is_not_asked(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    reference, cache = CandidateSpec(provider="reference"), tmp_path / "cache"
    run_here(suite, tmp_path / "a", reference, server.spec(), precheck=True, cache=cache)
    run_here(suite, tmp_path / "b", reference, server.spec(), precheck=True, cache=cache)
    run_here(suite, tmp_path / "c", server.spec(), precheck=False)
    run_here(suite, tmp_path / "c", precheck=True)
    assert len(server.greeted) == 1


@pytest.mark.parametrize(
    "said",
    [
        declined("Could not finish the message because max_tokens or model output limit was reached."),
        declined("slow down", 503),
        Said("Let me think.", finish="length"),
    ],
)
def test_what_is_no_fault_of_the_candidates_ends_nothing(execute: Execute, server: ModelServer, said: Said) -> None:
    server.greeting = lambda request: said
    run = execute(server.spec(), precheck=True)
    assert all(outcome.grade and outcome.grade.resolved for outcome in run.outcomes)


def test_a_model_that_is_slow_to_answer_is_not_waited_for(
    execute: Execute, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codegate.running.checks.PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr("codegate.running.checks._QUIET_SECONDS", 0.1)
    server.greeting = lambda request: Said(hang=True)
    notes: list[str] = []
    run = execute(server.spec(), precheck=True, announce=notes.append)
    assert all(outcome.grade and outcome.grade.resolved for outcome in run.outcomes)
    said = [note for note in notes if "first" in note]
    assert said[0] == "waiting for the first answer of a model, for 0.2 s at most"
    assert said[1].endswith("no answer to the first request within 0.2 s; the run goes on")


@pytest.mark.usefixtures("no_sandbox")
@pytest.mark.parametrize("name", ["codex", "claude-code", "mini-swe-agent"])
def test_an_agents_model_is_asked_in_the_agents_protocol_and_no_agent_starts(
    execute: Execute, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-this-test")
    with ScriptedModel(lambda turn: Say("OK"), status=401, failures=99) as model:
        provider, base = ("anthropic", model.url) if name == "claude-code" else ("openai", f"{model.url}/v1")
        document: dict[str, Any] = {"agent": name, "version": AGENTS[name].tried, "provider": provider}
        spec = CandidateSpec.model_validate({**document, "model": "m-2026-01-01", "base_url": base})
        with pytest.raises(CodegateError, match=r"first request of .* failed: .*status 401"):
            execute(spec, precheck=True)
    (request,) = model.requests
    path = {"codex": "/v1/responses", "claude-code": "/v1/messages"}.get(name, "/v1/chat/completions")
    assert request.path.partition("?")[0] == path
    assert "Reply with the single word OK." in json.dumps(request.body)


@pytest.mark.usefixtures("no_sandbox")
def test_a_context_in_which_no_prompt_fits_is_named_before_any_sandbox(execute: Execute, server: ModelServer) -> None:
    server.context = 100
    with pytest.raises(UsageError, match=r"context of its model is 100 tokens.*3 of 3 prompts do not fit.*max_prompt"):
        execute(server.spec(), precheck=True)
    assert not server.asked
