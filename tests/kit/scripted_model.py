"""A model server that plays a part, in the three protocols, streamed or not, and keeps a bill of what it answered."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tests.kit.http import Reply, Request, Server, as_json

INPUT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 1000, 200, 50
SHELLS = ("exec_command", "shell_command", "shell", "bash", "run_shell", "run_command", "terminal")


@dataclass(frozen=True)
class Turn:
    """What a model is asked as which request: how many results of tools it has seen, which shell it is offered."""

    results: int
    shell: str | None
    schema: dict[str, Any]
    body: dict[str, Any]
    number: int


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Run:
    command: str


@dataclass(frozen=True)
class Use:
    tool: str
    arguments: dict[str, Any]


Part = Callable[[Turn], Say | Run | Use]


def fixing(command: str, final: str = "Done: the bug is fixed.") -> Part:
    """Return the part that runs one command and ends."""

    def play(turn: Turn) -> Say | Run:
        return Say(final) if turn.results or turn.shell is None else Run(command)

    return play


@dataclass
class ScriptedModel:
    """Answers every model call as ``part`` says; the first ``failures`` are answered with ``status``.

    A request with the parameter ``refuses`` is declined, as models without that parameter do.
    An answer names the model that was asked for, or what ``served`` has for it.
    """

    part: Part
    status: int = 500
    failures: int = 0
    refuses: str = ""
    served: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    requests: list[Request] = field(default_factory=list)
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> "ScriptedModel":
        self.server = Server(self.respond, self.host)
        self.url = self.server.url
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    def respond(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            self.failures, failing = max(0, self.failures - 1), self.failures > 0
            number = len(self.requests)
        make = next((make for end, make in PROTOCOLS.items() if request.path.partition("?")[0].endswith(end)), None)
        if make is None or request.method != "POST":
            return as_json({"error": {"message": "no such path"}}, 404)
        if failing:
            return as_json({"error": {"type": "scripted", "message": "scripted failure"}}, self.status)
        if self.refuses in request.body:
            return as_json({"error": {"message": f"`{self.refuses}` is deprecated for this model."}}, 400)
        with self.lock:
            self.answered += 1
        turn = _turn(request.body, number)
        model = request.body.get("model") or _in_path(request.path)
        full, events = make(self.served.get(model, model), _action(self.part(turn), turn), number)
        if not request.body.get("stream"):
            return as_json(full)
        frames = [
            (f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
            for name, data in events
        ]
        return Reply("".join(frames).encode(), headers={"Content-Type": "text/event-stream"})


def _turn(body: dict[str, Any], number: int) -> Turn:
    tools = {name: schema for tool in body.get("tools") or [] for name, schema in [_offered(tool)]}
    shell = next((name for wanted in SHELLS for name in tools if name.lower() == wanted), None)
    return Turn(sum(_results(body)), shell, tools.get(shell or "", {}), body, number)


def _offered(tool: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    function = tool.get("function", tool)
    return function.get("name", tool.get("type", "")), function.get("parameters") or function.get("input_schema") or {}


def _results(body: dict[str, Any]) -> Iterator[bool]:
    items = body.get("input")
    for item in [*(body.get("messages") or []), *(items if isinstance(items, list) else [])]:
        yield item.get("role") == "tool" or str(item.get("type", "")).endswith("_call_output")
        content = item.get("content")
        for part in content if isinstance(content, list) else []:
            yield isinstance(part, dict) and part.get("type") == "tool_result"


def _in_path(path: str) -> str:
    """Return the snapshot that Bedrock's and Vertex's paths name: requests have no model there."""
    name = re.search(r"claude-[a-z0-9@-]+?(?=-v\d|[:/])", unquote(path))
    return name[0].replace("@", "-") if name else ""


def _action(said: Say | Run | Use, turn: Turn) -> tuple[str, str, dict[str, Any]]:
    """Return text, or name and arguments of a tool call: the command, and a filler for what else is required."""
    if isinstance(said, Use):
        return "", said.tool, said.arguments
    if isinstance(said, Say) or turn.shell is None:
        return (said.text if isinstance(said, Say) else said.command), "", {}
    properties = turn.schema.get("properties") or {}
    name = next((name for name in ("cmd", "command", "script", "input") if name in properties), "command")
    listed = (properties.get(name) or {}).get("type") == "array"
    arguments: dict[str, Any] = {name: ["bash", "-lc", said.command] if listed else said.command}
    for required in turn.schema.get("required") or []:
        kind = str((properties.get(required) or {}).get("type"))
        arguments.setdefault(required, {"number": 10000, "integer": 10000, "boolean": False}.get(kind, "fix the bug"))
    return "", turn.shell, arguments


def _chat(model: str, action: tuple[str, str, dict[str, Any]], number: int) -> tuple[Any, list[tuple[str, Any]]]:
    text, tool, arguments = action
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    delta, finish = dict(message), "stop"
    if tool:
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps(arguments)},
        }
        message, finish = {**message, "tool_calls": [call]}, "tool_calls"
        delta = {**message, "tool_calls": [{**call, "index": 0}]}
    usage = {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }
    base = {"id": f"chatcmpl-{number}", "created": 1, "model": model}
    chunk = {**base, "object": "chat.completion.chunk"}
    events: list[tuple[str, Any]] = [
        ("", {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}),
        ("", {**chunk, "choices": [], "usage": usage}),
        ("", "[DONE]"),
    ]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}, events


def _responses(model: str, action: tuple[str, str, dict[str, Any]], number: int) -> tuple[Any, list[tuple[str, Any]]]:
    text, tool, arguments = action
    item: dict[str, Any]
    if tool:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": tool}
        item |= {"arguments": json.dumps(arguments), "status": "completed"}
        if "." in tool:  # of a namespace
            item["namespace"], _, item["name"] = tool.partition(".")
    else:
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
    usage = {
        "input_tokens": INPUT_TOKENS,
        "output_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    empty = {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "in_progress", "model": model}
    empty |= {"output": [], "parallel_tool_calls": False, "tools": [], "tool_choice": "auto"}
    full = {**empty, "status": "completed", "output": [item], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": empty},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
    ]
    if not tool:
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        events.append({"type": "response.output_text.delta", **place, "delta": text, "logprobs": []})
    events += [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": full},
    ]
    return full, [(event["type"], {**event, "sequence_number": n}) for n, event in enumerate(events)]


def _messages(model: str, action: tuple[str, str, dict[str, Any]], number: int) -> tuple[Any, list[tuple[str, Any]]]:
    text, tool, arguments = action
    reason = "tool_use" if tool else "end_turn"
    if tool:
        block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
        start: dict[str, Any] = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    else:
        block = {"type": "text", "text": text}
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
    # The API counts what a cache has read apart from the rest of the input.
    usage = {"input_tokens": INPUT_TOKENS - CACHED_TOKENS, "cache_read_input_tokens": CACHED_TOKENS}
    full: dict[str, Any] = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model}
    full["content"] = [block]
    full |= {"stop_reason": reason, "stop_sequence": None, "usage": {**usage, "output_tokens": OUTPUT_TOKENS}}
    opening = {**full, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    closing = {"stop_reason": reason, "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": opening},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": closing, "usage": {"output_tokens": OUTPUT_TOKENS}},
        {"type": "message_stop"},
    ]
    return full, [(event["type"], event) for event in events]


PROTOCOLS = {
    "/chat/completions": _chat, "/responses": _responses,
    "/messages": _messages, "/invoke": _messages, ":rawPredict": _messages,
}  # fmt: skip


# An agent in few lines: it does what its model says, as a shell command, until the model says something else.
AGENT = """\
import json, os, subprocess, urllib.request
model, messages = os.environ["CODEGATE_MODEL"], [{"role": "user", "content": os.environ["CODEGATE_PROMPT"]}]
shell = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "bash", "parameters": shell}}]
while True:
    body = json.dumps({"model": model, "messages": messages, "tools": tools}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
    message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + done.stderr})
"""
