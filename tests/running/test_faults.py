"""The fault table, and what a retry is worth."""

import threading
import time
from typing import get_args

import pytest

from codegate.candidates import ProviderError, ProviderFault
from codegate.errors import InfrastructureError, Interrupted, UsageError
from codegate.running.faults import (
    FAULTS,
    LONGEST_ASKED_SECONDS,
    FinalFault,
    cause_of,
    most_frequent_fault,
    with_retries,
)
from codegate.running.outcome import Fault
from codegate.sandbox import FilesRefused, SandboxClosed, SandboxError, SandboxUnavailable

FATAL = {"provider.authentication", "provider.not_found", "provider.quota", "provider.model_mismatch"}


class Failing:
    """Fails with each error in turn, then returns 7."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return 7


def at_once(fault: ProviderFault) -> ProviderError:
    return ProviderError(fault, f"{fault} happened.", retry_after=0.0)


def test_every_fault_a_provider_can_name_has_a_row_and_no_row_is_dead() -> None:
    rows = {f"provider.{fault}" for fault in get_args(ProviderFault)}
    assert (
        rows
        | {"agent", "agent.dollars_lost", "sandbox", "sandbox.files", "environment", "could_not_run_here", "not_called"}
        == FAULTS.keys()
    )
    assert {name for name, rule in FAULTS.items() if rule.ends is not None} == {*FATAL, "provider.bad_request"}
    assert {name for name, rule in FAULTS.items() if rule.ends is not None and rule.in_a_row == 1} == FATAL
    for fault in get_args(ProviderFault):
        assert cause_of(ProviderError(fault, "x.")) in FAULTS


def test_a_retried_fault_is_kept_where_the_answer_may_have_caused_it() -> None:
    lost: set[str] = set()
    errors = (at_once("malformed"), at_once("overloaded"))
    assert with_retries(Failing(*errors), threading.Event(), lost=lost) == 7
    assert lost == {"provider.malformed"}
    by_answer = {name for name, rule in FAULTS.items() if rule.by_answer}
    assert by_answer == {
        "provider.timeout", "provider.malformed", "provider.bad_request", "sandbox", "sandbox.files", "agent"
    }  # fmt: skip


def test_sandbox_errors_have_rows_and_files_that_cannot_be_put_are_not_tried_again() -> None:
    assert cause_of(SandboxError("x.")) == cause_of(SandboxUnavailable("x.")) == "sandbox"
    assert cause_of(FilesRefused("x.")) == "sandbox.files"
    assert FAULTS["sandbox.files"].retries == 0


def test_what_is_in_no_row_ends_the_run_as_it_is() -> None:
    full = InfrastructureError("cannot write outcomes.jsonl: no space.", "Free some.")
    with pytest.raises(InfrastructureError) as caught:
        with_retries(Failing(full), threading.Event())
    assert caught.value is full
    with pytest.raises(ZeroDivisionError):
        with_retries(Failing(ZeroDivisionError()), threading.Event())
    with pytest.raises(UsageError):
        with_retries(Failing(UsageError("x.")), threading.Event())


@pytest.mark.parametrize("fault", get_args(ProviderFault))
def test_a_fault_is_tried_as_often_as_its_row_says(fault: ProviderFault) -> None:
    rule = FAULTS[f"provider.{fault}"]
    cured = Failing(*[at_once(fault)] * rule.retries)
    assert with_retries(cured, threading.Event()) == 7
    lasting = Failing(*[at_once(fault)] * 99)
    with pytest.raises(FinalFault) as caught:
        with_retries(lasting, threading.Event())
    assert lasting.calls == rule.retries + 1
    assert caught.value.fault.cause == f"provider.{fault}"
    assert caught.value.fault.retries == rule.retries


def test_a_given_cause_replaces_the_errors_own() -> None:
    with pytest.raises(FinalFault) as caught:
        with_retries(Failing(*[FilesRefused("x.")] * 9), threading.Event(), cause="environment")
    assert caught.value.fault.cause == "environment"
    assert caught.value.fault.retries == FAULTS["environment"].retries


def test_a_servers_retry_after_is_waited_for() -> None:
    started = time.monotonic()
    error = ProviderError("rate_limit", "slow down.", retry_after=0.4)
    assert with_retries(Failing(error), threading.Event()) == 7
    assert time.monotonic() - started >= 0.4


def test_a_pause_that_lasts_longer_than_a_run_is_not_waited_for() -> None:
    with pytest.raises(FinalFault) as caught:
        with_retries(Failing(ProviderError("rate_limit", "tomorrow.", retry_after=86_400)), threading.Event())
    assert caught.value.fault.retries == 0


def test_a_stop_ends_the_longest_wait() -> None:
    """A wait that nothing ends lasts longer than a test may."""
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Interrupted):
        with_retries(Failing(ProviderError("rate_limit", "later.", retry_after=LONGEST_ASKED_SECONDS)), stop)


def test_what_fails_while_the_run_ends_is_no_fault() -> None:
    stop = threading.Event()

    def cut() -> int:
        stop.set()
        raise ProviderError("authentication", "the call was cut.")

    with pytest.raises(Interrupted):
        with_retries(cut, stop)


def test_a_closed_sandbox_means_that_the_run_ends() -> None:
    with pytest.raises(Interrupted):
        with_retries(Failing(SandboxClosed("closed.")), threading.Event())


def test_the_message_is_bounded_and_can_be_written() -> None:
    with pytest.raises(FinalFault) as caught:
        with_retries(Failing(ProviderError("bad_request", "\udce9" + "x" * 9000)), threading.Event())
    assert len(caught.value.fault.message) == 2000
    caught.value.fault.model_dump_json()


def test_the_fault_that_ended_a_run_is_named_with_its_latest_message() -> None:
    faults = [
        Fault(cause=cause, message=message, retries=0)
        for cause, message in (("sandbox", "no."), ("provider.quota", "a."), ("provider.quota", "b"), ("sandbox", "c."))
    ]
    assert most_frequent_fault(faults[:3]) == "provider.quota: b."
    assert most_frequent_fault(faults[1:]) == "provider.quota: b."
