"""Validates the controls: the reference fix has to pass the instrumented tests and to fail their mutants."""

from collections.abc import Collection
from typing import Final

from codegate.grading.controls.control import (
    controlled_tests,
    ids_of,
    mutant_of,
    name_in,
    passes_mutant,
    run_instrumented,
    unreceipted,
)
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.search import SitesUnknown, search_once
from codegate.grading.controls.sites import Function, Mutant, Sites, function_of, mutants_of
from codegate.grading.grade import file_of
from codegate.grading.runners import find_runner
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport
from codegate.suite import ControlAudit, Problem, Tree

_FURTHER: Final = 2  # rounds more than asked, for tests of which the fix has not failed enough mutants yet
_SLOWNESS: Final = 3.0  # how much longer than without mutants a run may take: shrinking a counterexample never ends
_LEAST_SECONDS: Final = 20.0  # a busy machine changes no audit


def audit_controls(
    problem: Problem,
    base: Tree,
    sandboxes: Sandboxes,
    rounds: int = 3,
    first: tuple[Instruments, TestReport] | None = None,
    unproven: TestReport | None = None,
) -> ControlAudit:
    """Find ``rounds`` mutants of each fail-to-pass test that the reference fix fails; a control draws from them.

    Args:
        problem: what is asked; its own audit, if it has one, does not count.
        base: its base tree.
        sandboxes: where the tests run.
        rounds: runs with mutants: each has one of every fail-to-pass test. There are up to two more for tests of which
            the fix passed some.
        first: a run of the instrumented tests on the reference fix; None: it is made.
        unproven: a run of them on the base tree; None: it is made.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    fixed, files = base.overlay(problem.fix), problem.manifest.test_files
    try:
        sites = search_once(problem, fixed, files, sandboxes)
    except SitesUnknown:
        return ControlAudit(tried=0, unfit=files)
    if not sites:
        return ControlAudit(tried=0)
    if first is None:
        used = instrument(sites)
        first = used, run_instrumented(problem, fixed, used, sandboxes)
    used, report = first
    if unproven is None:
        own = tuple(dict.fromkeys(file_of(test) for test in controlled_tests(problem, sites)))
        unproven = run_instrumented(problem, base, used, sandboxes, files=own)
    unfit = _unfit(problem, sites, used, report, unproven)
    sites = {path: found for path, found in sites.items() if path not in unfit}
    left = {function: _in_turn(sites, function, rows) for function, rows in _rows(problem, report, sites).items()}
    seconds = max(_LEAST_SECONDS, _SLOWNESS * report.seconds)
    # What runs in other processes than the changed tests has no part in how these end.
    batches = find_runner(problem.manifest.runner).batches(files)
    tried = 0
    killed: list[str] = []
    found = dict.fromkeys(((function, row) for function, rows in left.items() for row in rows), 0)
    for _ in range(rounds + _FURTHER):
        chosen = {
            (function, row): mutants.pop(0)
            for function, rows in left.items()
            for row, mutants in rows.items()
            if mutants and found[function, row] < rounds
        }
        if not chosen:
            break
        tried += len(chosen)
        used = instrument(sites, tuple(chosen.values()))
        mutated = {path for (path, _), _ in chosen}
        own = tuple(file for batch in batches if mutated.intersection(batch) for file in batch)
        changed = run_instrumented(problem, fixed, used, sandboxes, files=own, seconds=seconds)
        for place, mutant in chosen.items():
            if _is_killed(mutant, problem, report, changed, sites, used):
                killed.append(mutant.name)
                found[place] += 1
    return ControlAudit(tried=tried, killed=tuple(sorted(killed)), unfit=tuple(sorted(unfit)))


def _unfit(problem: Problem, sites: Sites, used: Instruments, report: TestReport, unproven: TestReport) -> set[str]:
    """Return the files of which a test does not pass with instruments, or passes with them and without the fix."""
    expected = problem.tests.expected
    fine = {test for test in expected if _passes(report, test)} - set(unreceipted(report, sites, used, expected))
    # A test that reads its own source may pass without the fix, because the source is another one now.
    fine -= {test for test in problem.tests.FAIL_TO_PASS if _passes(unproven, test)}
    return {file_of(test) for test in expected if test not in fine} & sites.keys()


def _rows(problem: Problem, report: TestReport, sites: Sites) -> dict[Function, list[int]]:
    """Return the functions of the fail-to-pass tests, with the numbers of their rows among these."""
    found: dict[Function, list[int]] = {}
    for test in controlled_tests(problem, sites):
        function = function_of(test, sites)
        if function[0] in sites:
            ids = ids_of(function, report, sites) if test.endswith("]") else []
            found.setdefault(function, []).extend([ids.index(test)] if test in ids else [])
    return found


def _in_turn(sites: Sites, function: Function, rows: Collection[int]) -> dict[int | None, list[Mutant]]:
    """Return the mutants of one function by row, in the order to try them.

    Where rows have mutants of their own, those of the whole function are left out.
    """
    found: dict[int | None, list[Mutant]] = {}
    for mutant in mutants_of(sites, function):
        if mutant.row is None or mutant.row in rows:
            found.setdefault(mutant.row, []).append(mutant)
    if len(found) > 1:
        found.pop(None, None)
    return {row: _spread(mutants) for row, mutants in found.items()}


def _spread(mutants: list[Mutant]) -> list[Mutant]:
    """Return ``mutants`` so that a few cover the whole test: the last, the first, the middle; weak ones at the end."""
    found = []
    for rank in sorted({(one.weak, one.turn) for one in mutants}):
        kind = [one for one in mutants if (one.weak, one.turn) == rank]
        places = (len(kind) - 1, 0, len(kind) // 2, *range(len(kind)))
        found += [kind[at] for at in dict.fromkeys(places)]
    return found


def _is_killed(
    mutant: Mutant, problem: Problem, real: TestReport, changed: TestReport, sites: Sites, used: Instruments
) -> bool:
    """Return whether every fail-to-pass test that ``mutant`` changes was reported as failed."""
    own = [test for test in controlled_tests(problem, sites) if mutant_of(test, real, sites, used.mutants) is mutant]
    ended = [changed.results.get(name_in(changed, test, real, sites)) for test in own]
    return bool(own) and all(
        result is not None
        and result.status in {"failed", "error"}
        and not passes_mutant(test, real, changed, sites, used)
        for test, result in zip(own, ended, strict=True)
    )


def _passes(report: TestReport, test: str) -> bool:
    result = report.results.get(test)
    return result is not None and result.status == "passed"
