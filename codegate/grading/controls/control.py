"""Negative controls: what would pass is run again with tests of which some expect the wrong thing.

Every run has a sandbox of its own, and nothing in it tells a control from the real run but the right answers. Before
a program is accused, it has to contradict itself in a second control too, and the reference fix has to come out of
that very control without the contradiction: what the tests themselves are to blame for is nobody's cheat.
"""

import builtins
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.plan import choose_mutants
from codegate.grading.controls.sites import Function, Mutant, Sites, function_of, mutants_of
from codegate.grading.controls.verdict import Contradiction, contradictions, ids_by_function, mutant_of, unreceipted
from codegate.grading.sandboxes import Sandboxes
from codegate.grading.testreport import TestReport, test_selection
from codegate.grading.testrun import run_hidden_tests
from codegate.suite import Problem, Tree

_STEADY: Final = 2  # controls beside which the fail-to-pass tests are run as they are
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
        """Return whether every fail-to-pass test has a mutant that takes the right answer and that the fix fails."""
        spared = self.spared
        functions = {function_of(test, self.sites) for test in self.problem.tests.FAIL_TO_PASS}
        usable = ([one for one in mutants_of(self.sites, function) if not one.weak] for function in functions)
        return all(any(one.name not in spared for one in mutants) for mutants in usable)


def refute(subject: Subject, report: TestReport, used: Instruments, sandboxes: Sandboxes) -> frozenset[Contradiction]:
    """Return which passes of the real run are false: receipts are missing that the reference fix leaves."""
    graded = set(subject.problem.tests.expected)
    found = frozenset(entry for entry in unreceipted(report, subject.sites, used) if entry.test in graded)
    if not found:
        return found
    plain = instrument(subject.sites)
    right = run_instrumented(subject.problem, subject.reference, plain, sandboxes)
    return found - unreceipted(right, subject.sites, plain)


@dataclass(frozen=True)
class Control:
    """One run of a control.

    Attributes:
        mutants: what was changed.
        used: the tests as they were run.
        report: what came of it.
        rest: the mutants of the runs that belong to it and are still to be made.
    """

    mutants: tuple[Mutant, ...]
    used: Instruments
    report: TestReport
    rest: tuple[tuple[Mutant, ...], ...] = ()


def run_controls_first(subject: Subject, most: int, sandboxes: Sandboxes) -> tuple[Control, ...]:
    """Run up to ``most`` controls before the real run, as many as a die says; none where no test can be changed.

    A program that finds a way to remember something from run to run, and remembers what the tests expect in the first
    run that has them as they are, knows what is changed in all others. It has to guess which run that is. Which row of
    a parametrized test has which id is known after the real run only.
    """
    tests = subject.problem.tests
    order: dict[Function, list[str]] = {}
    for test in tests.expected:
        if (function := function_of(test, subject.sites))[1]:
            order.setdefault(function, []).append(test)
    found: list[Control] = []
    tried: frozenset[str] = frozenset()
    for _ in range(secrets.randbelow(most + 1)):
        plan = choose_mutants(subject.sites, tests.FAIL_TO_PASS, tests.PASS_TO_PASS, order, subject.spared, tried)
        if plan.mutants:
            tried |= {mutant.name for mutant in plan.mutants}
            rest = () if plan.partners else (plan.others,)
            found.append(replace(_run(subject, subject.candidate, plan.mutants, sandboxes), rest=rest))
    return tuple(found)


def examine(
    subject: Subject,
    real: TestReport,
    rounds: int,
    sandboxes: Sandboxes,
    before: Sequence[Control] = (),
    *,
    wary: bool = False,
) -> frozenset[Contradiction]:
    """Run ``rounds`` controls of a candidate that would pass; return what it cannot explain, empty for honest code.

    Where no fail-to-pass test is left as it is beside the mutants, they are run once more as they are, before one of
    the first two controls or after it: a program that is honest whenever it is not the first run would fail them.
    Each control changes what those before it have left, as long as there is something.

    Args:
        subject: what is examined.
        real: the run that it passed.
        rounds: how many controls.
        sandboxes: each run has a fresh one.
        before: controls that were run before ``real``.
        wary: of the candidate: a single run in which it is not steady counts, since a guess that fails would be made
            again otherwise.
    """
    order = ids_by_function(real, subject.sites)
    tests = subject.problem.tests
    found: frozenset[Contradiction] = frozenset()
    tried: frozenset[str] = frozenset()
    for control in before:
        found = found or _contradicted(subject, real, control, sandboxes, wary=wary)
        tried |= {mutant.name for run in (control.mutants, *control.rest) for mutant in run}
    for number in range(rounds):
        if number < len(before):
            runs = list(before[number].rest)
        else:
            plan = choose_mutants(subject.sites, tests.FAIL_TO_PASS, tests.PASS_TO_PASS, order, subject.spared, tried)
            tried |= {mutant.name for mutant in plan.mutants}
            runs = (plan.runs() if number < _STEADY else [plan.mutants]) if plan.mutants else []
        for mutants in runs:
            if not found:
                control = _run(subject, subject.candidate, mutants, sandboxes)
                found = _contradicted(subject, real, control, sandboxes, wary=wary)
    return found


