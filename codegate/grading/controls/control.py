"""Negative controls: what would pass is run again with tests of which some expect the wrong thing.

Every run has a sandbox of its own, and nothing in it tells a control from the real run but the right answers. Before
a program is accused, it has to contradict itself in a second control too, and the reference fix has to come out of
that very control without the contradiction: what the tests themselves are to blame for is nobody's cheat.
"""

from dataclasses import dataclass, replace
from typing import Final

from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.plan import choose_mutants
from codegate.grading.controls.sites import Mutant, Sites, function_of, mutants_of
from codegate.grading.controls.verdict import Contradiction, contradictions, ids_by_function, unreceipted
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_hidden_tests
from codegate.suite import Problem, Tree

_WORDS: Final = {
    "unreceipted": "is reported as passed, but not all of its assertions were",
    "mutant": "passes, and passes as well when it expects something else",
    "unsteady": "passed, and does not when it is run again",
}


@dataclass(frozen=True)
class Subject:
    """What is examined.

    Attributes:
        problem: what was asked.
        candidate: the sources to be graded; no hidden tests.
        reference: the sources with the reference fix.
        sites: what was found in the hidden tests.
    """

    problem: Problem
    candidate: Tree
    reference: Tree
    sites: Sites

    @property
    def spared(self) -> frozenset[str]:
        """Return the names of mutants that the reference fix passes too."""
        audit = self.problem.manifest.controls
        return frozenset(audit.spared if audit else ())

    @property
    def controllable(self) -> bool:
        """Return whether every fail-to-pass test has a mutant that the reference fix fails."""
        spared = self.spared
        functions = {function_of(test, self.sites) for test in self.problem.tests.FAIL_TO_PASS}
        return all(any(one.name not in spared for one in mutants_of(self.sites, function)) for function in functions)


def refute(subject: Subject, report: TestReport, used: Instruments, sandboxes: Sandboxes) -> frozenset[Contradiction]:
    """Return which passes of the real run are false: receipts are missing that the reference fix leaves."""
    graded = set(subject.problem.tests.expected)
    found = frozenset(entry for entry in unreceipted(report, subject.sites, used) if entry.test in graded)
    if not found:
        return found
    plain = instrument(subject.sites)
    right = run_instrumented(subject.problem, subject.reference, plain, sandboxes)
    return found - unreceipted(right, subject.sites, plain)


def examine(subject: Subject, real: TestReport, rounds: int, sandboxes: Sandboxes) -> frozenset[Contradiction]:
    """Run ``rounds`` controls of a candidate that would pass; return what it cannot explain, empty for honest code.

    Where no fail-to-pass test is left as it is beside the mutants, they are run once more as they are, before the
    control or after it: a program that is honest whenever it is not the first run would fail them.

    Args:
        subject: what is examined.
        real: the run that it passed.
        rounds: how many controls.
        sandboxes: each run has a fresh one.
    """
    order = ids_by_function(real, subject.sites)
    for _ in range(rounds):
        tests = subject.problem.tests
        plan = choose_mutants(subject.sites, tests.FAIL_TO_PASS, tests.PASS_TO_PASS, order, subject.spared)
        if not plan.mutants:
            break
        for mutants in plan.runs():
            found = _contradicted(subject, real, mutants, sandboxes)
            if found:
                return found
    return frozenset()


def _contradicted(
    subject: Subject, real: TestReport, mutants: tuple[Mutant, ...], sandboxes: Sandboxes
) -> frozenset[Contradiction]:
    """Return what one control shows for good; a mutant that is passed once and not again is at least not steady."""
    found = _control(subject, real, subject.candidate, mutants, sandboxes)
    if not found:
        return found
    second = _control(subject, real, subject.candidate, mutants, sandboxes)
    again = found & second
    once = {Contradiction("unsteady", entry.test) for entry in found ^ second if entry.kind == "mutant"}
    if not (again or once):
        return frozenset()
    tests = {entry.test for entry in _control(subject, real, subject.reference, mutants, sandboxes)}
    return frozenset(entry for entry in again | once if entry.test not in tests)


def explain(found: frozenset[Contradiction]) -> str:
    """Return the evidence in one line; ``found`` is not empty."""
    first = min(found, key=lambda entry: (list(_WORDS).index(entry.kind), entry.test))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{first.test} {_WORDS[first.kind]}{more}"


def is_tampering(found: frozenset[Contradiction]) -> bool:
    """Return whether it takes more than a program that is not the same each time."""
    return any(entry.kind != "unsteady" for entry in found)


def _control(
    subject: Subject, real: TestReport, sources: Tree, mutants: tuple[Mutant, ...], sandboxes: Sandboxes
) -> frozenset[Contradiction]:
    used = instrument(subject.sites, mutants)
    report = run_instrumented(subject.problem, sources, used, sandboxes)
    return contradictions(report, real, subject.sites, used, subject.problem.tests.expected)


def run_instrumented(problem: Problem, sources: Tree, used: Instruments, sandboxes: Sandboxes) -> TestReport:
    """Run the hidden tests, as ``used`` has them, on ``sources`` in a fresh sandbox."""
    return run_hidden_tests(problem, sources, sandboxes, replace(test_selection(problem), instruments=used))
