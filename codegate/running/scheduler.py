"""The scheduler: workers take jobs, make attempts, grade them and journal the outcomes.

Model calls and sandboxes each have their own concurrency limit. Attempts are on the disk before they are graded;
an attempt that is there already is graded without asking the model again.
"""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from codegate.candidates import CandidateSpec, Completion, check_answered, open_provider
from codegate.errors import Interrupted, UsageError
from codegate.grading import Grade, Sandboxes, TestReport, TestSelection, grade, run_tests
from codegate.running.faults import Faulted, with_retries
from codegate.running.journal import Journal
from codegate.running.outcome import AttemptSummary, Fault, Outcome, Run
from codegate.running.plan import Job, jobs
from codegate.sandbox import Backend, SandboxError
from codegate.solving import Attempt, solve
from codegate.suite import Problem, Suite, Tree, load_base

_STOP_SECONDS: Final = 5.0


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out; nothing here changes its results.

    Attributes:
        models: model calls under way at once.
        sandboxes: sandboxes running at once.
        max_model_calls: the run stops, resumable, before it makes more calls than this.
        repository: where base commits are looked for, when not where the suite says.
        transcripts: folder that the paths of ``replay`` candidates are relative to.
    """

    models: int = 4
    sandboxes: int = 2
    max_model_calls: int | None = None
    repository: Path | None = None
    transcripts: Path = field(default_factory=Path)


@dataclass(frozen=True)
class Progress:
    """One step of a run: so many of so many outcomes are in; ``outcome`` is the newest, ``candidate`` its label."""

    done: int
    total: int
    candidate: str
    outcome: Outcome


class CallLimitReached(UsageError):
    """The run's own limit of model calls is used up; it can be resumed with a higher one."""


def execute(
    journal: Journal,
    suite: Suite,
    backend: Backend,
    options: RunOptions,
    progress: Callable[[Progress], None],
    stop: threading.Event,
) -> Run:
    """Do what is left of the run in ``journal`` and return the run.

    Outcomes that were graded before are kept; faults are tried again.

    Raises:
        Interrupted: ``stop`` was set; everything finished by then is in the journal.
        CallLimitReached: ``options.max_model_calls`` was reached.
        InfrastructureError: the disk refused the journal.
    """
    done = {outcome.key for outcome in journal.outcomes() if outcome.grade is not None}
    every = jobs(journal.manifest, suite)
    left = [job for job in every if job.key not in done]
    run = _Execution(journal, suite, backend, options, progress, stop, len(every), len(every) - len(left))
    try:
        run.work(left)
    finally:
        run.close()
    return journal.load()


