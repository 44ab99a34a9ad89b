"""The queue of a mining run: changes tried in parallel.

Results are taken in the queue's order.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from codegate.environments import find_recipes
from codegate.errors import CodegateError, Interrupted, UsageError
from codegate.grading import Sandboxes
from codegate.mining.build import BuiltProblem, ProblemBuilder
from codegate.mining.ledger import Ledger
from codegate.mining.options import MineRequest
from codegate.mining.profile import Profile, Steps
from codegate.mining.refresh import KeptSuite
from codegate.mining.report import FOUND_ENOUGH, ChangeResult, MineEvent, change_result
from codegate.mining.selection import corrected_by
from codegate.mining.units import Prospect, Rejected
from codegate.sandbox import SandboxClosed, SandboxError, close_soon
from codegate.suite import Environment, GitError, git
from codegate.wording import documentation

ENOUGH: Final = 30
"""Number of problems after which no change older than ``RECENT`` is tried, unless more are wanted."""

RECENT: Final = timedelta(days=3 * 365)
"""Age, from the queue's newest change, up to which changes are always tried."""

GRACE_SECONDS: Final = 5.0
"""Seconds that units have to end when mining stops. Sandboxes end at once, but builds may not."""

_PROGRESS_SECONDS: Final = 1.0
_FEW: Final = 3
"""Number of units that must end before the remaining time is estimated, or a common failure is reported."""

_OF_ENVIRONMENT: Final = frozenset({"env_unresolved", "env_no_passing_test"})

_NO_TIME: Final = Rejected("budget", "the time budget was used up")


