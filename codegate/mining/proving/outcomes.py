"""Classify the hidden tests by their results in all runs."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import zip_longest
from typing import Final, Literal

from codegate.grading import TestReport, TestResult
from codegate.suite import Quarantine, QuarantinedTest

TestKind = Literal["assertion", "exception", "timeout", "collection"]
Status = Literal["passed", "failed", "error", "skipped", "missing", "unreached"]

QuarantineReason = Literal["flaky", "environment", "oracle_fails", "nop_resolves", "untold"]

QUARANTINE_DAYS: Final = 90
_NO_TESTS: Final = 5
"""pytest's exit code for a file without tests, such as a conftest."""
_ADDRESS: Final = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")
_UNDISCLOSED: Final = "fails on a part of the fix with which all examples of the statement give what they should"
BROKEN: Final = frozenset({"failed", "error"})


@dataclass(frozen=True)
class TestOutcomes:
    """The hidden tests, classified by their results in all runs.

    Attributes:
        fail_to_pass: tests that never pass before the fix and always pass after it.
        pass_to_pass: tests that always pass, in both states.
        quarantined: tests whose results differ between runs of one state, with the evidence.
        pass_to_fail: tests that always pass before the fix and always fail after it.
        flaky_fix_tests: whether a quarantined test failed before the fix and passed after it at least once.
        kinds: how each fail-to-pass test fails before the fix.
        evidence: the result of each fail-to-pass test before the fix, for the statement; None if it was not reported.
        none_to_pass: tests of ``fail_to_pass`` that do not even exist before the fix.
        places: by fail-to-pass test, the file and function that raised its exception before the fix, if known.
        expected_fail: tests that always fail after the fix, and did not always pass before it.
    """

    __test__ = False  # not a test class, whatever its name begins with

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    quarantined: tuple[QuarantinedTest, ...]
    pass_to_fail: tuple[str, ...]
    flaky_fix_tests: bool
    kinds: Mapping[str, TestKind]
    evidence: Mapping[str, TestResult | None]
    none_to_pass: tuple[str, ...] = ()
    expected_fail: tuple[str, ...] = ()
    places: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def without_undisclosed(outcomes: TestOutcomes, undisclosed: Collection[str]) -> TestOutcomes:
    """Return the outcomes with ``undisclosed`` fail-to-pass tests quarantined.

    Such a test demands something that the statement does not show, so it is not graded. Its quarantine never ends,
    because time does not change that.
    """
    left = tuple(test for test in outcomes.fail_to_pass if test not in undisclosed)
    aside = [test for test in outcomes.fail_to_pass if test in undisclosed]
    forever = Quarantine(reason="untold", evidence=_UNDISCLOSED, expires=date.max)
    entries = [QuarantinedTest(id=test, quarantine=forever) for test in aside]
    return replace(
        outcomes,
        fail_to_pass=left,
        none_to_pass=tuple(test for test in outcomes.none_to_pass if test not in undisclosed),
        kinds={test: kind for test, kind in outcomes.kinds.items() if test not in undisclosed},
        evidence={test: result for test, result in outcomes.evidence.items() if test not in undisclosed},
        quarantined=tuple(sorted((*outcomes.quarantined, *entries), key=lambda entry: entry.id)),
    )


def status_in(report: TestReport, test: str) -> Status:
    """Return a test's status in a run.

    An unreported test is ``missing``, or ``unreached`` if the run was cut short.
    """
    result = report.results.get(test)
    if result is not None:
        return result.status
    return "unreached" if _cut_short(report) else "missing"


def statuses_in(report: TestReport, test: str) -> frozenset[Status]:
    """Return a test's statuses in all repetitions of a run."""
    status = status_in(report, test)
    return frozenset({status, "passed"} if test in report.unsteady else {status})


