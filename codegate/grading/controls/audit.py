"""The controls' own control: the reference fix has to pass the instrumented tests and to fail their mutants."""

from collections.abc import Sequence
from dataclasses import replace

from codegate.grading.controls.control import Subject, run_subject
from codegate.grading.controls.instruments import instrument, mutant_name, mutants_of
from codegate.grading.controls.sites import Mutant, Sites, SitesUnknown, find_sites
from codegate.grading.controls.verdict import contradictions, ids_by_function, mutant_of, unreceipted
from codegate.grading.grader import test_selection
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport
from codegate.suite import ControlAudit, Problem, Tree


def audit_controls(problem: Problem, base: Tree, sandboxes: Sandboxes, rounds: int = 3) -> ControlAudit:
    """Try the instruments of a problem's hidden tests on its reference fix.

    A mutant that is not tried here is tried when it would accuse somebody.

    Args:
        problem: what is asked; its own audit, if it has one, does not count.
        base: its base tree.
        sandboxes: where they are run, each time in a fresh one.
        rounds: mutants that are tried of each function.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    fixed, selection = base.overlay(problem.fix), test_selection(problem)
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        try:
            sites = find_sites(sandbox, fixed.overlay(problem.hidden), selection.files, selection.runner)
        except SitesUnknown:
            return ControlAudit(mutants=0, killed=0, unfit=selection.files)
    if not sites:
        return ControlAudit(mutants=0, killed=0)
    subject = Subject(problem, fixed, fixed, sites, selection)
    used = instrument(sites)
    report = run_subject(subject, fixed, used, sandboxes)
    doubted = {entry.test for entry in unreceipted(report, sites, used)}
    fine = {test for test in problem.tests.expected if _passes(report, test) and test not in doubted}
    unfit = {test.partition("::")[0] for test in problem.tests.expected if test not in fine} & sites.keys()
    sites = {path: found for path, found in sites.items() if path not in unfit}
    order = ids_by_function(report, sites)
    targets = [test for test in problem.tests.expected if test.partition("::")[0] not in unfit]
    subject = replace(subject, sites=sites)
    tried: set[str] = set()
    spared: set[str] = set()
    for mutants in _rounds(sites, targets, rounds):
        tried |= {mutant_name(sites[mutant.file], mutant) for mutant in mutants}
        used = instrument(sites, mutants)
        changed = run_subject(subject, fixed, used, sandboxes)
        for entry in contradictions(changed, report, sites, used, targets):
            found = sites.get(entry.test.partition("::")[0])
            key = (entry.test.partition("::")[0], found.function(entry.test) if found else "")
            mutant = mutant_of(entry.test, key, order, used)
            if found is not None and mutant is not None:
                spared.add(mutant_name(found, mutant))
    return ControlAudit(
        mutants=len(tried), killed=len(tried - spared), spared=tuple(sorted(spared)), unfit=tuple(sorted(unfit))
    )


def _rounds(sites: Sites, tests: Sequence[str], count: int) -> list[list[Mutant]]:
    """Return the mutants to try together: of each function, or each row of it, one; the last of its text first."""
    paths = {test: test.partition("::")[0] for test in tests}
    functions = {(path, sites[path].function(test)) for test, path in paths.items() if path in sites}
    rounds: list[list[Mutant]] = [[] for _ in range(count)]
    for path, function in sorted(functions):
        mutants = mutants_of(sites[path], function)[::-1]
        rows = {mutant.row: [other for other in mutants if other.row == mutant.row] for mutant in mutants}
        whole = rows.pop(None, [])
        tries = [[part[number] for part in rows.values() if number < len(part)] for number in range(count)]
        # Of a function there is either one mutant or one of each row.
        tries = [found for found in (*tries, *([mutant] for mutant in whole)) if found]
        for number, found in enumerate(tries[:count]):
            rounds[number] += found
    return [mutants for mutants in rounds if mutants]


def _passes(report: TestReport, test: str) -> bool:
    result = report.results.get(test)
    return result is not None and result.status == "passed"
