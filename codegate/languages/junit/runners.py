"""Run any command that writes JUnit XML.

Only the reports count, and they are read as untrusted input.
"""

import base64
import binascii
import math
import posixpath
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import override

from codegate.grading.drivers import driver_command
from codegate.grading.grade import TestResult, TestStatus, worse_result
from codegate.grading.records import End, Record, read_frames
from codegate.grading.runners.contract import Runner, RunnerReport
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.sandbox import Command, Completed
from codegate.strict import XmlElement, parse_xml

_DRIVERS: Final = "codegate.languages.junit.drivers"
_FILES: Final = "{files}"
#: Values of attributes by which GoogleTest and CTest mark a disabled test that has no element inside.
_NOT_RUN: Final = frozenset({"notrun", "disabled", "skipped", "ignored", "suppressed"})
_NOT_PASSED: Final = frozenset({"fail", "failed", "failure", "error"})
_MOST_TESTS: Final = 50_000


class JUnit(Runner):
    """Runs the project's command once for all files.

    A test's id is the path in its ``file`` attribute, else its ``classname``, then ``::`` and its name. Tests with
    equal ids count as one, which passes when all of them pass. No result counts if the command reports no test, or
    fails although none of its tests does.
    """

    @override
    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        # Only the command knows how its files depend on each other.
        return (files,)

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        placed = tuple(posixpath.relpath(file, selection.folder or ".") for file in files)
        words = [part for word in selection.command for part in (placed if word == _FILES else (word,))]
        settings = {
            "token": token, "command": words, "reports": selection.reports, "folder": selection.folder, "variants": [],
        }  # fmt: skip
        environment = {"PYTHONHASHSEED": str(selection.hash_seed)}
        return driver_command("junit_driver", settings, package=_DRIVERS, environment=environment)

    @override
    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        found, status, broken, forged = read_reports(completed.records, token)
        results: dict[str, TestResult] = {}
        for result in found:
            results[result.id] = worse_result(results.get(result.id), result)
        failing = any(result.failed for result in found)
        if not broken and (not found or (status and not failing)):
            return RunnerReport(results={}, status=None, forged=forged)
        return RunnerReport(results=results, status=status, collection_errors=broken, forged=forged)


def read_reports(records: bytes, token: str) -> tuple[list[TestResult], int | None, tuple[CollectionError, ...], bool]:
    """Return tests, exit status, unreadable reports, and a forgery flag.

    The flag tells whether records were forged, for example because they lack ``token``. The status is None if no record
    has it. With more than 50,000 tests, tests and unreadable reports are empty and the status is None.
    """
    reports, status, forged = read_frames(records, token, _RECORD.validate_json)
    found: list[TestResult] = []
    broken: list[CollectionError] = []
    for report in reports:
        try:
            found += read_report(base64.b64decode(report.data, validate=True))
        except (ValueError, binascii.Error) as error:
            broken.append(CollectionError(report.path, f"the report cannot be read: {error}"))
    if len(found) > _MOST_TESTS:
        return [], None, (), forged
    return found, status, tuple(broken), forged


def read_report(data: bytes) -> Iterator[TestResult]:
    """Yield the tests of one JUnit XML file.

    Raises:
        ValueError: it is no XML, has a document type (which allows entities), is nested too deeply, or counts failures
            although none of its tests failed.
    """
    root = parse_xml(data)
    for suite in root.below():
        failures = sum(_number(suite.attributes.get(name, "")) for name in ("failures", "errors"))
        if failures and suite.name.startswith("testsuite"):
            cases = (_result(case) for case in suite.below() if case.name == "testcase")
            if not any(case.failed for case in cases):
                raise ValueError(f"it counts {failures} failures, and none of its tests has failed")
    for case in root.below():
        if case.name == "testcase":
            yield _result(case)


def _result(case: XmlElement) -> TestResult:
    status, exception, message = _status(case.attributes), "", ""
    for inner in case.below():
        if inner.name in {"failure", "error"}:
            status = "failed" if inner.name == "failure" and status != "error" else "error"
            exception, message = inner.attributes.get("type", ""), inner.attributes.get("message", "") + inner.text
        elif inner.name == "skipped" and status == "passed":
            status = "skipped"
    place = case.attributes.get("file") or case.attributes.get("classname", "")
    return TestResult(
        id=f"{place.removeprefix('./')}::{case.attributes.get('name', '')}"[: 1 << 16],
        status=status,
        seconds=_seconds(case.attributes.get("time", "")),
        exception=exception[:300] or None,
        message=message[:4000],
    )


def _status(attributes: dict[str, str]) -> TestStatus:
    words = {attributes.get(name, "").lower() for name in ("status", "result")}
    return "failed" if words & _NOT_PASSED else "skipped" if words & _NOT_RUN else "passed"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _seconds(text: str) -> float:
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


class _Report(Record):
    kind: Literal["report"]
    path: str
    data: str


_RECORD: Final[TypeAdapter[_Report | End]] = TypeAdapter(Annotated[_Report | End, Field(discriminator="kind")])


JUNIT: Final = JUnit()
