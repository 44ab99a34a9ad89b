"""Probe each candidate with a first problem before the rest of the run is paid for.

A wrong key, a refused parameter or a limit that truncates every answer shows in the first answers. They are outcomes
of the run, so nothing is paid twice.
"""

from collections.abc import Callable, Sequence
from typing import Final

from codegate.errors import ExitCode, InfrastructureError, UsageError
from codegate.gating import CUT
from codegate.running.endings import limit_advice
from codegate.running.faults import FAULTS
from codegate.running.outcome import Fault, Outcome, Run
from codegate.running.plan import Job

_MOST: Final = 3
"""Cut answers that end the run: a single problem may be an exception."""


def probe_candidates(
    left: Sequence[Job], work: Callable[[list[Job], int, int], None], load: Callable[[], Run], resume: str
) -> set[tuple[str, str, int]]:
    """Run a first problem of each new candidate, and more while a limit cuts its answers.

    Args:
        left: the jobs that are not done.
        work: runs jobs and journals their outcomes; takes the numbers of finished and of later jobs too.
        load: returns the run so far.
        resume: how to resume the run, for people.

    Returns:
        The keys of the finished jobs.

    Raises:
        UsageError: a request was declined, or a limit cut every answer; the message has the remedy.
        InfrastructureError: the account behind a key is out of money.
    """
    before = load()
    graded = [outcome for outcome in before.outcomes if outcome.grade is not None]
    answered = {outcome.candidate for outcome in graded}
    first: dict[str, list[Job]] = {}
    for job in left:
        new = job.candidate.calls_a_model and job.candidate.key() not in answered
        if new and job.problem.id in before.manifest.problems:
            first.setdefault(job.candidate.key(), []).append(job)
    tried: set[tuple[str, str, int]] = set()
    made: dict[tuple[str, str, int], Outcome] = {}
    for turn in range(_MOST):
        now = [queue[turn] for queue in first.values() if turn < len(queue)]
        if not now:
            return tried
        work(now, len(graded) + len(tried), len(left) - len(tried) - len(now))
        tried.update(job.key for job in now)
        made = {outcome.key: outcome for outcome in load().outcomes if outcome.key in tried}
        _refuse_declined(now, made, resume)
        first = {job.candidate.key(): first[job.candidate.key()] for job in now if _is_cut(made.get(job.key))}
    for key, queue in first.items():
        if len(queue) > _MOST:  # else there is nothing left to save
            _refuse_cut(queue[0], [outcome for outcome in made.values() if outcome.candidate == key], resume)
    return tried


def _refuse_declined(tried: Sequence[Job], made: dict[tuple[str, str, int], Outcome], resume: str) -> None:
    faults: list[tuple[str, Fault]] = []
    for job in tried:
        outcome = made.get(job.key)
        if outcome is not None and outcome.fault is not None and FAULTS[outcome.fault.cause].ends is not None:
            faults.append((job.candidate.label, outcome.fault))
    if not faults:
        return
    codes = {FAULTS[fault.cause].ends for _, fault in faults}
    kind = UsageError if ExitCode.USAGE in codes else InfrastructureError
    causes = " ".join(f"the first request of {label} failed: {fault.message}" for label, fault in faults)
    raise kind(causes, f"The run stopped. A changed candidate needs a new run; after any other change: {resume}")


def _is_cut(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.grade is not None and outcome.grade.failure in CUT


def _refuse_cut(job: Job, outcomes: Sequence[Outcome], resume: str) -> None:
    classes = sorted({outcome.grade.failure for outcome in outcomes if outcome.grade and outcome.grade.failure})
    details = [outcome.grade.detail for outcome in outcomes if outcome.grade]
    advice = limit_advice(job.candidate, outcomes)
    raise UsageError(
        f"a limit cut all of the first {len(outcomes)} answers of {job.candidate.label} "
        f"({', '.join(classes)}): {details[0][:500]}",
        f"{' '.join(advice.values())} A changed candidate needs a new run; to keep its limits: {resume}",
    )
