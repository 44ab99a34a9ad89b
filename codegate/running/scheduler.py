"""The scheduler: workers take jobs and journal their outcomes.

``codegate.running.attempt`` makes the attempts. Model calls and sandboxes have separate concurrency limits.
"""

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final, NoReturn

from codegate.errors import InfrastructureError, Interrupted
from codegate.gating import CUT
from codegate.grading import Sandboxes
from codegate.running.attempt import Attempts, Engine, Progress, Setup, ThisMachine, WorkInProgress
from codegate.running.calls import CallLimitReached, ModelCalls
from codegate.running.endings import mostly_lost_candidates, refuse_declined, refuse_truncated, unretryable_outcomes
from codegate.running.faults import most_frequent_fault
from codegate.running.outcome import Fault, Outcome, Run
from codegate.running.plan import AttemptJob, jobs
from codegate.running.predictions import PROVIDER
from codegate.running.readiness import check_soundness, prepare_environments
from codegate.suite import Problem

_POLL_SECONDS: Final = 0.1
_PROGRESS_SECONDS: Final = 1.0
_STOP_SECONDS: Final = 3.0
_WARM: Final = 2
MOST_FIRST: Final = 3
"""Number of truncated first answers that end the run. Fewer may be exceptions."""


def execute(
    setup: Setup,
    settled: Callable[[Run], Collection[str]] | None = None,
    *,
    probe: bool = True,
    pilot: int | None = None,
) -> Run:
    """Execute the rest of a run; return the run.

    Graded outcomes are kept. A run with several planned comparisons makes all samples of a comparison before it begins
    the next. Candidates whose keys ``settled`` returns get no more samples; samples lost to faults are repeated before
    the next comparison. ``probe``: first run one problem of each candidate that calls a model and has no answer yet.
    ``pilot``: make one sample of this many problems, then stop.

    Raises:
        Interrupted: ``interrupt`` was set; everything finished by then is in the journal.
        CallLimitReached: a limit of ``options`` was reached; jobs that needed no further call were still done, except
            after ``max_minutes``.
        InfrastructureError: the journal cannot be written, or too many problems are not sound here.
        UsageError: a base tree, a lock or a kept attempt is not usable, or a first answer shows a misconfiguration.
    """
    journal = setup.journal
    every = jobs(journal.manifest, setup.suite)
    if pilot is not None:
        few = tuple(journal.manifest.problems)[:pilot]
        every = tuple(job for job in every if job.sample == 0 and job.problem.id in few)

    def over(so_far: Run) -> frozenset[str]:
        return frozenset(settled(so_far)) if settled is not None else frozenset()

    run = _Execution(setup)
    try:
        so_far = journal.load()
        done = over(so_far)
        graded = {outcome.key for outcome in so_far.outcomes if outcome.grade is not None}
        failed = {outcome.key for outcome in so_far.outcomes if outcome.grade is None}
        left = [
            job for job in every if job.key in failed or (job.key not in graded and job.candidate.key() not in done)
        ]
        if probe and (first := run.first(left)):
            run.prepare(first)
            run.probe(first, left, over)
        run.prepare(left)
        if probe:
            run.probe(left, left, over)
        looks = journal.manifest.looks
        if failed and journal.manifest.sequential:
            # A resumed run repeats lost samples first, because a clear verdict may lack nothing else.
            sound = journal.load().manifest.problems
            run.work([job for job in every if job.key in failed and job.problem.id in sound], len(graded), 0)
        for number, look in enumerate((*looks, looks[-1])):  # a second round at the last look repeats its lost samples
            so_far = journal.load()
            graded = {outcome.key for outcome in so_far.outcomes if outcome.grade is not None}
            if number == len(looks) and len(graded) == len(so_far.outcomes):
                break  # nothing was lost
            done = over(so_far)
            down = mostly_lost_candidates(so_far) - done if number else set()
            wanted = [
                job
                for job in every
                if job.problem.id in so_far.manifest.problems and job.candidate.key() not in {*done, *down}
            ]
            skipped = graded | (unretryable_outcomes(so_far) if number else set())
            now = [job for job in wanted if job.sample < look and job.key not in skipped]
            run.work(now, len(graded), sum(job.sample >= look for job in wanted))
            all_down = len(down) == len(journal.manifest.candidates)
            if all_down and journal.manifest.sequential and number == len(looks):
                run.stop_for_losses(so_far, down)
    finally:
        run.close()
    return journal.load()


