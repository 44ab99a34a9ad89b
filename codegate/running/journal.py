"""The folder that records a run, for resuming and reports.

It holds ``run.json``, ``outcomes.jsonl``, ``calls.log``, ``transcripts/``, ``problems/``, ``sandbox.json`` and
``soundness.json``. An attempt is written before it is graded, because it was paid for; outcomes are appended, one
fsynced line each. A crash loses at most the outcome in progress, and a resumed run repeats no finished one.
"""

import fcntl
import os
import re
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from codegate.candidates import Redactor
from codegate.candidates.gateway import PaidAnswers
from codegate.durable import append_line, drop_torn_line, write_atomic
from codegate.errors import CodegateError, InfrastructureError, Interrupted, UsageError
from codegate.running.call_log import CALLS, CallLog, Spending
from codegate.running.faults import lost_answers
from codegate.running.outcome import (
    Outcome,
    ProblemRecord,
    Run,
    RunManifest,
    SandboxRecord,
    SoundnessRecord,
    json_text,
)
from codegate.sandbox import Assurance
from codegate.solving import Attempt
from codegate.strict import parse_json, read_lines
from codegate.suite import check_model, read_json

MAX_JOURNAL_BYTES: Final = 2 << 30
MAX_LINE_BYTES: Final = 256 << 20
MAX_TRANSCRIPT_BYTES: Final = 256 << 20
MAX_PROBLEM_BYTES: Final = 16 << 20

RUNS: Final = Path("runs")
"""Default folder of runs."""

CONFIRMATION: Final = "confirmation"
"""Subfolder of the run that confirmed a regression."""

MANIFEST: Final = "run.json"
OUTCOMES: Final = "outcomes.jsonl"
ANSWERS: Final = "answers.jsonl"
"""Predictions file of a run that calls no model."""
_TRANSCRIPTS: Final = "transcripts"
_PROBLEMS: Final = "problems"
_PAID: Final = ".answers"
_SANDBOX: Final = "sandbox.json"
_SOUNDNESS: Final = "soundness.json"
_MADE: Final = (OUTCOMES, CALLS, _TRANSCRIPTS, _PROBLEMS, _SANDBOX, _SOUNDNESS, CONFIRMATION)
"""Names in a run's folder that exist once the run has begun."""
_PART: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
RUN_FILES: Final = re.compile(
    rf"(?:{CONFIRMATION}/)?(?:run\.json|outcomes\.jsonl|calls\.log|answers\.jsonl|sandbox\.json|soundness\.json"
    rf"|transcripts/{_PART}/{_PART}\.[0-9]{{1,3}}\.(?:json|answers)|problems/{_PART}\.json)"
)
"""Pattern of the files in a run's folder from which the run is resumed."""


