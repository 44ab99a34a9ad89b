"""Run node:test, Jest, Vitest and Mocha.

Node starts them with our own reporter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from typing_extensions import override

from codegate.grading.controls.copies import Copies, TestKey
from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.records import read_records
from codegate.grading.runners.contract import Runner, RunnerReport
from codegate.grading.runners.results import Phases, runner_report
from codegate.grading.testreport import TestSelection
from codegate.sandbox import Command, Completed

_DRIVERS: Final = "codegate.languages.javascript.drivers"


@dataclass(frozen=True)
class JavaScript(Runner):
    """Runs one process of Node for each file.

    A test's id is its file, ``::``, and its titles joined by `` > ``. Tests of a file with equal titles count as one,
    which passes when all of them pass.

    Attributes:
        reporter: the program that runs inside the framework and reports each test.
        forces_exit: see ``Runner``.
    """

    name: str
    reporter: str
    forces_exit: bool = True

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        marks = _source("marks.js")
        settings = {
            "token": token,
            "runner": self.name,
            "file": files[0],
            "folder": selection.folder,
            "command": selection.command,
            "order": selection.order,
            "seed": selection.hash_seed,
            "clock_days": selection.clock_days,
            "until_exit": selection.until_exit,
            "reporter": self.reporter,
            "copies": selection.copies.settings() if selection.copies.mark else None,
            "sources": {
                self.reporter: marks + _source("channel.js") + _source(self.reporter),
                "vitest_worker.cjs": marks + _source("vitest_worker.cjs"),
                "clock.cjs": _source("clock.cjs"),
                "mocha_config.cjs": _source("mocha_config.cjs"),
            },
        }
        return driver_command("node_driver", settings, "{workspace}", package=_DRIVERS)

    @override
    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        return runner_report(read_records(completed.records, token), files, partial(_receipts, selection.copies))


def _receipts(copies: Copies, phases: Mapping[str, Phases]) -> Mapping[str, frozenset[str]]:
    # Tokens of several tests may arrive together. A test's first mark begins a new turn of the test. If the test has
    # several ids, its turns belong to these in order; if there are more or fewer turns than ids, each id gets all
    # tokens.
    turns: dict[str | TestKey, list[set[str]]] = {}
    for token in (token for found in phases.values() for phase in found for token in phase.receipts):
        if token in copies.marks:
            place, number = copies.marks[token]
            begun = turns.setdefault(place, [])
            begun += [set()] if number == 0 or not begun else []
            begun[-1].add(token)
    tests: dict[str | TestKey, list[str]] = {}
    for test in phases:
        for place in copies.mark_keys(test):
            tests.setdefault(place, []).append(test)
    left: dict[str, set[str]] = {}
    for place, own in tests.items():
        found = turns.get(place, [])
        found = found if len(found) == len(own) else [set().union(*found)] * len(own)
        for test, tokens in zip(own, found, strict=True):
            left.setdefault(test, set()).update(tokens)
    return {test: frozenset(tokens) for test, tokens in left.items()}


def _source(file: str) -> str:
    return driver_source(file, _DRIVERS)


NODE: Final = JavaScript("node", "node_reporter.cjs")
JEST: Final = JavaScript("jest", "jest_reporter.cjs")
VITEST: Final = JavaScript("vitest", "vitest_main.mjs", forces_exit=False)
MOCHA: Final = JavaScript("mocha", "mocha_reporter.cjs")
