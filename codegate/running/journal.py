"""A run on disk: ``run.json``, ``outcomes.jsonl`` and ``transcripts/``.

Attempts are written before they are graded, because they were paid for; outcomes are appended one fsynced line
each. A crash at any line loses at most what was in flight, and a resumed run repeats neither.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from codegate.durable import append_line, write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.running.outcome import Outcome, Run, RunManifest
from codegate.solving import Attempt
from codegate.suite import read_bytes, read_json

MAX_JOURNAL_BYTES: Final = 2 << 30
MAX_TRANSCRIPT_BYTES: Final = 64 << 20


class Journal:
    """The folder of one run."""

    def __init__(self, folder: Path, manifest: RunManifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def create(cls, folder: Path, manifest: RunManifest) -> "Journal":
        """Start a run in a new folder.

        Raises:
            UsageError: there already is a run.
        """
        if (folder / "run.json").exists():
            raise UsageError(f"{folder} already holds a run.", "Continue it with --resume, or choose another --out.")
        write_atomic(folder / "run.json", manifest.model_dump_json(indent=2, by_alias=True).encode("utf-8") + b"\n")
        return cls(folder, manifest)

    @classmethod
    def open(cls, folder: Path) -> "Journal":
        """Open the run in ``folder``.

        Raises:
            UsageError: there is none, or its ``run.json`` is broken.
        """
        if not (folder / "run.json").exists():
            raise UsageError(f"{folder} holds no run: it has no run.json.")
        return cls(folder, read_json(folder / "run.json", RunManifest))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep every other process from writing to the run, and mend a line that a crash cut short.

        Raises:
            UsageError: another process is at it.
        """
        descriptor = os.open(self.folder / "run.json", os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(f"{self.folder} is being written by another process.") from error
            self._drop_torn_line()
            yield
        finally:
            os.close(descriptor)

    def append(self, outcome: Outcome) -> None:
        """Add an outcome; it is on the disk when this returns."""
        append_line(self._outcomes, outcome.model_dump_json(by_alias=True).encode("utf-8", "replace"))

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcome that counts for each key, in the order they finished.

        A graded outcome wins over a fault, whichever came first; of two of a kind the later one counts.

        Raises:
            UsageError: a line is not an outcome (a last line that was cut short is left out).
        """
        if not self._outcomes.exists():
            return ()
        raw = read_bytes(self._outcomes, MAX_JOURNAL_BYTES)
        lines = raw.split(b"\n")
        counted: dict[tuple[str, str, int], Outcome] = {}
        for number, line in enumerate(lines[:-1], start=1):
            try:
                outcome = Outcome.model_validate_json(line)
            except ValidationError as error:
                raise UsageError(f"{self._outcomes} line {number} is not an outcome.", "Restore the file.") from error
            before = counted.get(outcome.key)
            if before is None or before.grade is None or outcome.grade is not None:
                counted.pop(outcome.key, None)
                counted[outcome.key] = outcome
        return tuple(counted.values())

    def write_attempt(self, attempt: Attempt) -> None:
        """Keep an attempt, before anything else is done with it."""
        path = self._transcript(attempt.candidate, attempt.problem, attempt.sample)
        write_atomic(path, attempt.model_dump_json(indent=1).encode("utf-8", "replace"))

    def read_attempt(self, candidate: str, problem: str, sample: int) -> Attempt | None:
        """Return the attempt that was kept, or None.

        Raises:
            UsageError: there is one, but it is broken.
        """
        path = self._transcript(candidate, problem, sample)
        if not path.exists():
            return None
        return read_json(path, Attempt)

    def load(self) -> Run:
        """Return the run as it is now."""
        return Run(manifest=self.manifest, outcomes=self.outcomes())

    @property
    def _outcomes(self) -> Path:
        return self.folder / "outcomes.jsonl"

    def _transcript(self, candidate: str, problem: str, sample: int) -> Path:
        for part in (candidate, problem):
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", part):
                raise UsageError(f"{part[:100]!r} is not a usable id.")
        return self.folder / "transcripts" / candidate / f"{problem}.{sample}.json"

    def _drop_torn_line(self) -> None:
        if not self._outcomes.exists():
            return
        try:
            with self._outcomes.open("rb+") as file:
                data = file.read()
                whole = data.rfind(b"\n") + 1
                if whole != len(data):
                    file.truncate(whole)
                    os.fsync(file.fileno())
        except OSError as error:
            raise InfrastructureError(f"cannot mend {self._outcomes}: {error.strerror or error}.") from error


def load_run(folder: Path) -> Run:
    """Read the run in ``folder``; raises as ``Journal.open`` and ``Journal.outcomes``."""
    return Journal.open(folder).load()
