"""Make one attempt: solve the problem, grade, record.

An attempt is read from the run's journal, reused from an earlier run, or made by calling the model. Together with its
grade, or the fault that stopped it, it is an outcome. Answers are written to disk before they are graded, so that no
answer is paid for twice.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol, TypeAlias, TypeVar

from codegate.candidates import Provider, answer_redactor, redactor_for
from codegate.candidates.gateway import ModelCall, check_dollars_left
from codegate.grading import (
    Grade,
    OwnTests,
    Regressions,
    Sandboxes,
    SharedCache,
    find_regressions,
    grade,
    run_full_test_suite,
    run_own_tests,
    run_public_tests,
)
from codegate.running.bases import base_trees, cached_contexts
from codegate.running.cache import AttemptCache
from codegate.running.calls import CallLimitReached, ModelCalls, TimeLimit
from codegate.running.endings import (
    changes_of,
    explain_ending,
    grade_question,
    harness_recall,
    patch_size,
    verbatim_recall,
)
from codegate.running.faults import FinalFault, with_retries
from codegate.running.journal import Journal
from codegate.running.outcome import Fault, Outcome, ProblemRecord
from codegate.running.plan import AttemptJob, RunOptions
from codegate.sandbox import Backend, Sandbox
from codegate.solving import Attempt, agent_attempt, solve
from codegate.suite import Environment, PatchError, Problem, Suite, Tree, make_patch

_KEPT: Final = 200_000  # most characters of a recorded statement or fix

Result = TypeVar("Result")

SandboxTask: TypeAlias = Callable[..., Result]
"""A function of a problem, its base tree and the keyword ``sandboxes``. It must be picklable: a module's function or a
``partial`` of one."""


class Engine(Protocol):
    """Runs tasks in sandboxes. Thread-safe."""

    @property
    def words(self) -> str | None:
        """Describe the sandboxes' verified isolation; None before the first task."""
        ...

    def run(self, task: SandboxTask[Result], problem: Problem, base: Callable[[str], Tree]) -> Result:
        """Run ``task`` on ``problem`` in sandboxes; return its result.

        ``base`` loads a problem's base tree by its id.

        Raises:
            SandboxError: a sandbox, a daemon or the cluster failed.
            SandboxClosed: ``stop`` was called.
            CodegateError: the task itself raised it.
        """
        ...

    def stop(self) -> None:
        """End running tasks, and refuse new ones."""
        ...


class ThisMachine:
    """An ``Engine`` that runs tasks in the calling thread."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    @property
    def words(self) -> str | None:
        """Describe the sandboxes; None before the first task."""
        return self._sandboxes.words

    def run(self, task: SandboxTask[Result], problem: Problem, base: Callable[[str], Tree]) -> Result:
        """Run ``task`` in this machine's sandboxes; return its result."""
        return task(problem, base(problem.id), sandboxes=self._sandboxes)

    def stop(self) -> None:
        """Do nothing: the owner of the backend closes its sandboxes."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run: outcomes done, current work.

    ``outcome`` is the newest outcome and ``candidate`` the label of its candidate. Between outcomes both are empty, and
    ``doing`` describes the work in progress.
    """

    done: int
    total: int
    candidate: str = ""
    outcome: Outcome | None = None
    doing: str = ""

    @property
    def words(self) -> str:
        """Describe the newest outcome or the current work."""
        return f"{self.candidate}: {self.outcome.problem} {self.outcome.words()}" if self.outcome else self.doing


class WorkInProgress:
    """Counts the work in progress, except model calls. Thread-safe.

    Attributes:
        preparing: description of the work before the first job; empty afterwards.
    """

    def __init__(self) -> None:
        self.preparing = ""
        self._grading = 0
        self._lock = threading.Lock()

    @contextmanager
    def grading(self) -> Iterator[None]:
        """Count the ``with`` block as a grading in progress."""
        with self._lock:
            self._grading += 1
        try:
            yield
        finally:
            with self._lock:
                self._grading -= 1

    def words(self, calls: str) -> str:
        """Describe all work in progress as one text.

        ``calls`` describes the model calls in progress; "" if there are none.
        """
        grading = f"grading {self._grading}" if self._grading else ""
        return self.preparing or ", ".join(part for part in (calls, grading) if part) or "waiting for a sandbox"


@dataclass(frozen=True)
class Setup:
    """Everything that executing a run needs.

    Attributes:
        progress: called after each outcome, and once a second in between, by one thread at a time.
        interrupt: set when the user interrupts the run.
        again: the command that continues the run, for messages.
        engine: where answers are graded; None: in sandboxes of ``backend``.
    """

    journal: Journal
    suite: Suite
    backend: Backend
    providers: Mapping[str, Provider | None]
    options: RunOptions
    progress: Callable[[Progress], None]
    interrupt: threading.Event
    cache: AttemptCache | None = None
    again: str = ""
    engine: Engine | None = None
    time_limit: TimeLimit = field(default_factory=TimeLimit)