def classify_tests(
    before: Sequence[TestReport],
    after: Sequence[TestReport],
    today: date,
    varied: Mapping[str, Sequence[str]] | None = None,
) -> TestOutcomes:
    """Return the fixed tree's tests, classified by results.

    ``before`` and ``after`` have a report of each run without and with the fix, the graded run first. For the evidence
    of a quarantine, ``varied`` has by state (``before``, ``after``) what each later run varies. A test is left out if a
    run after the fix does not report it (its id is not stable), if it is skipped after the fix, or if its id holds a
    memory address. A run does not count for a test that it did not reach, because another test used up the time or
    ended the process.
    """

    def results_of(test: str, state: str, reports: Sequence[TestReport]) -> str:
        conditions = [f" (other {what})" for what in (varied or {}).get(state, ())]
        statuses = [f"{'sometimes ' * (test in report.unsteady)}{status_in(report, test)}" for report in reports]
        return ", ".join(map("".join, zip_longest(statuses, ["", *conditions], fillvalue="")))

    def flaky(test: str) -> QuarantinedTest:
        first, then = results_of(test, "before", before), results_of(test, "after", after)
        evidence = f"before the fix: {first}; after it: {then}"
        return QuarantinedTest(id=test, quarantine=quarantine("flaky", evidence, today))

    fail: list[str] = []
    keep: list[str] = []
    broken: list[str] = []
    expected: list[str] = []
    new: list[str] = []
    quarantined: list[QuarantinedTest] = []
    flaky_fix = False
    for test in after[0].results:
        if _ADDRESS.search(test) or not all(test in report.results or _cut_short(report) for report in after):
            continue
        first = frozenset[Status]().union(*(statuses_in(report, test) for report in before)) - {"unreached"}
        then = frozenset[Status]().union(*(statuses_in(report, test) for report in after)) - {"unreached"}
        if len(then) > 1 and "passed" in then:
            flaky_fix = flaky_fix or "passed" not in first
            quarantined.append(flaky(test))
        elif then != {"passed"}:
            if then <= BROKEN:
                (broken if first == {"passed"} else expected).append(test)
        elif first == {"passed"}:
            keep.append(test)
        elif "passed" in first:
            flaky_fix = True
            quarantined.append(flaky(test))
        elif first and "skipped" not in first:
            fail.append(test)
            if first == {"missing"} and all(test not in report.results for report in before):
                new.append(test)
    return TestOutcomes(
        fail_to_pass=tuple(sorted(fail)),
        pass_to_pass=tuple(sorted(keep)),
        quarantined=tuple(sorted(quarantined, key=lambda entry: entry.id)),
        pass_to_fail=tuple(sorted(broken)),
        flaky_fix_tests=flaky_fix,
        kinds={test: _kind(before[0], test) for test in fail},
        evidence={test: before[0].results.get(test) for test in fail},
        none_to_pass=tuple(sorted(new)),
        expected_fail=tuple(sorted(expected)),
        places={test: place for test in fail if (crash := before[0].crashes.get(test)) and (place := crash.place)},
    )


def without_doubtful_passes(report: TestReport) -> TestReport:
    """Return a report without passes that its exit status contradicts.

    A run can fail although all of its tests passed: Go, for example, prints a pass for a test whose goroutine then
    ends the process.
    """
    failed = any(result.status not in {"passed", "skipped"} for result in report.results.values())
    if report.exit_code in {None, 0, _NO_TESTS} or failed or report.collection_errors or not report.results:
        return report
    return replace(
        report,
        results={test: result for test, result in report.results.items() if result.status != "passed"},
        complete=False,
    )


def _cut_short(report: TestReport) -> bool:
    return report.timed_out or not report.complete


def _kind(report: TestReport, test: str) -> TestKind:
    file = test.partition("::")[0]
    if any(error.id.partition("::")[0] == file for error in report.collection_errors):
        return "collection"
    result = report.results.get(test)
    if result is None or result.status == "missing":
        return "timeout" if report.timed_out else "exception"
    parents = report.crashes[test].parents if test in report.crashes else ()
    assertion = result.exception == "AssertionError" or "AssertionError" in parents
    return "assertion" if assertion or (result.exception or "").endswith(".Failed") else "exception"


def quarantine(reason: QuarantineReason, evidence: str, today: date) -> Quarantine:
    """Return a quarantine that begins on the day ``today``."""
    expires = today + timedelta(days=QUARANTINE_DAYS)
    return Quarantine(reason=reason, evidence=evidence[:2000].rstrip(), expires=expires)
