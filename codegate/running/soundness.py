"""Check before the first model call that the reference fix passes here and the unchanged tree fails.

A problem that has become unsolvable counts against every candidate: two of forty raise false alarms from 5 % to 14 %.
Unsound problems are quarantined on both sides of the comparison. A problem that a fault kept from being checked is
not: its samples are lost, and a resumed run checks it again.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from codegate.errors import InfrastructureError
from codegate.gating.decision import TOLERATED_PROBLEMS
from codegate.grading import Sandboxes, grade, run_hidden_tests, test_selection
from codegate.running.faults import Faulted, with_retries
from codegate.running.outcome import Fault
from codegate.suite import Problem, Tree, make_patch

MOST_UNSOUND: Final = 0.25
"""Share of unsound problems above which the environment is broken and the run stops."""

_TRIES: Final = 2


def check_soundness(
    problems: Iterable[Problem],
    base: Callable[[str], Tree],
    sandboxes: Sandboxes,
    at_once: int,
    stop: threading.Event,
) -> dict[str, str | Fault | None]:
    """Return by problem id why it is not sound, None where it is, a fault where it could not run.

    ``base`` returns a problem's base tree by its id; ``at_once`` problems are checked concurrently.

    Raises:
        Interrupted: ``stop`` was set.
    """
    known = list(problems)
    with ThreadPoolExecutor(at_once, "codegate-soundness") as pool:
        found = pool.map(lambda problem: _unsound(problem, base(problem.id), sandboxes, stop), known)
        return dict(zip((problem.id for problem in known), found, strict=True))


def refuse_unsound(found: Mapping[str, str | Fault | None], total: int | None = None) -> None:
    """Refuse a run with too many problems that are unsound or could not be run.

    Args:
        found: as ``check_soundness`` returns it.
        total: problems of the whole run where ``found`` is a shard's, which may all be unsound; None: ``found`` is all.

    Raises:
        InfrastructureError: all are unsound, or more than one and than ``MOST_UNSOUND``; or more could not be run than
            a gate may lose. Names some.
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
                f"{len(named)} of {total} problems {words}, too many to continue: {first}.", remedy
            )


def _unsound(problem: Problem, base: Tree, sandboxes: Sandboxes, stop: threading.Event) -> str | Fault | None:
    """Return why ``problem`` is not sound, after a second try for busy machines."""
    reason: str | Fault | None = None
    for _ in range(_TRIES):
        try:
            reason = with_retries(partial(_check, problem, base, sandboxes), stop)
        except Faulted as error:
            message = f"{error.fault.cause}: {error.fault.message}"[:2000]
            reason = Fault(cause="could_not_run_here", message=message, retries=error.fault.retries)
        if reason is None:
            return None
    return reason


def _check(problem: Problem, base: Tree, sandboxes: Sandboxes) -> str | None:
    fixed = grade(problem, base, make_patch(base, problem.fix), sandboxes)
    if not fixed.resolved:
        return f"the reference fix does not pass here ({fixed.failure}, {fixed.tests_passed}/{fixed.tests_total} tests)"
    report = run_hidden_tests(problem, base, sandboxes, test_selection(problem))
    passing = {test for test, result in report.results.items() if result.status == "passed"}
    known = sorted(passing.intersection(problem.tests.FAIL_TO_PASS))
    return f"{known[0]} passes here without any fix" if known else None
