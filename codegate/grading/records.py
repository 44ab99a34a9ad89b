"""The test driver's records, as they come out of a sandbox: read strictly, believed only with the token.

The driver shares its process with the code under test, so a record is that process's claim, made over a channel
that only the driver was given the token of. What is not such a record is somebody else's, and said so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

AttemptKind = Literal["network", "local", "files", "writes", "signals", "processes"]
"""What code may try to do: connections and look-ups that leave the sandbox, and such that stay in it; forbidden files;
changes of files outside the workspace; signals to processes of the harness; new processes."""


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
    """One phase of one test; ``receipts`` are the tokens of assertions that it passed (see ``controls``)."""

    kind: Literal["phase"]
    id: str
    when: Literal["setup", "call", "teardown"]
    outcome: Literal["passed", "failed", "skipped", "xfail"]
    seconds: float = Field(ge=0, allow_inf_nan=False)
    markers: tuple[str, ...]
    crash: Crash | None
    receipts: tuple[str, ...] = ()


class CollectionFailure(_Record):
    """A file, or part of one, that could not be collected."""

    kind: Literal["collection_error"]
    id: str
    text: str
    crash: Crash | None


class Attempted(_Record):
    """Some of what the process tried to do, not said before; see ``behaviour_driver.py``.

    Attributes:
        counts: of events, by kind.
        details: the first distinct ones, by kind.
    """

    kind: Literal["behaviour"]
    counts: dict[AttemptKind, Annotated[int, Field(ge=0, le=1 << 40)]]
    details: dict[AttemptKind, Annotated[tuple[Annotated[str, Field(max_length=1000)], ...], Field(max_length=10)]]


class _End(_Record):
    kind: Literal["end"]
    status: int


_RECORD: Final[TypeAdapter[Phase | CollectionFailure | Attempted | _End]] = TypeAdapter(
    Annotated[Phase | CollectionFailure | Attempted | _End, Field(discriminator="kind")]
)


@dataclass(frozen=True)
class Records:
    """What a driver reported.

    Attributes:
        phases: in the order they came, by test id.
        failures: what could not be collected.
        status: the exit status that the driver announced with its last record; None when there is no such record.
        forged: something else was written to the pipe.
        attempted: what the process tried to do, in parts; empty from drivers that do not watch.
    """

    phases: dict[str, tuple[Phase, ...]]
    failures: tuple[CollectionFailure, ...]
    status: int | None
    forged: bool
    attempted: tuple[Attempted, ...] = ()


def receipts_of(phases: Mapping[str, tuple[Phase, ...]]) -> dict[str, frozenset[str]]:
    """Return the receipts of each test's phases together."""
    return {test: frozenset(token for phase in found for token in phase.receipts) for test, found in phases.items()}


def first_failure(phases: tuple[Phase, ...]) -> Phase | None:
    """Return the first phase of a test that failed, or None."""
    return next((phase for phase in phases if phase.outcome == "failed"), None)


def read_records(data: bytes, token: str) -> Records:
    """Read what came over the pipe; a last line that was cut short is no record, and no forgery."""
    opening = f"{token} ".encode("ascii")
    phases: dict[str, list[Phase]] = {}
    failures: list[CollectionFailure] = []
    attempted: list[Attempted] = []
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
        elif isinstance(record, Attempted):
            attempted.append(record)
        else:
            status = record.status
    found = {test: tuple(reported) for test, reported in phases.items()}
    return Records(found, tuple(failures), status, forged, tuple(attempted))


def _parse(line: bytes, opening: bytes) -> Phase | CollectionFailure | Attempted | _End | None:
    if not line.startswith(opening):
        return None
    try:
        return _RECORD.validate_json(line[len(opening) :])
    except ValidationError:
        return None
