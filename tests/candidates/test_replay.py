import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.candidates import (
    CandidateSpec,
    Completion,
    Message,
    ProblemKey,
    ProviderError,
    Sampling,
    ToolCall,
    Usage,
    open_provider,
)
from codegate.candidates.replay import MAX_TEXT, ReplayProvider
from codegate.errors import UsageError

HEADER = {"schema": "codegate.transcripts/1", "label": "handwritten", "model": "pinned-2025-06-01", "note": "by hand"}
USER = Message(role="user", text="?")
DONE = Message(role="assistant", text="!")


def written(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "transcripts.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return path


def ask(provider: ReplayProvider, problem: str, sample: int = 0, turns: int = 0) -> Completion:
    messages = (USER, *([DONE] * turns))
    return provider.complete(ProblemKey(problem=problem, sample=sample), messages, (), Sampling())


def test_answers_follow_from_the_messages(tmp_path: Path) -> None:
    call = {"id": "c1", "name": "read_file", "arguments": "{}"}
    usage = {"input_tokens": 1, "output_tokens": 2}
    path = written(
        tmp_path,
        HEADER,
        b"",
        {
            "problem": "p",
            "sample": 0,
            "responses": [{"text": "a", "tool_calls": [call]}, {"text": "b", "usage": usage}],
        },
        {"problem": "p", "sample": 1, "responses": [{"text": "c", "stop_reason": "length", "seconds": 1.5}]},
    )
    provider = open_provider(CandidateSpec(provider="replay", model="transcripts.jsonl"), tmp_path)
    assert isinstance(provider, ReplayProvider)
    assert path.exists()
    first = ask(provider, "p")
    assert (first.text, first.stop_reason, first.model) == ("a", "tool_calls", "pinned-2025-06-01")
    assert first.tool_calls == (ToolCall(id="c1", name="read_file", arguments="{}"),)
    assert first.usage == Usage()
    second = ask(provider, "p", turns=1)
    assert (second.text, second.stop_reason, second.usage.output_tokens) == ("b", "stop", 2)
    third = ask(provider, "p", sample=1)
    assert (third.text, third.stop_reason, third.seconds) == ("c", "length", 1.5)
    assert ask(provider, "p").text == "a"
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda n: ask(provider, "p", turns=n % 2).text, range(40)))
    assert texts == ["a", "b"] * 20


def test_what_was_not_recorded_is_a_fault_of_that_call_alone(tmp_path: Path) -> None:
    lines = [{"problem": "p", "responses": [{}]}, *({"problem": "q", "sample": n, "responses": [{}]} for n in (0, 1))]
    provider = ReplayProvider(written(tmp_path, HEADER, *lines))
    for words, asked in (
        (r"transcripts\.jsonl has no transcript for problem x, sample 2", ("x", 2)),
        ("no transcript for problem q, sample 7", ("q", 7)),
        ("ends after 1 responses", ("p", 0, 1)),
    ):
        with pytest.raises(ProviderError, match=words) as caught:
            ask(provider, *asked)
        assert caught.value.fault == "bad_request"
    assert ask(provider, "p", sample=7).text == "", "written for sample 0 alone: good for every sample"


NO_ID = {"id": "", "name": "run", "arguments": "{}"}
LONG = {"id": "c", "name": "run", "arguments": "x" * (MAX_TEXT + 1)}


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ((), "is empty"),
        (({"problem": "p", "responses": [{}]},), "line 1"),
        (({**HEADER, "schema": "codegate.transcripts/2"},), "line 1: schema"),
        (({**HEADER, "label": "measured"},), "line 1: label"),
        ((HEADER, {"problem": "p", "responses": []}), "line 2: responses"),
        ((HEADER, {"problem": "p", "sample": "0", "responses": [{}]}), "line 2: sample"),
        ((HEADER, {"problem": "p", "sample": -1, "responses": [{}]}), "line 2: sample"),
        ((HEADER, b"", {"problem": "p", "responses": [{"text": 1}]}), "line 3: responses.0.text"),
        ((HEADER, {"problem": "p", "responses": [{"tool_calls": [NO_ID]}]}), "line 2: responses.0"),
        ((HEADER, {"problem": "p", "responses": [{"tool_calls": [LONG]}]}), "line 2: responses.0"),
        ((HEADER, {"problem": "p", "responses": [{"usage": {"helpers": {"m": {}}}}]}), "line 2: responses.0"),
        ((HEADER, b'{"problem": "p", "responses": [{"text": "\xff"}]}'), "line 2"),
        ((HEADER, b'{"problem": '), "line 2"),
        ((HEADER, b"""{"problem": "p", "responses": [{"tex\\\\u0000\\\\u001b[2J": 1}]}"""), "line 2: responses.0.tex"),
        ((HEADER, *[{"problem": "p", "responses": [{}]}] * 2), "line 3: problem p sample 0 was on line 2"),
        ((HEADER, b"x" * ((8 << 20) + 1)), "line 2 is longer"),
    ],
)
def test_broken_file_names_file_and_line(tmp_path: Path, lines: tuple[object, ...], place: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(UsageError) as caught:
        ReplayProvider(path)
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


@given(data=st.binary(max_size=300), header=st.booleans())
def test_any_bytes_are_a_file_or_a_usage_error(tmp_path: Path, data: bytes, header: bool) -> None:
    path = written(tmp_path, *([HEADER] if header else []), data)
    with contextlib.suppress(UsageError):
        ReplayProvider(path)
