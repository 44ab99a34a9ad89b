"""The controls' own control: the reference fix has to pass the instrumented tests and to fail their mutants."""

from dataclasses import replace
from typing import Final

from codegate.grading.controls.control import Subject, run_subject
from codegate.grading.controls.instruments import instrument, mutant_name, mutants_of
from codegate.grading.controls.sites import Mutant, Sites, find_sites
from codegate.grading.controls.verdict import is_part, unreceipted
from codegate.grading.grader import test_selection
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport
from codegate.suite import ControlAudit, Problem, Tree

_ROUNDS: Final = 3
"""Mutants that are tried of each function; what is never tried is tried when it accuses somebody."""


def audit_controls(problem: Problem, base: Tree, sandboxes: Sandboxes) -> ControlAudit:
    """Try the instruments of a problem's hidden tests on its reference fix.

    Args:
        problem: what is asked; its own audit, if it has one, does not count.
        base: its base tree.
        sandboxes: where they are run, each time in a fresh one.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    fixed, selection = base.overlay(problem.fix), test_selection(problem)
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        sites = find_sites(sandbox, fixed.overlay(problem.hidden), selection.files, selection.runner)
    if not sites:
        return ControlAudit(mutants=0, killed=0)
    subject = Subject(problem, fixed, fixed, sites, selection)
    used = instrument(sites)
    report = run_subject(subject, fixed, used, sandboxes)
    doubted = {entry.test for entry in unreceipted(report, sites, used)}
    fine = {test for test in problem.tests.expected if _passes(report, test) and test not in doubted}
    unfit = {test.partition("::")[0] for test in problem.tests.expected if test not in fine} & sites.keys()
    sites = {path: found for path, found in sites.items() if path not in unfit}
    tried, spared = 0, []
    for mutants in _rounds(sites, problem.tests.FAIL_TO_PASS):
        report = run_subject(replace(subject, sites=sites), fixed, instrument(sites, mutants), sandboxes)
        for mutant in mutants:
            found = sites[mutant.file]
            targets = problem.tests.FAIL_TO_PASS
            tests = [test for test in targets if _is_of(test, mutant, sites) and not is_part(test, found, targets)]
            tried += 1
            if any(_passes(report, test) for test in tests):
                spared.append(mutant_name(found, mutant))
    return ControlAudit(mutants=tried, killed=tried - len(spared), spared=tuple(spared), unfit=tuple(sorted(unfit)))


def _rounds(sites: Sites, tests: tuple[str, ...]) -> list[list[Mutant]]:
    """Return the mutants to try together: of each function one, the last of its text first."""
    paths = {test: test.partition("::")[0] for test in tests}
    functions = {(path, sites[path].function(test)) for test, path in paths.items() if path in sites}
    found = [mutants_of(sites[path], function)[::-1] for path, function in sorted(functions)]
    rounds = [[mutants[number] for mutants in found if number < len(mutants)] for number in range(_ROUNDS)]
    return [mutants for mutants in rounds if mutants]


def _is_of(test: str, mutant: Mutant, sites: Sites) -> bool:
    path = test.partition("::")[0]
    return path == mutant.file and sites[path].function(test) == mutant.test


def _passes(report: TestReport, test: str) -> bool:
    result = report.results.get(test)
    return result is not None and result.status == "passed"
