"""A whole run from its request: suite, backend, journal, execution; and the gate after it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec
from codegate.errors import ExitCode
from codegate.gating import GatePolicy, Verdict, VerdictKind, compare, load_pinned
from codegate.running.interrupts import interruptible
from codegate.running.journal import Journal
from codegate.running.outcome import Run
from codegate.running.plan import new_run_id, plan_run
from codegate.running.samples import candidate_samples
from codegate.running.scheduler import Progress, RunOptions, execute
from codegate.sandbox import Backend, Choice, select_backend
from codegate.suite import load_suite

# The worst of several candidates decides; a fault on our side is never hidden behind a verdict.
_WORST: Final[tuple[VerdictKind, ...]] = ("infrastructure", "regressed", "incomparable", "inconclusive", "pass")


@dataclass(frozen=True)
class RunRequest:
    """What to run.

    Attributes:
        suite: folder of the suite.
        candidates: who answers; ignored when an earlier run is resumed.
        samples: per problem and candidate; likewise.
        sandbox: where untrusted code runs.
        out: folder of a new run; None makes ``runs/<id>``.
        resume: folder of a run to continue.
    """

    suite: Path
    candidates: Sequence[CandidateSpec]
    samples: int = 1
    sandbox: Choice = "auto"
    out: Path | None = None
    resume: Path | None = None
    options: RunOptions = field(default_factory=RunOptions)


@contextmanager
def opened_backend(sandbox: Choice, run_id: str, stop: threading.Event) -> Iterator[Backend]:
    """Give a backend; on Ctrl-C, SIGTERM or the end every sandbox of it is removed.

    Raises:
        SandboxUnavailable: nothing can run untrusted code here.
    """
    backend = select_backend(sandbox, run_id)
    try:
        backend.sweep()
        with interruptible(stop, backend.close):
            yield backend
    finally:
        backend.close()


def run_suite(
    request: RunRequest, progress: Callable[[Progress], None], announce: Callable[[str], None]
) -> tuple[Run, Journal]:
    """Carry out a run, new or resumed, and return it with its journal.

    Raises:
        CodegateError: as ``execute`` and what it needs; outcomes that are in the journal stay there.
    """
    suite = load_suite(request.suite)
    run_id = new_run_id()
    stop = threading.Event()
    with opened_backend(request.sandbox, run_id, stop) as backend:
        if request.resume is not None:
            journal = Journal.open(request.resume)
        else:
            manifest = plan_run(suite, request.candidates, request.samples, backend.name, run_id)
            journal = Journal.create(request.out or Path("runs") / run_id, manifest)
        announce(f"run {journal.manifest.id} in {journal.folder}, sandbox {backend.name}")
        with journal.writing():
            run = execute(journal, suite, backend, request.options, progress, stop)
    return run, journal


def gate_run(run: Run, lock: Path, policy: GatePolicy) -> tuple[Verdict, ...]:
    """Compare every candidate of ``run`` with the baseline that ``lock`` pins.

    Raises:
        UsageError: the lock or the baseline is missing or broken.
    """
    baseline = load_pinned(lock)
    return tuple(
        compare(baseline.samples, candidate_samples(run, candidate), policy) for candidate in run.manifest.candidates
    )


def run_exit_code(runs: Sequence[Run], verdicts: Sequence[Verdict]) -> ExitCode:
    """Return the exit code of gated runs; without a baseline, 4 when any outcome is missing its grade, else 0."""
    if verdicts:
        return min(verdicts, key=lambda verdict: _WORST.index(verdict.kind)).exit_code
    planned = sum(len(r.manifest.problems) * len(r.manifest.candidates) * r.manifest.samples for r in runs)
    graded = sum(1 for run in runs for outcome in run.outcomes if outcome.grade is not None)
    return ExitCode.PASS if graded == planned else ExitCode.INFRASTRUCTURE
