"""OpenAI's Chat Completions: https://platform.openai.com/docs/api-reference/chat/create."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from codegate.candidates.answer import AnswerReader, block_text, usage_of
from codegate.candidates.conversation import Completion, Message, Sampling, StopReason, ToolCall, Usage
from codegate.candidates.protocols.contract import (
    CleanedRequest,
    ModelProtocol,
    as_text,
    check_parts,
    checked_objects,
    objects_in,
    refused_part,
    text_of_parts,
)

_STOP: Final[dict[str, StopReason]] = {
    "stop": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "function_call_filter": "stop",  # Gemini's: the model's call was malformed
}
_PARTS: Final = frozenset({"text", "refusal", "thinking"})
_ROLES: Final = {"developer": "system", "function": "tool"}

EXTRA: Final = "extra_content"
"""Field of a tool call whose value the provider wants back unchanged."""


class ChatCompletions(ModelProtocol):
    """Chat Completions, of OpenAI and all compatible servers."""

    name = "chat"
    path = "/chat/completions"
    conversation_fields = ("messages",)
    limits = ("max_completion_tokens", "max_tokens")
    hosted_fields = ("web_search_options", "plugins")
    fields = frozenset(
        {
            "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "functions", "function_call",
            "response_format", "temperature", "top_p", "top_k", "min_p", "stop", "seed", "max_tokens",
            "max_completion_tokens", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias",
            "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "stream", "chat_template_kwargs",
        }
    )  # fmt: skip

    def clean(self, request: Mapping[str, Any], model: str, sampling: Sampling) -> CleanedRequest:
        """Return an agent's request with allowed fields and candidate settings.

        Streams are asked for token counts, which they report on request only.
        """
        cleaned = super().clean(request, model, sampling)
        if cleaned.request.get("stream"):
            cleaned.request["stream_options"] = {"include_usage": True}
        return cleaned

    @override
    def clean_conversation(self, kept: dict[str, Any]) -> list[str]:
        for message in checked_objects(kept.get("messages"), "messages"):
            check_parts(message.get("content"), _PARTS, "messages")
            if message.get("audio") is not None:
                raise refused_part({"type": "audio"}, "messages")
        return []

    @override
    def chosen(self, sampling: Sampling, request: Mapping[str, Any]) -> dict[str, Any]:
        values = {"seed": sampling.seed, "reasoning_effort": sampling.effort}
        return super().chosen(sampling, request) | {name: value for name, value in values.items() if value is not None}

    @override
    def runs_at_client(self, tool: Mapping[str, Any]) -> bool:
        return as_text(tool.get("type")) in {"function", "custom"}

    @override
    def assemble(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        document: dict[str, Any] = {}
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        calls: dict[object, dict[str, Any]] = {}
        finish = None
        for event in events:
            if "error" in event:
                return event
            document |= {name: event[name] for name in ("id", "model") if event.get(name)}
            document["usage"] = event.get("usage") or document.get("usage")
            for choice in objects_in(event.get("choices"))[:1]:
                found = choice.get("delta")
                delta: dict[str, Any] = found if isinstance(found, dict) else {}
                message["content"] += block_text(delta.get("content"))
                message["refusal"] = (message.get("refusal") or "") + block_text(delta.get("refusal"))
                for piece in objects_in(delta.get("tool_calls")):
                    _add_call(calls, piece)
                finish = choice.get("finish_reason") or finish
        message["tool_calls"] = list(calls.values())
        return document | ({"choices": [{"message": message, "finish_reason": finish}]} if finish else {})

    @override
    def read(self, document: Mapping[str, Any], reader: AnswerReader) -> Completion:
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        finish = choice.get("finish_reason") if isinstance(choice, dict) else None
        # Gemini adds its own reason, as in "content_filter: RECITATION", and may leave the message out.
        reason, _, detail = finish.partition(": ") if isinstance(finish, str) else (finish, "", "")
        message = choice.get("message") if isinstance(choice, dict) else None
        if message is None and detail:
            message = {}
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise reader.malformed("it holds no message")
        made = [call for call in objects_in(message.get("tool_calls")) if isinstance(call.get("function", {}), dict)]
        functions = [(call.get("id"), call.get("function", {})) for call in made]
        calls = reader.calls([(key, function.get("name"), function.get("arguments")) for key, function in functions])
        # Gemini refuses the next turn without its signed thoughts (ai.google.dev, "Thought signatures").
        signed = [{"call": n, EXTRA: call[EXTRA]} for n, call in enumerate(made) if isinstance(call.get(EXTRA), dict)]
        stop = reader.stop("finish_reason", "stop" if reason is None else reason, _STOP, calls)
        answer = block_text(message.get("content"))
        if stop == "content_filter":
            answer = answer or detail
        if not answer and not calls and isinstance(message.get("refusal"), str) and message["refusal"]:
            answer, stop = message["refusal"], "refusal"
        return reader.completion(answer, calls, stop, self.usage(document), document.get("model"), signed)

    @override
    def usage(self, document: Mapping[str, Any]) -> Usage:
        return usage_of(document.get("usage"), "prompt_tokens", "completion_tokens")

    @override
    def conversation(self, request: Mapping[str, Any]) -> Iterator[Message]:
        for message in objects_in(request.get("messages")):
            role = as_text(message.get("role"))
            functions = [
                (as_text(call.get("id")), call.get("function")) for call in objects_in(message.get("tool_calls"))
            ]
            yield Message(
                role=_ROLES.get(role, role) if role in {*_ROLES, "system", "assistant", "tool"} else "user",
                text=text_of_parts(message.get("content")),
                tool_calls=tuple(
                    ToolCall(id=key, name=as_text(function.get("name")), arguments=as_text(function.get("arguments")))
                    for key, function in functions
                    if isinstance(function, dict)
                ),
                tool_call_id=as_text(message.get("tool_call_id")) or None,
            )


def _add_call(calls: dict[object, dict[str, Any]], piece: Mapping[str, Any]) -> None:
    index = piece.get("index")
    key = index if isinstance(index, int) else len(calls)
    call = calls.setdefault(key, {"id": None, "function": {"name": "", "arguments": ""}})
    call["id"] = call["id"] or piece.get("id")
    if EXTRA in piece:
        call[EXTRA] = piece[EXTRA]
    function = piece.get("function")
    if isinstance(function, dict):
        for name in ("name", "arguments"):
            call["function"][name] += block_text(function.get(name))
