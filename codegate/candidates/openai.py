"""Models behind OpenAI's APIs, through the official SDK.

Many servers other than OpenAI's speak these APIs. The SDK builds and sends the request; ``protocols`` parses the
answer, since the SDK accepts any JSON and fails later on missing fields.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from codegate.candidates.conversation import Message, ProviderError, Sampling, ToolSpec
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.protocols import PROTOCOLS, ModelProtocol
from codegate.candidates.protocols.chat import EXTRA
from codegate.candidates.providers import EXAMPLE_CANDIDATE, ModelProvider
from codegate.candidates.sdk import SdkProvider
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError

_LIMIT_NAMES: Final = PROTOCOLS["chat"].limits


class OpenAIProvider(SdkProvider):
    """A model behind Chat Completions or Responses.

    Raises:
        UsageError: the candidate has settings that the API lacks.
    """

    sdk, client, error, protocol = "openai", "OpenAI", "OpenAIError", "chat"

    def __init__(self, spec: CandidateSpec, endpoint: Endpoint) -> None:
        lacking: dict[str, object] = {"thinking": spec.sampling.thinking}
        if spec.protocol == "responses":
            lacking |= {"seed": spec.sampling.seed, "stop": spec.sampling.stop}
        if named := [name for name, value in lacking.items() if value is not None]:
            raise UsageError(
                f"candidate {spec.label}: the API has no `{named[0]}`.",
                "Remove it from the candidate's sampling; reasoning is set by `effort`.",
            )
        super().__init__(spec, endpoint)
        self._official = endpoint.official
        # Other servers accept ``max_tokens``; OpenAI's newer models accept only ``max_completion_tokens``.
        self._only_newer_name = set[str]()  # models that accept only ``max_completion_tokens``

    @override
    def _request(
        self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> dict[str, Any]:
        functions = [tool.model_dump() for tool in tools]
        if self._protocol.name == "responses":
            request: dict[str, Any] = {"input": [item for each in messages for item in _items(each)], "store": False}
            if tools:
                request["tools"] = [{"type": "function", **function} for function in functions]
                if self._official:
                    request["include"] = ["reasoning.encrypted_content"]
            return request
        request = {"messages": [_message(message) for message in messages]}
        if tools:
            request["tools"] = [{"type": "function", "function": function} for function in functions]
        if sampling.stop is not None:
            request["stop"] = sampling.stop
        return request

    @override
    def _spelled(self, request: dict[str, Any]) -> dict[str, Any]:
        # The agent cannot know which name of the output limit the server accepts.
        newer = self._official or request["model"] in self._only_newer_name
        limit = next((name for name in _LIMIT_NAMES if name in request), None)
        known = "max_completion_tokens" if newer else "max_tokens"
        return {known if name == limit else name: value for name, value in request.items()}

    @override
    def _drop_refused_fields(
        self, fault: ProviderError, protocol: ModelProtocol, request: dict[str, Any], sampling: Sampling
    ) -> bool:
        if "max_tokens" in request and re.search(r"[Uu]se\W+max_completion_tokens", fault.cause):
            self._only_newer_name.add(request["model"])
            request["max_completion_tokens"] = request.pop("max_tokens")
            return True
        return super()._drop_refused_fields(fault, protocol, request, sampling)

    @override
    def _send(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        resource = self._client.responses if protocol == "responses" else self._client.chat.completions
        said = "input" if protocol == "responses" else "messages"
        required = {"model": request["model"], said: request.get(said, [])}
        create = resource.with_raw_response.create
        return create(**required, extra_body=dict(request), extra_headers=dict(headers)).http_response


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text}
    result: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        extra = {item["call"]: {EXTRA: item[EXTRA]} for item in message.reasoning}
        result["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            | extra.get(n, {})
            for n, call in enumerate(message.tool_calls)
        ]
    return result


def _items(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id or "", "output": message.text}]
    said = [{"role": message.role, "content": message.text}] if message.text or not message.tool_calls else []
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return [*message.reasoning, *said, *calls]


PROVIDER: Final = ModelProvider(
    address="https://api.openai.com/v1",
    hosts=("api.openai.com", "*.api.openai.com"),
    key_variable="OPENAI_API_KEY",
    example=EXAMPLE_CANDIDATE.partition(":")[2],
    connect=OpenAIProvider,
    protocols=("chat", "responses"),
    address_variable="OPENAI_BASE_URL",
)
