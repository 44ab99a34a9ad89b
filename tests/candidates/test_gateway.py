"""The gateway: official clients get the model's answer through it, and nothing else gets anything."""

import contextlib
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from codegate.candidates import (
    NO_USAGE,
    CandidateSpec,
    Completion,
    Prices,
    ProviderError,
    Redactor,
    Sampling,
    Usage,
    open_provider,
)
from codegate.candidates.gateway import AgentLimits, Gateway, MakeCall, PaidAnswers, gateway
from codegate.candidates.gateway.meter import DollarsLost, LimitReached, Meter
from codegate.candidates.protocols import PROTOCOLS, RequestRefused
from codegate.errors import InfrastructureError
from codegate.running import Journal, RunOptions, faults
from codegate.running.calls import ModelCalls
from tests.candidates.conftest import CANARY
from tests.kit import scripted_model
from tests.kit.runs import manifest
from tests.kit.scripted_model import INPUT_TOKENS, Part, Run, Say, ScriptedModel, Turn, Use, fixing
from tests.solving.worlds import KeepsNothing

MODEL = "scripted-2026-01-01"
PRICES = Prices(input=Decimal(9), output=Decimal(20), cache_read=Decimal(9))
"""A call of the scripted model costs one cent, and two at most with this limit."""
PRICED = {"prices": PRICES, "sampling": Sampling(max_output_tokens=100)}
FIXING = fixing("sed -i s/a/b/ x.py")
FIFTY = AgentLimits(calls=50)
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@dataclass
class Door:
    """A gateway on a port of this machine, and the model behind it."""

    gateway: Gateway
    model: ScriptedModel
    port: int
    ended: list[bool]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(self, data: bytes) -> bytes:
        """Return the whole answer to raw bytes."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(1 << 16):
                    answer += part
        return answer

    def post(self, path: str, body: object, head: str = "") -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        text = f"POST {path} HTTP/1.1\r\nHost: model\r\n{head}Content-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        first, _, answer = self.send(text.encode() + data).partition(b"\r\n\r\n")
        return int(first.split()[1]), json.loads(answer)


def _simple_call(action: Callable[[], Completion], _size: int, begin: Callable[[], None]) -> Completion:
    begin()
    return action()


@contextlib.contextmanager
def door(
    protocol: str,
    part: Part = FIXING,
    limits: AgentLimits = FIFTY,
    call: MakeCall | ModelCalls = _simple_call,
    paid: PaidAnswers | None = None,
    spec: Mapping[str, Any] | None = None,
    **model: Any,
) -> Iterator[Door]:
    provider_name = "anthropic" if protocol == "messages" else "openai"
    with ScriptedModel(part, **model) as scripted, socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        base = scripted.url if protocol == "messages" else f"{scripted.url}/v1"
        chosen = CandidateSpec(provider=provider_name, model=MODEL, base_url=base, timeout_seconds=20, **(spec or {}))
        provider: Any = open_provider(chosen)
        ended: list[bool] = []
        make = partial(call.make, chosen) if isinstance(call, ModelCalls) else call
        made = Gateway(chosen, protocol, provider, make, limits, lambda: ended.append(True), paid or KeepsNothing())

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                made.answer(connection)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=serve, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield Door(made, scripted, listener.getsockname()[1], ended)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            provider.close()


def _chat(client: openai.OpenAI, *, stream: bool) -> tuple[str, str]:
    tools: Any = [{"type": "function", "function": {"name": "bash", "description": "", "parameters": SHELL}}]
    messages: Any = [{"role": "system", "content": "Mend it."}, {"role": "user", "content": "The bug."}]
    if stream:
        with client.chat.completions.stream(model=MODEL, messages=messages, tools=tools) as events:
            called = events.get_final_completion().choices[0].message.tool_calls or []
    else:
        answered = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
        called = answered.choices[0].message.tool_calls or []  # type: ignore[assignment]
    arguments = called[0].function.arguments
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [called[0].model_dump(include={"id", "type"})]},
        {"role": "tool", "tool_call_id": called[0].id, "content": "ok"},
    ]
    messages[2]["tool_calls"][0]["function"] = {"name": "bash", "arguments": arguments}
    last = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
    return json.loads(arguments)["command"], last.choices[0].message.content or ""


def _responses(client: openai.OpenAI, *, stream: bool) -> tuple[str, str]:
    tools: Any = [{"type": "function", "name": "bash", "description": "", "parameters": SHELL, "strict": False}]
    asked: Any = [{"role": "user", "content": "The bug."}]
    if stream:
        with client.responses.stream(model=MODEL, input=asked, tools=tools, instructions="Mend it.") as events:
            call: Any = events.get_final_response().output[0]
    else:
        call = client.responses.create(model=MODEL, input=asked, tools=tools, instructions="Mend it.").output[0]
    asked += [call.model_dump(), {"type": "function_call_output", "call_id": call.call_id, "output": "ok"}]
    last = client.responses.create(model=MODEL, input=asked, tools=tools, instructions="Mend it.")
    return json.loads(call.arguments)["command"], last.output_text


def _messages(client: anthropic.Anthropic, *, stream: bool) -> tuple[str, str]:
    tools: Any = [{"name": "bash", "description": "", "input_schema": SHELL}]
    asked: Any = [{"role": "user", "content": "The bug."}]
    fixed: Any = {"model": MODEL, "max_tokens": 1000, "tools": tools, "system": "Mend it."}
    if stream:
        with client.messages.stream(messages=asked, **fixed) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(messages=asked, **fixed)
    used: Any = answer.content[0]
    asked += [
        {"role": "assistant", "content": [used.model_dump(include={"type", "id", "name", "input"})]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": used.id, "content": "ok"}]},
    ]
    last: Any = client.messages.create(messages=asked, **fixed)
    return used.input["command"], last.content[0].text


CLIENTS: Any = {
    "chat": (openai.OpenAI, "/v1", _chat),
    "responses": (openai.OpenAI, "/v1", _responses),
    "messages": (anthropic.Anthropic, "", _messages),
}


def _talk(protocol: str, url: str, *, stream: bool) -> tuple[str, str]:
    made, path, talk = CLIENTS[protocol]
    with made(base_url=url + path, api_key="of-no-worth", max_retries=0) as client:
        return talk(client, stream=stream)  # type: ignore[no-any-return]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("protocol", CLIENTS)
def test_the_official_client_talks_to_the_model(protocol: str, *, stream: bool) -> None:
    with door(protocol) as opened:
        command, last = _talk(protocol, opened.url, stream=stream)
        assert (command, last) == ("sed -i s/a/b/ x.py", "Done: the bug is fixed.")
        usage = sum((each.usage for each in opened.gateway.completions), NO_USAGE)
        usage = usage.model_copy(update={"reasoning_tokens": None})
        assert usage == Usage(input_tokens=2000, output_tokens=100, cached_tokens=400)
        assert [completion.stop_reason for completion in opened.gateway.completions] == ["tool_calls", "stop"]
        said = [(message.role, message.text) for message in opened.gateway.conversation]
        assert said[-1] == ("assistant", "Done: the bug is fixed.")
        assert {"user", "tool", "assistant"} <= {role for role, _ in said}
        assert ("user", "The bug.") in said
        calls = [call for message in opened.gateway.conversation for call in message.tool_calls]
        assert [(call.name, json.loads(call.arguments)) for call in calls] == [("bash", {"command": command})]
        keys = {header for each in opened.model.requests for header in each.headers.values() if "of-no-worth" in header}
        assert not keys
        assert all(CANARY in str(dict(each.headers)) for each in opened.model.requests)
        assert not opened.gateway.refused


ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "x"}]}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", {**ASKED, "model": "gpt-4o-2024-08-06"}, 400),
        ("/v1/chat/completions", {"messages": []}, 400),
        ("/v1/chat/completions", {**ASKED, "messages": [{"role": "user", "content": [IMAGE]}]}, 400),
        ("/v1/chat/completions", {**ASKED, "max_tokens": "many"}, 400),
        ("/v1/chat/completions", {**ASKED, "stream": "yes"}, 400),
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b"[]", 400),
        ("/v1/chat/completions", b"[" * 100_000, 400),
        ("/v1/chat/completions", b"\xff\xfe", 400),
        *(("/v1/chat/completions", json.dumps({**ASKED, "stop": "HERE"}).replace('"HERE"', text).encode(), 400)
          for text in ("NaN", "1e999")),
        ("/v1/responses", ASKED, 404),
        ("/v1/messages", ASKED, 404),
        ("/v1/files", {}, 404),
        ("/v1/../v1/chat/completions", ASKED, 404),
        ("https://api.openai.com/v1/chat/completions", ASKED, 404),
    ],
)  # fmt: skip
def test_nothing_else_passes(path: str, body: object, status: int) -> None:
    with door("chat") as opened:
        code, answer = opened.post(path, body)
        assert code == status
        assert answer["error"]["message"]
        assert not opened.model.requests
        assert opened.gateway.refused.total() == 1
        assert not opened.ended


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 200_000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + b" " * (25 << 20), b"413"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n ", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", b"426"),
    ],
    ids=["header bomb", "body bomb", "two lengths", "no HTTP", "WebSocket"],
)
def test_what_is_no_sound_request_is_refused(data: bytes, status: bytes) -> None:
    with door("chat") as opened:
        answer = opened.send(data)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert status == b"426" or b"\r\nconnection: close\r\n" in answer.lower(), "no client sends another on it"
        assert not opened.model.requests
        # And the gateway lives on.
        assert _talk("chat", opened.url, stream=False)[1] == "Done: the bug is fixed."


def test_what_the_provider_would_store_bill_or_run_is_dropped() -> None:
    with door("responses") as opened:
        extra = {"service_tier": "priority", "background": True, "user": "someone", "metadata": {"a": "b"}, "n": 50}
        tools = [
            {"type": "web_search"},
            {"type": "mcp", "server_url": "https://example.org"},
            {"type": "custom", "name": "x"},
        ]
        head = "Authorization: Bearer mine\r\nOpenAI-Organization: other\r\nOpenAI-Project: other\r\n"
        body = {"model": MODEL, "input": "x", "tools": tools, "max_output_tokens": 10**9, **extra}
        assert opened.post("/v1/responses?api-version=1", body, head)[0] == 200
        sent = opened.model.requests[0]
        assert set(sent.body) == {"model", "input", "tools", "max_output_tokens", "store"}
        assert (sent.body["store"], sent.body["max_output_tokens"]) == (False, 32_000)
        assert sent.body["tools"] == [{"type": "custom", "name": "x"}]
        assert sent.path == "/v1/responses"
        assert not {"openai-organization", "openai-project"} & set(sent.headers)
        assert sent.headers["authorization"] == f"Bearer {CANARY}"
        assert opened.post("/v1/responses", {**body, "previous_response_id": "resp_1"})[0] == 400


def test_betas_pass_with_the_fields_that_they_allow() -> None:
    """Fields of the body that need a beta: what Claude Code sent on 2026-11-26."""
    with door("messages") as opened:
        betas = (
            "claude-code-20250219,advanced-tool-use-2025-11-20,thinking-display-updates-2026-08-12,"
            "mid-conversation-system-2026-04-07"
        )
        tools = [
            {"name": "look", "input_schema": SHELL, "defer_loading": True},
            {"name": "bash", "input_schema": SHELL},
        ]
        messages = [{"role": "user", "content": "fix it"}, {"role": "system", "content": "skills: none"}]
        thinking = {"type": "adaptive", "display": "updates"}
        body = {"model": MODEL, "max_tokens": 5, "tools": tools, "messages": messages, "thinking": thinking}
        head = f"anthropic-beta: {betas}, context-1m-2025-08-07, a\tb\r\n"
        assert opened.post("/v1/messages?beta=true", body, head)[0] == 200
        sent = opened.model.requests[0]
        assert sent.headers["anthropic-beta"] == betas, "one has another price, and one is none"
        assert {name: sent.body[name] for name in body} == body
        assert not opened.gateway.refused


HOSTED = {"type": "web_search_20250305", "name": "web_search"}
ON_SERVER = {"type": "mcp", "server_label": "x", "server_url": "https://mcp.example.org"}
SPAWN = {"type": "function", "name": "spawn_agent", "parameters": SHELL}


@pytest.mark.parametrize(
    ("protocol", "asked", "sent", "dropped"),
    [
        (
            "messages",
            {"tools": [HOSTED, {"name": "bash"}], "tool_choice": {"type": "tool", "name": "web_search"}},
            {"tools": [{"name": "bash"}]},
            ["the tool web_search"],
        ),
        ("messages", {"tools": [HOSTED], "tool_choice": {"type": "any"}}, {"tools": []}, ["the tool web_search"]),
        ("messages", {"mcp_servers": [{"url": "https://example.org"}]}, {}, ["the field mcp_servers"]),
        (
            "responses",
            {"tools": [{"type": "web_search"}, SPAWN], "tool_choice": "auto"},
            {"tools": [SPAWN], "tool_choice": "auto"},
            ["the tool web_search"],
        ),
        (
            "responses",
            {"tools": [{"type": "namespace", "name": "multi_agent", "tools": [SPAWN, ON_SERVER]}]},
            {"tools": [{"type": "namespace", "name": "multi_agent", "tools": [SPAWN]}]},
            ["the tool mcp"],
        ),
        (
            "responses",
            {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}, {"type": "shell"}]},
            {"tools": [{"type": "shell"}]},
            ["the tool shell"],
        ),
        (
            "responses",
            {"input": [{"type": "additional_tools", "role": "developer", "tools": [ON_SERVER, SPAWN]}]},
            {"input": [{"type": "additional_tools", "role": "developer", "tools": [SPAWN]}]},
            ["the tool mcp"],
        ),
        (
            "responses",
            {"input": [{"type": "tool_search_output", "call_id": "c", "tools": [{"type": "web_search"}]}]},
            {"input": [{"type": "tool_search_output", "call_id": "c", "tools": []}]},
            ["the tool web_search"],
        ),
        ("chat", {"web_search_options": {"search_context_size": "low"}}, {}, ["the field web_search_options"]),
        ("chat", {"max_completion_tokens": 1, "max_tokens": 200_000}, {"max_completion_tokens": 1}, []),
        ("messages", {"context_management": {"edits": [{"type": "compact_20260112"}]}}, {}, []),
        (
            "messages",
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
            [],
        ),
    ],
)
def test_what_the_provider_would_run_is_left_out_and_named(
    protocol: str, asked: dict[str, Any], sent: dict[str, Any], dropped: list[str]
) -> None:
    request = {"messages": [], "input": "x", **asked}
    cleaned = PROTOCOLS[protocol].clean({"model": "m", **request}, "m", Sampling())
    own = {name: value for name, value in cleaned.request.items() if name in asked}
    assert own == sent
    assert list(cleaned.dropped) == dropped


@pytest.mark.parametrize(
    ("protocol", "asked"),
    [
        ("chat", {"messages": [{"role": "user", "content": [{"image_url": {"url": "https://example.org/x.png"}}]}]}),
        ("chat", {"messages": {"role": "user", "content": "x"}}),
        ("chat", {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}),
        ("chat", {"tools": {"type": "web_search"}}),
        ("responses", {"tools": {"type": "web_search"}}),
        ("responses", {"input": {"type": "item_reference", "id": "msg_1"}}),
        ("responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
        ("responses", {"input": [{"id": "msg_1"}]}),
        ("responses", {"input": [{"type": "mcp_approval_response", "approve": True}]}),
        ("responses", {"input": [{"type": "web_search_call", "id": "ws_1"}]}),
        ("responses", {"input": [{"role": "user", "content": [{"file_id": "file-1"}]}]}),
        ("responses", {"input": [{"type": "function_call_output", "output": [{"type": "input_image"}]}]}),
        ("messages", {"messages": [{"role": "user", "content": [{"source": {"type": "url", "url": "https://x"}}]}]}),
        ("messages", {"messages": [{"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}]}]}),
        ("messages", {"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]}),
        ("messages", {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [IMAGE]}]}]}),
        ("messages", {"system": [{"type": "document"}]}),
    ],
)
def test_a_conversation_holds_text_and_tool_calls_alone(protocol: str, asked: dict[str, Any]) -> None:
    request = {"model": "m", "messages": [], "input": "x", **asked}
    with pytest.raises(RequestRefused):
        PROTOCOLS[protocol].clean(request, "m", Sampling())


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("messages", [{"role": "assistant", "content": [{"type": "tool_use", "input": {"type": "file"}}]}]),
        ("messages", [{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "tool_reference"}]}]}]),
        ("chat", [{"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}]),
        ("responses", [{"type": "shell_call_output", "output": [{"stdout": "x", "stderr": ""}]}]),
    ],
)
def test_what_tools_are_given_and_answer_passes(protocol: str, said: list[dict[str, Any]]) -> None:
    request = {"model": "m", "messages": said, "input": said}
    assert (
        PROTOCOLS[protocol].clean(request, "m", Sampling()).request.items()
        >= {PROTOCOLS[protocol].conversation_fields[-1]: said}.items()
    )


def test_helpers_that_ask_for_another_model_are_named() -> None:
    with door("chat") as opened:
        for _ in range(2):
            assert opened.post("/v1/chat/completions", {**ASKED, "model": "tiny\n-2026"})[0] == 400
        for number in range(100):
            opened.post("/v1/chat/completions", {**ASKED, "model": str(number)})
        (first, count), *_ = opened.gateway.refused.items()
        assert (first, count) == (f"a request: only the model {MODEL} can be called here, not tiny\\n-2026", 2)
        assert opened.gateway.refused.total() == 102
        assert len(opened.gateway.refused) <= 51, "the agent decides how many there are"


HELPED = {
    "agent": {"name": "opencode", "version": "1.18.33"},
    "solver": "agent",
    "harness": {"models": {"small": "tiny-2026"}},
}


def test_a_helper_of_the_harness_is_asked_and_counted_apart() -> None:
    sampling = Sampling(temperature=0.5, max_output_tokens=100)
    with door("chat", spec={**HELPED, "sampling": sampling}) as opened:
        for model in ("tiny-2026", MODEL):
            assert opened.post("/v1/chat/completions", {**ASKED, "model": model})[0] == 200
        assert opened.post("/v1/chat/completions", {**ASKED, "model": "other-2026"})[0] == 400
        usage = sum((one.usage for one in opened.gateway.completions), NO_USAGE)
        sent = [(one.body["model"], one.body.get("temperature")) for one in opened.model.requests]
    assert sent == [("tiny-2026", None), (MODEL, 0.5)]
    assert usage.input_tokens == 2 * INPUT_TOKENS
    assert [(name, one.input_tokens) for name, one in usage.helpers.items()] == [("tiny-2026", INPUT_TOKENS)]
    assert usage.own.input_tokens == INPUT_TOKENS


def test_an_error_in_a_helpers_answer_has_the_helpers_price(
    one_at_once: ModelCalls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = scripted_model.PROTOCOLS["/chat/completions"]

    def failed(*asked: Any) -> Any:
        full, events = make(*asked)
        return {"error": {"type": "server_error", "message": "failed"}, "usage": full["usage"]}, events

    monkeypatch.setitem(scripted_model.PROTOCOLS, "/chat/completions", failed)
    monkeypatch.setattr(faults, "_pause", lambda *_: 0.0)
    own, helper = {"input": 9000, "output": 20_000}, {"input": 9, "output": 20}
    spec = {**HELPED, "prices": {**own, "helpers": {"tiny-2026": helper}}, "sampling": Sampling(max_output_tokens=100)}
    paid = PaidAnswers(tmp_path / "a", Redactor(""))
    limits = AgentLimits(calls=9, usd=Decimal(1000))
    with door("chat", limits=limits, call=one_at_once, paid=paid, spec=spec) as opened:
        assert opened.post("/v1/chat/completions", {**ASKED, "model": "tiny-2026"})[0] == 400
        requests = len(opened.model.requests)
    spent = PaidAnswers(tmp_path / "a", Redactor("")).spent
    assert spent == requests * Decimal("0.01"), "1000 input and 50 output tokens at the helper's prices"
    assert Journal.open(tmp_path / "r").calls.spending().usd == spent, "the run's budget counts the same"


@pytest.mark.parametrize(
    ("limits", "named"), [(AgentLimits(calls=2), "calls"), (AgentLimits(calls=9, tokens=1500), "tokens")]
)
def test_a_limit_ends_the_agent_after_the_call_that_reached_it(limits: AgentLimits, named: str) -> None:
    with door("chat", limits=limits) as opened:
        codes = [opened.post("/v1/chat/completions", ASKED)[0] for _ in range(4)]
        assert codes == [200, 200, 400, 400]
        assert opened.model.answered == 2
        assert (opened.gateway.limited, bool(opened.ended)) == (named, True)


def test_a_provider_that_fails_ends_the_agent_and_is_told() -> None:
    with door("messages", status=401, failures=99) as opened:
        code, answer = opened.post("/v1/messages", {**ASKED, "max_tokens": 5})
        assert (code, answer["type"]) == (400, "error")
        assert CANARY not in json.dumps(answer)
        assert isinstance(opened.gateway.failure, ProviderError)
        assert opened.gateway.failure.fault == "authentication"
        assert opened.ended


def test_a_client_that_streams_is_kept_waiting_with_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "PING_SECONDS", 0.05)

    def slow(turn: Turn) -> Say | Run | Use:
        time.sleep(0.2)
        return FIXING(turn)

    for protocol in CLIENTS:
        with door(protocol, slow) as opened:
            assert _talk(protocol, opened.url, stream=True)[0] == "sed -i s/a/b/ x.py"


@pytest.mark.parametrize(
    ("protocol", "asked", "sent"),
    [
        ("chat", {"reasoning_effort": "low"}, {"reasoning_effort": "high"}),
        (
            "responses",
            {"reasoning": {"effort": "low", "summary": "auto"}},
            {"reasoning": {"effort": "high", "summary": "auto"}},
        ),
        (
            "messages",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            {"thinking": {"type": "enabled", "budget_tokens": 1999}, "output_config": {"effort": "high"}},
        ),
        ("messages", {"max_tokens": 1000, "thinking": {"type": "adaptive"}}, {"output_config": {"effort": "high"}}),
    ],
)
def test_the_candidates_reasoning_is_not_the_agents_to_change(
    protocol: str, asked: dict[str, Any], sent: dict[str, Any]
) -> None:
    request = {"model": "m", "messages": [], "input": [], "max_tokens": 2000, **asked}
    sampling = Sampling(effort="high", thinking=4096 if protocol == "messages" else None)
    cleaned = PROTOCOLS[protocol].clean(request, "m", sampling).request
    reasoning = {"reasoning_effort", "reasoning", "thinking", "output_config"}
    assert {name: cleaned[name] for name in reasoning if name in cleaned} == sent


def test_a_request_that_the_provider_declines_is_the_agents_to_mend() -> None:
    with door("chat") as opened:
        assert opened.post("/v1/chat/completions", ASKED)[0] == 200
        opened.model.failures, opened.model.status = 1, 400
        code, answer = opened.post("/v1/chat/completions", ASKED)
        assert (code, "scripted failure" in answer["error"]["message"]) == (400, True)
        assert opened.post("/v1/chat/completions", ASKED)[0] == 200
        assert opened.gateway.failure is None
        assert opened.gateway.refused == {"a request that the provider declined": 1}
    with door("chat", status=400, failures=1) as opened:
        assert opened.post("/v1/chat/completions", ASKED)[0] == 400
        assert isinstance(opened.gateway.failure, ProviderError), "the first one shows a misconfiguration"


def test_dollars_of_an_attempt_are_never_exceeded_by_calls_at_once() -> None:
    limits = AgentLimits(calls=1000, usd=Decimal("0.20"))
    with door("chat", lambda _turn: Say("ok"), limits, spec=PRICED) as opened, ThreadPoolExecutor(60) as threads:
        list(threads.map(lambda _: opened.post("/v1/chat/completions", ASKED), range(60)))
        assert 1 <= opened.model.answered <= 20
        assert opened.gateway.limited == "usd"


@pytest.fixture
def one_at_once(tmp_path: Path) -> Iterator[ModelCalls]:
    journal = Journal.create(tmp_path / "r", manifest())
    with journal.writing():
        yield ModelCalls(RunOptions(models=1), journal, threading.Event())


def test_a_limit_of_tokens_holds_for_calls_that_wait_for_their_turn(one_at_once: ModelCalls) -> None:
    limits = AgentLimits(calls=50, tokens=1500)
    with door("chat", lambda _turn: Say("ok"), limits, one_at_once) as opened, ThreadPoolExecutor(8) as threads:
        codes = list(threads.map(lambda _: opened.post("/v1/chat/completions", ASKED)[0], range(8)))
        assert sorted(codes) == [200] * 2 + [400] * 6
        assert (opened.model.answered, opened.gateway.limited) == (2, "tokens")
        assert opened.ended


def test_calls_that_wait_when_their_agent_ends_are_never_made(
    one_at_once: ModelCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, go = threading.Event(), threading.Event()

    def held(_turn: Turn) -> Say:
        under_way.set()
        assert go.wait(60)
        return Say("ok")

    kept: list[bytes] = []
    monkeypatch.setattr(KeepsNothing, "keep", lambda _, prepared: kept.append(prepared))
    with door("chat", held, call=one_at_once) as opened, ThreadPoolExecutor(4) as threads:
        posts = [threads.submit(opened.post, "/v1/chat/completions", ASKED) for _ in range(4)]
        assert under_way.wait(60)
        opened.gateway.close()
        go.set()
        assert sorted(post.result()[0] for post in posts) == [200, 400, 400, 400]
        assert len(opened.model.requests) == 1
        assert (kept, opened.gateway.completions, opened.gateway.failure) == ([], [], None)
        assert not opened.gateway.refused


def test_dollars_of_an_attempt_are_never_exceeded_by_repeated_requests(
    one_at_once: ModelCalls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_pause", lambda *_: 0.0)
    limits = AgentLimits(calls=9, usd=Decimal("0.05"))
    for requests, failures in ((2, 99), (0, 0)):  # a second start finds the dollars used up
        paid = PaidAnswers(tmp_path / "a", Redactor(""))
        with door("chat", FIXING, limits, one_at_once, paid, PRICED, status=502, failures=failures) as opened:
            assert opened.post("/v1/chat/completions", ASKED)[0] == 400
            assert len(opened.model.requests) == requests
            failure = opened.gateway.failure
            assert isinstance(failure, faults.FinalFault)
            assert failure.fault.cause == "agent.dollars_lost"
            assert not faults.FAULTS[failure.fault.cause].by_answer, "failed requests are no fault of the agent"
            assert "requests that failed or were interrupted may have cost $0.04" in str(failure)
            assert "Resuming cannot complete this attempt" in str(failure)
            assert opened.gateway.limited is None


def test_dollars_of_requests_that_the_provider_declined_are_the_agents_own() -> None:
    spec = CandidateSpec.model_validate({"provider": "openai", "model": MODEL, **PRICED})
    meter = Meter(spec, AgentLimits(calls=9, usd=Decimal("0.05")), KeepsNothing())
    for fault in ("bad_request", "overloaded"):
        meter.begin(10)
        meter.settle(10, Usage(), fault)
    with pytest.raises(InfrastructureError) as caught:
        meter.begin(10)
    assert not isinstance(caught.value, DollarsLost)


def test_dollars_of_an_attempt_are_never_exceeded_by_starting_it_again(tmp_path: Path) -> None:
    """Its prompt differs each time, so that most paid answers are of no use."""
    before, after, under_way, go = tmp_path / "a", tmp_path / "b", threading.Event(), threading.Event()

    def second_waits(turn: Turn) -> Say:
        if turn.number == 2:
            under_way.set()
            assert go.wait(60)
        return Say("ok")

    def asked(text: str) -> dict[str, Any]:
        return {"model": MODEL, "messages": [{"role": "user", "content": text}]}

    limits = AgentLimits(calls=9, usd=Decimal("0.05"))
    redactor = Redactor("")
    opened_with = partial(door, "chat", second_waits, limits, spec=PRICED)
    with opened_with(paid=PaidAnswers(before, redactor)) as opened, ThreadPoolExecutor(1) as threads:
        assert opened.post("/v1/chat/completions", asked("first"))[0] == 200
        second = threads.submit(opened.post, "/v1/chat/completions", asked("second"))
        assert under_way.wait(60)
        shutil.copy(before, after)  # what a killed run leaves
        go.set()
        assert second.result()[0] == 200
    with opened_with(paid=PaidAnswers(after, redactor)) as opened:
        assert opened.post("/v1/chat/completions", asked("first"))[0] == 200
        assert opened.post("/v1/chat/completions", asked("another"))[0] == 400
        assert not opened.model.requests
        assert "or were interrupted may have cost $0.02" in str(opened.gateway.failure)
        assert opened.gateway.limited is None


def test_a_call_does_not_wait_until_another_answer_is_redacted(
    one_at_once: ModelCalls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redacting, go, clean = threading.Event(), threading.Event(), Redactor.clean_model

    def first_waits(redactor: Redactor, model: Any) -> Any:
        if not redacting.is_set():
            redacting.set()
            assert go.wait(60)
        return clean(redactor, model)

    monkeypatch.setattr(Redactor, "clean_model", first_waits)
    paid = PaidAnswers(tmp_path / "a", Redactor(""))
    with door("chat", call=one_at_once, paid=paid) as opened, ThreadPoolExecutor(2) as threads:
        posts = [threads.submit(opened.post, "/v1/chat/completions", ASKED)]
        assert redacting.wait(60)
        posts.append(threads.submit(opened.post, "/v1/chat/completions", ASKED))
        wait(posts, timeout=5, return_when=FIRST_COMPLETED)
        answered = [post.done() for post in posts]
        go.set()
        assert [post.result()[0] for post in posts] == [200, 200]
    assert answered == [False, True]


@pytest.mark.parametrize(
    "amounts", [["-1000"], ["-1000", "0.02"], ["1e9999999"], ["9e999999", "9e999999"], ["-9e999999", "-9e999999"]]
)
def test_a_changed_file_of_dollars_gives_no_credit_and_no_traceback(amounts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("".join(f"{json.dumps(amount)}\n" for amount in amounts))
    paid = PaidAnswers(path, Redactor(""))
    assert paid.spent == (Decimal("0.02") if "0.02" in amounts else 0)
    spec = CandidateSpec(provider="openai", model=MODEL, prices=PRICES)
    meter = Meter(spec, AgentLimits(calls=9, usd=Decimal("0.01")), paid)
    with pytest.raises((LimitReached, InfrastructureError)):
        meter.begin(1)


@pytest.mark.parametrize("told", [True, False])
def test_the_output_of_a_stream_is_what_its_end_says(told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message that begins a stream counts one token, whatever follows."""
    make = scripted_model.PROTOCOLS["/messages"]

    def untold(*asked: Any) -> Any:
        full, events = make(*asked)
        return full, [(name, {**event, "usage": None} if name == "message_delta" else event) for name, event in events]

    if not told:
        monkeypatch.setitem(scripted_model.PROTOCOLS, "/messages", untold)
    with door("messages", lambda _turn: Say("x" * 4000)) as opened:
        raw = json.dumps({**ASKED, "max_tokens": 99, "stream": True}).encode()
        head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(raw)}\r\nConnection: close\r\n\r\n"
        assert opened.send(head.encode() + raw).startswith(b"HTTP/1.1 200")
        (completion,) = opened.gateway.completions
        assert completion.usage.output_tokens == (50 if told else None)


