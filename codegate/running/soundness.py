"""Soundness: before any model is asked, the reference fix passes and no change fails, today and in this environment.

A problem that nobody can solve any more counts as lost for every candidate: two dead problems of forty let an equal
model fail in 14 % of cases instead of 5 %. What is not sound is quarantined on both sides of the comparison.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from codegate.errors import InfrastructureError
from codegate.grading import Sandboxes, grade, run_hidden_tests, test_selection
from codegate.running.faults import Faulted, with_retries
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
) -> dict[str, str | None]:
    """Return what is wrong with each problem here, by its id; None where nothing is.

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


def refuse_unsound(found: Mapping[str, str | None], total: int | None = None) -> None:
    """Refuse to go on when too many problems are not sound.

    Args:
        found: what is wrong with each problem, None where nothing is.
        total: problems of the whole run where ``found`` is a shard's, in which all may be unsound: only what is too
            much for the whole is refused. None: ``found`` is the whole.

    Raises:
        InfrastructureError: all of them, or more than one and than ``MOST_UNSOUND``; names some.
    """
    unsound = {problem: reason for problem, reason in found.items() if reason}
    total = len(found) if total is None else total
    if len(unsound) <= max(1, MOST_UNSOUND * total) and len(unsound) < max(1, total):
        return
    first = "; ".join(f"{problem}: {reason}" for problem, reason in list(unsound.items())[:3])
    raise InfrastructureError(
        f"{len(unsound)} of {total} problems are not sound here, which is too many to go on: {first}.",
        "Mend the environment and resume, or quarantine them with `codegate validate`.",
    )


def _unsound(problem: Problem, base: Tree, sandboxes: Sandboxes, stop: threading.Event) -> str | None:
    """Return what is wrong with ``problem``; a second try is given, so that a busy machine condemns nothing."""
    reason = None
    for _ in range(_TRIES):
        try:
            reason = with_retries(partial(_look, problem, base, sandboxes), stop)
        except Faulted as error:
            reason = f"it cannot be run here: {error.fault.cause}"
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