class Budget:
    """Stops mining when its time is up, and closes sandboxes.

    Attributes:
        over: set when the time is up, or when no more results are wanted.
        used_up: set when the time is up.
    """

    def __init__(self, minutes: float | None, started: float, sandboxes: Sandboxes) -> None:
        self.over = threading.Event()
        self.used_up = threading.Event()
        self._sandboxes = sandboxes
        self._deadline = math.inf if minutes is None else started + minutes * 60
        left = max(0.0, self._deadline - time.monotonic())
        self._timer = threading.Timer(min(left, threading.TIMEOUT_MAX), self._stop)
        self._timer.daemon = True
        self._timer.start()

    def seconds_left(self) -> float:
        """Return the seconds left to wait for a result."""
        return max(0.0, self._deadline + GRACE_SECONDS - time.monotonic())

    def end(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _stop(self) -> None:
        self.used_up.set()
        self.over.set()
        self._sandboxes.stop()


class Queue:
    """Tries the changes in a queue; collects results in order."""

    def __init__(
        self,
        builder: ProblemBuilder,
        options: MineRequest,
        budget: Budget,
        results: list[ChangeResult],
        kept: KeptSuite | None,
        progress: Callable[[MineEvent], None],
    ) -> None:
        self.builder = builder
        self.options = options
        self.budget = budget
        self.results = results
        self.known = kept.commits if kept else frozenset()
        self.ids = {problem.id for problem in kept.problems} if kept else set()
        self.progress = progress
        facts = {
            "name": builder.name,
            "sandbox": builder.sandboxes.backend.name,
            **options.decisive(),
        }
        if options.recipe is None:
            facts["proposed"] = [found.recipe.identity for found in find_recipes(builder.tip, options.path)]
        self.ledger = Ledger(options.memory, facts) if options.memory is not None else None
        self.recalled: dict[str, BuiltProblem | Rejected] = {}
        self.needless: set[str] = set()
        self.built: list[BuiltProblem] = []
        self.recent: datetime | None = None
        self.first: tuple[BuiltProblem | Rejected, ...] = ()
        self.profile = Profile()
        self.trying: dict[str, tuple[Prospect, Steps]] = {}  # by name of the thread
        self.futures: dict[str, Future[_Ending]] = {}  # by commit
        self.ended = 0
        self.started = time.monotonic()

    def run(self, queue: list[Prospect]) -> None:
        """Try changes until enough problems are found.

        Raises:
            InfrastructureError: sandboxes or the package index failed, or no environment at all could be built.
            Interrupted: stopped by the user.
        """
        total = len(queue)
        if self.options.since is None and queue:
            self.recent = max(prospect.unit.date for prospect in queue) - RECENT
        self._recall(queue)
        tasks = deque((prospect, Future[_Ending]()) for prospect in queue)
        self.futures = {prospect.unit.commit: future for prospect, future in tasks}
        # Unlike an executor's, these threads do not keep the process alive: a unit's files are untrusted, and a worker
        # that is stuck in one of them must not keep mining from stopping.
        names = (f"mine-{number}" for number in range(self.options.jobs))
        workers = [threading.Thread(target=self._work, args=(tasks,), name=name, daemon=True) for name in names]
        for worker in workers:
            worker.start()
        try:
            for prospect in queue:
                self._end(prospect, self.futures[prospect.unit.commit], total)
            self._drop_surplus()
        except KeyboardInterrupt as error:
            self.builder.stop.set()
            close_soon(self.builder.sandboxes.backend)
            command = "The same command without --fresh" if self.options.fresh else "The same command"
            again = f" {command} goes on from here." if self.ledger is not None else ""
            raise Interrupted(f"mining was stopped; no suite was written.{again}") from error
        finally:
            self.builder.stop.set()
            self.builder.sandboxes.stop()
            tasks.clear()
            deadline = time.monotonic() + min(GRACE_SECONDS, self.budget.seconds_left())
            for worker in workers:
                worker.join(max(0.0, deadline - time.monotonic()))

    def _recall(self, queue: list[Prospect]) -> None:
        """Look up stored results; mark changes that need no try."""
        if self.ledger is None or self.options.fresh:
            return
        most, problems = self.options.max_problems, list[BuiltProblem]()
        for prospect in queue:
            if most is not None and _is_full(problems, most):
                self.needless.add(prospect.unit.commit)
                continue
            known = self.ledger.find(prospect)
            if isinstance(known, BuiltProblem) and not self._has_base(known.environment):
                continue
            if known is not None and prospect.unit.commit not in self.known:
                self.recalled[prospect.unit.commit] = known
                problems += [known] if isinstance(known, BuiltProblem) else []

    def _has_base(self, environment: Environment) -> bool:
        """Return whether the history has the commit of a build.

        A history that was rewritten since, or is another branch's, lacks the commit from whose tree it was built.
        """
        base = environment.manifest.base
        try:
            if base is not None and base.commit is not None:
                tip = self.options.branch or "HEAD"
                git(self.builder.repository, "merge-base", "--is-ancestor", base.commit, tip)
        except GitError:
            return False
        return True

    def _work(self, tasks: "deque[tuple[Prospect, Future[_Ending]]]") -> None:
        while True:
            try:
                prospect, future = tasks.popleft()
            except IndexError:
                return
            if future.set_running_or_notify_cancel():
                try:
                    steps = Steps()
                    self.trying[threading.current_thread().name] = (prospect, steps)
                    future.set_result(self._attempt(prospect, steps))
                except BaseException as error:  # raised again where the result is asked for
                    future.set_exception(error)
                finally:
                    self.trying.pop(threading.current_thread().name, None)

    def _attempt(self, prospect: Prospect, steps: Steps) -> "_Ending":
        if prospect.unit.commit in self.known:
            return _Ending(Rejected("duplicate", "the suite has a problem of it already"), steps)
        known = self.recalled.get(prospect.unit.commit)
        if known is not None:
            return _Ending(known, steps, remembered=True)
        if prospect.unit.commit in self.needless:
            return _Ending(Rejected("budget"), steps)
        if self.budget.used_up.is_set():
            return _Ending(_NO_TIME, steps)
        try:
            try:
                end = self.builder.build(prospect, steps)
            except SandboxClosed:
                raise
            except SandboxError:
                end = self.builder.build(prospect, steps)  # once more: a sandbox may fail by accident
        except (CodegateError, OSError):
            if not self.builder.stop.is_set():
                raise
            return _cut_off(steps)
        except Exception as error:  # one odd file in a history must not lose all other results
            end = Rejected("unreadable", f"{type(error).__name__}: {error}"[:300])
        if self.builder.stop.is_set() and isinstance(
            end, Rejected
        ):  # the runs were cut off, so the reason is not known
            return _cut_off(steps)
        if self.ledger is not None:
            self.ledger.record(prospect, end)
        return _Ending(end, steps)

    def _end(self, prospect: Prospect, future: "Future[_Ending]", total: int) -> None:
        most = self.options.max_problems
        full = most is not None and _is_full(self.built, most)
        if most is None and self.recent is not None and prospect.unit.date < self.recent:
            most, full = ENOUGH, len(self.built) >= ENOUGH
        if full:
            self.builder.stop.set()
            future.cancel()
            self.results.append(
                change_result(prospect.unit, prospect.bug, Rejected("budget", f"{FOUND_ENOUGH} ({most})"))
            )
            return
        done = self._wait_for(future, total)
        steps = next((steps for one, steps in tuple(self.trying.values()) if one is prospect), None)
        late = _Ending(_NO_TIME, Steps()) if steps is None else replace(_cut_off(steps), steps=Steps())
        ending = future.result() if done else late
        end, seconds = ending.end, ending.steps.seconds
        if isinstance(end, BuiltProblem) and end.problem.id in self.ids:
            end = Rejected("duplicate", f"there is a problem {end.problem.id} already")
        if isinstance(end, BuiltProblem) and (
            later := corrected_by(end.problem, [each.problem for each in self.built])
        ):
            end = Rejected("reversed", f"{later} changes what its tests expect")
        if isinstance(end, BuiltProblem):
            self.ids.add(end.problem.id)
            self.built.append(end)
        if not ending.remembered and seconds:
            self.profile.add(ending.steps, kept=isinstance(end, BuiltProblem))
        outcome = end.problem if isinstance(end, BuiltProblem) else end
        took = ending.cut_off or sum(seconds.values())
        result = change_result(prospect.unit, prospect.bug, outcome, took, remembered=ending.remembered)
        self.results.append(result)
        if result.reason == "budget":
            return
        outcome_text = result.problem or f"{result.reason}{': ' + result.detail if result.detail else ''}"
        message = f"{prospect.unit.commit[:12]} {prospect.unit.title[:60]!r}: {outcome_text}"
        self.ended += 1
        kind: Literal["unit", "problem"] = "problem" if result.problem else "unit"
        self._report(kind, message, total)
        if not ending.remembered:
            self._check_first(end)

    def _drop_surplus(self) -> None:
        """Drop surplus problems; keep those with executed examples first."""
        most = self.options.max_problems
        ordered = sorted(self.built, key=lambda each: each.problem.quoted)
        self.built = ordered[:most]
        kept, why = {each.problem.id for each in self.built}, f"{FOUND_ENOUGH} ({most})"
        for number, result in enumerate(self.results):
            if result.problem is not None and result.problem not in kept:
                self.results[number] = replace(result, problem=None, reason="not_needed", detail=why)

    def _check_first(self, end: BuiltProblem | Rejected) -> None:
        """Raise UsageError if the first changes all lack an environment."""
        self.first = (*self.first, end)[:_FEW]
        reasons = {each.reason if isinstance(each, Rejected) else None for each in self.first}
        if len(self.first) == _FEW and len(reasons) == 1 and reasons <= _OF_ENVIRONMENT and isinstance(end, Rejected):
            self.first = ()
            raise UsageError(
                f"the first {_FEW} changes ended alike, as {end.reason}. The last one: {end.detail}",
                f"Correct `environment` in codegate.yml ({documentation('environments.md')}). Then the same command "
                "tries again.",
            )

    def _wait_for(self, future: "Future[_Ending]", total: int) -> bool:
        """Return whether a change's result came in time; report progress.

        ``total`` is the number of changes to try.
        """
        while True:
            left = self.budget.seconds_left()
            if wait([future], min(left, _PROGRESS_SECONDS)).done:
                return True
            if left <= 0:
                return False
            now = time.monotonic()
            at_work = [
                f"{prospect.unit.commit[:12]} ({steps.current or 'reading'}, {now - steps.began:.0f} s)"
                for prospect, steps in tuple(self.trying.values())
            ]
            until = f"; at most {left:.0f} min left" if 1 <= (left := self._minutes_left(now)) < math.inf else ""
            message = f"trying {', '.join(at_work)}{until}"
            self._report("trying", message, total)

    def _report(self, kind: Literal["unit", "problem", "trying"], message: str, total: int) -> None:
        most = self.options.max_problems
        more = most is not None and len(self.built) >= most and not _is_full(self.built, most)
        executed = _executed(self.built) if more else None
        self.progress(MineEvent(kind, message, self.ended, total, len(self.built), executed))

    def _minutes_left(self, now: float) -> float:
        # The result is the rest of the budget, or less if the units tried so far took less time; remembered units do
        # not count. All finished units count, because a slow one at the head of the queue may end last.
        fresh = [future for commit, future in self.futures.items() if commit not in self.recalled]
        tried = sum(future.done() for future in fresh)
        budget = self.budget.seconds_left() / 60
        if tried < _FEW:
            return budget
        return min(budget, (now - self.started) / tried * (len(fresh) - tried) / 60)


def _is_full(built: Sequence[BuiltProblem], most: int) -> bool:
    """Return whether there are enough problems.

    ``most`` problems with an executed example are enough, or twice as many in all.
    """
    return len(built) >= 2 * most or _executed(built) >= most


def _executed(built: Sequence[BuiltProblem]) -> int:
    return sum(not each.problem.quoted for each in built)


@dataclass(frozen=True)
class _Ending:
    end: BuiltProblem | Rejected
    steps: Steps
    remembered: bool = False
    cut_off: float = 0.0  # seconds until the try was cut off; 0: it was not


def _cut_off(steps: Steps) -> _Ending:
    seconds = time.monotonic() - steps.began
    why = f"cut off after {seconds:.0f} s, when the time budget was used up; the next mining begins it again"
    return _Ending(Rejected("budget", why), steps, cut_off=seconds)