def test_a_call_whose_tokens_nobody_reports_counts_in_full() -> None:
    meter = Meter(CandidateSpec(provider="openai", model=MODEL), AgentLimits(calls=9, tokens=40_000), KeepsNothing())
    meter.begin(10_000)
    meter.settle(10_000, Usage())
    with pytest.raises(LimitReached):
        meter.begin(1)
    assert meter.reached == "tokens"


def test_a_look_without_a_body_gets_none_and_half_a_character_is_mended() -> None:
    with door("chat") as opened:
        raw = json.dumps({**ASKED, "stop": "HERE"}).replace("HERE", r"half a smile \ud83d").encode()
        assert opened.post("/v1/chat/completions", raw)[0] == 200
        for path, status in (("/", b"200"), ("/v1/models", b"404")):
            answer = opened.send(f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 " + status)
            assert answer.endswith(b"\r\n\r\n")


def test_a_key_that_a_server_echoes_stays_outside() -> None:
    with door("chat", lambda _turn: Say(f"your key is {CANARY}")) as opened:
        code, answer = opened.post("/v1/chat/completions", ASKED)
        assert code == 200
        assert CANARY not in json.dumps(answer)


def test_a_setting_of_the_agents_own_that_the_model_refuses_is_left_out_and_named() -> None:
    """Agents send a temperature whatever the model; their users cannot remove it."""
    with door("chat", refuses="temperature") as opened:
        for _ in range(2):
            assert opened.post("/v1/chat/completions", {**ASKED, "temperature": 0})[0] == 200
        assert ["temperature" in sent.body for sent in opened.model.requests] == [True, False, False]
        assert opened.gateway.refused == {"the setting temperature, which the model does not take": 2}
    with door("chat", refuses="temperature", spec={"sampling": {"temperature": 0.5}}) as opened:
        assert opened.post("/v1/chat/completions", ASKED)[0] == 400
        assert "sampling.temperature" in str(opened.gateway.failure), "this one the user has chosen"


def _codex_turn(number: int, command: str = "ls") -> dict[str, Any]:
    """Return a second turn as Codex sends it: its ids, and what its tools print, are new each time."""
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec", "arguments": command}
    output = f"Chunk ID: {number}\nWall time: 0.0{number} seconds\n"
    return {
        "model": "m",
        "input": [
            {"type": "message", "id": f"msg_{number}", "role": "user", "content": "fix it"},
            call,
            {"type": "function_call_output", "id": f"fco_{number}", "call_id": "call_1", "output": output},
        ],
    }


def test_a_repeated_turn_is_the_same_whatever_ids_and_tools_say() -> None:
    def turn(asked: dict[str, Any]) -> str:
        protocol = PROTOCOLS["responses"]
        return protocol.turn(asked, protocol.clean(asked, "m", Sampling()).request)

    assert turn(_codex_turn(1)) == turn(_codex_turn(2))
    assert turn(_codex_turn(1)) != turn(_codex_turn(1, "rm -r src"))
    assert turn(_codex_turn(1)) != turn({**_codex_turn(1), "input": _codex_turn(1)["input"][:1]})


def test_requests_under_way_together_hold_a_bounded_sum_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "_MOST_BODY_BYTES", 1 << 20)
    waiting, go = threading.Semaphore(0), threading.Event()

    def held(action: Callable[[], Completion], size: int, begin: Callable[[], None]) -> Completion:
        waiting.release()
        go.wait(60)
        return _simple_call(action, size, begin)

    large = {**ASKED, "stop": "x" * 600_000}
    with door("chat", call=held) as opened:
        codes: list[int] = []
        first = threading.Thread(target=lambda: codes.append(opened.post("/v1/chat/completions", large)[0]))
        first.start()
        assert waiting.acquire(timeout=60)
        data = json.dumps(large).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n".encode()
        assert opened.send(head + data).startswith(b"HTTP/1.1 413")
        go.set()
        first.join()
        assert codes == [200]
        assert opened.post("/v1/chat/completions", large)[0] == 200, "what was answered is given back"


