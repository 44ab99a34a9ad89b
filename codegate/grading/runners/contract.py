"""The contract of a test runner: start tests, read reports.

A runner is one small class. It returns a command whose process writes records to a pipe, each behind a secret token
that only the command's standard input brings. It reads the records on the host, as untrusted input.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from codegate.grading.records import Attempted
from codegate.grading.testreport import ReportedTests, TestSelection
from codegate.sandbox import Command, Completed


@dataclass(frozen=True)
class RunnerReport(ReportedTests):
    """The report of one process of a runner.

    Attributes:
        status: the exit status in the last record; None if that is missing.
        forged: something other than the driver wrote to the records pipe.
        attempted: unusual actions of the process; empty from runners that do not watch it.
    """

    status: int | None = field(kw_only=True)
    forged: bool = False
    attempted: tuple[Attempted, ...] = ()


def grouped(files: tuple[str, ...], place: Callable[[str], str]) -> tuple[tuple[str, ...], ...]:
    """Return the files in groups with equal ``place(file)``."""
    found: dict[str, list[str]] = {}
    for file in files:
        found.setdefault(place(file), []).append(file)
    return tuple(map(tuple, found.values()))


class Runner(Protocol):
    """Runs tests of one framework. Stateless."""

    @property
    def forces_exit(self) -> bool:
        """Return whether the process ends without waiting for open timers.

        With ``until_exit`` in a selection, the process waits for the timers.
        """
        return False

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return the groups of ``files`` that share a process."""
        return tuple((file,) for file in files)

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """Return the command that runs the tests of ``files``.

        Each record of the process begins with ``token``. The caller adds its limits of time and output, and the pipe.
        """
        ...

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        """Return the report of a completed command. Never raises."""
        ...
