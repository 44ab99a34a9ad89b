"""Run tests by Cargo.

Cargo compiles them, and each test runs in its own process.
"""

from itertools import takewhile
from typing import Final

from typing_extensions import override

from codegate.grading.drivers import driver_command
from codegate.grading.records import read_records, receipts_of
from codegate.grading.runners.contract import Runner, RunnerReport, grouped
from codegate.grading.runners.results import runner_report
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command, Completed

_DRIVERS: Final = "codegate.languages.rust.drivers"


class Cargo(Runner):
    """Compiles each test target once; runs each test by itself.

    The recipe's command compiles the tests. Ids are the declaring file's path, ``::`` and the test's path in the file:
    ``tests/cart.rs::empty::total``.
    """

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """Return one batch of ``files`` for each crate."""
        # A crate is the folder above ``tests`` or ``src``.
        inner = ("tests", "src")
        return grouped(files, lambda file: "/".join(takewhile(lambda name: name not in inner, file.split("/")[:-1])))

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        copies = selection.copies
        settings = {
            **copies.settings(),
            "seconds": copies.seconds,
            "token": token,
            "files": files,
            "folder": selection.folder,
            "command": selection.command or ("cargo", "test"),
            "repeat": selection.repeat,
            "output_bytes": selection.output_bytes,
        }
        environment = {"TZ": selection.timezone}
        return driver_command(
            "cargo_driver", settings, "{python}", "{workspace}", package=_DRIVERS, environment=environment
        )

    @override
    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        records = read_records(completed.records, token)
        return runner_report(records, files, receipts_of, repeated=selection.repeat > 1)


CARGO: Final = Cargo()
