"""Runs test files in a sandbox and returns what the supervisor's channel reported, test by test.

Nothing is parsed from the tests' output, and no file that the tests could write is read. A test that was not
reported in every phase has not passed. Every file gets an interpreter and a workspace of its own: what an
earlier one left behind, on disk or running, is gone.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Final, Literal

from codegate.grading.grade import TestResult, TestStatus
from codegate.grading.records import Crash, Phase, read_records
from codegate.sandbox import Command, Completed, Sandbox, SandboxFile
from codegate.suite import Tree

_OUTPUT_KEPT: Final = 64 << 10
_CUT: Final = "[output truncated]"
_TIDY_SECONDS: Final = 30.0
_FORGED: Final = "something other than the test driver wrote to the result channel"


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
    """A test file, or part of one, that could not be imported or collected.

    Attributes:
        id: the file, or a node id in it.
        text: pytest's report of it, its last part.
        crash: what went wrong, where an exception did; not pytest's own that wraps it.
    """

    id: str
    text: str
    crash: Crash | None = None

    @property
    def exception(self) -> str | None:
        """Return the qualified name of the exception."""
        return self.crash.exception if self.crash else None


@dataclass(frozen=True)
class TestReport:
    """What a test run showed.

    Attributes:
        results: by test id; only tests that were reported.
        crashes: by test id, the exception that failed it.
        complete: every file ran to its end record and ended as that announced: nothing is missing by accident.
        tampering: evidence that the run was interfered with, one line; empty when there is none.
        output: the last part of the output, marked where it was cut; untrusted text.
    """

    __test__ = False

    results: Mapping[str, TestResult]
    collection_errors: tuple[CollectionError, ...] = ()
    crashes: Mapping[str, Crash] = field(default_factory=dict)
    complete: bool = True
    tampering: str = ""
    timed_out: bool = False
    memory_exceeded: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    output: str = ""

    @property
    def forged(self) -> bool:
        """Return whether the run was interfered with."""
        return bool(self.tampering)

    @property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Return, by test id, the builtin classes that the exception which failed it derives from."""
        return {test: crash.parents for test, crash in self.crashes.items()}

    @property
    def proven(self) -> bool:
        """Return whether the run ended by itself, within its limits and undisturbed: only then a pass counts."""
        return self.complete and not (self.forged or self.timed_out or self.memory_exceeded)


def run_tests(sandbox: Sandbox, tree: Tree, selection: TestSelection) -> TestReport:
    """Put ``tree`` into the fresh ``sandbox`` and run the selected files there.

    The run ends early when its time is up, when memory ran out, or when what a file left cannot be cleared.

    Raises:
        FilesRefused: the tree cannot be put: it is too large, or its own paths are in each other's way.
        SandboxError: the sandbox failed; the tests' own failures are in the report.
    """
    watched = _watched(tree, selection.files)
    left = selection.timeout_seconds
    reports: list[TestReport] = []
    for number, file in enumerate(selection.files, start=1):
        put_tree(sandbox, tree)
        report = _run_file(sandbox, selection, file, max(left, 0.001))
        left -= report.seconds
        if report.timed_out or report.memory_exceeded:
            reports.append(report)
            break  # the sandbox itself may be gone
        reports.append(_after(sandbox, report, watched, wipe=number < len(selection.files)))
        if report.complete and not reports[-1].complete:
            break  # what it left cannot be cleared
    return _merge(reports, len(selection.files))


def put_tree(sandbox: Sandbox, tree: Tree) -> None:
    """Write ``tree`` into the sandbox's workspace; raises as ``run_tests``."""
    sandbox.put(tuple(SandboxFile(path, file.data, file.mode) for path, file in tree.items()))


def clear_workspace(sandbox: Sandbox) -> bool:
    """Remove everything that was written in the sandbox; return whether that worked."""
    return _tidy(sandbox, {}, wipe=True) is not None


@cache
def driver_source(name: str) -> str:
    """Return the text of a program of this package that runs inside sandboxes."""
    return resources.files("codegate.grading").joinpath(f"{name}_driver.py").read_text("utf-8")