def slowly(_turn: Turn) -> Say:
    time.sleep(0.25)
    return Say("Done.")


def test_seconds_in_which_several_calls_wait_count_once() -> None:
    turn = threading.Lock()

    def in_turn(action: Callable[[], Completion], size: int, begin: Callable[[], None]) -> Completion:
        with turn:
            return _simple_call(action, size, begin)

    began = time.monotonic()
    with door("chat", slowly, call=in_turn) as opened, ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: opened.post("/v1/chat/completions", ASKED), range(6)))
        called, waited = opened.gateway.seconds()
        assert 6 * 0.25 <= called <= time.monotonic() - began
        assert waited <= called - 6 * 0.25, "while one is being answered, the agent does not wait for its turn"


def test_seconds_of_failed_tries_and_of_helpers_pauses_are_waiting() -> None:
    def again(action: Callable[[], Completion], size: int, begin: Callable[[], None]) -> Completion:
        with contextlib.suppress(ProviderError):
            return _simple_call(action, size, begin)
        time.sleep(0.3)
        return _simple_call(action, size, begin)

    with door("chat", call=again, spec=HELPED, failures=1) as opened:
        for number, model in enumerate((MODEL, "tiny-2026"), start=1):
            opened.model.failures = 1
            assert opened.post("/v1/chat/completions", {**ASKED, "model": model})[0] == 200
            called, waited = opened.gateway.seconds()
            assert number * 0.3 <= waited < called


@pytest.mark.parametrize(("waiting", "answered"), [(MODEL, "tiny-2026"), ("tiny-2026", MODEL)])
def test_a_helpers_answer_hides_no_wait_of_the_candidates_own_call(waiting: str, answered: str) -> None:
    first, go = threading.Event(), threading.Event()

    def first_waits(action: Callable[[], Completion], size: int, begin: Callable[[], None]) -> Completion:
        if not first.is_set():
            first.set()
            assert go.wait(20)
        return _simple_call(action, size, begin)

    with door("chat", slowly, call=first_waits, spec=HELPED) as opened, ThreadPoolExecutor(1) as threads:
        waits = threads.submit(opened.post, "/v1/chat/completions", {**ASKED, "model": waiting})
        assert first.wait(20)
        assert opened.post("/v1/chat/completions", {**ASKED, "model": answered})[0] == 200
        called, waited = opened.gateway.seconds()
        go.set()
        assert waits.result()[0] == 200
    assert (called - waited >= 0.25) == (answered == MODEL)
