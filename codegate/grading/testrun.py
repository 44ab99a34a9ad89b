"""Runs test files in a sandbox and returns what the supervisor's channel reported, test by test.

Nothing is parsed from the tests' output, and no file that the tests could write is read. A test that was not
reported in every phase has not passed.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, Literal

from codegate.grading.grade import TestResult, TestStatus
from codegate.sandbox import Command, Completed, Sandbox, SandboxFile
from codegate.suite import Tree

_PHASES: Final = frozenset({"setup", "call", "teardown"})
_OUTPUT_KEPT: Final = 64 << 10


@dataclass(frozen=True)
class TestSelection:
    """Which test files to run, and how.

    Attributes:
        files: paths in the tree; each runs in an interpreter of its own, in this order.
        python_path: import roots, relative to the tree.
        order: of the tests within a file.
        hash_seed: PYTHONHASHSEED.
        timeout_seconds: for all files together.
        output_bytes: cap of the output that is kept of each file.
    """

    __test__ = False  # not a test class, whatever its name begins with

    files: tuple[str, ...]
    python_path: tuple[str, ...] = ("", "src")
    order: Literal["natural", "reversed"] = "natural"
    hash_seed: int = 0
    timeout_seconds: float = 120.0
    output_bytes: int = 1 << 20


@dataclass(frozen=True)
class CollectionError:
    """A test file, or part of one, that could not be imported or collected."""

    id: str
    exception: str | None
    parents: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class TestReport:
    """What a test run showed.

    Attributes:
        results: by test id; only tests that were reported.
        errno: by test id, the errno of the exception that failed it, where it had one.
        parents: by test id, the builtin classes that the exception derives from.
        complete: every file ran to its end record, so that nothing is missing by accident.
        forged: something wrote to the channel that was not the driver.
    """

    __test__ = False

    results: Mapping[str, TestResult]
    collection_errors: tuple[CollectionError, ...] = ()
    errno: Mapping[str, int] = field(default_factory=dict)
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    complete: bool = True
    forged: bool = False
    timed_out: bool = False
    memory_exceeded: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    output: str = ""


def put_tree(sandbox: Sandbox, tree: Tree) -> None:
    """Write ``tree`` into the sandbox's workspace."""
    sandbox.put(tuple(SandboxFile(path, file.data, file.mode) for path, file in tree.items()))


def run_tests(sandbox: Sandbox, tree: Tree, selection: TestSelection) -> TestReport:
    """Put ``tree`` into the fresh ``sandbox`` and run the selected files there.

    Raises:
        SandboxError: the sandbox failed; the tests' own failures are in the report.
    """
    put_tree(sandbox, tree)
    return run_placed_tests(sandbox, selection)


def run_placed_tests(sandbox: Sandbox, selection: TestSelection) -> TestReport:
    """Run the selected files on the tree that is already in the sandbox; raises as ``run_tests``."""
    left = selection.timeout_seconds
    reports = []
    for file in selection.files:
        report = _run_file(sandbox, selection, file, max(left, 1.0))
        reports.append(report)
        left -= report.seconds
        if report.timed_out or left <= 0:
            break
    return _merge(reports, len(selection.files))


@cache
def _driver_source() -> str:
    return resources.files("codegate.grading").joinpath("pytest_driver.py").read_text("utf-8")


def _run_file(sandbox: Sandbox, selection: TestSelection, file: str, timeout: float) -> TestReport:
    token = secrets.token_hex(16)
    settings = {"token": token, "file": file, "python_path": selection.python_path, "order": selection.order}
    completed = sandbox.run(
        Command(
            argv=("{python}", "-I", "-S", "-B", "-c", _driver_source(), "{records}", "{site}", "{workspace}"),
            stdin=json.dumps(settings).encode("utf-8"),
            environment={"PYTHONHASHSEED": str(selection.hash_seed)},
            timeout_seconds=timeout,
            output_bytes=selection.output_bytes,
            records=True,
        )
    )
    return _read_records(completed, token)


