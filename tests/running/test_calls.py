"""Limits of model calls and of dollars: what a call may cost is set aside before it is made."""

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import (
    CandidateSpec,
    Completion,
    Prices,
    Provider,
    ProviderError,
    ProviderFault,
    Sampling,
    Usage,
    open_provider,
)
from codegate.errors import UsageError
from codegate.gating import GatePolicy
from codegate.running import Journal, RunOptions, faults
from codegate.running.call_log import Spending
from codegate.running.calls import CallLimitReached, ModelCalls
from codegate.running.confirmation import open_pinned
from codegate.running.faults import FAULTS, FinalFault
from codegate.running.gate import Gate
from codegate.running.plan import plan_run
from codegate.suite import Suite
from tests.kit.model_server import Reply, as_json, wire_server
from tests.kit.runs import manifest, pinned, solved
from tests.running.world import Execute, ModelServer, codegate, run_here, wait_until

PRICES = Prices(input=Decimal(1), output=Decimal(10))
SPEC = CandidateSpec(provider="openai", model="m-2025-01-01", prices=PRICES, sampling=Sampling(max_output_tokens=8192))
WORST = Decimal("0.08392")
"""Of a call of no bytes: 2,000 unseen input tokens at $1 and 8,192 output tokens at $10 a million."""


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal.create(tmp_path / "r", manifest())


def calls(journal: Journal, budget: str | None) -> ModelCalls:
    options = RunOptions(budget_usd=None if budget is None else Decimal(budget))
    return ModelCalls(options, journal, threading.Event())


def said(tokens: int | None = 100) -> Completion:
    return Completion(text="", usage=Usage(input_tokens=tokens, output_tokens=tokens))


def test_what_a_call_cost_takes_the_place_of_what_it_might_have(journal: Journal) -> None:
    with journal.writing():
        made = calls(journal, "0.0851")
        made.make(SPEC, said, 0)
        assert journal.calls.spending() == Spending(1, Decimal("0.0011"))
        made.make(SPEC, said, 0)
        with pytest.raises(CallLimitReached, match=r"of \$0\.0851 is reached: \$0\.0022 are spent.*up to \$0\.0839"):
            made.make(SPEC, said, 0)
    assert journal.calls.spending() == Spending(2, Decimal("0.0022"))


def test_what_is_not_known_to_be_cheaper_is_counted_in_full(journal: Journal) -> None:
    with journal.writing():
        calls(journal, "1").make(SPEC, lambda: said(None), 0)
    assert journal.calls.spending() == Spending(1, WORST)


@pytest.mark.parametrize(
    ("fault", "tries", "usd"), [("quota", 1, Decimal(0)), ("bad_request", 1, Decimal(0)), ("timeout", 2, 2 * WORST)]
)
def test_what_was_declined_costs_nothing_and_what_was_cut_off_may_have(
    journal: Journal, fault: ProviderFault, tries: int, usd: Decimal
) -> None:
    def fail() -> Completion:
        raise ProviderError(fault, "no.", retry_after=0.0)

    with journal.writing(), pytest.raises(FinalFault):
        calls(journal, "1").make(SPEC, fail, 0)
    assert journal.calls.spending() == Spending(tries, usd)


