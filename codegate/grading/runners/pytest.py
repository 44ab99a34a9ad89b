"""pytest, which runs unittest's test cases too."""

import json

from codegate.grading.drivers import driver_source
from codegate.grading.grade import TestResult, TestStatus
from codegate.grading.records import Phase, first_failure, read_records, receipts_of
from codegate.grading.runners.contract import Said
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.sandbox import Command, Completed


class Pytest:
    """One interpreter for each file; every phase of every test is reported by a plugin of ours."""

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """See ``Runner.batches``."""
        return tuple((file,) for file in files)

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        settings = {
            "token": token,
            "file": files[0],
            "python_path": selection.python_path,
            "order": selection.order,
            "clock_days": selection.clock_days,
            "isolated": [test for test in selection.isolated if test.startswith(f"{files[0]}::")],
            "busy": selection.busy,
            "behaviour": driver_source("behaviour_driver"),
            **instruments_of(selection),
        }
        if settings["clock_days"] or settings["isolated"] or settings["busy"]:
            settings["variations"] = driver_source("variations_driver")
        source = driver_source("pytest_driver")
        return Command(
            argv=("{python}", "-I", "-S", "-B", "-c", source, "{records}", "{site}", "{workspace}"),
            stdin=json.dumps(settings).encode("utf-8"),
            environment={"PYTHONHASHSEED": str(selection.hash_seed), "TZ": selection.timezone},
        )

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> Said:  # noqa: ARG002
        """See ``Runner.read``."""
        (file,) = files
        records = read_records(completed.records, token)
        phases = {test: found for test, found in records.phases.items() if test.startswith(f"{file}::")}
        failing = {test: first_failure(found) for test, found in phases.items()}
        return Said(
            results={test: _result(test, found) for test, found in phases.items()},
            status=records.status,
            collection_errors=tuple(
                CollectionError(failure.id if failure.id.startswith(file) else file, failure.text, failure.crash)
                for failure in records.failures
            ),
            crashes={test: phase.crash for test, phase in failing.items() if phase and phase.crash},
            forged=records.forged,
            receipts=receipts_of(phases),
            attempted=records.attempted,
        )


def instruments_of(selection: TestSelection) -> dict[str, object]:
    """Return the part of a Python driver's settings that instrumented tests need."""
    if selection.instruments is None:
        return {}
    return {"instruments": selection.instruments.settings(), "instruments_source": driver_source("instruments_driver")}


def _result(test: str, phases: tuple[Phase, ...]) -> TestResult:
    failing = first_failure(phases)
    outcomes = {phase.outcome for phase in phases}
    when = [phase.when for phase in phases]
    status: TestStatus
    if failing is not None:
        status = "failed" if failing.when == "call" else "error"
    elif outcomes != {"passed"}:
        status = "skipped"
    elif when[0] == "setup" and when[-1] == "teardown" and set(when[1:-1]) == {"call"}:
        status = "passed"  # each subtest is reported as a call of its own
    else:
        status = "missing"
    crash = failing.crash if failing else None
    return TestResult(
        id=test,
        status=status,
        seconds=sum(phase.seconds for phase in phases),
        exception=crash.exception if crash else None,
        message=crash.message[:4000] if crash else "",
        markers=phases[0].markers,
    )