def _watched(tree: Tree, files: tuple[str, ...]) -> dict[str, str]:
    """Return the digests of what nothing in a run has reason to rewrite: its test files and their conftests."""
    paths = set(files)
    for file in files:
        folders = file.split("/")[:-1]
        paths.update("/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1))
    return {path: sha256(tree[path].data).hexdigest() for path in paths if path in tree and not tree[path].is_link}


def _run_file(sandbox: Sandbox, selection: TestSelection, file: str, timeout: float) -> TestReport:
    token = secrets.token_hex(16)
    settings = {"token": token, "file": file, "python_path": selection.python_path, "order": selection.order}
    completed = sandbox.run(
        Command(
            argv=("{python}", "-I", "-S", "-B", "-c", driver_source("pytest"), "{records}", "{site}", "{workspace}"),
            stdin=json.dumps(settings).encode("utf-8"),
            environment={"PYTHONHASHSEED": str(selection.hash_seed)},
            timeout_seconds=timeout,
            output_bytes=selection.output_bytes,
            records=True,
        )
    )
    return _report(completed, token, file)


def _after(sandbox: Sandbox, report: TestReport, watched: Mapping[str, str], *, wipe: bool) -> TestReport:
    """Return the report with what the workspace looks like after the run, and clear it for the next."""
    changed = _tidy(sandbox, watched, wipe=wipe)
    if changed is None:
        return replace(report, complete=False)
    if changed:
        return replace(report, tampering=f"the run rewrote {', '.join(changed)}")
    return report


def _tidy(sandbox: Sandbox, watched: Mapping[str, str], *, wipe: bool) -> list[str] | None:
    """Return which of the ``watched`` files are changed; None when that cannot be seen or cleared."""
    done = sandbox.run(
        Command(
            argv=("{python}", "-I", "-S", "-B", "-c", driver_source("tidy"), "{records}"),
            stdin=json.dumps({"watched": dict(watched), "wipe": wipe}).encode("ascii"),
            timeout_seconds=_TIDY_SECONDS,
            records=True,
        )
    )
    return [str(path) for path in json.loads(done.records)] if done.ok else None


def _report(completed: Completed, token: str, file: str) -> TestReport:
    records = read_records(completed.records, token)
    phases = {test: found for test, found in records.phases.items() if test.startswith(f"{file}::")}
    failing = {test: _failing(found) for test, found in phases.items()}
    code = completed.exit_code if completed.exit_code is not None else -(completed.signal or 0)
    return TestReport(
        results={test: _result(test, found) for test, found in phases.items()},
        collection_errors=tuple(
            CollectionError(failure.id if failure.id.startswith(file) else file, failure.text, failure.crash)
            for failure in records.failures
        ),
        crashes={test: phase.crash for test, phase in failing.items() if phase and phase.crash},
        complete=records.status is not None and records.status == code and not completed.records_truncated,
        tampering=_FORGED if records.forged else "",
        timed_out=completed.timed_out,
        memory_exceeded=completed.memory_exceeded,
        exit_code=code,
        seconds=completed.wall_seconds,
        cpu_seconds=completed.cpu_seconds,
        peak_memory_bytes=completed.peak_memory_bytes,
        output=_last(
            (completed.stdout + completed.stderr).decode("utf-8", "replace")
            + (f"\n{_CUT}" if completed.truncated else "")
        ),
    )


def _failing(phases: tuple[Phase, ...]) -> Phase | None:
    return next((phase for phase in phases if phase.outcome == "failed"), None)


def _result(test: str, phases: tuple[Phase, ...]) -> TestResult:
    failing = _failing(phases)
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


def _last(text: str) -> str:
    return text if len(text) <= _OUTPUT_KEPT else f"{_CUT}\n{text[-_OUTPUT_KEPT:]}"


def _merge(reports: list[TestReport], files: int) -> TestReport:
    codes = [report.exit_code for report in reports if report.exit_code is not None]
    return TestReport(
        results={test: result for report in reports for test, result in report.results.items()},
        collection_errors=tuple(error for report in reports for error in report.collection_errors),
        crashes={test: crash for report in reports for test, crash in report.crashes.items()},
        complete=len(reports) == files and all(report.complete for report in reports),
        tampering=next((report.tampering for report in reports if report.tampering), ""),
        timed_out=any(report.timed_out for report in reports),
        memory_exceeded=any(report.memory_exceeded for report in reports),
        exit_code=next((code for code in codes if code), 0) if codes else None,
        seconds=sum(report.seconds for report in reports),
        cpu_seconds=sum(report.cpu_seconds for report in reports),
        peak_memory_bytes=max((report.peak_memory_bytes for report in reports), default=0),
        output=_last("\n".join(report.output for report in reports)),
    )
