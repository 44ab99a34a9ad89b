"""Protocols: whatever a sandbox sends or a server answers, they refuse it or read it, and fail in no other way."""

import contextlib
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import CandidateSpec, ProviderError, Sampling
from codegate.candidates.answer import AnswerReader
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.faults import FaultConverter
from codegate.candidates.protocols import PROTOCOLS, RequestRefused

WORDS = [
    "messages", "input", "role", "content", "type", "text", "tools", "tool_calls", "function", "name", "arguments",
    "tool_use", "tool_result", "message", "output", "function_call", "system", "image", "max_tokens", "stream",
    "thinking", "budget_tokens", "choices", "delta", "usage", "status", "index", "instructions", "call_id", "summary",
    "tool_choice",
]  # fmt: skip
TEXTS = st.sampled_from([*WORDS, "assistant", "user", "\udcff", ""]) | st.text(max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.sampled_from(WORDS), JSON, max_size=6)


def reader() -> AnswerReader:
    endpoint = Endpoint("https://example.org", "sk-key-of-some-length", "OPENAI_API_KEY", official=True, direct=False)
    spec = CandidateSpec(provider="openai", model="m")
    return AnswerReader(FaultConverter(spec, endpoint, openai, openai.OpenAIError, charges_declined=False), b"", 0.0)


@pytest.mark.parametrize("name", PROTOCOLS)
@given(request=OBJECTS)
def test_any_request_is_refused_or_cleaned(name: str, request: dict[str, Any]) -> None:
    protocol = PROTOCOLS[name]
    asked = {**request, "model": "m"}
    try:
        cleaned = protocol.clean(asked, "m", Sampling(max_output_tokens=10)).request
    except RequestRefused:
        return
    assert cleaned.keys() <= {*protocol.fields, "store", "stream_options", *protocol.limits}
    assert max(cleaned[limit] for limit in protocol.limits if limit in cleaned) <= 10
    list(protocol.conversation(asked))


@pytest.mark.parametrize("name", PROTOCOLS)
@given(events=st.lists(OBJECTS, max_size=6))
def test_any_answer_is_read_or_malformed(name: str, events: list[dict[str, Any]]) -> None:
    for document in (PROTOCOLS[name].assemble(events), *events):
        with contextlib.suppress(ProviderError):
            assert PROTOCOLS[name].read(document, reader()).stop_reason


def test_a_tool_whose_schema_speaks_of_images_is_no_image() -> None:
    schema = {"type": "object", "properties": {"type": {"type": "string"}, "image": {"type": "file"}}}
    tools = [{"type": "function", "name": "look", "parameters": schema}]
    request = {"model": "m", "input": "x", "tools": tools}
    assert PROTOCOLS["responses"].clean(request, "m", Sampling()).request["tools"] == tools


@pytest.mark.parametrize("name", PROTOCOLS)
def test_values_of_other_types_in_a_request_fail_no_run(name: str) -> None:
    spoken = PROTOCOLS[name]
    tools = [{"type": "web_search", "name": ["x"]}, {"type": {}}]
    odd = [{"role": ["a"], "content": None}]
    request = {
        "model": "m", spoken.conversation_fields[-1]: odd, "tools": tools, "tool_choice": {"type": ["q"], "name": {}}
    }  # fmt: skip
    cleaned = spoken.clean(request, "m", Sampling())
    assert cleaned.dropped[0] == "the tool web_search"
    assert spoken.turn(request, cleaned.request)


def test_a_system_message_among_others_is_no_users() -> None:
    """Newer Claude Code sends its environment that way."""
    asked = {"system": "s", "messages": [{"role": "user", "content": "u"}, {"role": "system", "content": "e"}]}
    read = [(message.role, message.text) for message in PROTOCOLS["messages"].conversation(asked)]
    assert read == [("system", "s"), ("user", "u"), ("system", "e")]
