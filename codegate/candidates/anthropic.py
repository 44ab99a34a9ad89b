"""Anthropic's models through the official SDK.

The SDK sends the request; ``protocols`` parses the answer.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from typing_extensions import override

from codegate.candidates.conversation import Message, Sampling, ToolSpec
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.protocols.messages import as_events
from codegate.candidates.providers import ModelProvider
from codegate.candidates.sdk import ForwardedAnswer, SdkProvider
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError


class AnthropicProvider(SdkProvider):
    """A model behind the Messages API.

    Attributes:
        body: fields that are added to every request.

    Raises:
        UsageError: the candidate has settings that the API lacks.
    """

    sdk, client, error, protocol = "anthropic", "Anthropic", "AnthropicError", "messages"
    body: ClassVar[Mapping[str, str]] = {}
    list_query = {"limit": "1000"}

    def __init__(self, spec: CandidateSpec, endpoint: Endpoint) -> None:
        if spec.sampling.seed is not None or (spec.sampling.temperature or 0) > 1:
            raise UsageError(
                f"candidate {spec.label}: Anthropic's API has no seed and no temperature above 1.",
                "Remove `seed` and lower `temperature` in the candidate's sampling.",
            )
        super().__init__(spec, endpoint)
        # Older SDKs would send the token of ANTHROPIC_AUTH_TOKEN to any address.
        self._client.auth_token = None

    @override
    def _request(
        self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> dict[str, Any]:
        request: dict[str, Any] = {"messages": _turns(messages)}
        if system := "\n\n".join(message.text for message in messages if message.role == "system"):
            request["system"] = system
        if sampling.stop is not None:
            request["stop_sequences"] = sampling.stop
        if tools:
            request["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
            ]
            # The next call repeats this conversation, so it is cached, unless only cache writes lack a price.
            if self._spec.prices is None or self._spec.prices.cache_write is not None:
                request["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return request

    @override
    def _send(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        del protocol
        named = {name: request[name] for name in ("model", "max_tokens", "messages") if name in request}
        # The other fields go into ``extra_body``, because some versions of the SDK lack arguments for them.
        rest = {**{name: value for name, value in request.items() if name not in named}, **self.body}
        create = self._client.messages.with_raw_response.create
        # The SDK refuses long answers without streaming unless the call itself names its timeout.
        options = {"extra_headers": dict(headers), "timeout": self._timeout}
        return create(**{"messages": [], **named}, extra_body=rest, **options).http_response


class UnstreamedProvider(AnthropicProvider):
    """An Anthropic model in a cloud with another stream format.

    Answers are requested whole. An agent that asked for a stream gets its answer as events.
    """

    @override
    def forward(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> ForwardedAnswer:
        whole = {name: value for name, value in request.items() if name != "stream"}
        answer = super().forward(protocol, whole, headers)
        if not request.get("stream") or not answer.content:
            return answer
        return replace(answer, content=as_events(json.loads(answer.content)), streamed=True)


def _turns(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return messages with alternating roles, as the API wants them.

    Tool results are part of the user's messages.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": message.text}]
    # The API refuses blank text blocks.
    blocks = [*message.reasoning, *([{"type": "text", "text": message.text}] if message.text.strip() else [])]
    for call in message.tool_calls:
        try:
            value = json.loads(call.arguments)
        except (ValueError, RecursionError):
            value = None
        given = value if isinstance(value, dict) else {}
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": given})
    return blocks


PROVIDER: Final = ModelProvider(
    address="https://api.anthropic.com",
    hosts=("api.anthropic.com", "*.api.anthropic.com"),
    key_variable="ANTHROPIC_API_KEY",
    example="claude-sonnet-5-5",
    connect=AnthropicProvider,
    protocols=("messages",),
    address_variable="ANTHROPIC_BASE_URL",
    not_keys={
        "CLAUDE_CODE_OAUTH_TOKEN": "a subscription's token is for requests of Claude Code alone, and the gateway "
        "writes each request anew",
    },
)