ERROR = {"error": {"type": "server_error", "message": "failed"}}
SPENT = ERROR | {"usage": {"prompt_tokens": 10_000, "completion_tokens": 2000, "total_tokens": 12_000}}
TEXT = {"choices": [{"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}]}


@pytest.mark.parametrize(
    ("reply", "usd"),
    [
        (as_json(ERROR), WORST),
        (as_json(SPENT), Decimal("0.03")),
        (Reply("".join(f"data: {json.dumps(event)}\n\n" for event in (TEXT, SPENT)).encode()), Decimal("0.03")),
        (as_json(ERROR, 500), WORST),
        (as_json(ERROR, 502), WORST),
        (as_json(ERROR, 504), WORST),
        (as_json(ERROR, 503), Decimal(0)),
        (as_json(ERROR, 529), Decimal(0)),
        (as_json(ERROR, 429), Decimal(0)),
    ],
)
def test_a_request_that_fails_after_the_model_may_have_worked_is_counted(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, reply: Reply, usd: Decimal
) -> None:
    monkeypatch.setattr(faults, "_pause", lambda *_: 0.0)
    with wire_server(reply) as server, journal.writing():
        spec = SPEC.model_copy(update={"base_url": f"{server.url}/v1"})
        provider: Any = open_provider(spec)
        request = {"model": spec.model, "messages": [], "stream": reply.body.startswith(b"data:")}
        with closing(provider), pytest.raises(FinalFault):
            calls(journal, "1").make(spec, lambda: provider.forward("chat", request, {}).completion, 0)
    made = journal.calls.spending()
    assert made.calls > 1
    assert made.usd == made.calls * usd


def test_a_request_that_was_never_sent_costs_nothing(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_pause", lambda *_: 0.0)
    spec = SPEC.model_copy(update={"base_url": "http://127.0.0.1:1/v1"})
    provider: Any = open_provider(spec)
    with journal.writing(), closing(provider), pytest.raises(FinalFault):
        calls(journal, "1").make(
            spec, lambda: provider.forward("chat", {"model": "m", "messages": []}, {}).completion, 0
        )
    assert journal.calls.spending() == Spending(5, Decimal(0))


def test_a_call_that_never_came_back_counts_in_the_next_execution(journal: Journal) -> None:
    with journal.writing():
        journal.calls.record(SPEC.key(), WORST)  # and then the process was killed
        with pytest.raises(CallLimitReached, match=r"\$0\.0839 are spent \(with the highest possible cost of 1 call "):
            calls(Journal.open(journal.folder), "0.16").make(SPEC, said, 0)
    assert journal.calls.spending() == Spending(1, WORST)


def test_a_call_waits_for_what_those_under_way_turn_out_to_cost(journal: Journal) -> None:
    first, second = threading.Event(), threading.Event()

    def slow() -> Completion:
        first.set()
        assert second.wait(120)
        return said()

    with journal.writing(), ThreadPoolExecutor(2) as pool:
        made = calls(journal, "0.09")
        one = pool.submit(made.make, SPEC, slow, 0)
        assert first.wait(120)
        two = pool.submit(made.make, SPEC, said, 0)
        with pytest.raises(TimeoutError):
            two.result(0.3)
        second.set()
        assert one.result(120) == two.result(120) == said()


def test_calls_adapt_to_a_server_that_has_room_for_few(journal: Journal) -> None:
    room, lock = 2, threading.Lock()
    under_way = declined = 0

    def asked() -> Completion:
        nonlocal under_way, declined
        with lock:
            under_way += 1
            full = under_way > room
            declined += full
        time.sleep(0.002 if full else 0.01)
        with lock:
            under_way -= 1
        if full:
            raise ProviderError("rate_limit", "slow down.", retry_after=0.02)
        return said()

    with journal.writing(), ThreadPoolExecutor(32) as pool:
        made = ModelCalls(RunOptions(models=32), journal, threading.Event())
        answered = list(pool.map(lambda _: made.make(SPEC, asked, 0), range(200)))
    assert len(answered) == 200, "no call is lost"
    assert declined < 200, "at full width, far more are declined than answered"


def test_no_call_begins_while_a_server_asks_to_wait(journal: Journal) -> None:
    begun: list[float] = []

    def asked() -> Completion:
        begun.append(time.monotonic())
        if len(begun) == 1:
            raise ProviderError("rate_limit", "slow down.", retry_after=0.5)
        return said()

    with journal.writing(), ThreadPoolExecutor(2) as pool:
        made = calls(journal, None)
        first = pool.submit(made.make, SPEC, asked, 0)
        while not begun:
            time.sleep(0.001)
        time.sleep(0.1)
        second = pool.submit(made.make, SPEC, asked, 0)
        assert first.result(120).usage == second.result(120).usage
    assert min(begun[1:]) - begun[0] >= 0.5


def test_a_call_that_waits_for_its_next_try_is_named(journal: Journal) -> None:
    answers: list[Completion | None] = [None, said()]

    def fail_once() -> Completion:
        if (answered := answers.pop(0)) is None:
            raise ProviderError("overloaded", "status 529.")
        return answered

    with journal.writing(), ThreadPoolExecutor(1) as pool:
        made = calls(journal, "1")
        one = pool.submit(made.make, SPEC, fail_once, 0)
        wait_until(lambda: made.words() == "1 failed call to be repeated (provider.overloaded)")
        assert one.result(120) == said()
        assert made.words() == ""


def test_a_candidate_whose_server_asks_to_come_back_tomorrow_is_not_asked_again(journal: Journal) -> None:
    def asked() -> Completion:
        raise ProviderError("rate_limit", "no more today.", retry_after=86_400)

    with journal.writing():
        made = calls(journal, None)
        for _ in range(2):
            with pytest.raises(FinalFault):
                made.make(SPEC, asked, 0)
    assert journal.calls.spending().calls == 1


def test_five_declined_requests_in_a_row_end_the_calls_of_their_candidate(journal: Journal) -> None:
    answers = iter([*"dddd", "ok", *"ddddd", "ok"])

    def asked() -> Completion:
        if next(answers) == "ok":
            return said()
        raise ProviderError("bad_request", "odd.")

    with journal.writing():
        made = calls(journal, None)
        causes = []
        for declined in (*[True] * 4, False, *[True] * 6):
            with pytest.raises(FinalFault) if declined else nullcontext() as caught:
                made.make(SPEC, asked, 0)
            causes += [caught.value.fault.cause] if caught is not None else []
    assert next(answers) == "ok", "after five in a row it is asked no more"
    assert causes == [*["provider.bad_request"] * 9, "not_called"]
    assert not FAULTS["not_called"].by_answer, "it lost no answer"


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 8192)), max_size=12), st.integers(0, 300))
@pytest.mark.requirement("C10", "D6")
def test_no_budget_is_ever_exceeded(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[int, int]], cents: int
) -> None:
    journal = Journal.create(tmp_path_factory.mktemp("budget") / "r", manifest())
    budget = Decimal(cents) / 1000
    with journal.writing(), ThreadPoolExecutor(4) as pool:
        made = calls(journal, str(budget))

        def one(size: int, output: int) -> Decimal:
            usage = Usage(input_tokens=size + 2000, output_tokens=output)
            try:
                made.make(SPEC, lambda: Completion(text="", usage=usage), size)
            except CallLimitReached:
                return Decimal(0)
            return (size + 2000) * PRICES.input / 1_000_000 + output * PRICES.output / 1_000_000

        bill = sum((future.result() for future in [pool.submit(one, *call) for call in asked]), Decimal(0))
    assert bill <= budget
    assert journal.calls.spending().usd == bill


