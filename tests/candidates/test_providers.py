"""Both providers through their real SDKs over real HTTP: what is sent, and what is made of the answers."""

import json
import traceback
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from codegate.candidates import (
    CandidateSpec,
    Completion,
    Message,
    Prices,
    ProblemKey,
    Provider,
    ProviderError,
    Sampling,
    ToolCall,
    ToolSpec,
    cost,
    open_provider,
    redactor_for,
)
from codegate.candidates.conversation import DEFAULT_OUTPUT_TOKENS, ListsModels
from codegate.candidates.sdk import SdkProvider
from codegate.errors import UsageError
from tests.candidates.conftest import CANARY
from tests.kit.http import Reply, Request
from tests.kit.model_server import WireServer, as_json, chat_answer, messages_answer, wire_server

KEY = ProblemKey(problem="p", sample=0)
BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
TOOL = ToolSpec(
    name="read_file",
    description="Read.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
CONVERSATION = (
    Message(role="system", text="Be brief."),
    Message(role="user", text="Mend it."),
    Message(
        role="assistant",
        text="Reading.",
        tool_calls=(
            ToolCall(id="c1", name="read_file", arguments='{"path": "a"}'),
            ToolCall(id="c2", name="read_file", arguments='{"path": '),
        ),
    ),
    Message(role="tool", text="A", tool_call_id="c1"),
    Message(role="tool", text="Error: B", tool_call_id="c2"),
)


def opened(server: WireServer, provider: str, **changes: Any) -> Provider:
    base = server.url + ("/v1" if provider == "openai" else "")
    spec = CandidateSpec.model_validate(
        {"provider": provider, "model": "local-model", "base_url": base, "timeout_seconds": 20, **changes}
    )
    result = open_provider(spec)
    assert result is not None
    return result


def ask(
    server: WireServer,
    provider: str,
    messages: tuple[Message, ...] = (Message(role="user", text="?"),),
    tools: tuple[ToolSpec, ...] = (),
    sampling: Sampling | None = None,
    **changes: Any,
) -> Completion:
    client = opened(server, provider, **changes)
    try:
        return client.complete(KEY, messages, tools, sampling or Sampling())
    finally:
        client.close()
        client.close()


def answer_of(provider: str, **changes: Any) -> dict[str, Any]:
    return chat_answer(**changes) if provider == "openai" else messages_answer(**changes)


def sent_key(request: Request) -> str:
    """Return the key that came with a request, in the header that the SDK's version uses."""
    (key,) = {request.headers[name] for name in ("authorization", "x-api-key") if name in request.headers}
    return key.removeprefix("Bearer ")


@BOTH
@pytest.mark.requirement("C9")
def test_a_server_on_a_private_network_is_asked_over_plain_http_where_that_is_allowed(
    private_address: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv({"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}[provider])
    monkeypatch.delenv("no_proxy", raising=False)
    with wire_server() as proxy, wire_server(as_json(answer_of(provider)), host=private_address) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert ask(server, provider, allow_http=True).text == "Hello."
        assert sent_key(server.received[0]) == "none", "a server of one's own may want no key"
        assert not proxy.received, "what is not encrypted goes through no proxy"
        with pytest.raises(ValidationError, match="unencrypted"):
            ask(server, provider)


@pytest.mark.requirement("C1")
def test_chat_request() -> None:
    with wire_server(as_json(chat_answer())) as server:
        sampling = Sampling(temperature=0.5, top_p=0.9, max_output_tokens=77, seed=3, stop=("END",))
        ask(server, "openai", CONVERSATION, (TOOL,), sampling)
        (request,) = server.received
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    assert request.body["model"] == "local-model"
    assert (request.body["temperature"], request.body["top_p"], request.body["seed"]) == (0.5, 0.9, 3)
    assert request.body["max_tokens"] == 77
    assert request.body["stop"] == ["END"]
    assert "max_completion_tokens" not in request.body
    assert request.body["tools"] == [{"type": "function", "function": TOOL.model_dump()}]
    assert [m["role"] for m in request.body["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    assert request.body["messages"][2]["tool_calls"][0] == {
        "id": "c1",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path": "a"}'},
    }
    assert request.body["messages"][3] == {"role": "tool", "tool_call_id": "c1", "content": "A"}


@pytest.mark.requirement("C1")
def test_messages_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another-secret-token")
    with wire_server(as_json(messages_answer())) as server:
        sampling = Sampling(temperature=0.5, top_p=0.9, max_output_tokens=77_000, stop=("END",))
        ask(server, "anthropic", CONVERSATION, (TOOL,), sampling)
        (request,) = server.received
    assert request.path == "/v1/messages"
    assert sent_key(request) == CANARY
    assert "another-secret-token" not in str(request.headers)
    assert request.body["system"] == "Be brief."
    assert (request.body["max_tokens"], request.body["temperature"]) == (77_000, 0.5)
    assert request.body["stop_sequences"] == ["END"]
    assert request.body["tools"] == [{"name": "read_file", "description": "Read.", "input_schema": TOOL.parameters}]
    roles = [(turn["role"], [block["type"] for block in turn["content"]]) for turn in request.body["messages"]]
    assert roles == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
    ]
    uses = request.body["messages"][1]["content"][1:]
    assert [use["input"] for use in uses] == [{"path": "a"}, {}]
    assert request.body["messages"][2]["content"][1] == {
        "type": "tool_result",
        "tool_use_id": "c2",
        "content": "Error: B",
        "cache_control": {"type": "ephemeral"},
    }


def test_a_tool_loop_over_responses_returns_the_reasoning_of_the_turn_before() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
    used = {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": '{"path": "a"}'}
    details = {"output_tokens_details": {"reasoning_tokens": 5}}
    usage = {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16, **details}
    answer = {"id": "r1", "model": "local-model", "status": "completed", "output": [thought, used], "usage": usage}
    with wire_server(as_json(answer)) as server:
        asked = CONVERSATION[:2]
        done = ask(server, "openai", asked, (TOOL,), Sampling(effort="low", max_output_tokens=77), protocol="responses")
        reply = Message(role="assistant", tool_calls=done.tool_calls, reasoning=done.reasoning)
        result = Message(role="tool", text="A", tool_call_id="c1")
        ask(server, "openai", (*asked, reply, result), (TOOL,), protocol="responses")
        first, second = server.received
    assert (done.stop_reason, done.usage.reasoning_tokens) == ("tool_calls", 5)
    assert first.path == "/v1/responses"
    assert (first.body["reasoning"], first.body["max_output_tokens"]) == ({"effort": "low"}, 77)
    assert first.body["store"] is False
    assert first.body["tools"] == [{"type": "function", **TOOL.model_dump()}]
    assert second.body["input"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Mend it."},
        thought,
        used,
        {"type": "function_call_output", "call_id": "c1", "output": "A"},
    ]
    assert "c2VjcmV0" not in reply.model_dump_json(), "what only the provider can read is in no transcript"


def test_a_gemini_that_calls_tools_gets_its_signed_thoughts_back() -> None:
    function = {"name": "read_file", "arguments": '{"path": "a"}'}
    used = {"id": "c1", "type": "function", "function": function}
    signed = {**used, "extra_content": {"google": {"thought_signature": "c2VjcmV0"}}}
    answer = chat_answer(message={"content": None, "tool_calls": [signed]}, choice={"finish_reason": "tool_calls"})
    with wire_server(as_json(answer)) as server:
        asked = CONVERSATION[:2]
        done = ask(server, "openai", asked, (TOOL,))
        reply = Message(role="assistant", tool_calls=done.tool_calls, reasoning=done.reasoning)
        ask(server, "openai", (*asked, reply, Message(role="tool", text="A", tool_call_id="c1")), (TOOL,))
        _, second = server.received
    assert second.body["messages"][2]["tool_calls"] == [signed]
    assert "c2VjcmV0" not in reply.model_dump_json()


def test_a_claude_that_thinks_gets_its_thoughts_back_and_its_prompt_cached() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
    used = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}}
    usage = {"input_tokens": 9, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}}
    answer = messages_answer(content=[thought, used], stop_reason="tool_use", usage=usage)
    with wire_server(as_json(answer)) as server:
        sampling = Sampling(effort="max", thinking=2048)
        done = ask(server, "anthropic", CONVERSATION[:2], (TOOL,), sampling)
        reply = Message(role="assistant", tool_calls=done.tool_calls, reasoning=done.reasoning)
        result = Message(role="tool", text="A", tool_call_id="c1")
        ask(server, "anthropic", (*CONVERSATION[:2], reply, result), (TOOL,), sampling)
        unpriced = {"input": 1, "output": 1}
        ask(server, "anthropic", CONVERSATION[:2], (TOOL,), prices=unpriced)
        first, second, third = server.received
    assert done.usage.reasoning_tokens == 5
    assert first.body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert first.body["output_config"] == {"effort": "max"}
    assert second.body["messages"][1]["content"] == [thought, used]
    assert second.body["messages"][2]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in str(third.body), "what it costs to write to the cache is not known"


@pytest.mark.parametrize(
    ("provider", "settings", "said"),
    [
        ("openai", {"sampling": {"thinking": "adaptive"}}, "no `thinking`"),
        ("openai", {"protocol": "responses", "sampling": {"seed": 1}}, "no `seed`"),
        ("anthropic", {"sampling": {"seed": 1}}, "no seed"),
        ("anthropic", {"protocol": "chat"}, "does not speak `protocol: chat`"),
    ],
)
def test_settings_that_an_api_lacks_are_refused(provider: str, settings: dict[str, Any], said: str) -> None:
    with wire_server(as_json(chat_answer())) as server, pytest.raises(UsageError, match=said):
        opened(server, provider, **settings)
    with pytest.raises(ValidationError, match="below the output limit"):
        Sampling(thinking=50_000)


@BOTH
def test_what_is_not_configured_is_not_sent(provider: str) -> None:
    with wire_server(as_json(answer_of(provider))) as server:
        ask(server, provider)
        (request,) = server.received
    assert request.body.keys() == {"model", "messages", "max_tokens"}
    assert request.body["max_tokens"] == DEFAULT_OUTPUT_TOKENS == 32_000


@pytest.mark.parametrize("address", ["http://corp:hunter2-pass/xyz@127.0.0.1:9", "socks9://corp:hunter2-pass@h:1"])
@BOTH
def test_the_password_of_a_proxy_without_an_address_is_not_shown(
    provider: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address)
    monkeypatch.setenv("https_proxy", address)
    with pytest.raises(UsageError, match="proxy in HTTPS_PROXY") as caught:
        open_provider(CandidateSpec(provider=provider, model="m", base_url="https://models.corp.example/v1"))
    assert "hunter2-pass" not in "".join(traceback.format_exception(caught.value))


@BOTH
def test_a_key_goes_only_where_it_belongs(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the SDK's own variables nor a proxy turn a call elsewhere or add to it."""
    secret, answer = "corp-gateway-pass-42", as_json(answer_of(provider))
    names = ("X-Gateway-Pass", "X-Team", "Authorization", "X-Api-Key")
    for sdk in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{sdk}_CUSTOM_HEADERS", "\n".join(f"{name}: Bearer {secret}" for name in names))
    monkeypatch.setenv("TEAM_KEY", "team-secret-1")
    with wire_server(answer) as server, wire_server(answer) as other:
        for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, other.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        ask(server, provider, headers={"x-team": "gate"})
        ask(server, provider, api_key_env="TEAM_KEY")
        client = opened(server, provider)
        assert isinstance(client, ListsModels)
        client.models()
        client.close()
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        ask(server, provider)
    assert other.received == []
    assert secret not in str(server.received)
    assert server.received[0].headers["x-team"] == "gate"
    assert [sent_key(request) for request in server.received if request.method == "POST"] == [
        CANARY,
        "team-secret-1",
        "none",
    ]
    assert redactor_for().redact_whole(f"refused: {secret}") == "refused: [redacted]"


def test_a_key_for_the_address_in_geminis_variable_does_not_go_to_google(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", CANARY)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "https://models.corp.example")
    with pytest.raises(UsageError, match="GOOGLE_GEMINI_BASE_URL is set"):
        open_provider(CandidateSpec(provider="gemini", model="gemini-3.8-flash"))


@BOTH
def test_a_key_for_the_address_in_the_sdks_variable_does_not_go_to_the_provider(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, spec = f"{provider.upper()}_BASE_URL", CandidateSpec(provider=provider, model="m-2025-01-01")
    monkeypatch.setenv(variable, "https://bob:pass@models.corp.example/v1")
    with pytest.raises(UsageError, match=f"{variable} is set") as caught:
        open_provider(spec)
    assert "bob" not in str(caught.value)
    for own in ("", f"https://api.{provider}.com", f"https://api.{provider}.com/v1/"):
        monkeypatch.setenv(variable, own)
        opened_at = open_provider(spec)
        assert opened_at is not None
        opened_at.close()


@pytest.mark.parametrize("way", ["pieces", "escapes", "arguments"])
def test_an_agent_gets_no_answer_that_holds_the_key_once_decoded(way: str) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in CANARY)
    if way == "pieces":
        choices = [{"index": 0, "delta": {"content": part}} for part in (CANARY[:9], CANARY[9:])]
        choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
        chunks = [json.dumps({"model": "m", "choices": [choice]}) for choice in choices]
        body = "".join(f"data: {chunk}\n\n" for chunk in (*chunks, "[DONE]"))
    elif way == "escapes":
        body = json.dumps(chat_answer(message={"content": "MARKED"})).replace("MARKED", escaped)
    else:
        call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": f'{{"command": "{escaped}"}}'}}
        body = json.dumps(chat_answer(message={"content": None, "tool_calls": [call]}))
    assert CANARY not in body
    request = {"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": way == "pieces"}
    with wire_server(Reply(body=body.encode())) as server:
        client = opened(server, "openai")
        assert isinstance(client, SdkProvider)
        with pytest.raises(ProviderError, match="holds the API key"):
            client.forward("chat", request, {})
        client.close()


@pytest.mark.parametrize("protocol", ["chat", "responses"])
def test_tokens_that_openai_writes_to_a_cache_cost_what_the_price_says(protocol: str) -> None:
    total, output = ("prompt", "completion") if protocol == "chat" else ("input", "output")
    details = {"cached_tokens": 0, "cache_write_tokens": 99_000}
    usage = {f"{total}_tokens": 100_000, f"{output}_tokens": 10, f"{total}_tokens_details": details}
    items = [{"type": "message", "content": [{"type": "output_text", "text": "Hello."}]}]
    whole = {"status": "completed", "model": "local-model", "output": items, "usage": usage}
    with wire_server(as_json(chat_answer(usage=usage) if protocol == "chat" else whole)) as server:
        done = ask(server, "openai", protocol=protocol)
    prices = Prices(input=Decimal(5), output=Decimal(30), cache_read=Decimal("0.5"))
    assert cost(done.usage, prices) is None, "what writing costs is not known"
    prices = prices.model_copy(update={"cache_write": Decimal("6.25")})
    assert cost(done.usage, prices) == Decimal("0.62405")


BLOCKS = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]
READ = {"cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}
CACHED = {"prompt_tokens_details": {"cached_tokens": 64}}


@pytest.mark.parametrize(
    ("provider", "usage", "expected"),
    [
        ("openai", {"prompt_tokens": 100, "completion_tokens": 7, **CACHED}, (100, 7, 64)),
        ("openai", None, (None, None, None)),
        ("openai", "many", (None, None, None)),
        ("openai", {}, (None, None, None)),
        ("openai", {"prompt_tokens": 20, "completion_tokens": 151, "total_tokens": 553}, (20, 533, None)),
        ("openai", {"prompt_tokens": -5, "completion_tokens": 3}, (None, 3, None)),
        ("openai", {"prompt_tokens": 1e30, "completion_tokens": 10**12}, (None, None, None)),
        ("openai", {"prompt_tokens": True, "completion_tokens": "3"}, (None, None, None)),
        ("openai", {"prompt_tokens": 5, "completion_tokens": 3, **CACHED}, (None, 3, None)),
        ("openai", {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": None}, (5, 3, None)),
        ("openai", {"prompt_tokens": 0, "completion_tokens": 3, "total_tokens": 3}, (None, 3, None)),
        ("openai", {"prompt_tokens": 12, "completion_tokens": 0, "total_tokens": 12}, (12, None, None)),
        ("anthropic", {"input_tokens": 10, "output_tokens": 7, **READ}, (100, 7, 60)),
        ("anthropic", None, (None, None, None)),
        ("anthropic", {"input_tokens": -1, "output_tokens": 2}, (None, 2, None)),
        ("anthropic", {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": -3}, (None, 2, None)),
        ("anthropic", {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": None}, (1, 2, 0)),
        ("anthropic", {"input_tokens": 0, "output_tokens": 3}, (None, 3, None)),
        ("anthropic", {"input_tokens": 12, "output_tokens": 0}, (12, None, 0)),
    ],
)
def test_an_answers_text_and_usage_and_absurd_usage_is_unknown(
    provider: str, usage: object, expected: tuple[int | None, ...]
) -> None:
    content = {"content": BLOCKS} if provider == "anthropic" else {}
    with wire_server(as_json(answer_of(provider, usage=usage, **content))) as server:
        done = ask(server, provider)
    assert (done.text, done.stop_reason, done.model, done.tool_calls) == ("Hello.", "stop", "local-model", ())
    assert done.seconds > 0
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.cached_tokens) == expected


CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
USE = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a"}}


@pytest.mark.parametrize(
    ("provider", "reason", "message", "stop"),
    [
        ("openai", "length", {}, "length"),
        ("openai", "content_filter", {"content": None}, "content_filter"),
        ("openai", "content_filter: SAFETY", {"content": "Hel"}, "content_filter"),
        ("openai", "function_call_filter: MALFORMED_FUNCTION_CALL", {"content": None}, "stop"),
        ("openai", "stop", {"content": None, "refusal": "No."}, "refusal"),
        ("openai", "tool_calls", {"content": None, "tool_calls": [CALL]}, "tool_calls"),
        ("openai", "stop", {"tool_calls": [CALL]}, "tool_calls"),
        ("openai", "length", {"tool_calls": [CALL]}, "length"),
        ("openai", None, {}, "stop"),
        ("openai", "stop", {"content": None}, "stop"),
        ("anthropic", "end_turn", {}, "stop"),
        ("anthropic", "stop_sequence", {}, "stop"),
        ("anthropic", "max_tokens", {}, "length"),
        ("anthropic", "model_context_window_exceeded", {}, "context_overflow"),
        ("anthropic", "refusal", {}, "refusal"),
        ("anthropic", "tool_use", {"content": [USE]}, "tool_calls"),
    ],
)
def test_stop_reasons(provider: str, reason: str | None, message: dict[str, Any], stop: str) -> None:
    chat = chat_answer(message=message, choice={"finish_reason": reason})
    answer = chat if provider == "openai" else messages_answer(stop_reason=reason, **message)
    with wire_server(as_json(answer)) as server:
        done = ask(server, provider)
    calls = "tool_calls" in message or ("content" in message and provider == "anthropic")
    assert done.stop_reason == stop
    assert done.tool_calls == (CONVERSATION[2].tool_calls[:1] if calls else ())


def test_a_filter_of_gemini_names_its_reason_and_leaves_the_message_out() -> None:
    answer = {**chat_answer(), "choices": [{"index": 0, "finish_reason": "content_filter: RECITATION"}]}
    with wire_server(as_json(answer)) as server:
        done = ask(server, "openai")
    assert (done.stop_reason, done.text, done.usage.input_tokens) == ("content_filter", "RECITATION", 12)


@pytest.mark.parametrize(("tokens", "stop"), [(76, "stop"), (77, "length"), (78, "length")])
def test_an_answer_that_fills_its_limit_is_truncated_whatever_the_server_says(tokens: int, stop: str) -> None:
    answers = {
        "openai": chat_answer(usage={"prompt_tokens": 9, "completion_tokens": tokens}),
        "anthropic": messages_answer(usage={"input_tokens": 9, "output_tokens": tokens}),
    }
    for provider, answer in answers.items():
        with wire_server(as_json(answer)) as server:
            assert ask(server, provider, sampling=Sampling(max_output_tokens=77)).stop_reason == stop


def test_odd_tool_calls_become_calls_that_can_be_answered() -> None:
    calls = [
        {"function": {"name": "read_file", "arguments": None}},
        {"id": "x", "function": {"name": "read_file", "arguments": {"path": "a"}}},
        {"id": "x", "function": {"name": None, "arguments": "{"}},
        {"id": 7, "function": {}},
        {"id": "y", "function": None},
        "nonsense",
        None,
    ]
    with wire_server(as_json(chat_answer(message={"tool_calls": calls}))) as server:
        done = ask(server, "openai")
    assert len({call.id for call in done.tool_calls}) == len(done.tool_calls) == 4
    assert [call.arguments for call in done.tool_calls] == ["{}", '{"path": "a"}', "{", "{}"]
    assert done.stop_reason == "tool_calls"


def test_text_no_encoding_can_carry_is_replaced() -> None:
    body = json.dumps(chat_answer(message={"content": "a\ud800b\0c\U0001f600"})).encode()
    with wire_server(as_json(json.loads(body))) as server:
        server.replies[0].body = body
        text = ask(server, "openai").text
    assert text == "a�b\0c\U0001f600"
    text.encode()


def test_key_echoed_in_an_answer_does_not_reach_the_transcript() -> None:
    calls = [{"id": "c1", "function": {"name": "f", "arguments": f'"{CANARY}"'}}]
    document = chat_answer(message={"content": f"your key is {CANARY}", "tool_calls": calls}, model=CANARY)
    with wire_server(as_json(document)) as server:
        done = ask(server, "openai")
    assert CANARY not in done.model_dump_json()
    used = {
        "id": "c1",
        "function": {"name": "read_file", "arguments": "{}"},
        "extra_content": {"google": {"a": CANARY}},
    }
    answer = chat_answer(message={"content": None, "tool_calls": [used]}, choice={"finish_reason": "tool_calls"})
    with wire_server(as_json(answer)) as server:
        assert CANARY not in repr(ask(server, "openai", tools=(TOOL,)).reasoning), (
            "which a stopped run keeps on the disk"
        )
