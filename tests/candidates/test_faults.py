"""Every way in which a provider can fail, through the real SDKs: one fault each, and never a key in its text."""

import base64
import email.utils
import gzip
import json
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from codegate.candidates import CandidateSpec, Message, ProblemKey, Provider, ProviderError, Sampling, open_provider
from codegate.candidates.anthropic import AnthropicProvider
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.openai import OpenAIProvider
from tests.candidates.conftest import CANARY
from tests.candidates.test_providers import answer_of, ask, opened
from tests.kit.model_server import Reply, as_json, wire_server

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
KEY = ProblemKey(problem="p", sample=0)
MESSAGES = (Message(role="user", text="?"),)


FaultOf = Callable[[Reply, str], ProviderError]


@pytest.fixture(scope="module")
def fault_of() -> Iterator[FaultOf]:
    """Return how a provider's client fails on a reply; each has one client, which takes longer than a call."""
    clients: dict[str, Provider] = {}

    def fault_of(reply: Reply, provider: str) -> ProviderError:
        server.replies, server.received = [reply], []
        if provider not in clients:
            clients[provider] = opened(server, provider)
        with pytest.raises(ProviderError) as caught:
            clients[provider].complete(KEY, MESSAGES, (), Sampling())
        assert len(server.received) == 1, "one call is one request"
        return caught.value

    with wire_server() as server:
        yield fault_of
        for client in clients.values():
            client.close()


def error_body(message: str, kind: str = "some_error", code: str | None = None) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, "code": code}}


QUOTA = error_body("You exceeded your current quota.", "insufficient_quota", "insufficient_quota")
LOW = error_body("Your credit balance is too low to access the API.", "invalid_request_error")


@BOTH
@pytest.mark.parametrize(
    ("status", "fault"),
    [
        *((status, "bad_request") for status in (400, 413, 422)),
        *((status, "authentication") for status in (401, 403)),
        (402, "quota"),
        (404, "not_found"),
        *((status, "timeout") for status in (408, 504, 524)),
        (429, "rate_limit"),
        *((status, "overloaded") for status in (409, 500, 502, 503, 529)),
    ],
)
def test_each_status_is_one_fault(fault_of: FaultOf, provider: str, status: int, fault: str) -> None:
    error = fault_of(as_json(error_body("Because."), status), provider)
    assert error.fault == fault
    assert f"status {status}: Because." in str(error)
    assert provider in str(error)
    assert "local-model" in str(error)
    assert error.exit_code == 4
    if fault in {"rate_limit", "bad_request"}:
        out_of_money = fault_of(as_json(QUOTA if status == 429 else LOW, 429 if status == 429 else 400), provider)
        assert out_of_money.fault == "quota", "which no pause and no other request mends"
    error = fault_of(as_json(error_body("a\n::error::b\x1b[31m\u202e" + "z" * 5000), status), provider)
    assert str(error).isprintable()
    assert len(str(error)) < 700


@BOTH
@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("0.5", 0.5, 0.5),
        ("86400", 86400, 86400),
        ("ms", 1.5, 1.5),
        ("-3", 0, 0),
        ("date", 20, 31),
        ("soon", None, None),
        ("nan", None, None),
    ],
)
def test_retry_after(fault_of: FaultOf, provider: str, value: str, low: float | None, high: float) -> None:
    if value == "date":
        value = email.utils.formatdate(time.time() + 30, usegmt=True)
    headers = {"Retry_After": "9", "Retry_After_Ms": "1500"} if value == "ms" else {"Retry_After": value}
    for status in (429, 503):
        waits = fault_of(as_json(error_body("slow down"), status, **headers), provider).retry_after
        assert waits is None if low is None else waits is not None and low <= waits <= high


