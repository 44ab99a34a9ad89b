"""Replay answers from a file of transcripts.

The file is JSON Lines. The first line is the header; its ``label`` is ``handwritten`` or ``recorded``::

    {"schema":"codegate.transcripts/1","label":"handwritten","model":"pinned-2025-06-01","note":"..."}

every other line holds the answers to one problem and sample, in order::

    {"problem":"quickstart-17","sample":0,"responses":[{"text":"..."}]}
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field, StringConstraints, ValidationError, model_validator

from codegate.candidates.conversation import (
    Completion,
    Message,
    ProblemKey,
    ProviderError,
    Sampling,
    StopReason,
    ToolCall,
    ToolSpec,
    Usage,
)
from codegate.errors import UsageError
from codegate.strict import Strict, parse_json, printable, read_lines

TRANSCRIPTS_SCHEMA: Final = "codegate.transcripts/1"
MAX_LINE_BYTES: Final = 8 << 20
MAX_FILE_BYTES: Final = 256 << 20
MAX_TEXT: Final = 4 << 20

Label = Literal["handwritten", "recorded"]


class _Response(Strict):
    text: str = Field(default="", max_length=MAX_TEXT)
    tool_calls: Annotated[tuple[ToolCall, ...], Field(max_length=1000)] = ()
    stop_reason: StopReason | None = None
    usage: Usage = Usage()
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _is_bounded(self) -> "_Response":
        if any(not call.id or len(call.arguments) > MAX_TEXT for call in self.tool_calls):
            raise ValueError(f"a call needs an id, and has at most {MAX_TEXT} characters of arguments")
        if self.usage.helpers:
            raise ValueError("the usage of helper models is not replayed")
        return self


class _Header(Strict):
    transcripts_schema: Literal["codegate.transcripts/1"] = Field(alias="schema")
    label: Label
    model: str = Field(min_length=1, max_length=200)
    note: str = Field(default="", max_length=10_000)


class _Transcript(Strict):
    problem: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    sample: int = Field(default=0, ge=0)
    responses: Annotated[tuple[_Response, ...], Field(min_length=1, max_length=1000)]


class ReplayProvider:
    """A provider that replays a file of transcripts.

    The messages so far determine the next answer. If a problem has answers for sample 0 only, they are used for every
    sample; otherwise a missing sample is a fault.

    Raises:
        UsageError: the file is missing or too large, or one of its lines is not valid.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._transcripts: dict[tuple[str, int], _Transcript] = {}
        lines: dict[tuple[str, int], int] = {}
        numbered = _transcript_lines(path)
        first = next(numbered, None)
        if first is None:
            raise UsageError(f"{path} is empty.", f"Its first line is the header of {TRANSCRIPTS_SCHEMA}.")
        self._header = _parse(_Header, path, *first)
        for number, line in numbered:
            transcript = _parse(_Transcript, path, number, line)
            key = (transcript.problem, transcript.sample)
            if key in lines:
                raise UsageError(
                    f"{path}, line {number}: problem {key[0]} sample {key[1]} was on line {lines[key]} already.",
                    "Keep one of the two.",
                )
            lines[key] = number
            self._transcripts[key] = transcript
        self._recorded = {problem for problem, sample in self._transcripts if sample > 0}

    def complete(
        self, key: ProblemKey, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], sampling: Sampling
    ) -> Completion:
        """Return the recorded answer that follows ``messages``."""
        del tools, sampling
        transcript = self._transcript(key)
        turn = sum(message.role == "assistant" for message in messages)
        if turn >= len(transcript.responses):
            raise ProviderError(
                "bad_request",
                f"{self._path}: the transcript for problem {key.problem}, sample {transcript.sample} ends after "
                f"{len(transcript.responses)} responses; response {turn + 1} is missing.",
                "Replay it with the solver and the settings that it was recorded with.",
            )
        response = transcript.responses[turn]
        default: StopReason = "tool_calls" if response.tool_calls else "stop"
        return Completion(
            text=response.text,
            tool_calls=response.tool_calls,
            stop_reason=response.stop_reason or default,
            usage=response.usage,
            model=self._header.model,
            seconds=response.seconds,
        )

    def _transcript(self, key: ProblemKey) -> _Transcript:
        sample = key.sample if key.problem in self._recorded else 0
        transcript = self._transcripts.get((key.problem, sample))
        if transcript is None:
            raise ProviderError(
                "bad_request",
                f"{self._path} has no transcript for problem {key.problem}, sample {key.sample}.",
                "Add one, or choose the problems that it has.",
            )
        return transcript

    def close(self) -> None:
        """Do nothing: the file was read whole."""


_Model = TypeVar("_Model", _Header, _Transcript)


def _transcript_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not os.path.lexists(path):
        raise UsageError(f"{path}: there is no such file of transcripts.", "Check the path after `replay:`.")
    for number, line in enumerate(read_lines(path, MAX_FILE_BYTES, MAX_LINE_BYTES), start=1):
        if line.strip():
            yield number, line


def _parse(kind: type[_Model], path: Path, number: int, line: bytes) -> _Model:
    place = f"{path}, line {number}"
    try:
        parse_json(line.decode("utf-8"), place)  # also refuses duplicate keys, which pydantic accepts
        return kind.model_validate_json(line, strict=True)
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not UTF-8 text.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(printable(part) for part in first["loc"]) or "line"
        raise UsageError(
            f"{place}: {key}: {printable(first['msg'])}.",
            f"The format is {TRANSCRIPTS_SCHEMA}: a header line, then one object per problem and sample.",
        ) from None
