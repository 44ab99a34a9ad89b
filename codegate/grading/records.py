"""Read the records of a test driver, strictly.

The driver shares its process with the code under test, so a record may be forged. A record counts only with the token,
which only the driver got. Anything else in the pipe was written by other code, and is reported as forged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from codegate.strict import Strict

AttemptKind = Literal["network", "local", "files", "writes", "signals", "processes"]
"""Kinds of unusual actions: connections and look-ups that leave the sandbox (``network``) or stay in it (``local``),
use of forbidden ``files``, ``writes`` outside the workspace, ``signals`` to the harness, and new ``processes``."""

_Read = TypeVar("_Read")


class Record(Strict):
    """A line that a driver wrote to the records pipe."""

    model_config = ConfigDict(strict=True)


class Crash(Record):
    """An exception that ended a test or an import.

    Attributes:
        exception: name of the exception's class, qualified unless it is a builtin.
        message: its text, truncated.
        parents: the builtin classes that it derives from, itself included.
        causes: its class, and the classes of the exceptions that it was raised from or while handling.
        errno: error number of the first OSError among it and its causes.
        dependency: the top-level module that could not be imported, if the repository has none of that name.
        place: the innermost file of the workspace in its traceback, and the function; None if unknown.
    """

    exception: str
    message: str = ""
    parents: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    errno: int | None = None
    dependency: str | None = None
    place: tuple[str, str] | None = None


class Phase(Record):
    """A phase of a test: set-up, call or tear-down.

    Attributes:
        receipts: the tokens that marks sent during the phase (see ``controls/copies.py``).
        text: how the runner describes a failure; empty unless the test has copies or is one. The test output leaves
            these descriptions out.
    """

    kind: Literal["phase"]
    id: str
    when: Literal["setup", "call", "teardown"]
    outcome: Literal["passed", "failed", "skipped", "xfail"]
    seconds: float = Field(ge=0, allow_inf_nan=False)
    markers: Annotated[tuple[str, ...], Field(max_length=50)]
    crash: Crash | None
    receipts: tuple[str, ...] = ()
    text: str = Field(default="", max_length=10_000)


class CollectionFailure(Record):
    """A test file, or part of one, that cannot load."""

    kind: Literal["collection_error"]
    id: str
    text: str
    crash: Crash | None


class Uncaught(Record):
    """An error of the run that belongs to no test."""

    kind: Literal["uncaught"]


class Attempted(Record):
    """Unusual actions of the process since its last such record.

    ``counts`` has the number of attempts by kind, ``details`` the first distinct attempts.
    """

    kind: Literal["behaviour"]
    counts: dict[AttemptKind, Annotated[int, Field(ge=0, le=1 << 40)]]
    details: dict[AttemptKind, Annotated[tuple[Annotated[str, Field(max_length=1000)], ...], Field(max_length=10)]]


class End(Record):
    """The last record: the driver's exit status."""

    kind: Literal["end"]
    status: int


_RECORD: Final[TypeAdapter[Phase | CollectionFailure | Uncaught | Attempted | End]] = TypeAdapter(
    Annotated[Phase | CollectionFailure | Uncaught | Attempted | End, Field(discriminator="kind")]
)


@dataclass(frozen=True)
class Records:
    """All records of a driver.

    Attributes:
        phases: by test id, in the order of their arrival.
        failures: test files, or parts of them, that failed to load.
        status: the exit status in the end record; None without one.
        forged: something other than the driver wrote to the pipe.
        uncaught: the framework reported an error that belongs to no test.
        attempted: unusual actions of the process; empty from drivers that do not watch it.
    """

    phases: dict[str, tuple[Phase, ...]]
    failures: tuple[CollectionFailure, ...]
    status: int | None
    forged: bool
    uncaught: bool = False
    attempted: tuple[Attempted, ...] = ()


def receipts_of(phases: Mapping[str, tuple[Phase, ...]]) -> dict[str, frozenset[str]]:
    """Return, by test id, the tokens that marks sent."""
    return {test: frozenset(token for phase in found for token in phase.receipts) for test, found in phases.items()}


def read_records(data: bytes, token: str) -> Records:
    """Return the records that a driver wrote to the pipe."""
    found, status, forged = read_frames(data, token, _RECORD.validate_json)
    phases: dict[str, list[Phase]] = {}
    for phase in found:
        if isinstance(phase, Phase):
            phases.setdefault(phase.id, []).append(phase)
    return Records(
        phases={test: tuple(reported) for test, reported in phases.items()},
        failures=tuple(record for record in found if isinstance(record, CollectionFailure)),
        status=status,
        forged=forged,
        uncaught=any(isinstance(record, Uncaught) for record in found),
        attempted=tuple(record for record in found if isinstance(record, Attempted)),
    )


def read_frames(data: bytes, token: str, parse: Callable[[bytes], _Read | End]) -> tuple[list[_Read], int | None, bool]:
    """Return records, exit status, and whether any line was forged.

    The records end before the end record, which has the exit status (None without one). A line is forged if it lacks
    the token, or if ``parse``, which reads it without the token, raises a ``ValidationError``. An unfinished last line
    is neither a record nor a forgery.
    """
    opening = f"{token} ".encode("ascii")
    *lines, rest = data.split(b"\n")
    forged = not opening.startswith(rest[: len(opening)])
    found: list[_Read] = []
    status: int | None = None
    for line in lines:
        try:
            record = parse(line.removeprefix(opening)) if line.startswith(opening) else None
        except ValidationError:
            record = None
        if record is None or status is not None:
            forged = True
        elif isinstance(record, End):
            status = record.status
        else:
            found.append(record)
    return found, status, forged
