"""Anthropic's Messages: https://docs.anthropic.com/en/api/messages."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from codegate.candidates.answer import AnswerReader, block_text, token_count, token_detail
from codegate.candidates.conversation import Completion, Message, Sampling, StopReason, ToolCall, Usage
from codegate.candidates.protocols.contract import (
    CleanedRequest,
    ModelProtocol,
    as_text,
    check_parts,
    checked_objects,
    effort_in,
    nested_objects,
    objects_in,
    text_of_parts,
)

_STOP: Final[dict[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "context_overflow",
    "refusal": "refusal",
}
_TEXTS: Final = frozenset({"text", "tool_reference"})
_BLOCKS: Final = _TEXTS | {"tool_use", "tool_result", "search_result", "thinking", "redacted_thinking"}
_LEAST_THINKING: Final = 1024
"""Smallest thinking budget, in tokens, that the API accepts."""
_AT_CLIENT: Final = re.compile(r"|custom|(?:bash|text_editor|memory)_[0-9]{1,20}")
_PIECES: Final = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class Messages(ModelProtocol):
    """The Messages API, of Anthropic and clouds with its models."""

    name = "messages"
    path = "/messages"
    conversation_fields = ("system", "messages")
    limits = ("max_tokens",)
    limit_required = True
    hosted_fields = ("mcp_servers", "container")
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    fields = frozenset(
        {
            "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "temperature", "top_p",
            "top_k", "stop_sequences", "stream", "output_config", "output_format", "context_management",
        }
    )  # fmt: skip

    def clean(self, request: Mapping[str, Any], model: str, sampling: Sampling) -> CleanedRequest:
        """Return an agent's request with allowed fields and candidate settings.

        The API refuses a thinking budget that is not below the output limit, so the budget is lowered or dropped.
        """
        cleaned = super().clean(request, model, sampling)
        kept = cleaned.request
        if not all(as_text(edit.get("type")).startswith("clear_") for edit in _edits(kept.get("context_management"))):
            del kept["context_management"]  # reported usage lacks the tokens of summaries that the model writes
        for part in nested_objects([kept.get(name) for name in (*self.conversation_fields, "tools")]):
            if isinstance(part.get("cache_control"), dict):
                part["cache_control"] = {"type": "ephemeral"}  # longer caching has another price
        thinking = kept.get("thinking")
        budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
        if isinstance(budget, int) and budget >= kept["max_tokens"]:
            if kept["max_tokens"] > _LEAST_THINKING:
                kept["thinking"] = {**kept["thinking"], "budget_tokens": kept["max_tokens"] - 1}
            else:
                del kept["thinking"]
        return cleaned

    @override
    def clean_conversation(self, kept: dict[str, Any]) -> list[str]:
        check_parts(kept.get("system"), _TEXTS, "system")
        for message in checked_objects(kept.get("messages"), "messages"):
            for block in check_parts(message.get("content"), _BLOCKS, "messages"):
                if block["type"] in {"tool_result", "search_result"}:
                    check_parts(block.get("content"), _TEXTS, "messages")
        return []

    @override
    def chosen(self, sampling: Sampling, request: Mapping[str, Any]) -> dict[str, Any]:
        kept = super().chosen(sampling, request)
        if sampling.effort is not None:
            kept["output_config"] = effort_in(request.get("output_config"), sampling)
        if isinstance(sampling.thinking, int):
            kept["thinking"] = {"type": "enabled", "budget_tokens": sampling.thinking}
        elif sampling.thinking is not None:
            kept["thinking"] = {"type": sampling.thinking}
        return kept

    @override
    def runs_at_client(self, tool: Mapping[str, Any]) -> bool:
        return bool(_AT_CLIENT.fullmatch(as_text(tool.get("type"))))

    @override
    def assemble(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        document: dict[str, Any] = {}
        blocks: dict[object, dict[str, Any]] = {}
        for event in events:
            match event.get("type"):
                case "error":
                    return event
                case "message_start" if isinstance(event.get("message"), dict):
                    document = dict(event["message"])
                    if isinstance(usage := document.get("usage"), dict):  # its output count comes before any output
                        document["usage"] = {name: usage[name] for name in usage if name != "output_tokens"}
                case "content_block_start" if isinstance(event.get("content_block"), dict):
                    blocks[str(event.get("index"))] = {**event["content_block"], "json": ""}
                case "content_block_delta" if isinstance(event.get("delta"), dict):
                    _add_piece(blocks.get(str(event.get("index")), {}), event["delta"])
                case "message_delta":
                    document |= event["delta"] if isinstance(event.get("delta"), dict) else {}
                    usages = [each for each in (document.get("usage"), event.get("usage")) if isinstance(each, dict)]
                    document["usage"] = {name: value for usage in usages for name, value in usage.items()}
        for block in blocks.values():
            if pieces := block.pop("json"):
                block["input"] = _object(pieces)
        return document | {"content": list(blocks.values())}

    @override
    def read(self, document: Mapping[str, Any], reader: AnswerReader) -> Completion:
        blocks = document.get("content")
        if not isinstance(blocks, list):
            raise reader.malformed("it holds no content")
        used = [block for block in objects_in(blocks) if block.get("type") == "tool_use"]
        calls = reader.calls([(block.get("id"), block.get("name"), block.get("input")) for block in used])
        stop = reader.stop("stop_reason", document.get("stop_reason"), _STOP, calls)
        thought = [block for block in objects_in(blocks) if block.get("type") in {"thinking", "redacted_thinking"}]
        return reader.completion(block_text(blocks), calls, stop, self.usage(document), document.get("model"), thought)

    def usage(self, document: Mapping[str, Any]) -> Usage:
        """Return the token usage.

        Cached tokens are added to the input tokens, because the API counts them separately.
        """
        raw = document.get("usage")
        if not isinstance(raw, dict):
            return Usage()
        fresh = token_count(raw.get("input_tokens"))
        read = token_count(raw.get("cache_read_input_tokens") or 0)
        written = token_count(raw.get("cache_creation_input_tokens") or 0)
        whole = None if fresh is None or read is None or written is None else fresh + read + written
        return Usage(
            input_tokens=whole,
            output_tokens=token_count(raw.get("output_tokens")),
            cached_tokens=None if whole is None else read,
            written_tokens=written,
            reasoning_tokens=token_detail(raw, "output_tokens", "thinking_tokens"),
        )

    @override
    def conversation(self, request: Mapping[str, Any]) -> Iterator[Message]:
        if system := text_of_parts(request.get("system")):
            yield Message(role="system", text=system)
        for message in objects_in(request.get("messages")):
            content = message.get("content")
            blocks = objects_in(content)
            for block in blocks:
                if block.get("type") == "tool_result":
                    key = as_text(block.get("tool_use_id"))
                    yield Message(role="tool", text=text_of_parts(block.get("content")), tool_call_id=key)
            calls = tuple(
                ToolCall(
                    id=as_text(block.get("id")),
                    name=as_text(block.get("name")),
                    arguments=json.dumps(block.get("input")),
                )
                for block in blocks
                if block.get("type") == "tool_use"
            )
            if (said := text_of_parts(content)) or calls:
                role = as_text(message.get("role"))
                yield Message(role=role if role in {"assistant", "system"} else "user", text=said, tool_calls=calls)

    @override
    def error(self, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def as_events(document: Mapping[str, Any]) -> bytes:
    """Return an answer as server-sent events, as if streamed."""
    ended = {name: document.get(name) for name in ("stop_reason", "stop_sequence")}
    begun = {**document, "content": [], **dict.fromkeys(ended)}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(objects_in(document.get("content"))):
        pieces = [(kind, name) for kind, name in _PIECES.items() if name in block]
        deltas = [{"type": kind, name: block[name]} for kind, name in pieces]
        start = {**block, **{name: "" for _, name in pieces}}
        if "input" in block:
            start["input"] = {}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"], ensure_ascii=False)}]
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": ended, "usage": document.get("usage")})
    events.append({"type": "message_stop"})
    lines = (f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)
    return "".join(lines).encode()


def _edits(management: object) -> list[dict[str, Any]]:
    return objects_in(management.get("edits")) if isinstance(management, dict) else []


def _add_piece(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if delta.get("type") == "input_json_delta":
        block["json"] = block.get("json", "") + block_text(delta.get("partial_json"))
    elif name := _PIECES.get(as_text(delta.get("type"))):
        block[name] = block_text(block.get(name)) + block_text(delta.get(name))


def _object(source: str) -> object:
    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        return source
