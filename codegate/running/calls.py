"""Make a run's model calls, within limits and with retries.

Number, concurrency, cost and time are limited; the fault table decides what is retried.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Final

from codegate.candidates import (
    CandidateSpec,
    Completion,
    ProviderError,
    ProviderFault,
    Usage,
    cost,
    worst_case_call_cost,
)
from codegate.errors import UsageError
from codegate.running.faults import (
    FAULTS,
    FinalFault,
    cause_of,
    check_not_stopped,
    fault_of,
    waits_too_long,
    with_retries,
)
from codegate.running.journal import Journal
from codegate.running.outcome import Fault
from codegate.running.plan import RunOptions
from codegate.wording import count_of

_LOG: Final = logging.getLogger(__name__)

_WAIT_SECONDS: Final = 0.1
_TOO_FAST: Final[frozenset[ProviderFault]] = frozenset({"rate_limit", "overloaded"})


@dataclass
class Pace:
    """Limits how many calls of one candidate run at once.

    ``width`` is the present limit. A call that is refused as too fast halves it; ``width`` answers raise it by one, up
    to ``most``. This is additive increase, multiplicative decrease, as in TCP's congestion avoidance (RFC 5681, section
    3.1). No call begins while a Retry-After lasts.
    """

    most: int
    width: float
    under_way: int = 0
    _waits_until: float = 0.0
    _slowed: float = 0.0

    @property
    def pause(self) -> float:
        """Return the seconds for which no call may begin."""
        return max(0.0, self._waits_until - time.monotonic())

    def answered(self) -> None:
        """Record an answer."""
        self.width = min(self.width + 1 / self.width, self.most)

    def failed(self, error: ProviderError, began: float) -> None:
        """Record a failed call that began at ``began`` (``time.monotonic``).

        A call that began before the last decrease of ``width`` does not decrease it again.
        """
        now = time.monotonic()
        if error.fault not in _TOO_FAST:
            return
        self._waits_until = max(self._waits_until, now + (error.retry_after or 0.0))
        if began >= self._slowed:
            self.width, self._slowed = max(1.0, self.under_way / 2), now


class CallLimitReached(UsageError):
    """A limit of calls, cost or time ended the run.

    The run can be resumed.
    """


def _raise(name: str, option: str = "") -> str:
    given = f", or give {option}" if option else ""
    return f"Raise `{name}` in codegate.yml (with --rules-from, that commit's counts){given}."


def _dollars(usd: Decimal) -> str:
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


class TimeLimit:
    """The time limit of one execution of a run. Thread-safe.

    ``minutes`` None: no limit. Work begins only if it would end in time, assuming that it lasts as long as the longest
    earlier work of its kind.
    """

    def __init__(self, minutes: float | None = None) -> None:
        self._minutes = minutes
        self._ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self._longest: dict[str, float] = {}  # seconds of the longest work, by kind of work

    def check(self, kind: str = "", *, wait: float = 0.0) -> None:
        """Raise CallLimitReached if work would end after the limit.

        The work would begin in ``wait`` seconds and last as long as the longest earlier work of the same ``kind``.
        """
        needed = wait + self._longest.get(kind, 0.0)
        if time.monotonic() + needed >= self._ends:
            raise CallLimitReached(f"the limit of {self._minutes:g} minutes leaves no time for more.")

    def record(self, kind: str, began: float) -> None:
        """Record work of this ``kind``, begun at ``began`` (``time.monotonic``)."""
        self._longest[kind] = max(self._longest.get(kind, 0.0), time.monotonic() - began)


class ModelCalls:
    """Makes the model calls of one execution. Thread-safe.

    At most ``options.models`` calls run at a time, fewer of a candidate whose provider asks for less (``Pace``). Calls
    that wait for a retry do not count. Before a call, ``journal`` records it and its highest possible cost is reserved
    from the budget. The limit of calls counts every request, also failed ones. Calls of earlier executions count
    against the limit and the budget. No call is made if ``time_limit`` leaves no time for it.
    """

    def __init__(
        self, options: RunOptions, journal: Journal, stop: threading.Event, time_limit: TimeLimit | None = None
    ) -> None:
        before = options.spent_before + journal.calls.spending()
        self._time_limit = time_limit or TimeLimit()
        self._at_once, self._limit, self._budget = options.models, options.max_model_calls, options.budget_usd
        self._of_month = options.budget_usd_per_month is not None
        self._paces: dict[str, Pace] = {}  # by candidate key
        self._made, self._spent = before.calls, before.usd
        self._uncertain = journal.calls.uncertain()
        self._begun = 0
        self._under_way: dict[int, float] = {}  # start time of each call, by the call's number
        self._repeated: dict[int, str] = {}  # cause of the failure before each call's next try, by thread
        self._journal = journal
        self._stop = stop
        self._fatal: dict[str, Fault] = {}
        self._declined: dict[str, int] = {}  # declined requests in a row, by candidate key
        self._failures: list[ProviderError] = []
        self._changed = threading.Condition()

    def make(
        self,
        candidate: CandidateSpec,
        action: Callable[[], Completion],
        request_bytes: int,
        begin: Callable[[], None] | None = None,
        *,
        lost: set[str] | None = None,
    ) -> Completion:
        """Make a model call with ``action``; return the completion.

        ``begin`` is called before each request, and may raise an exception to end the call. ``lost`` gets the causes of
        retried faults that an answer may have caused.

        Raises:
            FinalFault: the call failed after its retries, or earlier failures show that no call of ``candidate`` works.
            CallLimitReached: the call would exceed the limit of calls, the budget or the time limit.
        """
        worst = worst_case_call_cost(request_bytes, candidate.sampling.output_limit, candidate.prices)
        return self._with_retries(partial(self._try, candidate, action, worst, begin), lost)

    def check(
        self, candidate: CandidateSpec, action: Callable[[], Completion], request_bytes: int, output_limit: int
    ) -> Completion:
        """Make a call that tests ``candidate``; return the answer.

        The call has at most ``output_limit`` output tokens. The call counts against the budget, but not against the
        limit of calls.

        Raises:
            FinalFault: the call failed after its retries, or earlier failures show that no call of ``candidate`` works.
            CallLimitReached: the call would exceed the budget or the time limit.
        """
        worst = worst_case_call_cost(request_bytes, output_limit, candidate.prices)
        completion = self._with_retries(partial(self._try, candidate, action, worst, check=True))
        self._journal.calls.record_answers(candidate.key())
        return completion

    def _with_retries(self, action: Callable[[], Completion], lost: set[str] | None = None) -> Completion:
        try:
            return with_retries(action, self._stop, lost=lost)
        finally:
            with self._changed:
                self._repeated.pop(threading.get_ident(), None)

    def _try(
        self,
        candidate: CandidateSpec,
        action: Callable[[], Completion],
        worst: Decimal | None,
        begin: Callable[[], None] | None = None,
        *,
        check: bool = False,
    ) -> Completion:
        key = candidate.key()
        pace, number = self._reserve(key, worst, begin, check=check)
        began = time.monotonic()
        usage = Usage()
        try:
            completion = action()
            usage = completion.usage
            _LOG.debug("model call of %s: %.2f s", candidate.label, time.monotonic() - began)
            with self._changed:
                self._time_limit.record(key, began)
                self._declined.pop(key, None)
                pace.answered()
            return completion
        except ProviderError as error:
            _LOG.debug("model call of %s: %s, %.2f s", candidate.label, error, time.monotonic() - began)
            usage = error.usage
            if not self._stop.is_set():
                with self._changed:
                    pace.failed(error, began)
                    self._repeated[threading.get_ident()] = cause_of(error)
                    self._count_failure(key, error)
                if error.retry_after is not None:
                    self._time_limit.check(key, wait=error.retry_after)
            raise
        finally:
            known = cost(usage, candidate.prices)
            self._settle(key, pace, number, worst, worst if known is None else known)

    def words(self) -> str:
        """Describe current and waiting calls in one line, or ""."""
        with self._changed:
            count, now = len(self._under_way), time.monotonic()
            pause = max((pace.pause for pace in self._paces.values()), default=0.0)
            oldest = now - min(self._under_way.values(), default=now)
            causes = list(self._repeated.values())
        called = f"{count_of(count, 'model call')}, the oldest for {oldest:.0f} s" if count else ""
        waits = f"a provider asks to wait {pause:.0f} s" if pause >= 1 else ""
        failed = f"{count_of(len(causes), 'failed call')} to be repeated ({causes[-1]})" if causes else ""
        return ", ".join(part for part in (called, waits, failed) if part)

    def _count_failure(self, key: str, error: ProviderError) -> None:
        # After several failures in a row the candidate is not called any more.
        cause = cause_of(error)
        self._failures.append(error)
        hopeless = waits_too_long(error)
        if FAULTS[cause].ends is not None:
            self._declined[key] = self._declined.get(key, 0) + 1
            hopeless = self._declined[key] >= FAULTS[cause].in_a_row
        if hopeless:
            # A call that is not made loses no answer, so later samples must not count as lost by theirs.
            later = "not_called" if FAULTS[cause].by_answer else cause
            self._fatal.setdefault(key, fault_of(later, error))

    def _reserve(
        self, key: str, worst: Decimal | None, begin: Callable[[], None] | None, *, check: bool
    ) -> tuple[Pace, int]:
        # A call also waits if other calls may still release a part of their reserved dollars.
        with self._changed:
            pace = self._paces.setdefault(key, Pace(self._at_once, self._at_once))
            while True:
                check_not_stopped(self._stop)
                if key in self._fatal:
                    raise FinalFault(self._fatal[key])
                self._time_limit.check(key, wait=pace.pause)
                if self._limit is not None and self._made >= self._limit and not check:
                    count, last = len(self._failures), self._failures[-1].cause.rstrip(".") if self._failures else ""
                    failed = f", {count} of which failed (the last: {last})," if count else ""
                    raise CallLimitReached(
                        f"the limit of {self._limit} model calls{failed} is reached.",
                        _raise("max_model_calls", "--max-model-calls"),
                    )
                affordable = self._budget is None or self._spent + (worst or 0) <= self._budget
                room = len(self._under_way) < self._at_once and pace.under_way < int(pace.width)
                if affordable and room and not pace.pause:
                    break
                if not affordable and not self._under_way:
                    calls = count_of(self._uncertain, "call") + " without a known cost"
                    counted = f" (with the highest possible cost of {calls})" if self._uncertain else ""
                    raise CallLimitReached(
                        f"the budget of ${self._budget} is reached: {_dollars(self._spent)} are spent{counted}, and "
                        f"the next call may cost up to {_dollars(worst or Decimal(0))}.",
                        _raise("budget_usd_per_month") if self._of_month else _raise("budget_usd", "--budget-usd"),
                    )
                self._changed.wait(_WAIT_SECONDS)
            if begin is not None:
                begin()
            # Recorded before the call, so that a crash leaves no uncounted call.
            self._journal.calls.record(key, worst, check=check)
            self._made += not check
            self._begun += 1
            self._repeated.pop(threading.get_ident(), None)
            self._spent += worst or 0
            self._uncertain += bool(worst)
            self._under_way[self._begun] = time.monotonic()
            pace.under_way += 1
            return pace, self._begun

    def _settle(self, key: str, pace: Pace, number: int, worst: Decimal | None, paid: Decimal | None) -> None:
        with self._changed:
            del self._under_way[number]
            pace.under_way -= 1
            if worst is not None and paid is not None and paid != worst:
                self._journal.calls.record_cost(key, paid - worst)
                self._spent += paid - worst
                self._uncertain -= 1
            self._changed.notify_all()
