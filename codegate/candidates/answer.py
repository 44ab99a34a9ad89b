"""Parse an answer, for every API.

The answer's JSON is untrusted.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from codegate.candidates.conversation import Completion, ProviderError, StopReason, ToolCall, Usage
from codegate.candidates.faults import FaultConverter
from codegate.strict import check_shape

MAX_TOKENS: Final = 100_000_000
"""Largest accepted token count; larger ones are treated as unknown."""
_NOT_COUNTED: Final = -1


@dataclass(frozen=True)
class AnswerReader:
    """Checks and converts one answer's fields, in any protocol.

    Errors about a malformed answer quote ``content``.
    """

    faults: FaultConverter
    content: bytes
    seconds: float

    def malformed(self, what: str) -> ProviderError:
        """Return a ``malformed`` error; ``what`` says what is wrong."""
        return self.faults.malformed(what, self.content)

    def stop(
        self, field: str, reason: object, reasons: Mapping[str, StopReason], calls: tuple[ToolCall, ...]
    ) -> StopReason:
        """Return the stop reason that ``reasons`` has for ``reason``.

        ``reason`` is the value of the answer's ``field``. ``stop`` with tool calls becomes ``tool_calls``.

        Raises:
            ProviderError: ``malformed``: ``reasons`` lacks the reason.
        """
        stop = reasons.get(reason) if isinstance(reason, str) else None
        if stop is None:
            raise self.malformed(f"unknown {field} {self.faults.clean(str(reason), 40)!r}")
        return "tool_calls" if stop == "stop" and calls else stop

    def calls(self, calls: list[tuple[object, object, object]]) -> tuple[ToolCall, ...]:
        """Return tool calls from (id, name, arguments), with distinct ids.

        Ids that repeat are changed, because tool results refer to their calls by id.
        """
        result: list[ToolCall] = []
        seen: set[str] = set()
        for number, (raw_id, name, arguments) in enumerate(calls):
            identity = raw_id if isinstance(raw_id, str) and raw_id and raw_id not in seen else f"call_{number}"
            while identity in seen:
                identity += "_"
            seen.add(identity)
            text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
            result.append(
                ToolCall(
                    id=self.faults.visible(identity),
                    name=self.faults.visible(name) if isinstance(name, str) else "",
                    arguments=self.faults.visible(text),
                )
            )
        return tuple(result)

    def completion(
        self,
        text: str,
        calls: tuple[ToolCall, ...],
        stop: StopReason,
        usage: Usage,
        model: object,
        reasoning: list[dict[str, Any]] | None = None,
    ) -> Completion:
        """Return the parsed answer, without API keys in its texts.

        0 input tokens, and 0 output tokens of an answer with text or calls, become None (unknown).
        """
        if usage.input_tokens == 0:
            usage = usage.model_copy(update={"input_tokens": None, "cached_tokens": None})
        if usage.output_tokens == 0 and (text or calls):
            usage = usage.model_copy(update={"output_tokens": None, "reasoning_tokens": None})
        return Completion(
            text=self.faults.visible(text),
            tool_calls=calls,
            reasoning=tuple(json.loads(self.faults.visible(json.dumps(reasoning or ())))),
            stop_reason=stop,
            usage=usage,
            model=self.faults.visible(model) if isinstance(model, str) and model else None,
            started=time.time() - self.seconds,
            seconds=self.seconds,
        )


def as_document(content: bytes, faults: FaultConverter) -> dict[str, Any]:
    """Return the JSON object in ``content``.

    Raises:
        ProviderError: ``malformed``: empty, not UTF-8, not JSON, nested too deeply, or not an object.
    """
    if not content.strip():
        raise faults.malformed("it is empty")
    try:
        text = content.decode("utf-8")
        check_shape(text)
        document = json.loads(text)
    except UnicodeDecodeError:
        raise faults.malformed("it is not UTF-8 text", content) from None
    except (ValueError, RecursionError):
        raise faults.malformed("it is not JSON, it was cut off, or it is too deep or too large", content) from None
    if not isinstance(document, dict):
        raise faults.malformed("it is not a JSON object", content)
    return document


def block_text(content: object) -> str:
    """Return a message's text; the texts of blocks are joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def token_count(value: object) -> int | None:
    """Return a valid token count unchanged; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOKENS:
        return None
    return value


def usage_of(raw: object, input_name: str, output_name: str) -> Usage:
    """Return the token usage in an answer of OpenAI's APIs.

    ``raw`` is the answer's usage object. Its fields ``input_name`` and ``output_name`` have the totals. The objects
    ``NAME_details`` count the cached, cache-written and reasoning tokens in these totals.
    """
    if not isinstance(raw, dict):
        return Usage()
    total, output = token_count(raw.get(input_name)), token_count(raw.get(output_name))
    whole = token_count(raw.get("total_tokens"))
    if total is not None and output is not None and whole is not None:
        output = max(output, whole - total)  # some servers count reasoning tokens, which are billed, only in the total
    cached = token_detail(raw, input_name, "cached_tokens", missing=_NOT_COUNTED)
    if cached is None:
        total = None  # it contradicts the count of its part
    return Usage(
        input_tokens=total,
        output_tokens=output,
        cached_tokens=None if cached == _NOT_COUNTED else cached,
        written_tokens=token_detail(raw, input_name, "cache_write_tokens", missing=0),
        reasoning_tokens=token_detail(raw, output_name, "reasoning_tokens"),
    )


def token_detail(raw: Mapping[str, Any], whole: str, part: str, *, missing: int | None = None) -> int | None:
    """Return the count ``part`` in the details of ``whole``.

    ``raw`` is an answer's usage object, and the details are its field ``WHOLE_details``. If they lack the count,
    ``missing`` is returned. None if the count is larger than the total in field ``whole``.
    """
    details, most = raw.get(f"{whole}_details"), token_count(raw.get(whole))
    if not isinstance(details, dict) or details.get(part) is None:
        return missing
    found = token_count(details[part])
    return None if found is None or most is None or found > most else found
