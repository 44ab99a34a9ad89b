"""Read and append ``history.jsonl``: a line per candidate and run.

Trends and the nightly watch read it. It is append-only, one process writes at a time, and no run is added twice. It is
untrusted input. An incomplete last line is ignored.
"""

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from codegate.durable import append_line, digest, drop_torn_line
from codegate.errors import UsageError
from codegate.gating.baseline import Moment, first_fault, parse_file, samples_each, utc_time
from codegate.gating.drift import counts_of, pass_rate
from codegate.gating.pinning import RunSamples
from codegate.strict import Strict, open_regular, printable, read_lines
from codegate.suite.model import Sha256

MAX_HISTORY_BYTES: Final = 64 << 20
MAX_LINE_BYTES: Final = 4 << 20
_MAX_PROBLEMS: Final = 100_000
_LOCK_SECONDS: Final = 10.0
_RESTORE: Final = "Restore the file from version control, or remove the line."

_Text = Annotated[str, StringConstraints(max_length=2000)]
_Setting = Annotated[str, StringConstraints(max_length=MAX_LINE_BYTES // 4)]  # a harness lists all its files
_Count = Annotated[int, Field(ge=0, le=1_000_000)]


class HistoryEntry(Strict):
    """One line of the history: a candidate's finished run.

    Attributes:
        at: when its last sample was made.
        suite: the suite's name.
        candidate: the candidate's key; ``label`` is the candidate's name for people, ``model`` the model that the
            responses name.
        conditions: conditions and settings of the samples; ``conditions_digest`` is the digest of all of them.
        proved: places in which the suite was proved to grade the same.
        samples: the largest number of samples that any problem has.
        counts: passes and graded samples by problem; ``pass_rate`` is their mean rate, in 0..1.
        lost: samples lost to infrastructure faults.
        cost: US dollars that the model calls cost; None if unknown.
    """

    history_schema: Literal["codegate.history/1"] = Field(default="codegate.history/1", alias="schema")
    run: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    at: Moment
    candidate: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    label: _Text
    model: _Text
    suite: _Text
    suite_digest: Annotated[str, StringConstraints(max_length=100)]
    conditions: Annotated[Mapping[_Text, _Setting], Field(max_length=100)]
    conditions_digest: Sha256
    proved: Annotated[tuple[Mapping[_Text, _Text], ...], Field(max_length=100)] = ()
    samples: _Count
    counts: Annotated[Mapping[_Text, tuple[_Count, _Count]], Field(max_length=_MAX_PROBLEMS)]
    lost: _Count = 0
    pass_rate: float | None = Field(ge=0, le=1)
    cost: float | None = Field(default=None, ge=0, le=1e9)

    @model_validator(mode="after")
    def _consistent(self) -> "HistoryEntry":
        if any(passed > n or n > self.samples for passed, n in self.counts.values()):
            raise ValueError("a problem has more passes than samples, or more samples than the run")
        rate = pass_rate(self.counts).value
        known = rate is not None and self.pass_rate is not None
        if (not known and rate is not self.pass_rate) or abs((rate or 0.0) - (self.pass_rate or 0.0)) > 1e-9:
            raise ValueError("pass_rate is not that of counts")
        if digest(dict(self.conditions)) != self.conditions_digest:
            raise ValueError("conditions_digest is not that of conditions")
        return self

    @property
    def key(self) -> tuple[str, str]:
        """Return the run's id and the candidate's key."""
        return (self.run, self.candidate)

    def line(self) -> bytes:
        """Return the entry as one line of ASCII."""
        value = self.model_dump(mode="json", by_alias=True)
        return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False).encode("ascii")


def history_entry(part: RunSamples, cost: float | None = None) -> HistoryEntry:
    """Return the history entry of a candidate's run.

    ``cost`` is the cost of all its model calls in US dollars; None: unknown. Raises UsageError if the run is
    unfinished.
    """
    samples = part.samples
    entries = [sample for many in samples.samples.values() for sample in many]
    if not entries or any(sample.failure == "not run" for sample in entries):
        raise UsageError(f"run {part.run} is unfinished.", "Finish it with `codegate run --resume`.")
    counts = counts_of(samples)
    try:
        return HistoryEntry(
            run=part.run,
            at=utc_time(part.finished),
            candidate=samples.candidate,
            label=samples.label,
            model=samples.model,
            suite=part.suite,
            suite_digest=part.suite_digest,
            conditions=samples.fields,
            conditions_digest=digest(samples.fields),
            proved=samples.proved,
            samples=samples_each(samples),
            counts=counts,
            lost=sum(sample.passed is None for sample in entries),
            pass_rate=pass_rate(counts).value,
            cost=cost,
        )
    except ValueError as error:  # pydantic's errors are ValueErrors, too
        cause = first_fault(error) if isinstance(error, ValidationError) else printable(error)
        raise UsageError(f"run {part.run} cannot go into a history: {cause}.", "Restore its files.") from None


def read_history(path: Path) -> tuple[HistoryEntry, ...]:
    """Read a history's entries, oldest run first; raises UsageError."""
    if not os.path.lexists(path):
        raise UsageError(f"{path} does not exist.", "`codegate history append RUN` writes it.")
    return tuple(sorted(_lines(path), key=lambda entry: (entry.at, entry.run, entry.candidate)))


def append_history(path: Path, entries: Sequence[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """Append the entries that the file lacks; return those appended.

    Raises UsageError if the file is broken or locked, or has another entry for the same run and candidate.
    """
    with _locked(path):
        _repair_last_line(path)
        known = {entry.key: entry for entry in _lines(path)}
        added: list[HistoryEntry] = []
        for entry in entries:
            before = known.get(entry.key)
            if before is not None and before != entry:
                raise _contradiction(path, entry)
            if before is None:
                known[entry.key] = entry
                added.append(entry)
        size = path.stat().st_size
        lines = [entry.line() for entry in added]
        if any(len(line) >= MAX_LINE_BYTES for line in lines) or size + sum(map(len, lines)) >= MAX_HISTORY_BYTES:
            raise UsageError(f"{path} would be larger than {MAX_HISTORY_BYTES} bytes.", "Start a new history file.")
        for line in lines:
            append_line(path, line)
    return tuple(added)


def _lines(path: Path) -> Iterator[HistoryEntry]:
    known: dict[tuple[str, str], HistoryEntry] = {}
    for number, line in enumerate(read_lines(path, MAX_HISTORY_BYTES, MAX_LINE_BYTES), start=1):
        try:
            entry = parse_file(f"{path} line {number}", line, HistoryEntry, _RESTORE)
        except UsageError:
            if not line.endswith(b"\n"):
                return  # a crash cut the last line short
            raise
        before = known.setdefault(entry.key, entry)
        if before is entry:
            yield entry
        elif before != entry:
            raise _contradiction(path, entry)


def _contradiction(path: Path, entry: HistoryEntry) -> UsageError:
    return UsageError(
        f"{path} has another entry for candidate {entry.label} of run {entry.run}.",
        "Remove that line if the run was resumed since.",
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Create the history if missing; lock it against other processes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o644)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"{path} is not a regular file.")
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise UsageError(f"{path} is being written by another process.", "Wait for it.") from error
                time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _repair_last_line(path: Path) -> None:
    """Complete a last line without line break, or remove it."""
    with open_regular(path, MAX_HISTORY_BYTES) as file:
        data = file.read()
    if not data or data.endswith(b"\n"):
        return
    try:
        parse_file(path, data[data.rfind(b"\n") + 1 :], HistoryEntry, _RESTORE)
    except UsageError:
        drop_torn_line(path, MAX_HISTORY_BYTES)
    else:
        append_line(path, b"")
