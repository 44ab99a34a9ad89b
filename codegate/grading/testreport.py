"""Test selections and reports, shared by all runners."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from codegate.grading.behaviour import Behaviour
from codegate.grading.controls.copies import Copies
from codegate.grading.grade import TestResult
from codegate.grading.records import Crash
from codegate.service import Service
from codegate.suite import Problem, RunnerName


@dataclass(frozen=True)
class TestSelection:
    """The test files to run, and how to run them.

    Attributes:
        files: paths in the tree, in the order of the run; each file (in Go, each package) has its own process.
        runner: name of the test runner.
        command: words of the project's command line for tests. The runner ``junit`` runs it as it is; other runners
            take its options.
        reports: for the runner ``junit``: the JUnit XML files, or folders of them, that the command writes.
        folder: where the tests run, relative to the tree; empty: its root. Tests of Go run in their packages.
        order: order of the tests within a file, if the runner can change it.
        hash_seed: PYTHONHASHSEED, and the seed of other runners' shuffling.
        clock_days: how many days the tests' clock is ahead of the real one, if the runner can change it.
        timezone: the tests' time zone, by its name in the tz database.
        isolated: ids of tests that each run in a process of their own, before the others, if the runner can do that.
        busy: number of processes that compete with the tests for one processor, if the runner can start them.
        repeat: how often tests run, if the runner can repeat them: all tests of Go, isolated tests of pytest.
        until_exit: wait for the tests' process to end by itself; some runners force its exit otherwise.
        timeout_seconds: time limit for all files together.
        output_bytes: most bytes of output that are kept for each file.
        copies: test files with marks and copies, in place of the tree's; empty: the files run as they are.
        service: a fake service for the tests; each of its expectations becomes a result of the run.
        before: command lines that run in each sandbox before the tests.
        roots: further import roots of Python, beside the environment's.
        outdated: files of the base tree that the answer changes or deletes, but which stay as they are. A runner may
            leave out tests among them that do not compile, if no selected file needs them.
    """

    __test__ = False  # not a test class, whatever its name begins with

    files: tuple[str, ...]
    runner: RunnerName = "pytest"
    command: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    order: Literal["natural", "reversed"] = "natural"
    hash_seed: int = 0
    clock_days: int = 0
    timezone: str = "UTC"
    isolated: tuple[str, ...] = ()
    busy: int = 0
    repeat: int = 1
    until_exit: bool = False
    folder: str = ""
    timeout_seconds: float = 120.0
    output_bytes: int = 1 << 20
    copies: Copies = field(default_factory=Copies)
    service: Service | None = None
    before: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


def test_selection(problem: Problem) -> TestSelection:
    """Return the selection of hidden tests, with the problem's limits."""
    limits = problem.manifest.limits
    return TestSelection(
        files=problem.manifest.test_files,
        runner=problem.manifest.runner,
        command=problem.manifest.command,
        reports=problem.manifest.reports,
        folder=problem.manifest.folder,
        timeout_seconds=limits.seconds,
        output_bytes=limits.output_kb << 10,
        service=problem.manifest.service,
        before=problem.manifest.before,
        roots=problem.manifest.python_path if problem.environment.base is None else (),
    )


@dataclass(frozen=True)
class CollectionError:
    """A test file, or part of one, that cannot load.

    Attributes:
        id: the file, or a node id in it.
        text: the last part of the runner's message.
        crash: the exception, if there was one; not the runner's own exception around it.
    """

    id: str
    text: str
    crash: Crash | None = None

    @property
    def exception(self) -> str | None:
        """Return the exception's qualified name; None without exception."""
        return self.crash.exception if self.crash else None

    @property
    def reason(self) -> str:
        """Return the exception with its message, else the text's end."""
        return f"{self.crash.exception}: {self.crash.message}" if self.crash else self.text[-300:].strip()


@dataclass(frozen=True)
class ReportedTests:
    """The tests that a runner reported.

    Attributes:
        results: by test id; ids begin with the path of the test's file and ``::``.
        collection_errors: files that could not be loaded or compiled.
        crashes: by test id, the exception that failed it.
        receipts: by test id, the tokens that its marks sent.
        texts: by id of a failed test that has copies, the runner's description of the failure.
        unsteady: ids of repeated tests of which only some repetitions passed; the worst repetition is their result.
        uncaught: the framework reported an error that belongs to no test, such as a rejected promise.
    """

    results: Mapping[str, TestResult]
    collection_errors: tuple[CollectionError, ...] = ()
    crashes: Mapping[str, Crash] = field(default_factory=dict)
    receipts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    unsteady: frozenset[str] = frozenset()
    uncaught: bool = False


@dataclass(frozen=True)
class TestReport(ReportedTests):
    """The results of a test run.

    Attributes:
        behaviour: unusual actions of the code under test.
        complete: the driver of every file sent its last record and ended with the status in it, so that no result is
            missing.
        tampering: a line of evidence of interference with the run; empty if there is none.
        unprepared: the failure of a command that runs before the tests, so that these did not run; empty if there is
            none.
        output: the last part of the output, marked where it was truncated; untrusted text.
    """

    __test__ = False

    behaviour: Behaviour = field(default_factory=Behaviour)
    complete: bool = True
    tampering: str = ""
    unprepared: str = ""
    timed_out: bool = False
    memory_exceeded: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    output: str = ""

    def passes(self, test: str) -> bool:
        """Return whether a test is reported as passed."""
        return test in self.results and self.results[test].status == "passed"

    @property
    def proven(self) -> bool:
        """Return whether passes count: undisturbed and within limits."""
        return self.complete and not (self.tampering or self.timed_out or self.memory_exceeded)

    @property
    def clean(self) -> bool:
        """Return whether the exit status agrees with the results."""
        failing = any(result.status not in {"passed", "skipped"} for result in self.results.values())
        return self.complete and (self.exit_code == 0) != (failing or bool(self.collection_errors))

    @property
    def summary(self) -> str:
        """Return counts of results and the output's end, for models."""
        counts = Counter(result.status for result in self.results.values())
        head = ", ".join(f"{number} {status}" for status, number in sorted(counts.items())) or "no test ran"
        return f"{head}{'; stopped at the time limit' if self.timed_out else ''}\n{self.output[-8000:]}"
