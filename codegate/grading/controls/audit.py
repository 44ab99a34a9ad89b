"""The controls' own control: the reference fix has to pass the instrumented tests and to fail their mutants."""

from collections.abc import Sequence
from typing import Final

from codegate.grading.controls.control import run_instrumented
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.search import SitesUnknown, search_once
from codegate.grading.controls.sites import Function, Mutant, Sites, function_of, mutants_of
from codegate.grading.controls.verdict import contradictions, ids_by_function, mutant_of, unreceipted
from codegate.grading.grade import file_of
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport
from codegate.suite import ControlAudit, Problem, Tree

_TRIES: Final = 3  # of one round, each without a mutant that ended the one before
_SLOWNESS: Final = 3.0  # how much longer than without mutants a run may take: shrinking a counterexample never ends
_LEAST_SECONDS: Final = 5.0


def audit_controls(
    problem: Problem,
    base: Tree,
    sandboxes: Sandboxes,
    rounds: int = 3,
    first: tuple[Instruments, TestReport] | None = None,
    *,
    until_killed: bool = False,
) -> ControlAudit:
    """Try the instruments of a problem's hidden tests on its reference fix.

    A mutant that is not tried here is tried when it would accuse somebody.

    Args:
        problem: what is asked; its own audit, if it has one, does not count.
        base: its base tree.
        sandboxes: where they are run, each time in a fresh one.
        rounds: mutants that are tried of a function at most.
        first: a run of the instrumented tests on the reference fix; None: it is made.
        until_killed: try further mutants of those fail-to-pass functions only of which the fix has failed none yet.

    Raises:
        SandboxError: ours or the daemon's fault.
    """
    fixed, files = base.overlay(problem.fix), problem.manifest.test_files
    try:
        sites = search_once(problem, fixed, files, sandboxes)
    except SitesUnknown:
        return ControlAudit(mutants=0, killed=0, unfit=files)
    if not sites:
        return ControlAudit(mutants=0, killed=0)
    if first is None:
        used = instrument(sites)
        first = used, run_instrumented(problem, fixed, used, sandboxes)
    used, report = first
    doubted = {entry.test for entry in unreceipted(report, sites, used)}
    fine = {test for test in problem.tests.expected if _passes(report, test) and test not in doubted}
    own = tuple(dict.fromkeys(file_of(test) for test in problem.tests.FAIL_TO_PASS))
    unproven = run_instrumented(problem, base, used, sandboxes, files=own)
    # What asks for the text of a test, which is another one now, may be content without any fix.
    fine -= {test for test in problem.tests.FAIL_TO_PASS if _passes(unproven, test)}
    unfit = {file_of(test) for test in problem.tests.expected if test not in fine} & sites.keys()
    sites = {path: found for path, found in sites.items() if path not in unfit}
    order = ids_by_function(report, sites)
    targets = [test for test in problem.tests.expected if file_of(test) not in unfit]
    tried: set[str] = set()
    spared: set[str] = set()
    open_functions = {function_of(test, sites) for test in targets}
    wanted = {function_of(test, sites) for test in problem.tests.FAIL_TO_PASS}
    seconds = max(_LEAST_SECONDS, _SLOWNESS * report.seconds)
    for mutants in _rounds(sites, targets, rounds):
        left = [mutant for mutant in mutants if (mutant.file, mutant.test) in open_functions]
        if not left:
            break
        for _ in range(_TRIES):
            tried |= {mutant.name for mutant in left}
            used = instrument(sites, left)
            changed = run_instrumented(problem, fixed, used, sandboxes, seconds=seconds)
            # A mutant that never ends, or ends the process, takes the tests after it along: it is of no use, they are.
            ended = _ended_in(changed, report, sites)
            reached = {function_of(test, sites) for test in changed.results} - {ended}
            judged = [test for test in targets if function_of(test, sites) in reached]
            for entry in contradictions(changed, report, sites, used, judged):
                mutant = mutant_of(entry.test, function_of(entry.test, sites), order, used)
                if mutant is not None:
                    spared.add(mutant.name)
            if ended is None:
                break
            spared |= {mutant.name for mutant in left if (mutant.file, mutant.test) == ended}
            left = [m for m in left if (m.file, m.test) != ended and (m.file, m.test) not in reached]
            if not left:
                break
        else:
            spared |= {mutant.name for mutant in left}
        killed = {(mutant.file, mutant.test) for mutant in mutants if mutant.name in tried - spared}
        if until_killed:
            open_functions = (open_functions & wanted) - killed
    return ControlAudit(
        mutants=len(tried), killed=len(tried - spared), spared=tuple(sorted(spared)), unfit=tuple(sorted(unfit))
    )


def _ended_in(changed: TestReport, report: TestReport, sites: Sites) -> Function | None:
    """Return the test in which a run ended before its time; None where it got as far as the one without mutants."""
    if changed.proven:
        return None
    for test in list(changed.results)[-1:]:
        if changed.results[test].status != "passed" and changed.results[test].exception is None:
            return function_of(test, sites)  # it was begun, and never came to an end
    lost = next((test for test in report.results if test not in changed.results), None)
    return None if lost is None else function_of(lost, sites)


def _rounds(sites: Sites, tests: Sequence[str], count: int) -> list[list[Mutant]]:
    """Return the mutants to try together: of each function, or each row of it, one; the last of its text first."""
    rounds: list[list[Mutant]] = [[] for _ in range(count)]
    for function in sorted({function_of(test, sites) for test in tests}):
        mutants = mutants_of(sites, function)[::-1]
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
