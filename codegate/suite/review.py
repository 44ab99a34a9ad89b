"""Review decisions: a maintainer drops a problem from a suite, or takes the drop back.

A dropped problem is ``retired``: it stays in the suite, runs and ``validate`` leave it out, and mining gives its
commit and its id to no other problem. Its earlier quarantine is kept, so that the drop can be taken back.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import date
from typing import Final

from codegate.errors import UsageError
from codegate.suite.loaded import Problem, Suite
from codegate.suite.model import ProblemManifest, Quarantine
from codegate.suite.store import update_problem

DROPPED: Final = "dropped in review"
_BEFORE: Final = f"{DROPPED}; quarantined before: "

EVIDENCE: Final = "statement"
"""The tag of what a mined statement rests on: ``executed`` examples, or ``quoted`` words alone."""


def is_quoted(problem: Problem) -> bool:
    """Return whether no example was executed for the problem's statement: a review reads such problems first."""
    return problem.manifest.tags.get(EVIDENCE) == "quoted"


def is_dropped(problem: Problem) -> bool:
    """Return whether a review dropped the problem."""
    quarantine = problem.manifest.quarantine
    if problem.manifest.status != "retired" or quarantine is None:
        return False
    return quarantine.evidence == DROPPED or quarantine.evidence.startswith(_BEFORE)


def review_suite(suite: Suite, drop: Collection[str] = (), keep: Collection[str] = ()) -> Suite:
    """Write the decisions into the suite's files and return the suite anew; repeating one changes nothing.

    ``drop`` has the ids of problems that runs leave out from now on, ``keep`` those whose drop is taken back.

    Raises:
        UsageError: an id is unknown or decided twice, or mining retired the problem. Nothing is written then.
    """
    place = suite.folder / "suite.yml"
    problems = {problem.id: problem for problem in suite.problems}
    if unknown := [name for name in (*drop, *keep) if name not in problems]:
        raise UsageError(f"{place} has no problem {', '.join(unknown)}.")
    if both := [name for name in drop if name in keep]:
        raise UsageError(f"{', '.join(both)}: both dropped and kept.", "Give each problem one decision.")
    decided = [problems[name] for name in dict.fromkeys((*drop, *keep))]
    for problem in decided:
        quarantine = problem.manifest.quarantine
        if problem.manifest.status == "retired" and quarantine is not None and not is_dropped(problem):
            raise UsageError(
                f"problem {problem.id} was retired by mining: {quarantine.evidence}",
                "A review decides about the others.",
            )
    for problem in decided:
        if (problem.id in drop) != is_dropped(problem):
            suite = update_problem(suite, _kept(problem) if is_dropped(problem) else _dropped(problem))
    return suite


def _dropped(problem: Problem) -> Problem:
    before = problem.manifest.quarantine
    if before is None:
        return _with(problem, "retired", Quarantine(reason="manual", evidence=DROPPED, expires=date.max))
    evidence = f"{_BEFORE}{before.evidence}"[:2000]
    return _with(problem, "retired", before.model_copy(update={"evidence": evidence}))


def _kept(problem: Problem) -> Problem:
    dropped = problem.manifest.quarantine
    if dropped is None or dropped.evidence == DROPPED:
        return _with(problem, "active", None)
    evidence = dropped.evidence.removeprefix(_BEFORE)
    return _with(problem, "quarantined", dropped.model_copy(update={"evidence": evidence}))


def _with(problem: Problem, status: str, quarantine: Quarantine | None) -> Problem:
    changed = {**problem.manifest.model_dump(by_alias=True), "status": status, "quarantine": quarantine}
    return replace(problem, manifest=ProblemManifest.model_validate(changed))
