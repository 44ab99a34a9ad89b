"""Turn phases into results, for the runners of all languages."""

from collections.abc import Callable, Collection, Mapping

from codegate.grading.grade import TestResult, TestStatus, file_of
from codegate.grading.records import Crash, Phase, Records
from codegate.grading.runners.contract import RunnerReport
from codegate.grading.testreport import CollectionError

Phases = tuple[Phase, ...]
"""The reported phases of one test id. Tests with equal ids, and the parts of a test, report a phase several times."""


def first_failure(phases: Phases) -> Phase | None:
    """Return the first failed phase of a test, or None."""
    return next((phase for phase in phases if phase.outcome == "failed"), None)


def status_of(phases: Phases) -> TestStatus:
    """Return a test's status; the first failed phase decides."""
    failing = first_failure(phases)
    if failing is not None:
        return "failed" if failing.when == "call" else "error"
    return "passed" if all(phase.outcome == "passed" for phase in phases) else "skipped"


def texts_of(phases: Mapping[str, Phases]) -> dict[str, str]:
    """Return, by test id, the runner's descriptions of failures."""
    return {test: phase.text for test, found in phases.items() if (phase := first_failure(found)) and phase.text}


def passes_sometimes(status: Callable[[Phases], TestStatus], repetitions: Collection[Phases]) -> bool:
    """Return whether only some repetitions of a test passed.

    ``status`` returns the status of one repetition.
    """
    found = {status(phases) for phases in repetitions}
    return "passed" in found and len(found) > 1


def result_of(test: str, status: TestStatus, phases: Phases) -> TestResult:
    """Return a test's result, with its first failure's exception."""
    failing = first_failure(phases)
    crash = failing.crash if failing else None
    return TestResult(
        id=test,
        status=status,
        seconds=sum(phase.seconds for phase in phases),
        exception=crash.exception if crash else None,
        message=crash.message[:4000] if crash else "",
        markers=phases[0].markers,
    )


def crashes_of(phases: Mapping[str, Phases]) -> dict[str, Crash]:
    """Return, by test id, the exception that failed the test."""
    return {test: phase.crash for test, found in phases.items() if (phase := first_failure(found)) and phase.crash}


def runner_report(
    records: Records,
    files: Collection[str],
    receipts: Callable[[Mapping[str, Phases]], Mapping[str, frozenset[str]]],
    *,
    repeated: bool = False,
) -> RunnerReport:
    """Return a driver's records on ``files`` as a report.

    ``receipts`` returns, by test id, the mark tokens in all tests' phases. Several results of one id come from
    repetitions if ``repeated``, else from tests with the same title.
    """
    phases = {test: found for test, found in records.phases.items() if file_of(test) in files}
    return RunnerReport(
        results={test: result_of(test, status_of(found), found) for test, found in phases.items()},
        status=records.status,
        collection_errors=tuple(
            CollectionError(failure.id, failure.text, failure.crash)
            for failure in records.failures
            if failure.id in files
        ),
        crashes=crashes_of(phases),
        forged=records.forged,
        uncaught=records.uncaught,
        receipts=receipts(phases),
        texts=texts_of(phases),
        unsteady=frozenset(
            test
            for test, found in phases.items()
            if repeated and passes_sometimes(status_of, [(phase,) for phase in found])
        ),
    )