def test_a_budget_without_prices_is_refused_before_anything_is_spent(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"a budget in dollars needs to know what openai:model-x@.* costs"):
        run_here(suite, tmp_path / "r", server.spec(), budget_usd=Decimal(1))
    assert not (tmp_path / "r").exists()


def test_an_agents_limit_of_dollars_without_prices_is_refused(
    suite: Suite, server: ModelServer, tmp_path: Path
) -> None:
    """A configuration is checked when it is read; a run is resumed, and a baseline pinned, with other prices."""
    agent = {"agent": "command", "command": ["solve"], "usd": "1.4", "model": f"openai:m-2025-01-01@{server.url}"}
    spec = CandidateSpec.model_validate(agent)
    with pytest.raises(UsageError, match=r"an agent's `usd` needs to know what .*m-2025-01-01@.* costs"):
        run_here(suite, tmp_path / "r", spec)
    assert not (tmp_path / "r").exists()
    gate = Gate(pinned(solved(plan_run(suite, (spec,), 1, "bwrap", "b")), spec), GatePolicy())
    providers: dict[str, Provider | None] = {}
    said: list[str] = []
    assert open_pinned(gate, (spec,), {}, RunOptions(), providers, said.append) is None
    assert "an agent's `usd` needs to know what" in said[0]
    priced = open_pinned(gate, (spec,), {spec.model: PRICES}, RunOptions(), providers, said.append)
    assert (priced is not None and priced.prices, len(said)) == (PRICES, 1)


@pytest.mark.bwrap
def test_a_run_stops_at_its_budget_and_goes_on_with_a_higher_one(execute: Execute, server: ModelServer) -> None:
    dollar_a_token = Prices(input=Decimal(0), output=Decimal(1_000_000))
    spec = server.spec(prices=dollar_a_token, sampling=Sampling(max_output_tokens=6))  # an answer has 5
    with pytest.raises(
        CallLimitReached, match=r"after 2 of 3 outcomes.*Raise `budget_usd` in codegate.yml .*--budget-usd"
    ):
        execute(spec, models=1, budget_usd=Decimal(11))
    assert len(server.asked) == 2
    execute(models=1, budget_usd=Decimal(16))
    assert len(server.asked) == 3


@pytest.mark.bwrap
@pytest.mark.requirement("C10")
def test_runs_of_a_month_share_its_budget(suite: Suite, server: ModelServer, tmp_path: Path) -> None:
    terms = {"prices": {"input": 0, "output": 1_000_000}, "sampling": {"max_output_tokens": 6}}  # $5 an answer
    candidate = {"provider": "openai", "model": "model-x", "base_url": server.url, **terms}
    config = {"candidates": [candidate], "budget_usd_per_month": 26, "concurrency": {"models": 1}}
    (tmp_path / "codegate.yml").write_text(json.dumps(config))
    command = ("run", suite.folder, "--config", "codegate.yml", "--sandbox", "bwrap", "--no-precheck")
    assert codegate(*command, cwd=tmp_path).code == 0
    second = codegate(*command, cwd=tmp_path)
    assert (second.code, len(server.asked)) == (2, 5)
    assert "the month's other runs in runs cost $15.00 of $26.00" in second.stderr
    assert "the budget of $11 is reached" in second.stderr
    assert "Raise `budget_usd_per_month` in codegate.yml (with --rules-from, that commit's counts)." in second.stderr
    assert "Raise `budget_usd` in codegate.yml" in codegate(*command, "--budget-usd", "0.5", cwd=tmp_path).stderr
    for made in (tmp_path / "runs").glob("*/run.json"):
        made.write_text(re.sub(r'"created": "\d{4}', '"created": "2020', made.read_text()))
    assert codegate(*command, cwd=tmp_path).code == 0, "another month's runs do not count"
