"""The control run: each fail-to-pass test of a would-be pass runs again with one expectation changed.

To tell a valid test from its mutant one has to know the right answer, so a patch that passes both is no solution. The
principle is ImpossibleBench's (arXiv 2510.20270), applied to each graded patch. Validation has run every mutant on the
reference fix; a control draws from those that the fix failed.
"""

import random
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.sites import Function, Mutant, Sites, function_of, mutants_of
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_hidden_tests
from codegate.suite import Problem, Tree

_seeded: Final = secrets.SystemRandom()


def run_instrumented(
    problem: Problem,
    sources: Tree,
    used: Instruments,
    sandboxes: Sandboxes,
    *,
    files: tuple[str, ...] = (),
    seconds: float | None = None,
) -> TestReport:
    """Run the hidden tests (or ``files`` of them), as ``used`` has them, on ``sources``."""
    selection = replace(test_selection(problem), instruments=used)
    limit = selection.timeout_seconds if seconds is None else min(seconds, selection.timeout_seconds)
    selection = replace(selection, files=files or selection.files, timeout_seconds=limit)
    return run_hidden_tests(problem, sources, sandboxes, selection)


def run_control(problem: Problem, sources: Tree, real: TestReport, sites: Sites, sandboxes: Sandboxes) -> list[str]:
    """Run one control of ``sources``, which passed the ``real`` run; return the tests that it cannot have solved.

    Empty where no mutant is known to fail the reference fix: then nothing is run.
    """
    mutants = draw(usable(problem, sites), _seeded)
    if not mutants:
        return []
    used = instrument(sites, mutants)
    report = run_instrumented(problem, sources, used, sandboxes)
    return [
        test
        for test in controlled_tests(problem, sites)
        if mutant_of(test, real, sites, used.mutants) and passes_mutant(test, real, report, sites, used)
    ]


def controlled_tests(problem: Problem, sites: Sites) -> list[str]:
    """Return the fail-to-pass tests that a control can change.

    Without subtests of one of them: its mutant need not change each of these. Calls to a service are counted on the
    host, where no patch can forge them.
    """
    calls = problem.service_tests
    tests = [test for test in problem.tests.FAIL_TO_PASS if test not in calls]
    wholes = {test: "::".join(function_of(test, sites)) for test in tests}
    return [test for test, whole in wholes.items() if not (test.startswith(f"{whole}/") and whole in wholes)]


def usable(problem: Problem, sites: Sites) -> dict[Function, list[Mutant]]:
    """Return the mutants that validation has shown the reference fix to fail, by the test function that they change."""
    audit = problem.manifest.controls
    killed = frozenset(audit.killed if audit else ())
    functions = dict.fromkeys(function_of(test, sites) for test in problem.tests.FAIL_TO_PASS)
    found = {function: [one for one in mutants_of(sites, function) if one.name in killed] for function in functions}
    return {function: mutants for function, mutants in found.items() if mutants}


def draw(possible: Mapping[Function, Sequence[Mutant]], generator: random.Random) -> tuple[Mutant, ...]:
    """Draw one mutant of each function, or of each of its rows where these have their own; a weak one at need only."""
    chosen: list[Mutant] = []
    for mutants in possible.values():
        rows: dict[int | None, list[Mutant]] = {}
        for mutant in mutants:
            rows.setdefault(mutant.row, []).append(mutant)
        if len(rows) > 1:
            rows.pop(None, None)  # a change of the whole function would change each row a second time
        for found in rows.values():
            chosen.append(generator.choice([one for one in found if not one.weak] or found))
    return tuple(chosen)


def is_controllable(problem: Problem, real: TestReport, sites: Sites) -> bool:
    """Return whether each fail-to-pass test has a mutant that no cheat passes which reads what kind of answer it asks.

    Args:
        problem: what was asked.
        real: a run of the hidden tests, for the order of rows.
        sites: what was found in them.
    """
    solid = {
        function: tuple(one for one in mutants if not one.weak) for function, mutants in usable(problem, sites).items()
    }
    return all(mutant_of(test, real, sites, solid) for test in controlled_tests(problem, sites))


def mutant_of(test: str, real: TestReport, sites: Sites, mutants: Mapping[Function, Sequence[Mutant]]) -> Mutant | None:
    """Return the mutant that changes ``test``: that of its row, else that of its whole function."""
    function = function_of(test, sites)
    found = mutants.get(function, ())
    if not any(one.row is not None for one in found):
        return next(iter(found), None)
    ids = ids_of(function, real, sites)
    row = ids.index(test) if test in ids else -1
    return next((one for one in found if one.row == row), None)


def passes_mutant(test: str, real: TestReport, report: TestReport, sites: Sites, used: Instruments) -> bool:
    """Return whether ``test`` was passed with a changed expectation, or got past the assertion that has it.

    Args:
        test: its id in the ``real`` run.
        real: the run of the tests as they are.
        report: the run with mutants.
        sites: what was found in the tests.
        used: the instruments of the run with mutants.
    """
    function, mutant = function_of(test, sites), mutant_of(test, real, sites, used.mutants)
    name = name_in(report, test, real, sites)
    result = report.results.get(name)
    left = report.receipts.get(name, frozenset())
    return (result is not None and result.status == "passed") or any(
        token in left
        for token, receipt in used.receipts_of(function).items()
        if mutant is not None and receipt.order == mutant.assertion
    )


def name_in(report: TestReport, test: str, real: TestReport, sites: Sites) -> str:
    """Return what ``test`` of the ``real`` run is called in ``report``: the mutant of a row may change the row's id."""
    if not test.endswith("]"):
        return test  # no row
    function = function_of(test, sites)
    before, now = ids_of(function, real, sites), ids_of(function, report, sites)
    return now[before.index(test)] if test in before and len(before) == len(now) else test


def unreceipted(report: TestReport, sites: Sites, used: Instruments, tests: Collection[str]) -> list[str]:
    """Return which of the ``tests`` are reported as passed without the receipts that passing leaves."""
    return [
        test
        for test in tests
        if (result := report.results.get(test)) is not None
        and result.status == "passed"
        and not report.receipts.get(test, frozenset()).issuperset(
            token for token, receipt in used.receipts_of(function_of(test, sites)).items() if receipt.required
        )
    ]


def ids_of(function: Function, report: TestReport, sites: Sites) -> list[str]:
    """Return the ids of a function, in the order that they ran in."""
    path = f"{function[0]}::"
    return [test for test in report.results if test.startswith(path) and function_of(test, sites) == function]
