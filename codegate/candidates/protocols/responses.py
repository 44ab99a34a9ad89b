"""OpenAI's Responses: https://platform.openai.com/docs/api-reference/responses/create."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from codegate.candidates.answer import AnswerReader, usage_of
from codegate.candidates.conversation import Completion, Message, Sampling, StopReason, ToolCall, Usage
from codegate.candidates.protocols.contract import (
    CleanedRequest,
    ModelProtocol,
    RequestRefused,
    as_text,
    check_parts,
    checked_objects,
    effort_in,
    objects_in,
    refused_part,
    text_of_parts,
    tool_name,
)

_AT_CLIENT: Final = frozenset({"function", "custom", "local_shell", "apply_patch"})
_PARTS: Final = frozenset({"input_text", "output_text", "refusal", "summary_text", "reasoning_text", "text"})
_TOOL_HOLDERS: Final = frozenset({"additional_tools", "tool_search_output"})
_WITH_PARTS: Final = {
    "message": "content",
    "reasoning": "content",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
}
_ITEMS: Final = _TOOL_HOLDERS | {
    *_WITH_PARTS, "function_call", "custom_tool_call", "local_shell_call", "local_shell_call_output", "shell_call",
    "shell_call_output", "apply_patch_call", "apply_patch_call_output", "tool_search_call",
}  # fmt: skip
"""Types of items that an input may hold. The provider neither ran nor stored any of them, and has to fetch none."""
_STORED: Final = ("previous_response_id", "conversation", "prompt")
_STOP: Final[dict[str, StopReason]] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
_LAST: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Responses(ModelProtocol):
    """The Responses API; the provider stores nothing."""

    name = "responses"
    path = "/responses"
    conversation_fields = ("input",)
    limits = ("max_output_tokens",)
    fields = frozenset(
        {
            "model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text",
            "include", "temperature", "top_p", "max_output_tokens", "top_logprobs", "truncation", "stream",
            "stream_options",
        }
    )  # fmt: skip

    def clean(self, request: Mapping[str, Any], model: str, sampling: Sampling) -> CleanedRequest:
        """Return an agent's request with allowed fields and candidate settings.

        Raises:
            RequestRefused: the request refers to stored data, or breaks a rule of ``ModelProtocol.clean``.
        """
        if stored := next((name for name in _STORED if request.get(name)), None):
            raise RequestRefused(f"`{stored}` is not supported here: nothing is stored, send the whole conversation")
        cleaned = super().clean(request, model, sampling)
        cleaned.request["store"] = False
        return cleaned

    def clean_conversation(self, kept: dict[str, Any]) -> list[str]:
        """Drop forbidden tools from a conversation's items; return their names."""
        if isinstance(kept.get("input"), str):
            return []
        items: list[dict[str, Any]] = []
        dropped: list[str] = []
        for item in checked_objects(kept.get("input"), "input"):
            kind = as_text(item.get("type")) or ("message" if "role" in item else "")
            if kind not in _ITEMS:
                raise refused_part(item, "input")
            if kind in _WITH_PARTS:
                check_parts(item.get(_WITH_PARTS[kind]), _PARTS, "input")
            if kind in _TOOL_HOLDERS:
                tools, gone = self.client_tools(item.get("tools", []))
                item = {**item, "tools": tools}  # noqa: PLW2901
                dropped += map(tool_name, gone)
            items.append(item)
        kept["input"] = items
        return dropped

    def client_tools(self, tools: object) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Split tools into the agent's and the provider's tools.

        Tools inside of namespaces are split, too.
        """
        kept, dropped = [], []
        for tool in checked_objects(tools, "tools"):
            if tool.get("type") == "namespace":
                inner, gone = self.client_tools(tool.get("tools", []))
                kept += [{**tool, "tools": inner}] if inner else []
                dropped += gone
            else:
                (kept if self.runs_at_client(tool) else dropped).append(tool)
        return kept, dropped

    @override
    def chosen(self, sampling: Sampling, request: Mapping[str, Any]) -> dict[str, Any]:
        effort = {"reasoning": effort_in(request.get("reasoning"), sampling)} if sampling.effort else {}
        return super().chosen(sampling, request) | effort

    @override
    def runs_at_client(self, tool: Mapping[str, Any]) -> bool:
        match as_text(tool.get("type")):
            case "shell":
                where = tool.get("environment")
                return where is None or (isinstance(where, dict) and where.get("type") == "local")
            case "tool_search":
                return tool.get("execution") == "client"
            case kind:
                return kind in _AT_CLIENT

    @override
    def assemble(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        for event in events:
            if event.get("type") == "error":
                return {"error": event.get("error") or event}
            if as_text(event.get("type")) in _LAST and isinstance(event.get("response"), dict):
                return dict(event["response"])
        return {}

    @override
    def read(self, document: Mapping[str, Any], reader: AnswerReader) -> Completion:
        if not isinstance(document.get("output"), list):
            raise reader.malformed("it holds no output")
        items = objects_in(document["output"])
        said = [part for item in items if item.get("type") == "message" for part in objects_in(item.get("content"))]
        refusals = _joined(said, "refusal")
        calls = reader.calls([_call_of(item) for item in items if str(item.get("type")).endswith("_call")])
        details = document.get("incomplete_details")
        ended = details.get("reason") if isinstance(details, dict) else document.get("status")
        stop = reader.stop("status", ended, _STOP, calls)
        answer = _joined(said, "text")
        if refusals and not answer and not calls:
            answer, stop = refusals, "refusal"
        reasoning = [item for item in items if item.get("type") == "reasoning" and item.get("encrypted_content")]
        return reader.completion(answer, calls, stop, self.usage(document), document.get("model"), reasoning)

    @override
    def usage(self, document: Mapping[str, Any]) -> Usage:
        return usage_of(document.get("usage"), "input_tokens", "output_tokens")

    @override
    def conversation(self, request: Mapping[str, Any]) -> Iterator[Message]:
        if instructions := as_text(request.get("instructions")):
            yield Message(role="system", text=instructions)
        if isinstance(request.get("input"), str):
            yield Message(role="user", text=as_text(request["input"]))
        for item in objects_in(request.get("input")):
            kind = str(item.get("type", "message"))
            if kind.endswith("_call_output"):
                output = item.get("output")
                said = text_of_parts(output) if isinstance(output, (str, list)) else json.dumps(output)
                yield Message(role="tool", text=said, tool_call_id=as_text(item.get("call_id")))
            elif kind.endswith("_call"):
                key, name, arguments = _call_of(item)
                call = ToolCall(id=as_text(key), name=as_text(name), arguments=as_text(arguments))
                yield Message(role="assistant", tool_calls=(call,))
            elif kind == "message":
                role = as_text(item.get("role"))
                role = "assistant" if role == "assistant" else "system" if role in {"system", "developer"} else "user"
                yield Message(role=role, text=text_of_parts(item.get("content")))


def _joined(parts: list[dict[str, Any]], name: str) -> str:
    return "".join(part[name] for part in parts if isinstance(part.get(name), str))


def _call_of(item: Mapping[str, Any]) -> tuple[object, object, object]:
    """Return a tool call's id, name (or type), and arguments."""
    arguments = next((item[name] for name in ("arguments", "input", "action", "operation") if name in item), "{}")
    said = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return item.get("call_id"), item.get("name") or item.get("type"), said
