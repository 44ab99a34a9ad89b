"""Soundness: before any model is asked, the reference fix passes and no change fails, today and in this environment.

A problem that nobody can solve any more counts as lost for every candidate: two dead problems of forty let an equal
model fail in 14 % of cases instead of 5 %. What is not sound is quarantined on both sides of the comparison. What an
infrastructure fault kept from being checked is not: its samples are lost, and a resumed run checks it again.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from codegate.errors import InfrastructureError
from codegate.gating import TOLERATED_PROBLEMS
from codegate.grading import Sandboxes, grade, run_hidden_tests, test_selection
from codegate.running.faults import Faulted, with_retries
from codegate.running.outcome import Fault
from codegate.suite import Problem, Tree, make_patch

MOST_UNSOUND: Final = 0.25
"""Above this share of unsound problems, and more than one, it is the environment that is broken: nobody is asked."""

_TRIES: Final = 2


def check_soundness(
    problems: Iterable[Problem],
    base: Callable[[str], Tree],
    sandboxes: Sandboxes,
    at_once: int,
    stop: threading.Event,
) -> dict[str, str | Fault | None]:
    """Return what is wrong with each problem here, by its id; None where nothing is, a fault where it could not run.

    Args:
        problems: those that are to be run.
        base: gives a problem's base tree by its id.
        sandboxes: where the code runs.
        at_once: how many problems are looked at at once.
        stop: set when the run ends early.

    Raises:
        Interrupted: ``stop`` was set.
    """
    known = list(problems)
    with ThreadPoolExecutor(at_once, "codegate-soundness") as pool:
        found = pool.map(lambda problem: _unsound(problem, base(problem.id), sandboxes, stop), known)
        return dict(zip((problem.id for problem in known), found, strict=True))


def refuse_unsound(found: Mapping[str, str | Fault | None], total: int | None = None) -> None:
    """Refuse to go on when too many problems are not sound, or could not be run.

    Args:
        found: what is wrong with each problem, None where nothing is.
        total: problems of the whole run where ``found`` is a shard's, in which all may be unsound: only what is too
            much for the whole is refused. None: ``found`` is the whole.

    Raises:
        InfrastructureError: all of them are not sound, or more than one and than ``MOST_UNSOUND``; or more could not be
            run than a gate may lose. Names some.
    """
    total = len(found) if total is None else total
    faulted = {problem: wrong.message for problem, wrong in found.items() if isinstance(wrong, Fault)}
    unsound = {problem: wrong for problem, wrong in found.items() if isinstance(wrong, str)}
    for named, most, words, remedy in (
        (faulted, TOLERATED_PROBLEMS, "could not be run here", "Fix the sandboxes and resume."),
        (
            unsound,
            MOST_UNSOUND,
            "are not sound here",
            "Fix the environment and resume, or quarantine them with `codegate validate`.",
        ),
    ):
        if len(named) > max(1, most * total) or len(named) >= max(1, total):
            first = "; ".join(f"{problem}: {reason}" for problem, reason in list(named.items())[:3])
            raise InfrastructureError(
                f"{len(named)} of {total} problems {words}, which is too many to go on: {first}.", remedy
            )


def _unsound(problem: Problem, base: Tree, sandboxes: Sandboxes, stop: threading.Event) -> str | Fault | None:
    """Return what is wrong with ``problem``; a second try is given, so that a busy machine condemns nothing."""
    reason: str | Fault | None = None
    for _ in range(_TRIES):
        try:
            reason = with_retries(partial(_look, problem, base, sandboxes), stop)
        except Faulted as error:
            message = f"{error.fault.cause}: {error.fault.message}"[:2000]
            reason = Fault(cause="could_not_run_here", message=message, retries=error.fault.retries)
        if reason is None:
            return None
    return reason


def _look(problem: Problem, base: Tree, sandboxes: Sandboxes) -> str | None:
    fixed = grade(problem, base, make_patch(base, problem.fix), sandboxes)
    if not fixed.resolved:
        return f"the reference fix does not pass here ({fixed.failure}, {fixed.tests_passed}/{fixed.tests_total} tests)"
    report = run_hidden_tests(problem, base, sandboxes, test_selection(problem))
    passing = {test for test, result in report.results.items() if result.status == "passed"}
    known = sorted(passing.intersection(problem.tests.FAIL_TO_PASS))
    return f"{known[0]} passes here without any fix" if known else None
