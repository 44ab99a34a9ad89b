"""Classify the errors with which providers decline requests.

It knows the texts of OpenAI, Anthropic, Google, Bedrock, and servers of Chat Completions (vLLM, llama.cpp, Azure). Any
other text is a plain ``bad_request``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from codegate.candidates.conversation import ProviderFault, Sampling, StopReason

FAULT_OF_KIND: Final[Mapping[str, ProviderFault]] = {
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "billing_error": "quota",
    "authentication_error": "authentication",
    "invalid_api_key": "authentication",
    "permission_error": "authentication",
    "not_found_error": "not_found",
    "model_not_found": "not_found",
    "invalid_request_error": "bad_request",
    "request_too_large": "bad_request",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "server_error": "overloaded",
    "timeout_error": "timeout",
}

_SETTINGS: Final[Mapping[str, str]] = {
    "max_completion_tokens": "sampling.max_output_tokens",
    "max_tokens": "sampling.max_output_tokens",
    "temperature": "sampling.temperature",
    "top_p": "sampling.top_p",
    "seed": "sampling.seed",
    "stop": "sampling.stop",
    "stop_sequences": "sampling.stop",
    "tools": "solver",
    "tool_choice": "solver",
    "reasoning_effort": "sampling.effort",
    "reasoning.effort": "sampling.effort",
    "output_config": "sampling.effort",
    "effort": "sampling.effort",
    "thinking": "sampling.thinking",
    "model": "model",
}
"""Key in codegate.yml of each setting, by the setting's name in requests."""

_NUMBERS: Final = frozenset({"temperature", "top_p", "seed"})

_NAMES: Final = "|".join(re.escape(name) for name in _SETTINGS if name != "model")  # "model" is in too many messages
_NAMED: Final = re.compile(rf"[`'\"]({_NAMES})(?:\.[\w.]+)?[`'\"]|\A({_NAMES})\b")
_LIMIT_TOO_LARGE: Final = re.compile(
    r"max_(?:completion_|new_|output_)?tokens\W"
    r"(?:\W*\d+ > \d|[^.]{0,100}?(?:too large|above maximum|valid range|less than or equal))"
)
_OUTPUT_LIMIT: Final = re.compile(
    r"max_(?:completion_|new_|output_)?tokens|completion tokens|in the completion|output tokens"
)
_CONTEXT: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|request_too_large|(?:prompt|input) is too long"
    r"|input token count\b.{0,20}\bexceeds the maximum"
    r"|(?:maximum|available) context|context (?:length|window|size|limit)",
    re.IGNORECASE,
)
_FILTER: Final = re.compile(r"[\"'](?:content_filter|content_policy_violation|invalid_prompt)[\"']")


def fault_of_status(status: int, kind: str, message: str) -> ProviderFault:
    """Return the fault that an HTTP error status means.

    ``kind`` and ``message`` come from the error object in the provider's answer.
    """
    out_of_money = FAULT_OF_KIND.get(kind) == "quota" or "credit balance is too low" in message
    if status == 402 or (status in {400, 403, 429} and out_of_money):
        return "quota"
    if status in {401, 403} or (status == 400 and message.startswith("API key not valid")):
        return "authentication"
    if status == 404:
        return "not_found"
    if status in {408, 504, 524}:  # a server or proxy gave up waiting for the answer
        return "timeout"
    if status == 429:
        return "rate_limit"
    if status in {409, 424} or (status >= 500 and not _CONTEXT.search(message)):
        return "overloaded"
    return "bad_request"


def error_parts(body: object) -> tuple[str, str]:
    """Return kind and message of an API's error object.

    SDKs pass the object with or without its wrapper.
    """
    found = _unwrapped(body)
    if isinstance(found, str):
        return "", found
    if not isinstance(found, dict):
        return "", ""
    kinds = [found.get("code"), found.get("type")]
    known = [kind for kind in kinds if isinstance(kind, str) and kind in FAULT_OF_KIND]
    message = found.get("message")
    return (known[0] if known else ""), (message if isinstance(message, str) else "")


def error_object(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return an answer's error as kind and message, or None."""
    if document.get("error") in (None, False, "") and document.get("type") != "error":
        return None
    return error_parts(dict(document))


def setting_named(body: object, message: str) -> str | None:
    """Return the candidate's setting that an error blames, or None."""
    found = _unwrapped(body)
    parameter = found.get("param") if isinstance(found, dict) else None
    if isinstance(parameter, str) and parameter in _SETTINGS:
        return _SETTINGS[parameter]
    named = _NAMED.search(message)
    if named is not None:
        return _SETTINGS[named[1] or named[2]]
    return _SETTINGS["max_tokens"] if _LIMIT_TOO_LARGE.search(message) else None


def fields_to_drop(setting: str | None, sampling: Sampling) -> tuple[str, ...]:
    """Return the fields to drop from an agent's refused request.

    If the refused ``setting`` is a number that ``sampling`` leaves unset, the setting's fields are returned, otherwise
    none.
    """
    key = (setting or "").removeprefix("sampling.")
    if key not in _NUMBERS or getattr(sampling, key) is not None:
        return ()
    return tuple(name for name, known in _SETTINGS.items() if known == setting)


def stop_named(text: str) -> StopReason | None:
    """Return the stop reason an error text names, or None."""
    if _FILTER.search(text):
        return "content_filter"
    if _CONTEXT.search(text) and not _LIMIT_TOO_LARGE.search(text):
        return "context_overflow"
    return None


def blames_output_limit(text: str) -> bool:
    """Return whether an error calls the output limit too large.

    The limit exceeds the model's own maximum, or the rest of the context after the prompt.
    """
    beside_prompt = _CONTEXT.search(text) is not None and _OUTPUT_LIMIT.search(text) is not None
    return beside_prompt or _LIMIT_TOO_LARGE.search(text) is not None


def blames_model_maximum(text: str) -> bool:
    """Return whether an error says max_tokens exceeds the model's maximum."""
    return _LIMIT_TOO_LARGE.search(text) is not None and not _CONTEXT.search(text)


def _unwrapped(body: object) -> object:
    body = body[0] if isinstance(body, list) and body else body  # Google sends a list
    return body.get("error", body) if isinstance(body, dict) else body