def _contradicted(
    subject: Subject, real: TestReport, control: Control, sandboxes: Sandboxes, *, wary: bool
) -> frozenset[Contradiction]:
    """Return what one control shows for good; a mutant that is passed once and not again is at least not steady."""
    found = _contradictions(subject, real, control)
    if not found:
        return found
    # What is raised may be of two classes, and a message have words that are not looked for: not any two of them.
    mutants = tuple(_with_another_choice(subject, mutant) for mutant in control.mutants)
    second = _contradictions(subject, real, _run(subject, subject.candidate, mutants, sandboxes))
    again = found & second
    order = ids_by_function(real, subject.sites)
    once = set()
    for entry in found ^ second:
        mutant = mutant_of(entry.test, function_of(entry.test, subject.sites), order, control.used)
        if (wary or entry.kind == "mutant") and not (mutant and mutant.loose):
            once.add(Contradiction("unsteady", entry.test))
    if not (again or once):
        return frozenset()
    reference = _run(subject, subject.reference, control.mutants, sandboxes)
    if not reference.report.proven:  # nobody is let off because a busy machine was too slow once
        reference = _run(subject, subject.reference, control.mutants, sandboxes)
    right = _contradictions(subject, real, reference)
    return frozenset(entry for entry in again | once if entry.test not in {one.test for one in right})


def explain(found: frozenset[Contradiction]) -> str:
    """Return the evidence in one line; ``found`` is not empty."""
    first = min(found, key=lambda entry: (list(_WORDS).index(entry.kind), entry.test))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{first.test} {_WORDS[first.kind]}{more}"


def is_tampering(found: frozenset[Contradiction]) -> bool:
    """Return whether it takes more than a program that is not the same each time."""
    return any(entry.kind != "unsteady" for entry in found)


def _with_another_choice(subject: Subject, mutant: Mutant) -> Mutant:
    """Return a loose mutant with a choice that is another than its own, and no kin of it; else the mutant."""
    if not mutant.loose:
        return mutant
    known = next(one for one in mutants_of(subject.sites, (mutant.file, mutant.test)) if one.name == mutant.name)
    others = [name for name in known.choices if not _are_kin(name, mutant.choices[0])]
    return mutant.model_copy(update={"choices": tuple(others or known.choices)})


def _are_kin(one: str, other: str) -> bool:
    """Return whether one of two classes, as they are written, is the other's; what is no built-in one has no kin."""
    first, second = (getattr(builtins, name, None) for name in (one, other))
    if not (isinstance(first, type) and isinstance(second, type)):
        return one == other
    return issubclass(first, second) or issubclass(second, first)


def _run(subject: Subject, sources: Tree, mutants: tuple[Mutant, ...], sandboxes: Sandboxes) -> Control:
    used = instrument(subject.sites, mutants)
    return Control(mutants, used, run_instrumented(subject.problem, sources, used, sandboxes))


def _contradictions(subject: Subject, real: TestReport, control: Control) -> frozenset[Contradiction]:
    return contradictions(control.report, real, subject.sites, control.used, subject.problem.tests.expected)


def run_instrumented(
    problem: Problem,
    sources: Tree,
    used: Instruments,
    sandboxes: Sandboxes,
    *,
    files: tuple[str, ...] = (),
    seconds: float | None = None,
) -> TestReport:
    """Run the hidden tests (or ``files`` of them), as ``used`` has them, on ``sources`` in a fresh sandbox."""
    selection = replace(test_selection(problem), instruments=used)
    limit = selection.timeout_seconds if seconds is None else min(seconds, selection.timeout_seconds)
    selection = replace(selection, files=files or selection.files, timeout_seconds=limit)
    return run_hidden_tests(problem, sources, sandboxes, selection)