GARBAGE = {
    "html": b"<html><body>Welcome to the hotel</body></html>",
    "empty": b"",
    "blank": b" \n",
    "cut": b'{"id": "x", "choices": [{"mess',
    "list": b"[]",
    "string": b'"hello"',
    "null": b"null",
    "object": b"{}",
    "bytes": b'{"id": "\xff\xfe"}',
    "deep": b"[" * 200_000 + b"]" * 200_000,
    "digits": b'{"id": ' + b"9" * 10_000 + b"}",
}
NO_MESSAGE: list[tuple[str, dict[str, Any]]] = [
    ("openai", {"choices": None}),
    ("openai", {"choices": []}),
    ("openai", {"choices": [None]}),
    ("openai", {"choices": [{}]}),
    ("openai", {"choices": [{"message": None, "finish_reason": "stop"}]}),
    ("openai", {"choices": {"0": {}}}),
    ("openai", {"choice": {"finish_reason": "error"}}),
    ("openai", {"choice": {"finish_reason": ["stop"]}}),
    ("anthropic", {"content": None}),
    ("anthropic", {"content": "Hello."}),
    ("anthropic", {"stop_reason": None}),
    ("anthropic", {"stop_reason": "novel"}),
    ("anthropic", {"stop_reason": {}}),
]


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        *((provider, garbage) for provider in ("openai", "anthropic") for garbage in GARBAGE.values()),
        *((provider, json.dumps(answer_of(provider, **changes)).encode()) for provider, changes in NO_MESSAGE),
    ],
    ids=[*(f"{p}-{name}" for p in ("openai", "anthropic") for name in GARBAGE), *(str(one) for one in NO_MESSAGE)],
)
def test_garbage_with_status_200(fault_of: FaultOf, provider: str, body: bytes) -> None:
    error = fault_of(Reply(body, 200, {"Content-Type": "application/json"}), provider)
    assert error.fault == "malformed"
    assert "malformed answer" in str(error)
    assert len(str(error)) < 700


@BOTH
@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("overloaded_error", "overloaded"),
        ("insufficient_quota", "quota"),
        ("rate_limit_error", "rate_limit"),
        ("strange", "malformed"),
    ],
)
def test_error_object_with_status_200(fault_of: FaultOf, provider: str, kind: str, fault: str) -> None:
    error = fault_of(as_json(error_body("model unloaded", kind)), provider)
    assert error.fault == fault
    assert "model unloaded" in str(error)
    assert fault_of(as_json({"error": "Model is not loaded"}), provider).fault == "malformed"


@BOTH
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(fault_of: FaultOf, provider: str, status: int) -> None:
    with wire_server(as_json(answer_of(provider))) as other:
        error = fault_of(as_json({}, status, Location=f"{other.url}/v1/elsewhere"), provider)
        assert other.received == []
    assert error.fault == "not_found"
    assert "elsewhere" in str(error)


