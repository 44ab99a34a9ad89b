"""The one table of infrastructure faults: cause, how often it is retried, and whether its candidate goes on.

No second opinion elsewhere: whatever is not in the table is a bug in codegate and ends the run with a traceback.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from codegate.candidates import ProviderError
from codegate.errors import CodegateError, InfrastructureError, Interrupted
from codegate.running.outcome import Fault
from codegate.sandbox import SandboxClosed, SandboxError

Result = TypeVar("Result")

LONGEST_WAIT_SECONDS: Final = 60.0


@dataclass(frozen=True)
class FaultRule:
    """What a fault means.

    Attributes:
        retries: further tries after the first.
        wait: seconds before the first retry; doubles each time, with jitter; a server's Retry-After wins.
        fatal: every further call of the same candidate would end the same way, so none is made.
    """

    retries: int
    wait: float = 0.0
    fatal: bool = False


FAULTS: Final[dict[str, FaultRule]] = {
    "provider.authentication": FaultRule(retries=0, fatal=True),
    "provider.not_found": FaultRule(retries=0, fatal=True),
    "provider.quota": FaultRule(retries=0, fatal=True),
    "provider.model_mismatch": FaultRule(retries=0, fatal=True),
    "provider.bad_request": FaultRule(retries=0),
    "provider.rate_limit": FaultRule(retries=5, wait=2.0),
    "provider.overloaded": FaultRule(retries=5, wait=2.0),
    "provider.connection": FaultRule(retries=4, wait=1.0),
    "provider.timeout": FaultRule(retries=1, wait=1.0),
    "provider.malformed": FaultRule(retries=2, wait=1.0),
    "sandbox": FaultRule(retries=2, wait=0.5),
    "environment": FaultRule(retries=0),
}


def cause_of(error: InfrastructureError) -> str:
    """Return the row of ``FAULTS`` that ``error`` belongs to."""
    if isinstance(error, ProviderError):
        return f"provider.{error.fault}"
    if isinstance(error, SandboxError):
        return "sandbox"
    # Anything else (a full disk under the journal, say) is about the run, not about one outcome.
    raise error


class Faulted(Exception):
    """An infrastructure fault that its retries did not cure."""

    def __init__(self, fault: Fault, *, fatal: bool) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.fatal = fatal


def with_retries(action: Callable[[], Result], stop: threading.Event) -> Result:
    """Call ``action`` and retry it as the table says.

    Raises:
        Faulted: the retries are used up.
        Interrupted: ``stop`` was set.
        CodegateError: an error that is no infrastructure fault, as it was.
    """
    tries = 0
    while True:
        if stop.is_set():
            raise Interrupted("the run was interrupted.")
        try:
            return action()
        except SandboxClosed as error:
            if stop.is_set():
                raise Interrupted("the run was interrupted.") from error
            failure: InfrastructureError = error
        except InfrastructureError as error:
            failure = error
        cause = cause_of(failure)
        rule = FAULTS[cause]
        if tries >= rule.retries:
            fault = Fault(cause=cause, message=str(failure)[:2000], retries=tries)
            raise Faulted(fault, fatal=rule.fatal) from failure
        stop.wait(_pause(rule, tries, failure))
        tries += 1


def _pause(rule: FaultRule, tries: int, failure: CodegateError) -> float:
    if isinstance(failure, ProviderError) and failure.retry_after is not None:
        return min(max(failure.retry_after, 0.0), LONGEST_WAIT_SECONDS)
    jitter = random.uniform(0.5, 1.0)  # noqa: S311  spreads retries; nothing depends on it being unguessable
    return float(min(rule.wait * 2**tries * jitter, LONGEST_WAIT_SECONDS))
