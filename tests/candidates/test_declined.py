"""Requests that providers decline: the texts are theirs, the server that sends them is on this machine."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from codegate.candidates import NO_USAGE, Message, ProviderError, Sampling, Usage
from codegate.candidates.sdk import SdkProvider
from tests.candidates.test_providers import KEY, ask, opened
from tests.kit.http import Request
from tests.kit.model_server import Reply, WireServer, as_json, chat_answer, wire_server

TOO_LARGE = "max_tokens is too large: 32000. This model supports at most 16384 completion tokens, whereas you provided"
TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
TOGETHER = (
    "This model's maximum context length is 16384 tokens. However, you requested 32000 output tokens and your prompt "
    "contains at least 900 input tokens, for a total of at least 32900 tokens."
)
VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 16384 tokens "
    "and your request has 900 input tokens (32000 > 16384 - 900)."
)
NEWER = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def openai_error(message: str, param: str | None = None, code: str | None = None, status: int = 400) -> Reply:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return as_json({"error": error}, status)


def anthropic_error(message: str, kind: str = "invalid_request_error", status: int = 400) -> Reply:
    return as_json({"type": "error", "error": {"type": kind, "message": message}}, status)


LIMIT = "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for x"
THINKING = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'


@pytest.mark.parametrize(
    ("provider", "reply", "key"),
    [
        ("openai", openai_error("'temperature' does not support 0.", "temperature"), "sampling.temperature"),
        ("openai", openai_error("Unsupported parameter: 'seed' is not supported.", "seed"), "sampling.seed"),
        ("openai", openai_error(TOO_LARGE, "max_tokens", "invalid_value"), "sampling.max_output_tokens"),
        ("openai", as_json({"object": "error", "message": VLLM, "code": 400}, 400), "sampling.max_output_tokens"),
        ("openai", openai_error("Unsupported value: 'reasoning_effort'.", "reasoning.effort"), "sampling.effort"),
        ("openai", openai_error("tools param requires --jinja flag", "tools"), "solver"),
        ("anthropic", anthropic_error("thinking.budget_tokens: Input should be at most 4"), "sampling.thinking"),
        ("anthropic", anthropic_error(LIMIT), "sampling.max_output_tokens"),
        ("anthropic", anthropic_error("`temperature` and `top_p` cannot both be specified."), "sampling.temperature"),
        ("anthropic", anthropic_error(THINKING), "sampling.thinking"),
    ],
)
def test_a_refused_parameter_names_the_key_to_change(provider: str, reply: Reply, key: str) -> None:
    with wire_server(reply) as server, pytest.raises(ProviderError) as caught:
        ask(server, provider, sampling=Sampling(max_output_tokens=32_000))
    assert caught.value.fault == "bad_request"
    assert f"Change or remove `{key}` of the candidate in codegate.yml." in str(caught.value)
    assert len(server.received) == 1


@pytest.mark.parametrize(
    ("status", "text", "remedy"),
    [
        (401, "No.", "api_key_env"),
        (404, "No.", "`model` and `base_url`"),
        (404, "This model is only supported in v1/responses.", "Set `protocol: responses`"),
        (400, "The model is sorry about the context.", None),
    ],
)
def test_a_refusal_names_what_to_change_in_the_configuration(status: int, text: str, remedy: str | None) -> None:
    with wire_server(openai_error(text, status=status)) as server, pytest.raises(ProviderError) as caught:
        ask(server, "openai")
    assert remedy in caught.value.remedy if remedy else caught.value.remedy == ""


def test_an_address_without_a_path_is_named_where_nothing_is_found() -> None:
    with wire_server(openai_error("File Not Found", status=404)) as server, pytest.raises(ProviderError) as caught:
        ask(server, "openai", base_url=server.url)
    assert caught.value.remedy.startswith("The base URL has no path: most servers want /v1 at its end.")


N_CTX = {
    "code": 400, "message": "the request exceeds the available context size, try increasing it",
    "type": "exceed_context_size_error", "n_prompt_tokens": 1407, "n_ctx": 256,
}  # fmt: skip
BESIDE = "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000"


@pytest.mark.parametrize(
    ("provider", "reply", "stop"),
    [
        ("openai", openai_error(TOO_LONG, "messages", "context_length_exceeded"), "context_overflow"),
        ("azure", openai_error(TOO_LONG, None, "context_length_exceeded"), "context_overflow"),
        ("openai", as_json({"error": N_CTX}, 400), "context_overflow"),
        ("anthropic", anthropic_error("prompt is too long: 208310 tokens > 200000 maximum"), "context_overflow"),
        ("anthropic", anthropic_error(BESIDE), "context_overflow"),
        ("anthropic", anthropic_error("Request too large.", "request_too_large", 413), "context_overflow"),
        ("openai", openai_error("The response was filtered.", "prompt", "content_filter"), "content_filter"),
        ("openai", openai_error("Invalid prompt: your prompt was flagged.", None, "invalid_prompt"), "content_filter"),
    ],
)
def test_a_prompt_that_is_declined_is_an_answer_without_a_patch(provider: str, reply: Reply, stop: str) -> None:
    with wire_server(reply) as server:
        done = ask(server, provider)
        assert len(server.received) == 1, "neither repeated nor sent without its limit"
    assert done.stop_reason == stop
    assert f"status {reply.status}" in done.text
    charged = stop == "content_filter" or provider == "azure"
    assert done.usage == (Usage() if charged else NO_USAGE), "a filter has read the prompt, and Azure charges for it"


def limits(replies: tuple[Reply, ...], calls: int = 1, limit: int | None = None) -> list[Any]:
    """Return the output limit of each request that ``calls`` calls of one provider make."""
    with wire_server(*replies) as server:
        client = opened(server, "openai")
        for _ in range(calls):
            client.complete(KEY, (Message(role="user", text="?"),), (), Sampling(max_output_tokens=limit))
        client.close()
        return [
            {name: request.body[name] for name in request.body if name.startswith("max_")}
            for request in server.received
        ]


OK = as_json(chat_answer())
OLD = {"max_tokens": 32_000}


@pytest.mark.parametrize(
    "text",
    [
        TOO_LARGE,
        "`max_tokens` must be less than or equal to `8192`",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    ],
)
def test_a_default_limit_above_the_models_own_is_not_sent_again(text: str) -> None:
    assert limits((openai_error(text, "max_tokens"), OK), calls=2) == [OLD, {}, {}]


def test_a_limit_that_is_declined_for_another_reason_is_never_left_out() -> None:
    with pytest.raises(ProviderError, match=r"`sampling\.max_output_tokens`"):
        limits((openai_error("Unsupported parameter: 'max_tokens'.", "max_tokens"), OK))


@pytest.mark.parametrize("text", [VLLM, TOGETHER])
def test_a_default_limit_that_does_not_fit_beside_the_prompt_is_left_out_of_that_request(text: str) -> None:
    assert limits((openai_error(text), OK, OK), calls=2) == [OLD, {}, OLD]


def test_servers_that_know_only_the_newer_name_of_the_limit_get_that() -> None:
    new = {"max_completion_tokens": 77}
    assert limits((openai_error(NEWER, "max_tokens"), OK), calls=2, limit=77) == [{"max_tokens": 77}, new, new]
    replies = (openai_error(NEWER), openai_error(TOO_LARGE.replace("max_tokens", "max_completion_tokens")), OK)
    assert limits(replies) == [OLD, {"max_completion_tokens": 32_000}, {}]


class _TwoNames(WireServer):
    """Its model ``new`` takes only the newer name of the limit, others only the older."""

    def __init__(self) -> None:
        self.together = threading.Barrier(2)
        super().__init__()

    def _reply(self, request: Request) -> Reply:
        new = request.body["model"] == "new"
        if new and "max_tokens" in request.body:
            self.together.wait(20)
            return openai_error(NEWER, "max_tokens")
        return OK if new or "max_tokens" in request.body else openai_error("Use 'max_tokens'.")


def test_calls_at_the_same_time_and_each_model_find_their_name_of_the_limit() -> None:
    server = _TwoNames()
    client = opened(server, "openai")
    assert isinstance(client, SdkProvider)

    def say(model: str) -> str:
        request = {"model": model, "messages": [{"role": "user", "content": "?"}], "max_tokens": 9}
        return client.forward("chat", request, {}).completion.text

    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(say, ["new", "new"])] == ["Hello.", "Hello."]
    assert [say("old"), say("new")] == ["Hello.", "Hello."]
    client.close()
    server.close()