def _read_records(completed: Completed, token: str) -> TestReport:
    phases: dict[str, list[dict[str, Any]]] = {}
    errors: list[CollectionError] = []
    ended, forged = False, completed.records_truncated
    for line in completed.records.split(b"\n"):
        if not line:
            continue
        opening, _, body = line.partition(b" ")
        record = _record(body) if opening == token.encode("ascii") else {}
        match record:
            case {"kind": "phase", "id": str(test)}:
                phases.setdefault(test, []).append(record)
            case {"kind": "collect_error", "id": str(place)}:
                exception = record.get("exception")
                errors.append(
                    CollectionError(place, exception, tuple(record.get("parents", ())), str(record.get("text", "")))
                )
            case {"kind": "collected"}:
                pass
            case {"kind": "end"} if not ended:
                ended = True
            case _:
                forged = True
    results = {test: _result(test, records) for test, records in phases.items()}
    failing = {test: _failing_phase(records) for test, records in phases.items()}
    return TestReport(
        results=results,
        collection_errors=tuple(errors),
        errno={test: r["errno"] for test, r in failing.items() if r and isinstance(r.get("errno"), int)},
        parents={test: tuple(r.get("parents", ())) for test, r in failing.items() if r},
        complete=ended,
        forged=forged,
        timed_out=completed.timed_out,
        memory_exceeded=completed.memory_exceeded,
        exit_code=completed.exit_code if completed.exit_code is not None else -(completed.signal or 0),
        seconds=completed.wall_seconds,
        cpu_seconds=completed.cpu_seconds,
        peak_memory_bytes=completed.peak_memory_bytes,
        output=_tail(completed),
    )


def _record(body: bytes) -> dict[str, Any]:
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _failing_phase(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    return next((record for record in records if record.get("outcome") == "failed"), None)


def _result(test: str, records: list[dict[str, Any]]) -> TestResult:
    failing = _failing_phase(records)
    outcomes = {record.get("outcome") for record in records}
    status: TestStatus
    if failing is not None:
        status = "failed" if failing.get("when") == "call" else "error"
    elif outcomes & {"skipped", "xfail"}:
        status = "skipped"
    elif outcomes == {"passed"} and {record.get("when") for record in records} >= _PHASES:
        status = "passed"
    else:
        status = "missing"
    markers = records[0].get("markers", ())
    exception = failing.get("exception") if failing else None
    return TestResult(
        id=test,
        status=status,
        seconds=sum(float(r["seconds"]) for r in records if isinstance(r.get("seconds"), int | float)),
        exception=exception if isinstance(exception, str) else None,
        message=str(failing.get("message", ""))[:4000] if failing else "",
        markers=tuple(str(marker)[:100] for marker in markers[:50]) if isinstance(markers, list) else (),
    )


def _tail(completed: Completed) -> str:
    output = completed.stdout + completed.stderr
    text = output[-_OUTPUT_KEPT:].decode("utf-8", "replace")
    return text + "\n[output truncated]" if completed.truncated or len(output) > _OUTPUT_KEPT else text


def _merge(reports: list[TestReport], files: int) -> TestReport:
    codes = [report.exit_code for report in reports if report.exit_code is not None]
    return TestReport(
        results={test: result for report in reports for test, result in report.results.items()},
        collection_errors=tuple(error for report in reports for error in report.collection_errors),
        errno={test: number for report in reports for test, number in report.errno.items()},
        parents={test: names for report in reports for test, names in report.parents.items()},
        complete=len(reports) == files and all(report.complete for report in reports),
        forged=any(report.forged for report in reports),
        timed_out=any(report.timed_out for report in reports),
        memory_exceeded=any(report.memory_exceeded for report in reports),
        exit_code=next((code for code in codes if code), 0) if codes else None,
        seconds=sum(report.seconds for report in reports),
        cpu_seconds=sum(report.cpu_seconds for report in reports),
        peak_memory_bytes=max((report.peak_memory_bytes for report in reports), default=0),
        output="\n".join(report.output for report in reports)[-_OUTPUT_KEPT:],
    )
