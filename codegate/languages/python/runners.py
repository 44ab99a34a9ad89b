"""Run tests by pytest, unittest or Django's runner.

pytest runs unittest's test cases too.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from getopt import GetoptError, getopt
from itertools import pairwise, takewhile
from typing import Final

from typing_extensions import override

from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.grade import TestStatus
from codegate.grading.records import read_records, receipts_of
from codegate.grading.runners.contract import Runner, RunnerReport
from codegate.grading.runners.results import Phases, crashes_of, first_failure, passes_sometimes, result_of, texts_of
from codegate.grading.testreport import CollectionError, TestSelection
from codegate.sandbox import Command, Completed

_DRIVERS: Final = "codegate.languages.python.drivers"
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*=")
_OPTIONS: Final = "bBdEhiIJmOPqRsStuvVW:xX:?"
"""Python's own options for ``getopt``. ``m`` is listed without a value, so that the options end there."""
_LONG_OPTIONS: Final = ("check-hash-based-pycs=",)
_WORSE: Final = ("passed", "skipped", "missing", "failed", "error")
_BREAKS: Final = frozenset({"&&", "||", ";", "|", "&"})


class Pytest(Runner):
    """Runs pytest, with a new interpreter for each file.

    Our plugin reports every phase of every test.
    """

    programs: Collection[str] = ("pytest", "py.test")

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        own: dict[str, object] = {
            "clock_days": selection.clock_days,
            "isolated": [test for test in selection.isolated if test.startswith(f"{files[0]}::")],
            "busy": selection.busy,
            "repeat": selection.repeat,
        }
        if own["clock_days"] or own["isolated"] or own["busy"]:
            own["variations"] = driver_source("variations_driver", _DRIVERS)
        return self._command("pytest_driver", selection, files[0], token, own)

    @override
    def read(self, completed: Completed, selection: TestSelection, files: tuple[str, ...], token: str) -> RunnerReport:
        (file,) = files
        records = read_records(completed.records, token)
        phases = {test: found for test, found in records.phases.items() if test.startswith(f"{file}::")}
        repeated = selection.isolated if selection.repeat > 1 else ()
        repetitions = {test: _repetitions(phases[test]) for test in repeated if test in phases}
        worst = {test: max(found, key=lambda one: _WORSE.index(_status(one))) for test, found in repetitions.items()}
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
            texts=texts_of(phases),
            unsteady=frozenset(test for test, found in repetitions.items() if passes_sometimes(_status, found)),
            attempted=records.attempted,
        )

    def _command(
        self, driver: str, selection: TestSelection, file: str, token: str, own: Mapping[str, object]
    ) -> Command:
        call = _read_call(selection.command, self.programs)
        settings: dict[str, object] = {
            "token": token,
            "file": file,
            "folder": selection.folder,
            "order": selection.order,
            "behaviour": driver_source("behaviour_driver", _DRIVERS),
            "options": call.options,
            "module": call.module,
            "roots": selection.roots,
            "warnings": call.warnings,
            **({"copies": selection.copies.settings()} if selection.copies.mark else {}),
            **own,
        }
        varied = {"PYTHONHASHSEED": str(selection.hash_seed), "TZ": selection.timezone}
        return driver_command(
            driver,
            settings,
            "{workspace}",
            package=_DRIVERS,
            interpreter=("{interpreter}", *call.flags),
            environment={**varied, **call.variables},
            seeded=True,
        )


class Unittest(Pytest):
    """Runs unittest, for test suites that pytest cannot load.

    Each file has its own interpreter; our result class reports every phase of every test.

    Ids are the same as pytest's (``tests/test_x.py::Case::test_method``), and the phases have the same meaning. A
    subtest counts as part of its test.
    """

    programs = ("unittest",)

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        return self._command("unittest_driver", selection, files[0], token, {"django": False})


class Django(Pytest):
    """Runs Django's test runner.

    It is for projects with a ``manage.py``, and for Django itself with its ``tests/runtests.py``. Each file has its own
    interpreter, with the project's own databases.

    Ids are the same as pytest's (``shop/tests.py::CartTests::test_total``).
    """

    programs = ("manage.py", "django-admin", "django", "runtests.py")

    @override
    def command(self, selection: TestSelection, files: tuple[str, ...], token: str) -> Command:
        call = _read_call(selection.command, self.programs)
        given = call.program if call.program.endswith(".py") else ""
        own: dict[str, object] = {"django": True, "script": given if call.program else "manage.py"}
        if not call.program.endswith("runtests.py"):
            own["options"] = call.options[1:]  # the options after `test`
        return self._command("unittest_driver", selection, files[0], token, own)


@dataclass(frozen=True)
class _Call:
    """A project's test command, split into its parts.

    Attributes:
        program: the runner's name in the command; empty: the command does not name it.
        options: the words after the runner's name.
        module: the interpreter starts the runner by ``-m``, which makes the working folder an import root.
        flags: the interpreter's options, without ``-W``.
        warnings: the interpreter's ``-W`` filters, which may name warning classes of packages.
        variables: variables that are set in front of the command.
    """

    program: str = ""
    options: tuple[str, ...] = ()
    module: bool = True
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def _read_call(command: tuple[str, ...], programs: Collection[str]) -> _Call:
    words = [word for word in command if word != "{files}"]
    variables = dict(word.partition("=")[::2] for word in takewhile(_VARIABLE.match, words))
    at = next((number for number, word in enumerate(words) if word.rpartition("/")[2] in programs), None)
    if at is None:
        return _Call(variables=variables)
    flags: list[str] = []
    filters: list[str] = []
    python = next((number for number in range(at) if re.fullmatch(r"(.*/)?python[\d.]*", words[number])), at)
    given, rest = list[tuple[str, str]](), list[str]()
    with suppress(GetoptError):  # another interpreter may have further options
        given, rest = getopt(words[python + 1 : at + 1], _OPTIONS, _LONG_OPTIONS)
    for name, value in given:
        if name == "-W":
            filters.append(value)
        elif name != "-m":
            flags += [name, value] if value else [name]
    return _Call(
        program=words[at],
        options=tuple(takewhile(lambda word: word not in _BREAKS, words[at + 1 :])),
        module=at > 0 and (words[at - 1] == "-m" or (given[-1:] == [("-m", "")] and len(rest) == 1)),
        flags=tuple(flags),
        warnings=tuple(filters),
        variables=variables,
    )


def _repetitions(phases: Phases) -> list[Phases]:
    starts = [number for number, phase in enumerate(phases) if phase.when == "setup"] or [0]
    return [phases[start:end] for start, end in pairwise([*starts, len(phases)])]


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
