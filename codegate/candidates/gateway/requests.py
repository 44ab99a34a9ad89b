"""Read the requests that an agent sends."""

import json
import platform
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from codegate.candidates.conversation import SYSTEM, TOOL, AgentPrompt
from codegate.candidates.protocols import ModelProtocol, RequestRefused
from codegate.candidates.protocols.contract import objects_in
from codegate.errors import UsageError
from codegate.http import HttpRequest
from codegate.strict import parse_json, printable

_MOST_TOOLS: Final = 200
_MOST_TEXT: Final = 1_000_000
"""Most characters that are recorded of a system prompt and its tools together."""


def read_document(request: HttpRequest) -> dict[str, Any]:
    """Return a request's JSON object, without lone surrogates.

    Raises:
        RequestRefused: the body is no JSON object in UTF-8.
    """
    try:
        document = parse_json(request.body.decode("utf-8"), "the body")
        text = json.dumps(document, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        document = json.loads(text)
    except (UsageError, ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise RequestRefused("the body is no JSON object in UTF-8")
    return document


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)


def agent_prompt(protocol: ModelProtocol, sent: Mapping[str, Any]) -> AgentPrompt:
    """Return the system prompt and tools of a cleaned request."""
    system = [message.text for message in protocol.conversation(sent) if message.role == "system"]
    tools = [tool for holder in (sent, *objects_in(sent.get("input"))) for tool in objects_in(holder.get("tools"))]
    texts = [(SYSTEM, "\n\n".join(system))]
    texts += [(f"{TOOL}{_tool_name(tool)}", _definition_text(tool)) for tool in tools[:_MOST_TOOLS]]
    parts, room = {}, _MOST_TEXT
    for name, text in texts:
        parts[name] = _stable_lines(text[:room], sent["model"])
        room -= min(room, len(text))
    return AgentPrompt(parts=parts)


def _stable_lines(text: str, model: str) -> tuple[str, ...]:
    """Return a prompt's lines that do not change between runs.

    Lines with today's date, the kernel's release or the model's name are left out.
    """
    names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in (platform.release(), model))
    left_out = re.compile(f"{names}|{_date_pattern(datetime.now(UTC))}")
    return tuple(line for line in text.split("\n") if not left_out.search(line))


def _date_pattern(now: datetime) -> str:
    # Single numbers do not match: a line with one would be left out on some days only, and so differ between days.
    year, month, day = now.year, f"(?:0?{now.month}|{now:%B}|{now:%b})", f"0?{now.day}(?:st|nd|rd|th)?"
    between, clock = r"\D{1,2}", r"(?: [0-9:]+(?: \w+){0,2})?"
    orders = (
        f"{year}{between}{month}{between}{day}",
        f"{month}{between}{day}{clock}{between}{year}",
        f"{day}{between}{month}{between}{year}",
        f"{now:%Y%m%d}",
    )
    return rf"(?<![0-9.])(?:{'|'.join(orders)})(?![0-9])"


def _definition_text(tool: Mapping[str, Any]) -> str:
    return json.dumps(tool, indent=1, ensure_ascii=False, sort_keys=True).replace("\\n", "\n")


def _tool_name(tool: Mapping[str, Any]) -> str:
    found = tool.get("function", tool)
    name = found.get("name") if isinstance(found, dict) else None
    return printable(name or tool.get("type") or "without a name", 100)
