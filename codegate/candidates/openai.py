"""Models behind OpenAI's APIs, through the official SDK.

Many servers other than OpenAI's speak these APIs. The SDK builds and sends the request; ``protocols`` parses the
answer, since the SDK accepts any JSON and fails later on missing fields.
"""

from collections.abc import Mapping
from typing import Any, Final

from codegate.candidates.conversation import Completion, Message, ProblemKey, ProviderError, Sampling, ToolSpec
from codegate.candidates.declined import blames_model_maximum, blames_output_limit, wants_newer_limit
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.protocols import PROTOCOLS
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

    def __init__(self, spec: CandidateSpec, endpoint: Endpoint) -> None:
        import openai  # noqa: PLC0415 - slow to import

        lacking: dict[str, object] = {"thinking": spec.sampling.thinking}
        if spec.protocol == "responses":
            lacking |= {"seed": spec.sampling.seed, "stop": spec.sampling.stop}
        if named := [name for name, value in lacking.items() if value is not None]:
            raise UsageError(
                f"candidate {spec.label}: the API has no `{named[0]}`.",
                "Remove it from the candidate's sampling; reasoning is set by `effort`.",
            )
        super().__init__(spec, endpoint, openai, openai.OpenAI, openai.OpenAIError)
        self._official = endpoint.official
        # Servers other than OpenAI's know the older name of the limit; OpenAI's newer models only the newer.
        self._limit_name = "max_completion_tokens" if endpoint.official else "max_tokens"
        self._sends_default_limit = True

    def complete(
        self, key: ProblemKey, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> Completion:
        """Return the model's next message."""
        del key
        name = self._spec.protocol or "chat"
        limits = PROTOCOLS[name].limits
        request = {"model": self._spec.model} | (
            self._response_request(messages, tools) if name == "responses" else _chat_request(messages, tools)
        )
        request |= PROTOCOLS[name].chosen(sampling, {})
        if sampling.stop is not None:
            request["stop"] = sampling.stop
        if sampling.max_output_tokens is not None or self._sends_default_limit:
            request[self._limit_name if name == "chat" else limits[0]] = sampling.output_limit

        def send() -> Any:
            return self._send(name, request, {})

        def relax(fault: ProviderError) -> bool:
            refusal = fault.cause
            limit_name = next((limit for limit in limits if limit in request), None)
            if limit_name == "max_tokens" and wants_newer_limit(refusal):
                self._limit_name = "max_completion_tokens"
                request[self._limit_name] = request.pop(limit_name)
                return True
            # The user did not choose the default. Without it the model's own, lower maximum holds.
            if limit_name is None or sampling.max_output_tokens is not None or not blames_output_limit(refusal):
                return False
            del request[limit_name]
            if blames_model_maximum(refusal):
                self._sends_default_limit = False
            return True

        return self._answer(PROTOCOLS[name], request, send, relax)

    def _response_request(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
        request: dict[str, Any] = {"input": [item for message in messages for item in _items(message)], "store": False}
        if tools:
            request["tools"] = [{"type": "function", **tool.model_dump()} for tool in tools]
            if self._official:
                request["include"] = ["reasoning.encrypted_content"]
        return request

    def _send(self, protocol: str, request: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        resource = self._client.responses if protocol == "responses" else self._client.chat.completions
        said = "input" if protocol == "responses" else "messages"
        required = {"model": request["model"], said: request.get(said, [])}
        # Which name of the limit the server knows is not the agent's to know.
        limit = next((name for name in _LIMIT_NAMES if name in request), None)
        body = {self._limit_name if name == limit else name: value for name, value in request.items()}
        create = resource.with_raw_response.create
        return create(**required, extra_body=body, extra_headers=dict(headers)).http_response


def _chat_request(messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
    request: dict[str, Any] = {"messages": [_message(message) for message in messages]}
    if tools:
        request["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in tools]
    return request


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
)
