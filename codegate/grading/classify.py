"""Classify a failing grade by the reported failures."""

import errno
from collections.abc import Collection, Sequence
from typing import Final

from codegate.grading.behaviour import was_refused
from codegate.grading.grade import FailureClass, TestResult
from codegate.grading.records import Crash
from codegate.grading.testreport import CollectionError, TestReport
from codegate.wording import count_of

_MARKED: Final[dict[str, FailureClass]] = {
    "performance": "performance_error",
    "temporal": "temporal_reasoning_error",
    "edge_case": "edge_case_error",
}
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
# ``Failed`` is raised by pytest.fail, and when an expected exception is not raised.
_ASSERTIONS: Final = frozenset({"AssertionError", "_pytest.outcomes.Failed", "Failed"})


def classify_failure(
    report: TestReport, failing: Sequence[TestResult], expected: Collection[str] = ()
) -> tuple[FailureClass, str]:
    """Return the failure class and a line of evidence.

    Causes that stopped the run come first (interference, limits, a file that cannot be imported). Then come failed
    tests. If all of them carry the same marker (``edge_case``, ``temporal``, ``performance``), the marker is the class.
    Otherwise the exception of the first failed test decides. Last come tests that did not run to their end. ``failing``
    are the ``expected`` tests that did not pass; it is empty if all passed in a run that was disturbed or reached a
    limit.
    """
    if report.tampering:
        return "tampering", report.tampering
    if report.memory_exceeded:
        return "memory_exceeded", "the sandbox's memory limit was hit"
    if report.timed_out:
        return "timeout", f"the tests were stopped after {report.seconds:.0f} s"
    if report.unprepared:
        return "runtime_error", report.unprepared
    broken = broken_collection(report, failing)
    if broken is not None:
        lines = broken.text.strip().splitlines()
        message = broken.crash.message if broken.crash else lines[-1] if lines else ""
        shown = f"{broken.id} cannot be imported: {_named(broken.exception, message)}"
        return _crash_class(broken.crash, report), shown
    reported = [test for test in failing if test.failed]
    for marker, failure in _MARKED.items():
        if reported and all(marker in test.markers for test in reported):
            return failure, _evidence(reported[0])
    if reported:
        return _crash_class(report.crashes.get(reported[0].id), report), _evidence(reported[0])
    code = report.exit_code or 0
    status = f"signal {-code}" if code < 0 else f"exit status {code}"
    ending = "" if report.complete else f"the run did not come to its proper end ({status})"
    states = ", ".join(sorted({test.status for test in failing}))
    missing = (
        f"{count_of(len(failing), 'expected test')} did not pass ({states}), first {failing[0].id}" if failing else ""
    )
    return "runtime_error", "; ".join(
        part for part in (ending, missing, _unstable_id_hint(report, failing, expected)) if part
    )


def _unstable_id_hint(report: TestReport, failing: Sequence[TestResult], expected: Collection[str]) -> str:
    for test in failing:
        name = test.id.partition("[")[0]
        for other in report.results:
            if test.status == "missing" and other.partition("[")[0] == name and other not in expected:
                return f"this run reported {other}: its ids differ from run to run, as those with a time or an address"
    return ""


def broken_collection(report: TestReport, failing: Sequence[TestResult]) -> CollectionError | None:
    """Return the first error in loading expected tests, or None.

    ``failing`` are the expected tests that did not pass.
    """
    missing = [test.id for test in failing if test.status == "missing"]
    for error in report.collection_errors:
        if any(test.startswith(f"{error.id}::") for test in missing):
            return error
    return None


def _crash_class(crash: Crash | None, report: TestReport) -> FailureClass:
    if crash is None:
        return "runtime_error"
    parents = frozenset(crash.parents)
    if "MemoryError" in parents:
        return "memory_exceeded"
    # An assertion counts even if it failed while another exception was handled.
    if is_assertion(crash):
        return "logic_error"
    if was_refused(crash, report.behaviour):
        return "unsafe_operation"
    if "PermissionError" in parents or crash.errno in _DENIED:
        return "permission_denied"
    if "TimeoutError" in parents:
        return "timeout"
    if "SyntaxError" in parents:
        return "syntax_error"
    # A missing module of the repository itself is no missing dependency.
    return "missing_dependency" if crash.dependency else "runtime_error"


def is_assertion(crash: Crash) -> bool:
    """Return whether an exception is a failed assertion."""
    return not _ASSERTIONS.isdisjoint((*crash.parents, crash.exception))


def _evidence(test: TestResult) -> str:
    return f"{test.id}: {_named(test.exception or test.status, test.message)}"


def _named(name: str | None, message: str) -> str:
    first = next(iter(message.strip().splitlines()), "")[:300]
    return first if not name or name.rpartition(".")[2] in first else f"{name}: {first}"