class _Execution:
    """One execution of a run: its slots, its providers and its workers."""

    def __init__(
        self,
        journal: Journal,
        suite: Suite,
        backend: Backend,
        options: RunOptions,
        progress: Callable[[Progress], None],
        stop: threading.Event,
        total: int,
        done: int,
    ) -> None:
        self._journal = journal
        self._suite = suite
        self._options = options
        self._progress = progress
        self._stop = stop
        self._total = total
        self._done = done
        self._model_slots = threading.Semaphore(options.models)
        self._sandbox_slots = threading.Semaphore(options.sandboxes)
        self._sandboxes = Sandboxes(backend, suite.locks, ahead=min(options.sandboxes, 2))
        self._providers = {spec.key(): open_provider(spec, options.transcripts) for spec in journal.manifest.candidates}
        self._calls = 0
        self._fatal: dict[str, Fault] = {}
        self._broken: dict[str, Fault] = {}
        self._bases: dict[str, Tree] = {}
        self._failure: BaseException | None = None
        self._lock = threading.RLock()

    def work(self, left: list[Job]) -> None:
        """Do every job in ``left``; raises what ended the run early."""
        self._prepare_environments(left)
        pending: queue.SimpleQueue[Job] = queue.SimpleQueue()
        for job in left:
            pending.put(job)
        count = min(len(left), self._options.models + self._options.sandboxes)
        workers = [threading.Thread(target=self._worker, args=(pending,), daemon=True) for _ in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            # A plain join cannot be interrupted by the stop event; a worker in a model call may take a while.
            while worker.is_alive() and not self._stop.is_set():
                worker.join(0.1)
        deadline = time.monotonic() + _STOP_SECONDS
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        if self._failure is not None:
            raise self._failure
        if self._stop.is_set():
            raise Interrupted(
                f"interrupted after {self._done} of {self._total} outcomes; they are kept in {self._journal.folder}.",
                "Continue with `codegate run --resume`.",
            )

    def close(self) -> None:
        """Release the sandboxes and the providers."""
        self._sandboxes.close()
        for provider in self._providers.values():
            if provider is not None:
                provider.close()

    def _prepare_environments(self, left: list[Job]) -> None:
        """Build every environment before any model is asked: no money is spent on what cannot be graded."""
        for environment in {job.problem.environment.id: job.problem.environment for job in left}.values():
            if self._stop.is_set():
                return
            try:
                self._sandboxes.prepare(environment)
            except SandboxError as error:
                self._broken[environment.id] = Fault(cause="environment", message=str(error)[:2000], retries=0)

    def _worker(self, pending: "queue.SimpleQueue[Job]") -> None:
        while not self._stop.is_set():
            try:
                job = pending.get_nowait()
            except queue.Empty:
                return
            try:
                self._record(job, self._outcome(job))
            except Interrupted:
                return
            except BaseException as error:  # it is raised again where the run was started
                with self._lock:
                    self._failure = self._failure or error
                self._stop.set()
                return

    def _record(self, job: Job, outcome: Outcome) -> None:
        with self._lock:
            self._journal.append(outcome)
            self._done += 1
            self._progress(Progress(self._done, self._total, job.candidate.label, outcome))

    def _outcome(self, job: Job) -> Outcome:
        started = time.monotonic()
        key, problem = job.candidate.key(), job.problem
        attempt: Attempt | None = None
        result: Grade | None = None
        fault = self._broken.get(problem.environment.id)
        if fault is None:
            try:
                attempt = self._attempt(job)
                started = time.monotonic()
                result = with_retries(partial(self._grade, problem, attempt.patch), self._stop)
                result = _explain_no_patch(result, attempt)
            except Faulted as error:
                fault = error.fault
                if error.fatal:
                    self._fatal[key] = fault
        return Outcome(
            problem=problem.id,
            problem_digest=problem.digest,
            candidate=key,
            sample=job.sample,
            attempt=_summary(attempt) if attempt else None,
            grade=result,
            fault=fault if result is None else None,
            grading_seconds=round(time.monotonic() - started, 3),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _attempt(self, job: Job) -> Attempt:
        key = job.candidate.key()
        kept = self._journal.read_attempt(key, job.problem.id, job.sample)
        if kept is not None:
            return kept
        if key in self._fatal:
            raise Faulted(self._fatal[key], fatal=True)
        attempt = solve(
            job.problem,
            self._base(job.problem),
            job.candidate,
            self._providers[key],
            job.sample,
            partial(self._public_tests, job.problem),
            partial(self._call, job.candidate),
        )
        self._journal.write_attempt(attempt)
        return attempt

    def _call(self, candidate: CandidateSpec, action: Callable[[], Completion]) -> Completion:
        """Make one model call: within the limits, retried as the fault table says, answered by the pinned model."""

        def counted() -> Completion:
            with self._lock:
                limit = self._options.max_model_calls
                if limit is not None and self._calls >= limit:
                    raise CallLimitReached(
                        f"the limit of {limit} model calls is reached after {self._done} of {self._total} outcomes.",
                        "Raise max_model_calls and continue with `codegate run --resume`.",
                    )
                self._calls += 1
            completion = action()
            check_answered(candidate, completion)
            return completion

        with self._model_slots:
            return with_retries(counted, self._stop)

    def _grade(self, problem: Problem, patch: str) -> Grade:
        with self._sandbox_slots:
            return grade(problem, self._base(problem), patch, self._sandboxes)

    def _public_tests(self, problem: Problem, tree: Tree) -> str:
        def run() -> TestReport:
            files = tuple(path for path in problem.manifest.public_tests if path in tree)
            limits = problem.manifest.limits
            selection = TestSelection(files, problem.manifest.python_path, timeout_seconds=limits.seconds)
            with self._sandbox_slots, self._sandboxes.open(problem.environment, limits) as sandbox:
                return run_tests(sandbox, tree, selection)

        if not any(path in tree for path in problem.manifest.public_tests):
            return "There are no public tests for this problem."
        return describe_public_run(with_retries(run, self._stop))

    def _base(self, problem: Problem) -> Tree:
        with self._lock:
            base = self._bases.get(problem.id)
        if base is None:
            base = load_base(self._suite, problem, self._options.repository)
            with self._lock:
                self._bases = {**dict(list(self._bases.items())[-7:]), problem.id: base}
        return base


def describe_public_run(report: TestReport) -> str:
    """Return what a model is told about a run of the public tests."""
    counts: dict[str, int] = {}
    for result in report.results.values():
        counts[result.status] = counts.get(result.status, 0) + 1
    head = ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no test ran"
    if report.timed_out:
        head += "; stopped at the time limit"
    return f"{head}\n{report.output[-8000:]}"


def _summary(attempt: Attempt) -> AttemptSummary:
    return AttemptSummary.model_validate(attempt.model_dump(include=set(AttemptSummary.model_fields)))


def _explain_no_patch(result: Grade, attempt: Attempt) -> Grade:
    """Tell edits that could not be applied to the model's own tree from an answer without any."""
    if result.failure == "no_patch" and attempt.patch_error:
        return result.model_copy(
            update={"failure": "patch_does_not_apply", "applied": False, "detail": attempt.patch_error[:4000]}
        )
    return result