class Attempts:
    """Makes attempts and grades them. Thread-safe.

    Attributes:
        base: returns the base tree of a problem, by its id.
        limit: the error of the limit that stopped an attempt whose earlier answers were lost to faults; None if there
            was no such attempt.
    """

    def __init__(
        self,
        setup: Setup,
        calls: ModelCalls,
        sandboxes: Sandboxes,
        engine: Engine,
        stop: threading.Event,
        doing: WorkInProgress,
    ) -> None:
        options = setup.options
        self._setup, self._calls, self._sandboxes = setup, calls, sandboxes
        self._engine, self._stop, self._doing = engine, stop, doing
        self._slots = threading.Semaphore(options.jobs)
        self._redactor = redactor_for(setup.journal.manifest.candidates)
        self._of_answers = answer_redactor(setup.journal.manifest.candidates)
        self._known: set[str] = set()
        self._passing: SharedCache[str, frozenset[str] | Fault] = SharedCache()
        self.base = base_trees(setup.suite, options.repository, options.models + options.jobs)
        self._show = cached_contexts(setup.suite, self.base)
        self.limit: CallLimitReached | None = None

    def outcome(self, job: AttemptJob, fault: Fault | None) -> Outcome:
        """Make and grade a job's attempt; return the outcome.

        With ``fault``, no attempt is made and the outcome has this fault.

        Raises:
            CallLimitReached: a limit of model calls was reached before the first answer, or no time is left.
        """
        kind = f"attempt of {job.candidate.key()}"
        self._setup.time_limit.check(kind)
        began = time.monotonic()
        spent: list[float] = []
        problem = job.problem
        attempt: Attempt | None = None
        result: Grade | None = None
        lost: set[str] = set()
        if fault is None:
            try:
                attempt = self._attempt(job, lost)
                if problem.manifest.answer is not None:
                    result = grade_question(problem, attempt)
                else:
                    result = self._in_sandboxes(partial(grade, patch=attempt.patch), problem, spent)
                result = explain_ending(result, attempt, job.candidate)
            except FinalFault as error:
                fault = error.fault
            except CallLimitReached as error:
                if not lost:
                    raise
                # Recorded as a fault, so that the next execution repeats the call and the lost answers count.
                self.limit, fault = error, Fault(cause=lost.pop(), message=error.cause, retries=0)
        if attempt is not None:
            self._write_problem(problem)
        own_tests = (
            self._own_tests(problem, attempt, spent) if attempt is not None and result and result.tests else None
        )
        base = self.base(problem.id)
        changes = changes_of(base, attempt.patch) if attempt is not None else None
        outcome = Outcome(
            problem=problem.id,
            problem_digest=problem.digest,
            candidate=job.candidate.key(),
            sample=job.sample,
            attempt=attempt.summary() if attempt else None,
            grade=result,
            fault=fault if result is None else None,
            lost=dict.fromkeys(attempt.lost if attempt is not None else sorted(lost), 1),
            sandbox=self._engine.words,
            recall=verbatim_recall(base, problem.fix, changes),
            size=patch_size(base, problem.fix, changes),
            own_tests=own_tests,
            harness_recall=harness_recall(base, problem.fix, job.candidate.harness),
            recited=attempt is not None and self._recites(attempt),
            grading_seconds=round(sum(spent), 3),
            seconds=round(time.monotonic() - began, 3),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        self._setup.time_limit.record(kind, began)
        if attempt is not None and result is not None and result.compiled:
            # Not in the times above, because it can wait for the runs of another attempt at the problem.
            found = self._regressions(problem, attempt.patch)
            field = "regressions_fault" if isinstance(found, Fault) else "regressions"
            outcome = outcome.model_copy(update={field: found})
        return self._redactor.clean_model(outcome, "problem", "attempt")  # the attempt has been cleaned already

    def _without_keys(self, attempt: Attempt) -> Attempt:
        """Return the attempt without secrets.

        The model's own texts are graded, so only the keys of the model's provider are removed from them.
        """
        own = self._of_answers.clean_model(attempt, "problem")
        messages = tuple(one if one.role == "assistant" else self._redactor.clean_model(one) for one in own.messages)
        own = own.model_copy(update={"messages": messages})
        return self._redactor.clean_model(own, "problem", "patch", "tests", "messages")

    def _write_problem(self, problem: Problem) -> None:
        # Recorded with the run, because reports are often made where the suite is missing.
        if problem.id not in self._known:
            self._known.add(problem.id)
            fix = make_patch(self.base(problem.id), problem.fix)
            record = ProblemRecord(statement=problem.statement[:_KEPT], fix=fix[:_KEPT])
            self._setup.journal.write_problem(problem.id, record)

    def _recites(self, attempt: Attempt) -> bool:
        suite = self._setup.suite.manifest
        answers = [message.text for message in attempt.messages if message.role == "assistant"]
        return any(canary in text for canary in (suite.canary, *suite.pooled_canaries) for text in answers)

    def _attempt(self, job: AttemptJob, lost: set[str]) -> Attempt:
        journal, cache = self._setup.journal, self._setup.cache
        kept = journal.read_attempt(*job.key)
        if kept is not None:
            return kept
        reused = cache.take(job) if cache is not None else None
        # Keys are removed before the attempt is written, graded or shown, because tool results can hold one.
        attempt = self._without_keys(reused or self._solve(job, lost).model_copy(update={"lost": tuple(sorted(lost))}))
        journal.write_attempt(attempt)
        if cache is not None and reused is None:
            cache.keep(job, attempt)
        return attempt

    def _solve(self, job: AttemptJob, lost: set[str]) -> Attempt:
        provider = self._setup.providers[job.candidate.key()]
        what = (job.problem, self.base(job.problem.id), job.candidate, provider, job.sample)
        make = partial(self._calls.make, job.candidate, lost=lost)
        if job.candidate.agent is None:
            call: ModelCall = make
            if job.candidate.solver == "tool_loop":
                call = self._setup.journal.paid_answers(*job.key, self._of_answers).reused(call)
            return solve(*what, partial(self._public_tests, job.problem), call, self._show)
        # The agent is not started again if its sandbox fails, because its calls were paid for.
        paid = self._setup.journal.paid_answers(*job.key, self._of_answers)
        if paid.empty:
            with_retries(partial(check_dollars_left, job.candidate, paid), self._stop)
        python = self._sandboxes.agent_python(job.problem.environment)
        attempt = partial(agent_attempt, *what, python, self._open_for_agent, make, paid)
        return with_retries(attempt, self._stop, "agent")

    def _in_sandboxes(
        self, task: SandboxTask[Result], problem: Problem, spent: list[float], *, grading: bool = True
    ) -> Result:
        """Run a task in sandboxes, with retries; return its result.

        The seconds of each try are appended to ``spent``. With ``grading``, each try counts as a grading in progress.
        """

        def run() -> Result:
            with self._slots, self._doing.grading() if grading else nullcontext():
                began = time.monotonic()
                try:
                    return self._engine.run(task, problem, self.base)
                finally:
                    spent.append(time.monotonic() - began)

        return with_retries(run, self._stop)

    def _own_tests(self, problem: Problem, attempt: Attempt, spent: list[float]) -> OwnTests | None:
        """Run the tests that the model wrote; return their result.

        None if the model wrote no test, or if its tests could not be run. The seconds of each try are appended to
        ``spent``.
        """
        if not attempt.tests or problem.manifest.answer is not None:
            return None
        try:
            return self._in_sandboxes(partial(run_own_tests, patch=attempt.patch, tests=attempt.tests), problem, spent)
        except (FinalFault, PatchError):
            return None

    def _regressions(self, problem: Problem, patch: str) -> Regressions | Fault | None:
        """Run the full test suite; return what the patch breaks.

        Returns None if the suite was not requested, no time was left or no test could be compared. Returns a fault if
        the tests could not be run.
        """
        if not self._setup.options.full_test_suite or problem.manifest.answer is not None:
            return None
        kind, limit = "full test suite", self._setup.time_limit
        try:
            limit.check(kind)
            passing = self._passing.get(problem.id, lambda: self._passing_tests(problem))
            if isinstance(passing, Fault):
                return passing
            limit.check(kind)
            began = time.monotonic()
            found = self._in_sandboxes(partial(find_regressions, patch=patch, passing=passing), problem, [])
            limit.record(kind, began)
        except FinalFault as error:
            return error.fault
        except CallLimitReached:
            return None
        return found

    def _passing_tests(self, problem: Problem) -> frozenset[str] | Fault:
        try:
            return self._in_sandboxes(run_full_test_suite, problem, [])
        except FinalFault as error:
            return error.fault  # the fault is cached, because every attempt would repeat it with all retries

    @contextmanager
    def _open_for_agent(
        self, problem: Problem, packages: Sequence[Environment], seconds: float
    ) -> Iterator[tuple[Sandbox, str | None]]:
        opening = partial(self._sandboxes.open_for_agent, problem.environment, packages, seconds)
        with self._slots, ExitStack() as stack:
            # No agent has run yet, so the answer cannot have caused a fault here.
            yield with_retries(lambda: stack.enter_context(opening()), self._stop, "environment")

    def _public_tests(self, problem: Problem, tree: Tree) -> tuple[str, float]:
        if not any(path in tree for path in problem.manifest.public_tests):
            return "There are no public tests for this problem.", 0.0
        task, spent = partial(run_public_tests, changes=self.base(problem.id).changes_to(tree)), list[float]()
        return self._in_sandboxes(task, problem, spent, grading=False), sum(spent)
