"""The contract of a test runner: start tests, read reports.

A runner is one small class. It names a command whose process writes to the records pipe, opened by a token that only
the command's standard input holds. It reads those records on the host, strictly, as written by a suspect.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from codegate.grading.grade import TestResult
from codegate.grading.records import Attempted, Crash
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.sandbox import Command, Completed


@dataclass(frozen=True)
class RunnerReport:
    """The report of one process of a runner.

    Attributes:
        results: by test id; ids begin with the path of the test's file and ``::``.
        status: the exit status that the runner announced with its last record; None if that is missing.
        collection_errors: files that could not be loaded or compiled.
        crashes: by test id, the exception that failed it.
        forged: something other than the driver wrote to the records pipe.
        receipts: by test id, the tokens of the marks that ran in it.
        texts: by id of a failed test that has copies, how the runner describes the failure.
        unsteady: ids of repeated tests of which only some repetitions passed; their result is the worst.
        attempted: the actions of the process, in parts; empty from runners that do not watch it.
    """

    results: Mapping[str, TestResult]
    status: int | None
    collection_errors: tuple[CollectionError, ...] = ()
    crashes: Mapping[str, Crash] = field(default_factory=dict)
    forged: bool = False
    receipts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    unsteady: frozenset[str] = frozenset()
    attempted: tuple[Attempted, ...] = ()


def grouped(files: tuple[str, ...], place: Callable[[str], str]) -> tuple[tuple[str, ...], ...]:
    """Return the files in groups, one group for each place."""
    found: dict[str, list[str]] = {}
    for file in files:
        found.setdefault(place(file), []).append(file)
    return tuple(map(tuple, found.values()))


class Runner(Protocol):
    """Runs tests of one framework. Stateless."""

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return the groups of ``files`` that share a process."""
        return tuple((file,) for file in files)

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """Return the command for a batch, without limits and pipe."""
        ...

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        """Return the report of a completed command; never raise."""
        ...
