"""Anthropic's Messages API through the official SDK.

Wire format: https://docs.anthropic.com/en/api/messages. As for OpenAI, the SDK sends and this module parses.
"""

import json
import re
from typing import Any, Final

from codegate.candidates.answer import SdkProvider, call_model, text_of, token_count, tool_calls_of
from codegate.candidates.chat import Completion, Message, ProblemKey, Sampling, StopReason, ToolSpec, Usage
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.providers import ModelProvider
from codegate.candidates.snapshots import has_date
from codegate.candidates.spec import CandidateSpec
from codegate.errors import UsageError

# From generation 4.6 on an id without a date is itself a pinned version, and no dated form exists:
# https://platform.claude.com/docs/en/about-claude/models/model-ids-and-versions
_VERSION: Final = re.compile(r"claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?")
_DATELESS_SINCE: Final = (4, 6)
_STOP: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "context_overflow",
    "refusal": "refusal",
}


class AnthropicProvider(SdkProvider):
    """A model behind the Messages API; raises UsageError for settings that the API lacks."""

    def __init__(self, spec: CandidateSpec, endpoint: Endpoint) -> None:
        if spec.sampling.seed is not None or (spec.sampling.temperature or 0) > 1:
            raise UsageError(
                f"candidate {spec.label}: Anthropic's API has no seed and no temperature above 1.",
                "Remove `seed` and lower `temperature` in the candidate's sampling.",
            )
        import anthropic  # noqa: PLC0415 - slow to import

        super().__init__(spec, endpoint, anthropic, anthropic.Anthropic, anthropic.AnthropicError)
        # Older SDKs add the token of ANTHROPIC_AUTH_TOKEN by themselves, whatever address they talk to.
        self._client.auth_token = None

    def complete(
        self, key: ProblemKey, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> Completion:
        """Return the model's next message; see ``Provider``."""
        del key
        request: dict[str, Any] = {
            "model": self._spec.model,
            "max_tokens": sampling.output_limit,
            "messages": _turns(messages),
        }
        if system := "\n\n".join(message.text for message in messages if message.role == "system"):
            request["system"] = system
        # Not all versions of the SDK have these as arguments; the API has them for the models that take them.
        chosen = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        if chosen := {name: value for name, value in chosen.items() if value is not None}:
            request["extra_body"] = chosen
        if sampling.stop is not None:
            request["stop_sequences"] = sampling.stop
        if tools:
            request["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in tools
            ]
        create = self._client.messages.with_raw_response.create

        def send() -> bytes:
            # The SDK refuses long answers without streaming unless the call itself names its timeout.
            content: bytes = create(**request, timeout=self._timeout).http_response.content
            return content

        return call_model(self._spec, self._calls, self._faults, send, self._read, lambda _refusal: False)

    def _read(self, content: bytes, seconds: float) -> Completion:
        faults = self._faults
        document = self._document(content)
        blocks = document.get("content")
        if not isinstance(blocks, list):
            raise faults.malformed("it holds no content", content)
        calls = tool_calls_of(
            [
                (block.get("id"), block.get("name"), block.get("input"))
                for block in blocks
                if isinstance(block, dict) and block.get("type") == "tool_use"
            ],
            faults,
        )
        return Completion(
            text=faults.visible(text_of(blocks)),
            tool_calls=calls,
            stop_reason=self._stop("stop_reason", document.get("stop_reason"), _STOP, calls, content),
            usage=_usage(document.get("usage")),
            model=self._model(document),
            seconds=seconds,
        )


def _turns(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return the conversation as alternating turns: tool results are blocks of the user's next turn."""
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
    # Blank text blocks are refused by the API.
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    for call in message.tool_calls:
        try:
            value = json.loads(call.arguments)
        except (ValueError, RecursionError):
            value = None
        blocks.append(
            {
                "type": "tool_use",
                "id": call.id,
                "name": call.name,
                "input": value if isinstance(value, dict) else {},
            }
        )
    return blocks


def _usage(raw: object) -> Usage:
    """Return the usage; the API's ``input_tokens`` excludes tokens read from or written to the cache."""
    if not isinstance(raw, dict):
        return Usage()
    fresh = token_count(raw.get("input_tokens"))
    read = token_count(raw.get("cache_read_input_tokens") or 0)
    written = token_count(raw.get("cache_creation_input_tokens") or 0)
    known = fresh is not None and read is not None and written is not None
    return Usage(
        input_tokens=fresh + read + written if fresh is not None and read is not None and written is not None else None,
        output_tokens=token_count(raw.get("output_tokens")),
        cached_tokens=read if known else None,
    )


def _is_pinned(model: str) -> bool:
    version = _VERSION.fullmatch(model)
    return has_date(model) or (version is not None and (int(version[1]), int(version[2] or 0)) >= _DATELESS_SINCE)


PROVIDER: Final = ModelProvider(
    address="https://api.anthropic.com",
    host="api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    example="claude-haiku-4-5-20251001",
    is_pinned=_is_pinned,
    connect=AnthropicProvider,
)
