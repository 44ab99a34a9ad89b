"""The test driver's records, as they come out of a sandbox: read strictly, believed only with the token.

The driver shares its process with the code under test, so a record is that process's claim, made over a channel
that only the driver was given the token of. What is not such a record is somebody else's, and said so.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Crash(_Record):
    """An exception that ended a test or the import of a file.

    Attributes:
        exception: its class, qualified unless it is a builtin.
        message: its text, cut.
        parents: the builtin classes that it derives from, itself included.
        causes: it and what it was raised from or while handling, as ``exception``.
        errno: of the first OSError among those.
        dependency: the top-level module that could not be imported, when the repository has none of that name.
    """

    exception: str
    message: str = ""
    parents: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    errno: int | None = None
    dependency: str | None = None


class Phase(_Record):
    """One phase of one test."""

    kind: Literal["phase"]
    id: str
    when: Literal["setup", "call", "teardown"]
    outcome: Literal["passed", "failed", "skipped", "xfail"]
    seconds: float = Field(ge=0, allow_inf_nan=False)
    markers: tuple[str, ...]
    crash: Crash | None


class CollectionFailure(_Record):
    """A file, or part of one, that could not be collected."""

    kind: Literal["collection_error"]
    id: str
    text: str
    crash: Crash | None


class _End(_Record):
    kind: Literal["end"]
    status: int


_RECORD: Final[TypeAdapter[Phase | CollectionFailure | _End]] = TypeAdapter(
    Annotated[Phase | CollectionFailure | _End, Field(discriminator="kind")]
)


@dataclass(frozen=True)
class Records:
    """What a driver reported.

    Attributes:
        phases: in the order they came, by test id.
        failures: what could not be collected.
        status: the exit status that the driver announced with its last record; None when there is no such record.
        forged: something else was written to the pipe.
    """

    phases: dict[str, tuple[Phase, ...]]
    failures: tuple[CollectionFailure, ...]
    status: int | None
    forged: bool


def first_failure(phases: tuple[Phase, ...]) -> Phase | None:
    """Return the first phase of a test that failed, or None."""
    return next((phase for phase in phases if phase.outcome == "failed"), None)


def read_records(data: bytes, token: str) -> Records:
    """Read what came over the pipe; a last line that was cut short is no record, and no forgery."""
    opening = f"{token} ".encode("ascii")
    phases: dict[str, list[Phase]] = {}
    failures: list[CollectionFailure] = []
    status: int | None = None
    *lines, rest = data.split(b"\n")
    forged = not opening.startswith(rest[: len(opening)])
    for line in lines:
        record = _parse(line, opening)
        if record is None or status is not None:
            forged = True
        elif isinstance(record, Phase):
            phases.setdefault(record.id, []).append(record)
        elif isinstance(record, CollectionFailure):
            failures.append(record)
        else:
            status = record.status
    return Records({test: tuple(found) for test, found in phases.items()}, tuple(failures), status, forged)


def _parse(line: bytes, opening: bytes) -> Phase | CollectionFailure | _End | None:
    if not line.startswith(opening):
        return None
    try:
        return _RECORD.validate_json(line[len(opening) :])
    except ValidationError:
        return None
