"""The failure class: which of the fixed list a failing grade belongs to, from what execution reported."""

import errno
from collections.abc import Sequence
from typing import Final

from codegate.grading.grade import FailureClass, TestResult
from codegate.grading.testrun import CollectionError, TestReport

_MARKED: Final[dict[str, FailureClass]] = {
    "performance": "performance_error",
    "temporal": "temporal_reasoning_error",
    "edge_case": "edge_case_error",
}
_NETWORK: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL})
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def classify_failure(report: TestReport, failing: Sequence[TestResult]) -> tuple[FailureClass, str]:
    """Return the class of a test run in which ``failing`` expected tests did not pass, and a line of evidence.

    What stopped the run comes first (limits, then a file that cannot be imported), then the failing tests: when
    all of them carry the same marker (``edge_case``, ``temporal``, ``performance``) that is the class, else the
    exception of the first one decides.
    """
    if report.forged:
        return "tampering", "something other than the test driver wrote to the result channel"
    if report.memory_exceeded:
        return "memory_exceeded", "the sandbox's memory limit was hit"
    if report.timed_out:
        return "timeout", f"the tests were stopped after {report.seconds:.0f} s"
    if report.collection_errors:
        return _collection_class(report.collection_errors[0])
    reported = [test for test in failing if test.status in {"failed", "error"}]
    if not reported:
        states = ", ".join(sorted({test.status for test in failing}))
        return "runtime_error", f"{len(failing)} expected tests did not pass ({states}), first {failing[0].id}"
    for marker, failure in _MARKED.items():
        if all(marker in test.markers for test in reported):
            return failure, _evidence(reported[0])
    return _exception_class(report, reported[0]), _evidence(reported[0])


def _collection_class(error: CollectionError) -> tuple[FailureClass, str]:
    lines = error.text.strip().splitlines()
    evidence = f"{error.id} cannot be imported: {lines[-1][:300] if lines else error.exception}"
    if "SyntaxError" in error.parents:
        return "syntax_error", evidence
    if "MemoryError" in error.parents:
        return "memory_exceeded", evidence
    # pytest wraps an ImportError in its own CollectError, whose text ends with the original.
    if "ImportError" in error.parents or any(line.startswith("E   ") and "Error: " in line and (
        "ModuleNotFoundError" in line or "ImportError" in line) for line in lines):  # fmt: skip
        return "missing_dependency", evidence
    if any(line.startswith("E ") and "SyntaxError" in line for line in lines):
        return "syntax_error", evidence
    return "runtime_error", evidence


def _exception_class(report: TestReport, test: TestResult) -> FailureClass:
    parents = report.parents.get(test.id, ())
    number = report.errno.get(test.id)
    if "MemoryError" in parents:
        return "memory_exceeded"
    if number in _NETWORK or (test.exception or "").endswith("gaierror"):
        return "unsafe_operation"
    if "PermissionError" in parents or number in _DENIED:
        return "permission_denied"
    if "TimeoutError" in parents:
        return "timeout"
    if "ImportError" in parents:
        return "missing_dependency"
    if "SyntaxError" in parents:
        return "syntax_error"
    # ``Failed`` is what pytest.fail and an exception that was expected but not raised end with.
    if "AssertionError" in parents or (test.exception or "").endswith("outcomes.Failed"):
        return "logic_error"
    return "runtime_error"


def _evidence(test: TestResult) -> str:
    first = next(iter(test.message.strip().splitlines()), "")[:300]
    name = test.exception or test.status
    return f"{test.id}: {first}" if name.rpartition(".")[2] in first else f"{test.id}: {name}: {first}"
