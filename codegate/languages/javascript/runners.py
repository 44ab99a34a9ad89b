"""node:test, Jest, Vitest and Mocha: Node starts a framework with a reporter of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.records import read_records, receipts_of
from codegate.grading.runners.contract import RunnerReport
from codegate.grading.runners.results import Phases, runner_report
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command, Completed

_DRIVERS: Final = "codegate.languages.javascript.drivers"


@dataclass(frozen=True)
class JavaScript:
    """One process of Node for each file. A test's id is its file, ``::``, and its titles joined by `` > ``.

    Tests of a file with equal titles count as one, which passes when all of them pass.

    Attributes:
        name: of the framework.
        reporter: the program that reports each test from inside of it.
    """

    name: str
    reporter: str

    def batches(self, files: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """See ``Runner.batches``."""
        return tuple((file,) for file in files)

    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        """See ``Runner.command``."""
        instruments = _source("instruments.js")
        settings = {
            "token": token,
            "runner": self.name,
            "file": files[0],
            "folder": selection.folder,
            "command": selection.command,
            "order": selection.order,
            "seed": selection.hash_seed,
            "clock_days": selection.clock_days,
            "reporter": self.reporter,
            "instruments": selection.instruments.settings() if selection.instruments else None,
            "sources": {
                self.reporter: instruments + _source("channel.js") + _source(self.reporter),
                "vitest_worker.cjs": instruments + _source("vitest_worker.cjs"),
                "clock.cjs": _source("clock.cjs"),
                "mocha_config.cjs": _source("mocha_config.cjs"),
            },
        }
        return driver_command("node_driver", settings, "{workspace}", package=_DRIVERS)

    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:  # noqa: ARG002
        """See ``Runner.read``."""
        return runner_report(read_records(completed.records, token), files, _receipts)


def _receipts(phases: Mapping[str, Phases]) -> Mapping[str, frozenset[str]]:
    """Return all receipts for each test: a token identifies its test, and some arrive with the next test's report."""
    return dict.fromkeys(phases, frozenset().union(*receipts_of(phases).values()))


def _source(file: str) -> str:
    return driver_source(file, _DRIVERS)


NODE: Final = JavaScript("node", "node_reporter.cjs")
JEST: Final = JavaScript("jest", "jest_reporter.cjs")
VITEST: Final = JavaScript("vitest", "vitest_main.mjs")
MOCHA: Final = JavaScript("mocha", "mocha_reporter.cjs")
