"""Go's own test framework: one compiled program for each package."""

import json

from codegate.grading.drivers import driver_source
from codegate.grading.grade import TestResult, TestStatus
from codegate.grading.records import Phase, first_failure, read_records
from codegate.grading.runners.contract import Said
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.sandbox import Command, Completed


class Go:
    """One program for each package folder, of which the tests that the selected files declare are run.

    Ids are the declaring file's path, ``::`` and the name that Go gives, subtests included
    (``cache/lru_test.go::TestEvict/empty``). A repeated run in another order is ``-shuffle`` by the hash seed; a
    subtest that is to run alone brings its whole test along.
    """

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """See ``Runner.batches``."""
        folders: dict[str, list[str]] = {}
        for file in files:
            folders.setdefault(file.rpartition("/")[0], []).append(file)
        return tuple(tuple(found) for found in folders.values())

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        settings = {
            "token": token,
            "folder": files[0].rpartition("/")[0],
            "files": files,
            "shuffle": "off" if selection.order == "natural" else str(selection.hash_seed),
            "isolated": [test.partition("::")[2].partition("/")[0] for test in selection.isolated],
            "output_bytes": selection.output_bytes,
        }
        source = driver_source("go_driver")
        return Command(
            argv=("{python}", "-I", "-S", "-B", "-c", source, "{records}", "{site}", "{packages}", "{workspace}"),
            stdin=json.dumps(settings).encode("utf-8"),
            environment={"TZ": selection.timezone},
        )

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> Said:  # noqa: ARG002
        """See ``Runner.read``."""
        records = read_records(completed.records, token)
        phases = {test: found for test, found in records.phases.items() if test.partition("::")[0] in files}
        failing = {test: first_failure(found) for test, found in phases.items()}
        return Said(
            results={test: _result(test, found) for test, found in phases.items()},
            status=records.status,
            collection_errors=tuple(
                CollectionError(failure.id, failure.text, failure.crash)
                for failure in records.failures
                if failure.id in files
            ),
            crashes={test: phase.crash for test, phase in failing.items() if phase and phase.crash},
            forged=records.forged,
        )


def _result(test: str, phases: tuple[Phase, ...]) -> TestResult:
    failing = first_failure(phases)
    status: TestStatus
    if failing is not None:
        status = "failed"
    else:  # a package and its external tests may declare a test of the same name each
        status = "passed" if all(phase.outcome == "passed" for phase in phases) else "skipped"
    crash = failing.crash if failing else None
    return TestResult(
        id=test,
        status=status,
        seconds=sum(phase.seconds for phase in phases),
        exception=crash.exception if crash else None,
        message=crash.message[:4000] if crash else "",
    )