@BOTH
def test_connection_refused(provider: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        spec = CandidateSpec(provider=provider, model="m", base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        client = open_provider(spec)
        assert client is not None
        with pytest.raises(ProviderError, match="connection failed") as caught:
            client.complete(KEY, MESSAGES, (), Sampling())
        client.close()
    assert caught.value.fault == "connection"


@BOTH
@pytest.mark.parametrize(
    "raw",
    [b"", b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"id": ', b"not http at all\r\n\r\n"],
    ids=["closed", "cut", "not http"],
)
def test_connection_cut(fault_of: FaultOf, provider: str, raw: bytes) -> None:
    def write(stream: Any) -> None:
        stream.write(raw)

    assert fault_of(Reply(raw=write), provider).fault == "connection"


def drip(head: bytes) -> Callable[[threading.Event], Callable[[Any], None]]:
    """Return an answer that begins with ``head`` and has one more byte again and again; without it, none comes."""

    def write(stop: threading.Event, stream: Any) -> None:
        stream.write(head)
        while not stop.wait(0.1):
            stream.write(b"a" if head else b"")
            stream.flush()

    return lambda stop: partial(write, stop)


@BOTH
@pytest.mark.parametrize(
    "behaviour",
    [drip(b""), drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"), drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")],
)
def test_deadline_is_wall_clock(provider: str, behaviour: Callable[[threading.Event], Callable[[Any], None]]) -> None:
    with wire_server(Reply()) as server:
        server.replies = [Reply(raw=behaviour(server.released))]
        client = opened(server, provider, timeout_seconds=0.7)
        with pytest.raises(ProviderError, match=r"no answer within 0\.7 s") as caught:
            client.complete(KEY, MESSAGES, (), Sampling())
        assert caught.value.fault == "timeout"
        # The call's own thread ends with it, although the server still drips.
        assert not server.released.is_set()
        until = time.monotonic() + 60
        while any(thread.name == "codegate-call" for thread in threading.enumerate()):
            assert time.monotonic() < until
            time.sleep(0.01)
        client.close()


def test_close_cuts_the_call_under_way() -> None:
    with wire_server(Reply()) as server:
        server.replies = [Reply(raw=drip(b"")(server.released))]
        client = opened(server, "openai", timeout_seconds=20)
        threading.Timer(0.3, client.close).start()
        with pytest.raises(ProviderError) as caught:
            client.complete(KEY, MESSAGES, (), Sampling())
        assert caught.value.fault == "connection"  # a call that nobody cuts ends as a timeout
        with pytest.raises(ProviderError):
            client.complete(KEY, MESSAGES, (), Sampling())


@BOTH
def test_answers_over_the_cap(fault_of: FaultOf, provider: str) -> None:
    sent = 0

    def flood(stream: Any) -> None:
        nonlocal sent
        stream.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        for _ in range(64):
            stream.write(b" " * (1 << 20))
            sent += 1

    error = fault_of(Reply(raw=flood), provider)
    assert error.fault == "malformed"
    assert "larger than 16 MiB" in str(error)
    assert sent < 40

    # A compressed answer is measured as it is after decompression.
    bomb = gzip.compress(b" " * (64 << 20))
    reply = Reply(bomb, 200, {"Content-Type": "application/json", "Content-Encoding": "gzip"})
    assert "larger than 16 MiB" in str(fault_of(reply, provider))
    small = gzip.compress(json.dumps(answer_of(provider)).encode())
    with wire_server(Reply(small, 200, {"Content-Type": "application/json", "Content-Encoding": "gzip"})) as server:
        assert ask(server, provider).text == "Hello."
    broken = Reply(small[:20] + b"xx", 200, {"Content-Type": "application/json", "Content-Encoding": "gzip"})
    assert fault_of(broken, provider).fault == "malformed"


def echoes(key: str) -> list[str]:
    raw = key.encode()
    return [
        key,
        f"Authorization: Bearer {key}",
        key[:12],
        key[-9:],
        raw.hex(),
        *[base64.b64encode(b"x" * shift + raw).decode() for shift in range(3)],
        ("y" * 290) + key,
    ]


@BOTH
@pytest.mark.parametrize("status", [200, 307, 401, 429, 500])
def test_no_key_in_any_error(provider: str, status: int) -> None:
    replies = [
        Reply(body, status, {"Location": f"https://x.example/{echo}"})
        for echo in echoes(CANARY)
        for body in (json.dumps(error_body(f"Incorrect API key provided: {echo}")).encode(), f"<b>{echo}</b>".encode())
    ]
    parts = {CANARY[start : start + 8] for start in range(len(CANARY) - 7)}
    parts |= {CANARY.encode().hex()[:16], base64.b64encode(CANARY.encode()).decode()[:16]}
    with wire_server(*replies) as server:
        client = opened(server, provider)
        assert CANARY not in repr(client) + repr(vars(client)["_faults"])
        for _ in replies:
            with pytest.raises(ProviderError) as caught:
                client.complete(KEY, MESSAGES, (), Sampling())
            error = caught.value
            told = "".join(traceback.format_exception(error)) + repr(error) + str(error.args)
            assert not [part for part in parts if part in told]
        client.close()
        assert len(server.received) == len(replies)


@BOTH
def test_pinned_model_must_be_the_one_that_answers(provider: str) -> None:
    pin = {"openai": "gpt-4o-2024-08-06", "anthropic": "claude-test-1-20990101"}[provider]
    kind: type[OpenAIProvider | AnthropicProvider] = OpenAIProvider if provider == "openai" else AnthropicProvider
    replies = [as_json(answer_of(provider, model=model)) for model in (pin, "another-2025-01-01", None)]
    with wire_server(*replies) as server:
        # What holds for the provider's own address, played by a server on this machine.
        endpoint = Endpoint(f"{server.url}/v1", CANARY, "OPENAI_API_KEY", official=True, direct=True)
        client: Provider = kind(CandidateSpec(provider=provider, model=pin), endpoint)
        assert client.complete(KEY, MESSAGES, (), Sampling()).model == pin
        for _ in replies[1:]:
            with pytest.raises(ProviderError) as caught:
                client.complete(KEY, MESSAGES, (), Sampling())
            assert caught.value.fault == "model_mismatch"
        client.close()
        if provider == "openai":
            assert "max_completion_tokens" in server.received[0].body
            assert "max_tokens" not in server.received[0].body
