"""The table of infrastructure faults, with retries and consequences.

An error that is not in the table ends the run: a full disk with its own message, a bug in codegate with a traceback.
"""

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from codegate.candidates import ProviderError
from codegate.candidates.gateway import DollarsLost
from codegate.errors import CodegateError, ExitCode, InfrastructureError, Interrupted
from codegate.running.outcome import Fault, Outcome
from codegate.sandbox import FilesRefused, SandboxClosed, SandboxError
from codegate.wording import encodable

Result = TypeVar("Result")

LONGEST_WAIT_SECONDS: Final = 60.0
LONGEST_ASKED_SECONDS: Final = 900.0
"""Longest Retry-After that a run waits for. A server can ask for more, such as the rest of its day."""


@dataclass(frozen=True)
class FaultRule:
    """How often to retry a fault; whether it ends runs.

    Attributes:
        retries: how often the work is tried again.
        wait: seconds before the first retry; they double each time, with jitter. A server's Retry-After takes
            precedence, up to ``LONGEST_ASKED_SECONDS``.
        ends: exit code of a run whose first call fails with this fault; None if a later call may succeed.
        in_a_row: after this many such faults without an answer in between, the candidate is not called any more.
        by_answer: the answer itself may cause the fault, for example by taking too long. The fault then counts against
            a pass even if a retry is graded; otherwise retries would hide answers that fail.
    """

    retries: int
    wait: float = 0.0
    ends: ExitCode | None = None
    in_a_row: int = 1
    by_answer: bool = False


FAULTS: Final[dict[str, FaultRule]] = {
    "provider.authentication": FaultRule(retries=0, ends=ExitCode.USAGE),
    "provider.not_found": FaultRule(retries=0, ends=ExitCode.USAGE),
    "provider.quota": FaultRule(retries=0, ends=ExitCode.INFRASTRUCTURE),
    "provider.model_mismatch": FaultRule(retries=0, ends=ExitCode.USAGE),
    "provider.bad_request": FaultRule(retries=0, ends=ExitCode.USAGE, in_a_row=5, by_answer=True),
    "provider.rate_limit": FaultRule(retries=5, wait=2.0),
    "provider.overloaded": FaultRule(retries=5, wait=2.0),
    "provider.connection": FaultRule(retries=4, wait=1.0),
    "provider.timeout": FaultRule(retries=1, wait=1.0, by_answer=True),
    "provider.malformed": FaultRule(retries=2, wait=1.0, by_answer=True),
    "sandbox": FaultRule(retries=2, wait=0.5, by_answer=True),
    "sandbox.files": FaultRule(retries=0, by_answer=True),
    "agent": FaultRule(retries=0, by_answer=True),
    "agent.dollars_lost": FaultRule(retries=0),
    "environment": FaultRule(retries=1, wait=1.0),
    "could_not_run_here": FaultRule(retries=0),
    "not_called": FaultRule(retries=0),
}


def lost_answers(outcome: Outcome) -> Counter[str]:
    """Count a sample's answers lost to faults, by cause.

    Only faults that an answer may have caused are counted.
    """
    lost = Counter(outcome.lost)
    rule = FAULTS.get(outcome.fault.cause) if outcome.fault is not None else None
    if outcome.fault is not None and rule is not None and rule.by_answer:
        lost[outcome.fault.cause] += 1
    return lost


def cause_of(error: InfrastructureError) -> str:
    """Return the key in ``FAULTS`` for an error.

    An error without a row in the table is raised.
    """
    if isinstance(error, ProviderError):
        return f"provider.{error.fault}"
    if isinstance(error, DollarsLost):
        return "agent.dollars_lost"
    if isinstance(error, FilesRefused):
        return "sandbox.files"
    if isinstance(error, SandboxError):
        return "sandbox"
    raise error


class FinalFault(Exception):
    """An infrastructure fault that remained after all retries."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def fault_of(cause: str, error: InfrastructureError, retries: int = 0) -> Fault:
    """Return ``error`` as a ``Fault`` for the journal.

    ``cause`` is the error's key in ``FAULTS``, ``retries`` how often the work was tried again.
    """
    return Fault(cause=cause, message=encodable(str(error))[:2000], retries=retries)


def most_frequent_fault(faults: Sequence[Fault]) -> str:
    """Return the most frequent cause, with its latest message.

    ``faults`` are in the order in which they happened, at least one.
    """
    cause = Counter(fault.cause for fault in faults).most_common(1)[0][0]
    message = next(fault.message for fault in reversed(faults) if fault.cause == cause)
    return f"{cause}: {message.rstrip('.')}."


def check_not_stopped(stop: threading.Event) -> None:
    """Raise Interrupted if ``stop`` is set, else do nothing."""
    if stop.is_set():
        raise Interrupted("the run was interrupted.")


def with_retries(
    action: Callable[[], Result], stop: threading.Event, cause: str | None = None, lost: set[str] | None = None
) -> Result:
    """Call ``action`` with the retries of ``FAULTS``; return its result.

    ``cause`` is the key in ``FAULTS`` to apply; None: each error's own. Causes of retried faults that an answer may
    have caused are added to ``lost``.

    Raises:
        FinalFault: the retries are used up.
        Interrupted: ``stop`` was set, or the end of the run closed the sandbox.
        CodegateError: any other error of ``action``, unchanged.
    """
    tries = 0
    while True:
        check_not_stopped(stop)
        try:
            return action()
        except SandboxClosed as error:
            raise Interrupted("the run was interrupted.") from error
        except InfrastructureError as error:
            failure = error
        check_not_stopped(stop)
        row = cause or cause_of(failure)
        rule = FAULTS[row]
        if tries >= rule.retries or waits_too_long(failure):
            raise FinalFault(fault_of(row, failure, tries)) from failure
        if lost is not None and rule.by_answer:
            lost.add(row)
        stop.wait(_pause(rule, tries, failure))
        tries += 1


def waits_too_long(failure: CodegateError) -> bool:
    """Return whether the provider's Retry-After exceeds our longest pause."""
    asked = failure.retry_after if isinstance(failure, ProviderError) else None
    return asked is not None and asked > LONGEST_ASKED_SECONDS


def _pause(rule: FaultRule, tries: int, failure: CodegateError) -> float:
    if isinstance(failure, ProviderError) and failure.retry_after is not None:
        return max(failure.retry_after, 0.0)
    jitter = random.uniform(0.5, 1.0)  # noqa: S311  spreads retries; nothing depends on it being unguessable
    return float(min(rule.wait * 2**tries * jitter, LONGEST_WAIT_SECONDS))
