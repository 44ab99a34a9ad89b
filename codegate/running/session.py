"""A whole run from its request: suite, backend, journal, execution; and the gate after it."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, Provider, open_provider
from codegate.errors import ExitCode, Interrupted, UsageError
from codegate.gating import GatePolicy, Verdict, VerdictKind, compare, load_pinned
from codegate.running.interrupts import interruptible
from codegate.running.journal import Journal
from codegate.running.outcome import Run, RunManifest
from codegate.running.plan import check_resumable, new_run_id, plan_run
from codegate.running.readiness import check_bases, check_images
from codegate.running.samples import candidate_samples, check_finished
from codegate.running.scheduler import Progress, RunOptions, execute
from codegate.sandbox import Backend, Choice, check_choice, select_backend
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
        sandbox: where untrusted code runs; a resumed run stays where it began.
        out: folder of a new run; None makes ``runs/<id>``.
        resume: folder of a run to continue.
        keyless: candidates, by their keys, that no API key is sent for.
    """

    suite: Path
    candidates: Sequence[CandidateSpec]
    samples: int = 1
    sandbox: Choice = "auto"
    out: Path | None = None
    resume: Path | None = None
    options: RunOptions = field(default_factory=RunOptions)
    keyless: frozenset[str] = frozenset()


@contextmanager
def opened_backend(sandbox: Choice, run_id: str, stop: threading.Event | None = None) -> Iterator[Backend]:
    """Give a backend; at the end every sandbox of it is removed.

    With ``stop``, Ctrl-C and SIGTERM set it and remove the sandboxes at once, and the block ends with
    ``Interrupted`` whatever error that gives it. Without, they reach the block as ``KeyboardInterrupt``.

    Raises:
        SandboxUnavailable: nothing can run untrusted code here.
        Interrupted: stopped by the user.
    """
    backend = select_backend(sandbox, run_id)
    try:
        backend.sweep()
        if stop is None:
            yield backend
            return
        try:
            with interruptible(stop, backend.close):
                yield backend
        except Exception as error:
            if stop.is_set() and not isinstance(error, Interrupted):
                raise Interrupted("interrupted.") from error
            raise
    finally:
        backend.close()


@contextmanager
def opened_providers(
    candidates: Sequence[CandidateSpec], folder: Path, keyless: Collection[str] = ()
) -> Iterator[Mapping[str, Provider | None]]:
    """Give each candidate's provider by the candidate's key, and close them at the end.

    Args:
        candidates: who is asked.
        folder: where relative files of transcripts are.
        keyless: those of them, by their keys, that no API key is sent for.

    Raises:
        UsageError: a key is not set, an address is not allowed, or a transcript file is not usable.
    """
    providers: dict[str, Provider | None] = {}
    try:
        for candidate in candidates:
            key = candidate.key()
            providers[key] = open_provider(candidate, folder, keyless=key in keyless)
        yield providers
    finally:
        for provider in providers.values():
            if provider is not None:
                provider.close()


def run_suite(
    request: RunRequest, progress: Callable[[Progress], None], announce: Callable[[str], None]
) -> tuple[Run, Journal]:
    """Carry out a run, new or resumed, and return it with its journal.

    A new run's folder is made when nothing is left that a user would have to mend first.

    Raises:
        CodegateError: as ``execute`` and what it needs; outcomes that are in the journal stay there.
    """
    suite = load_suite(request.suite)
    check_images(suite)
    journal, sandbox, run_id, candidates = None, request.sandbox, new_run_id(), request.candidates
    if request.resume is not None:
        journal = Journal.open(request.resume)
        check_resumable(journal.manifest, suite)
        sandbox = _same_sandbox(request.sandbox, journal.manifest)
        run_id, candidates = journal.manifest.id, journal.manifest.candidates
    check_bases(suite, suite.active, request.options.repository)
    stop = threading.Event()
    with (
        opened_providers(candidates, request.options.transcripts, request.keyless) as providers,
        opened_backend(sandbox, run_id, stop) as backend,
    ):
        if journal is None:
            manifest = plan_run(suite, candidates, request.samples, backend.name, run_id)
            journal = Journal.create(request.out or Path("runs") / run_id, manifest)
        announce(f"run {run_id} in {journal.folder}, sandbox {backend.name}")
        with journal.writing():
            return execute(journal, suite, backend, providers, request.options, progress, stop), journal


def _same_sandbox(asked: Choice, manifest: RunManifest) -> Choice:
    """Return the kind of sandbox that the run began with: its outcomes are compared as made under one."""
    if asked in {"auto", manifest.sandbox} and manifest.sandbox != "auto":
        return check_choice(manifest.sandbox)
    raise UsageError(
        f"run {manifest.id} began with {manifest.sandbox} sandboxes and cannot go on with {asked}.",
        f"Leave out --sandbox, or start a new run (codegate.yml: `sandbox: {manifest.sandbox}`).",
    )


def gate_run(run: Run, lock: Path, policy: GatePolicy) -> tuple[Verdict, ...]:
    """Compare every candidate of ``run`` with the baseline that ``lock`` pins.

    Raises:
        UsageError: the run is unfinished, or the lock or the baseline is missing or broken.
    """
    check_finished(run)
    baseline = load_pinned(lock)
    return tuple(
        compare(baseline.samples, candidate_samples(run, candidate), policy) for candidate in run.manifest.candidates
    )


def run_exit_code(run: Run, verdicts: Sequence[Verdict]) -> ExitCode:
    """Return the exit code of a gated run; without a baseline, 4 when any outcome is missing its grade, else 0."""
    if verdicts:
        return min(verdicts, key=lambda verdict: _WORST.index(verdict.kind)).exit_code
    planned = len(run.manifest.problems) * len(run.manifest.candidates) * run.manifest.samples
    graded = sum(1 for outcome in run.outcomes if outcome.grade is not None)
    return ExitCode.PASS if graded == planned else ExitCode.INFRASTRUCTURE