class Journal:
    """Reads and writes the folder of one run. Thread-safe.

    Write only inside the context manager ``writing``.
    """

    def __init__(self, folder: Path, manifest: RunManifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._lock = threading.RLock()
        self._new = False
        self._refusal: Exception | None = RuntimeError("the journal is not open for writing")
        free = frozenset(one.key() for one in manifest.candidates if not one.calls_a_model)
        self.calls = CallLog(folder / CALLS, self._open_for_writing, free)

    @classmethod
    def create(cls, folder: Path, manifest: RunManifest, again: str = "") -> "Journal":
        """Make a run's folder with ``run.json``; return its journal.

        Raises UsageError if the folder already holds a run, which the command ``again`` continues.
        """
        for name in (MANIFEST, ANSWERS, *_MADE):
            if os.path.lexists(folder / name):
                raise UsageError(
                    f"{folder} already holds a run: there is {folder / name}.",
                    f"Choose another --out, or continue it:\n{again}"
                    if again and name == MANIFEST
                    else "Choose another --out.",
                )
        _write_model(folder / MANIFEST, manifest)
        made = cls(folder, manifest)
        made._new = True
        return made

    @classmethod
    def open(cls, folder: Path) -> "Journal":
        """Open the journal of the run in ``folder``."""
        if not (folder / MANIFEST).exists():
            raise UsageError(f"{folder} holds no run: it has no {MANIFEST}.", "Give the folder that `run` named.")
        return cls(folder, read_json(folder / MANIFEST, RunManifest))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the run for writing; drop an incomplete last outcome.

        The lock excludes other processes. After the block, writes of threads that still run are refused, because
        another process may hold the lock by then.
        """
        for name, kind in ((OUTCOMES, stat.S_ISREG), (CALLS, stat.S_ISREG), (_TRANSCRIPTS, stat.S_ISDIR),
                           (_PROBLEMS, stat.S_ISDIR)):  # fmt: skip
            _check_kind(self.folder / name, kind)
        try:
            descriptor = os.open(self.folder / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"cannot read {self.folder / MANIFEST}: {error.strerror or error}.") from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UsageError(
                    f"{self.folder} is being written by another process.", "Wait for it, or stop it first."
                ) from error
            drop_torn_line(self._outcomes, MAX_JOURNAL_BYTES)
            self._refusal = None
            yield
        finally:
            with self._lock:
                self._refusal = self._refusal or Interrupted("the run has ended.")
            os.close(descriptor)

    def remove_if_unstarted(self) -> None:
        """Remove this journal's run if it has only its plan.

        The run stays if another journal created it, or another process is writing it.
        """
        if not self._new or any(os.path.lexists(self.folder / name) for name in _MADE):
            return
        with suppress(UsageError), self.writing():  # the lock fails while another process continues the run
            for name in (ANSWERS, MANIFEST):
                (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # the folder existed before and has other files
                self.folder.rmdir()

    def append(self, outcome: Outcome) -> None:
        """Append an outcome durably; after a failure, refuse more."""
        with self._open_for_writing():
            try:
                append_line(self._outcomes, outcome.line().encode("ascii"))
            except InfrastructureError as error:
                self._refusal = error
                raise

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the recorded outcomes, one per (candidate, problem, sample).

        Outcomes are in the order in which they finished. Of several outcomes of a sample, the graded outcome is
        returned, else the latest fault. Answers that the dropped outcomes lost are added to the returned outcome,
        except an answer that was graded later.

        Raises:
            UsageError: a line is no outcome of this run (an incomplete last line is ignored), or two lines grade the
                same sample: no run does that, so lines were added or changed.
        """
        counted: dict[tuple[str, str, int], tuple[int, Outcome]] = {}
        for number, outcome in self._numbered_outcomes():
            line, before = counted.get(outcome.key, (number, outcome))
            if line != number and before.grade is not None and outcome.grade is not None:
                raise UsageError(
                    f"{self._outcomes} line {number} grades sample {outcome.sample} of {outcome.problem} again, after "
                    f"line {line}: no run grades a sample twice.",
                    "Restore the file from a copy, or start a new run; a run with such a file decides nothing.",
                )
            if line == number:
                counted[outcome.key] = number, outcome
                continue
            at, kept, other = line, before, outcome
            if before.grade is None:
                at, kept, other = number, outcome, before
                del counted[outcome.key]  # the graded outcome is added at its own place in the order
            lost = lost_answers(other)
            if other.attempt is not None:  # the attempt was graded later and keeps its own losses
                lost = Counter(other.lost) - Counter(other.attempt.lost)
            counted[outcome.key] = at, kept.model_copy(update={"lost": dict(lost + Counter(kept.lost))})
        return tuple(outcome for _, outcome in counted.values())

    def _numbered_outcomes(self) -> Iterator[tuple[int, Outcome]]:
        if not os.path.lexists(self._outcomes):
            return
        candidates = {candidate.key() for candidate in self.manifest.candidates}
        for number, line in enumerate(read_lines(self._outcomes, MAX_JOURNAL_BYTES, MAX_LINE_BYTES), start=1):
            if not line.endswith(b"\n"):
                break
            place = f"{self._outcomes} line {number}"
            try:
                outcome = check_model(parse_json(line.decode("utf-8"), place), Outcome, place)
            except (UsageError, UnicodeDecodeError) as error:
                raise UsageError(f"{place} is not an outcome: {error}", "Restore the file.") from error
            planned = self.manifest.problems.get(outcome.problem) == outcome.problem_digest
            if not planned or outcome.candidate not in candidates or outcome.sample >= self.manifest.samples:
                raise UsageError(
                    f"{place} is of another run: {self.folder / MANIFEST} did not plan it.", "Restore the file."
                )
            yield number, outcome

    def spent_this_month(self) -> Spending:
        """Return what other runs spent this month.

        All runs count that are in folders beside this run's and began in this month (UTC). A shared run counts once,
        even if both its shards and the merged run are there.
        """
        month, here = f"{datetime.now(UTC):%Y-%m}", self.folder.resolve()
        spent: dict[str, dict[bool, Spending]] = {}
        for folder in here.parent.iterdir():
            if folder == here or not os.path.lexists(folder / MANIFEST):  # False in a folder of another user
                continue
            try:
                run = Journal.open(folder)
            except CodegateError as error:
                raise UsageError(
                    f"budget_usd_per_month counts every run in {here.parent}, and one cannot be read: {error.cause}",
                    f"Restore {folder}, or move it elsewhere.",
                ) from error
            if run.manifest.id == self.manifest.id and self.manifest.shard is None:
                continue  # a shard of this run, whose calls are in this run's log
            again = run.confirmation()
            if run.manifest.created.startswith(month):
                of_run = spent.setdefault(run.manifest.id, {True: Spending(), False: Spending()})
                for each in filter(None, (run, again)):
                    of_run[run.manifest.shard is None] += each.calls.spending()
        most = (max(of_run.values(), key=lambda one: (one.usd, one.unpriced)) for of_run in spent.values())
        return sum(most, Spending())

    def write_attempt(self, attempt: Attempt) -> None:
        """Write an attempt durably."""
        path = self._transcript(attempt.candidate, attempt.problem, attempt.sample)
        with self._open_for_writing():
            if path.parent.is_symlink():
                raise UsageError(f"{path.parent} is a symbolic link; runs hold none.", "Remove it.")
            write_atomic(path, json_text(attempt).encode("ascii"))
        path.with_suffix(_PAID).unlink(missing_ok=True)

    def write_problem(self, name: str, record: ProblemRecord) -> None:
        """Write a problem's statement and fix, for reports."""
        with self._open_for_writing():
            write_atomic(self._problem(name), json_text(record).encode("ascii"))

    def read_problem(self, name: str) -> ProblemRecord | None:
        """Return a problem's recorded statement and fix, or None."""
        path = self._problem(name)
        if path.parent.is_symlink() or not os.path.lexists(path):
            return None
        return read_json(path, ProblemRecord, MAX_PROBLEM_BYTES)

    def paid_answers(self, candidate: str, problem: str, sample: int, redactor: Redactor) -> PaidAnswers:
        """Return the stored answers that an unfinished attempt paid for.

        A resumed attempt uses these answers before it makes calls. ``redactor`` removes secrets from answers before
        they are stored. Raises UsageError if the file is a symbolic link.
        """
        return PaidAnswers(self._transcript(candidate, problem, sample).with_suffix(_PAID), redactor)

    def read_attempt(self, candidate: str, problem: str, sample: int) -> Attempt | None:
        """Return a recorded attempt, graded or not, or None."""
        path = self._transcript(candidate, problem, sample)
        if not os.path.lexists(path):
            return None
        try:
            attempt = read_json(path, Attempt, MAX_TRANSCRIPT_BYTES)
        except UsageError as error:
            raise UsageError(error.cause, "Restore the file, or remove it to repeat the model calls.") from error
        if (attempt.candidate, attempt.problem, attempt.sample) != (candidate, problem, sample):
            raise UsageError(f"{path} holds another attempt.", "Restore the file, or remove it to repeat the calls.")
        return attempt

    def record_assurances(self, found: Sequence[Assurance]) -> None:
        """Record the verified isolation of the run's sandboxes.

        The new record replaces an earlier record of the same backend and environment.
        """
        kept = {one.place: one for one in (*self.assurances(), *found)}
        self._write_record(_SANDBOX, SandboxRecord(assurances=tuple(kept.values())[-200:]))

    def assurances(self) -> tuple[Assurance, ...]:
        """Return the recorded isolation of the run's sandboxes."""
        path = self.folder / _SANDBOX
        return read_json(path, SandboxRecord).assurances if os.path.lexists(path) else ()

    def record_soundness(self, record: SoundnessRecord) -> None:
        """Record which problems can be graded on this machine."""
        self._write_record(_SOUNDNESS, record)

    def _write_record(self, name: str, record: SandboxRecord | SoundnessRecord) -> None:
        with self._open_for_writing():
            _write_model(self.folder / name, record)

    def soundness(self) -> SoundnessRecord | None:
        """Return which problems can be graded; None if not checked."""
        path = self.folder / _SOUNDNESS
        return read_json(path, SoundnessRecord) if os.path.lexists(path) else None

    def confirmation(self) -> "Journal | None":
        """Return the journal of the confirming run, or None."""
        folder = self.folder / CONFIRMATION
        return Journal.open(folder) if os.path.lexists(folder / MANIFEST) else None

    def load(self) -> Run:
        """Return the run with its confirming run; omit unsound problems."""
        again = self.confirmation()
        confirmation = again._load() if again is not None else None
        return self._load().model_copy(update={"confirmation": confirmation})

    def _load(self) -> Run:
        record = self.soundness()
        unsound = {name: reason for name, reason in record.problems.items() if reason} if record else {}
        manifest = self.manifest.without(unsound)
        outcomes = tuple(outcome for outcome in self.outcomes() if outcome.problem in manifest.problems)
        return Run(
            manifest=manifest,
            outcomes=outcomes,
            assurances=self.assurances(),
        )

    @property
    def _outcomes(self) -> Path:
        return self.folder / OUTCOMES

    @contextmanager
    def _open_for_writing(self) -> Iterator[None]:
        with self._lock:
            if self._refusal is not None:
                raise self._refusal
            yield

    def _transcript(self, candidate: str, problem: str, sample: int) -> Path:
        return self.folder / _TRANSCRIPTS / _usable(candidate) / f"{_usable(problem)}.{sample}.json"

    def _problem(self, name: str) -> Path:
        return self.folder / _PROBLEMS / f"{_usable(name)}.json"


def _usable(part: str) -> str:
    if not re.fullmatch(_PART, part):
        raise UsageError(f"{part[:100]!r} is not a usable id.")
    return part


def _write_model(path: Path, model: RunManifest | SandboxRecord | SoundnessRecord) -> None:
    write_atomic(path, model.model_dump_json(indent=2, by_alias=True).encode("utf-8") + b"\n")


def _check_kind(path: Path, is_kind: Callable[[int], bool]) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}.") from error
    if stat.S_ISLNK(mode):
        raise UsageError(f"{path} is a symbolic link; runs hold none.", "Remove it.")
    if not is_kind(mode):
        raise UsageError(f"{path} is not what a run has there.", "Remove it.")


def load_run(folder: Path) -> Run:
    """Read the run in ``folder``, with its outcomes."""
    return Journal.open(folder).load()
