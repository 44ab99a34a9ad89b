"""pytest, which runs unittest's test cases too, unittest itself, and Django's test runner."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.grade import TestStatus
from codegate.grading.records import read_records, receipts_of
from codegate.grading.runners.contract import RunnerReport
from codegate.grading.runners.results import Phases, crashes_of, first_failure, passes_at_times, result_of
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.sandbox import Command, Completed

_DRIVERS: Final = "codegate.languages.python.drivers"


class Pytest:
    """One interpreter for each file; every phase of every test is reported by a plugin of ours."""

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """See ``Runner.batches``."""
        return tuple((file,) for file in files)

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        settings = {
            **_settings(selection, files[0], token),
            "clock_days": selection.clock_days,
            "isolated": [test for test in selection.isolated if test.startswith(f"{files[0]}::")],
            "busy": selection.busy,
            "repeat": selection.repeat,
        }
        if settings["clock_days"] or settings["isolated"] or settings["busy"]:
            settings["variations"] = driver_source("variations_driver", _DRIVERS)
        return _command("pytest_driver", settings, selection)

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        """See ``Runner.read``."""
        (file,) = files
        records = read_records(completed.records, token)
        phases = {test: found for test, found in records.phases.items() if test.startswith(f"{file}::")}
        repeated = selection.isolated if selection.repeat > 1 else ()
        repetitions = {test: _repetitions(phases[test]) for test in repeated if test in phases}
        worst = {test: max(found, key=_badness) for test, found in repetitions.items()}
        return RunnerReport(
            results={test: result_of(test, _status(found), found) for test, found in {**phases, **worst}.items()},
            status=records.status,
            collection_errors=tuple(
                CollectionError(failure.id if failure.id.startswith(file) else file, failure.text, failure.crash)
                for failure in records.failures
            ),
            crashes=crashes_of(phases),
            forged=records.forged,
            receipts=receipts_of(phases),
            unsteady=frozenset(test for test, found in repetitions.items() if passes_at_times(_status, found)),
            attempted=records.attempted,
        )


class Unittest(Pytest):
    """For test files whose own loading protocols pytest does not follow.

    One interpreter for each file; a result class of ours reports every phase of every test.

    Ids are those that pytest gives (``tests/test_x.py::Case::test_method``), and so is what the phases mean; a subtest
    is a call of its test.
    """

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        settings = {**_settings(selection, files[0], token), "django": False}
        return _command("unittest_driver", settings, selection)


class Django(Pytest):
    """For projects with a ``manage.py``, and Django itself with its ``tests/runtests.py``.

    One interpreter for each file; databases are SQLite's, as no server runs in a sandbox.

    Ids are those that pytest gives (``shop/tests.py::CartTests::test_total``). The project's folder, with its
    ``manage.py``, is the selection's first import root; none is the tree itself.
    """

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        project = selection.python_path[0] if selection.python_path else ""
        settings = {**_settings(selection, files[0], token), "django": True, "project": project}
        return _command("unittest_driver", settings, selection)


def _settings(selection: TestSelection, file: str, token: str) -> dict[str, object]:
    """Return the settings that every driver of Python tests gets."""
    settings: dict[str, object] = {
        "token": token,
        "file": file,
        "folder": selection.folder,
        "python_path": selection.python_path,
        "order": selection.order,
        "behaviour": driver_source("behaviour_driver", _DRIVERS),
    }
    if selection.instruments is not None:
        settings["instruments"] = selection.instruments.settings()
        settings["instruments_source"] = driver_source("instruments_driver", _DRIVERS)
    return settings


def _command(driver: str, settings: Mapping[str, object], selection: TestSelection) -> Command:
    """Return the command that runs a driver of Python tests."""
    environment = {"PYTHONHASHSEED": str(selection.hash_seed), "TZ": selection.timezone}
    return driver_command(
        driver, settings, "{site}", "{workspace}", "{packages}", package=_DRIVERS, environment=environment
    )


def _repetitions(phases: Phases) -> list[Phases]:
    """Return the phases of each repetition of a test; each begins with its setup."""
    starts = [number for number, phase in enumerate(phases) if phase.when == "setup"] or [0]
    return [phases[start:end] for start, end in pairwise([*starts, len(phases)])]


def _badness(phases: Phases) -> int:
    return ("passed", "skipped", "missing", "failed", "error").index(_status(phases))


def _status(phases: Phases) -> TestStatus:
    failing = first_failure(phases)
    outcomes = {phase.outcome for phase in phases}
    when = [phase.when for phase in phases]
    if failing is not None:
        return "failed" if failing.when == "call" else "error"
    if outcomes != {"passed"}:
        return "skipped"
    # Each subtest is reported as a call of its own.
    whole = when[0] == "setup" and when[-1] == "teardown" and set(when[1:-1]) == {"call"}
    return "passed" if whole else "missing"


PYTEST: Final = Pytest()
UNITTEST: Final = Unittest()
DJANGO: Final = Django()