class _Execution:
    """The threads and counters of one execution of a run.

    The threads are daemons, so that a blocked one cannot keep the process alive.
    """

    def __init__(self, setup: Setup) -> None:
        journal, suite, options = setup.journal, setup.suite, setup.options
        self._setup = setup
        self._total = 0
        self._done = 0
        self._stop = threading.Event()
        self._width = options.models + options.jobs
        self._calls = ModelCalls(options, journal, self._stop, setup.time_limit)
        self._sandboxes = Sandboxes.of(suite, setup.backend, options.repository, min(options.jobs, _WARM))
        self._engine: Engine = setup.engine or ThisMachine(self._sandboxes)
        self._doing = WorkInProgress()
        self._broken: dict[str, Fault] = {}
        self._not_run: dict[str, Fault] = {}
        self._tried: set[tuple[str, str, int]] = set()
        self._probed: set[str] = set()
        self._failure: BaseException | None = None
        self._limit: CallLimitReached | None = None
        self._lock = threading.Lock()
        self._attempts = Attempts(setup, self._calls, self._sandboxes, self._engine, self._stop, self._doing)

    def prepare(self, left: list[AttemptJob]) -> None:
        self._total = len(left)
        self._finish([partial(self._prepare, left)])
        self._check_ended()

    def first(self, left: list[AttemptJob]) -> list[AttemptJob]:
        """Return jobs of ``left`` on its first three problems.

        ``probe`` runs some of them when these problems are checked, and before all others are. Only jobs that call a
        model count. Empty without ``precheck``.
        """
        if not self._setup.options.precheck:
            return []
        problems = tuple(dict.fromkeys(job.problem.id for job in left if job.candidate.calls_a_model))[:MOST_FIRST]
        return [job for job in left if job.problem.id in problems and job.candidate.calls_a_model]

    def probe(self, first: list[AttemptJob], left: list[AttemptJob], over: Callable[[Run], Collection[str]]) -> None:
        """Run up to three jobs of each candidate without answers.

        A second and a third job follow while a limit truncates the candidate's answers. Candidates whose keys ``over``
        returns, and candidates probed before, are left out.

        Raises:
            UsageError: a request was declined, or a limit truncated every answer; the message names the remedy.
            InfrastructureError: the account behind a key is out of money.
        """
        before = self._setup.journal.load()
        answered = {outcome.candidate for outcome in before.outcomes if outcome.grade is not None}
        no_more = {*self._probed, *answered, *over(before)}
        queues: dict[str, list[AttemptJob]] = {}
        lost = {outcome.key for outcome in before.outcomes}
        # A provider may decline the request of one problem alone: a resumed run begins with another one.
        for job in sorted(first, key=lambda job: job.key in lost):
            new = job.candidate.calls_a_model and job.candidate.key() not in no_more
            if new and job.problem.id in before.manifest.problems and self._fault(job.problem) is None:
                queues.setdefault(job.candidate.key(), []).append(job)
        waiting = Counter(job.candidate.key() for job in left)
        graded = sum(one.grade is not None for one in before.outcomes)
        earlier, tried = self._tried, set[tuple[str, str, int]]()
        made: dict[tuple[str, str, int], Outcome] = {}
        for turn in range(MOST_FIRST):
            now = [queue[turn] for queue in queues.values() if turn < len(queue)]
            if not now:
                break
            self._tried = set()
            self.work(now, graded + len(tried), len(left) - len(tried) - len(now))
            tried.update(job.key for job in now)
            made = {outcome.key: outcome for outcome in self._setup.journal.load().outcomes if outcome.key in tried}
            cut_off = {key for key, one in made.items() if one.grade is not None and one.grade.failure in CUT}
            faults = [(job.candidate.label, made[job.key].fault) for job in now if job.key in made]
            refuse_declined([(label, fault) for label, fault in faults if fault is not None], self._setup.again)
            queues = {job.candidate.key(): queues[job.candidate.key()] for job in now if job.key in cut_off}
        else:
            for key, cut in queues.items():
                if waiting[key] > MOST_FIRST:  # with no jobs left, ending the run would save nothing
                    refuse_truncated(cut[0], [one for one in made.values() if one.candidate == key], self._setup.again)
        self._tried = earlier | tried
        self._probed |= {candidate for candidate, _, _ in tried}

    def work(self, left: list[AttemptJob], done: int, later: int) -> None:
        """Make and grade the attempts ``left``; record their outcomes.

        Attempts that ``probe`` has just made are skipped. The progress shows ``done`` jobs as finished before and
        ``later`` jobs as still to come. Raises Interrupted, CallLimitReached, or the first error that was not recorded
        as a fault.
        """
        # Probed jobs are skipped even if they had a fault, which only the next execution repeats.
        left, self._tried = [job for job in left if job.key not in self._tried], set()
        self._done, self._total = done, done + len(left) + later
        pending: queue.SimpleQueue[AttemptJob] = queue.SimpleQueue()
        for job in left:
            pending.put(job)
        self._finish([partial(self._work, pending)] * min(len(left), self._width))
        self._check_ended()

    def _check_ended(self) -> None:
        if self._setup.interrupt.is_set():  # other errors are then only effects of closed sandboxes and calls
            raise Interrupted(f"interrupted after {self._so_far()}", self._continue()) from self._failure
        if type(self._failure) is InfrastructureError:  # such as a full disk
            remedy = f"{self._failure.remedy} Outcomes written before are kept. {self._continue()}"
            raise InfrastructureError(self._failure.cause, remedy) from self._failure
        if self._failure is not None:
            raise self._failure
        limit = self._limit or self._attempts.limit
        if limit is not None:
            raise CallLimitReached(
                f"{limit.cause.rstrip('.')} after {self._so_far()}", f"{limit.remedy} {self._continue()}".strip()
            )

    def stop_for_losses(self, run: Run, down: Collection[str]) -> NoReturn:
        """Raise InfrastructureError: candidates lost most samples to faults.

        ``down`` has these candidates' keys. The message has the most frequent fault.
        """
        made = [outcome for key in down for outcome in run.of(key)]
        faults = [outcome.fault for outcome in made if outcome.fault is not None]
        labels = ", ".join(one.label for one in run.manifest.candidates if one.key() in down)
        raise InfrastructureError(
            f"faults took {len(faults)} of {len(made)} samples of {labels}, most often {most_frequent_fault(faults)} "
            f"What the run has made is kept in {self._setup.journal.folder}.",
            self._continue(),
        )

    def close(self) -> None:
        if not self._setup.interrupt.is_set():
            self._sandboxes.close()

    def _so_far(self) -> str:
        return f"{self._done} of {self._total} outcomes; they are kept in {self._setup.journal.folder}."

    def _continue(self) -> str:
        return f"Continue with:\n{self._setup.again}"

    def _finish(self, tasks: Iterable[Callable[[], None]]) -> None:
        # If the run ends early, this returns although threads may still wait for model calls.
        threads = [threading.Thread(target=self._guarded, args=(task,), daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        # Polling, because waiting for an event that a signal handler sets can deadlock.
        alive, reported = threads, time.monotonic()
        while alive and not (self._setup.interrupt.is_set() or self._stop.is_set()):
            alive[0].join(_POLL_SECONDS)
            alive = [thread for thread in alive if thread.is_alive()]
            if time.monotonic() - reported >= _PROGRESS_SECONDS:
                reported = time.monotonic()
                with self._lock:
                    doing = self._doing.words(self._calls.words())
                    self._setup.progress(Progress(self._done, self._total, doing=doing))
        if self._setup.interrupt.is_set() or self._stop.is_set():
            self._stop.set()
            self._engine.stop()
            for provider in self._setup.providers.values():
                if provider is not None:
                    provider.close()
        deadline = time.monotonic() + _STOP_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Interrupted:
            return
        except BaseException as error:  # the main thread raises it again
            with self._lock:
                self._failure = self._failure or error
            self._stop.set()

    def _prepare(self, left: list[AttemptJob]) -> None:
        self._doing.preparing = "preparing the environments"
        run = (job.problem for job in left if job.problem.manifest.answer is None)
        whole = (problem for problem in run if problem.environment.id not in self._broken)
        self._broken |= prepare_environments(self._sandboxes, whole, self._stop)
        if self._sandboxes.assurances:
            self._setup.journal.record_assurances(self._sandboxes.assurances)
        gated = self._setup.journal.manifest.gated_by is not None
        checkable = (
            one for one in left if one.candidate.calls_a_model or (gated and one.candidate.provider == PROVIDER)
        )
        if self._setup.options.precheck and any(checkable):

            def checked(done: int, of: int) -> None:
                self._doing.preparing = f"checked {done} of {of} problems"

            problems = {job.problem.id: job.problem for job in left if self._fault(job.problem) is None}
            base = self._attempts.base
            try:
                found = check_soundness(self._setup, problems.values(), base, self._engine, self._stop, checked)
                self._not_run |= found
            except CallLimitReached as error:
                self._limit = error
        self._doing.preparing = ""

    def _fault(self, problem: Problem) -> Fault | None:
        return self._broken.get(problem.environment.id) or self._not_run.get(problem.id)

    def _work(self, pending: "queue.SimpleQueue[AttemptJob]") -> None:
        while not self._stop.is_set():
            try:
                job = pending.get_nowait()
            except queue.Empty:
                return
            try:
                outcome = self._attempts.outcome(job, self._fault(job.problem))
            except CallLimitReached as error:
                self._limit = error  # jobs that need no further model calls go on
                continue
            with self._lock:
                self._setup.journal.append(outcome)
                self._done += 1
                self._setup.progress(Progress(self._done, self._total, job.candidate.label, outcome))
