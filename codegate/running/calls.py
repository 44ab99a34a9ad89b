"""Model calls of a run: at most so many at once and so many in all, retried as the fault table says."""

import threading
from collections.abc import Callable
from functools import partial

from codegate.candidates import CandidateSpec, Completion, ProviderError
from codegate.errors import UsageError
from codegate.running.faults import FAULTS, Faulted, cause_of, check_going, fault_of, with_retries
from codegate.running.outcome import Fault


class CallLimitReached(UsageError):
    """The run's own limit of model calls is used up; it can be resumed with a higher one."""


class ModelCalls:
    """Makes the model calls of one execution. Thread-safe.

    Args:
        at_once: requests under way at the same time. A call that waits for its next try is not under way: it holds
            no slot, so that a rate limit of one provider does not keep the others waiting.
        limit: requests in all, None for no limit. Every request counts, failed tries too: who knows what they cost.
        made: calls that earlier executions of the run made.
        record: writes down that a candidate, by its key, is about to be asked; when it fails, nobody is asked.
        stop: set when the run ends early.
    """

    def __init__(
        self, at_once: int, limit: int | None, made: int, record: Callable[[str], None], stop: threading.Event
    ) -> None:
        self._slots = threading.Semaphore(at_once)
        self._limit = limit
        self._made = made
        self._record = record
        self._stop = stop
        self._fatal: dict[str, Fault] = {}
        self._lock = threading.Lock()

    def make(self, candidate: CandidateSpec, action: Callable[[], Completion]) -> Completion:
        """Make one call.

        Raises:
            Faulted: it failed for good, or an earlier call of ``candidate`` showed that every one of its calls would.
            CallLimitReached: it would be one too many.
            Interrupted: the run ends.
        """
        return with_retries(partial(self._try, candidate.key(), action), self._stop)

    def _try(self, key: str, action: Callable[[], Completion]) -> Completion:
        with self._slots:
            check_going(self._stop)
            with self._lock:
                if key in self._fatal:
                    raise Faulted(self._fatal[key])
                if self._limit is not None and self._made >= self._limit:
                    raise CallLimitReached(f"the limit of {self._limit} model calls is reached.")
                self._record(key)  # first, so that not even a crash can make a call that no limit counts
                self._made += 1
            try:
                return action()
            except ProviderError as error:
                cause = cause_of(error)
                if FAULTS[cause].fatal and not self._stop.is_set():
                    with self._lock:
                        self._fatal.setdefault(key, fault_of(cause, error))
                raise
