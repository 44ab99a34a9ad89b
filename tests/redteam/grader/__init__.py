"""Patches that leave the bug in place and want to pass: none is resolved.

``projects`` are what they are patches of, ``attacks`` the attacks, and ``grading`` hands them in.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from tests.redteam.battery import Row
from tests.redteam.grader.attacks import (
    answers,
    channel,
    controls,
    endings,
    execution,
    golang,
    javascript,
    moments,
    output,
    places,
    reports,
)
from tests.redteam.grader.grading import Answer, Submission, grade, some_of
from tests.redteam.grader.projects import PROJECTS
from tests.redteam.grader.writing import Change

ATTACKS: Final[tuple[Change, ...]] = (
    *endings.ATTACKS, *output.ATTACKS, *places.ATTACKS, *reports.ATTACKS,
    *channel.ATTACKS, *answers.ATTACKS, *execution.ATTACKS, *moments.ATTACKS,
    *controls.ATTACKS, *javascript.ATTACKS, *golang.ATTACKS,
)  # fmt: skip

COIN: Final = moments.COIN
_TOSSES: Final = 8
_LUCKY: Final = 5


def submissions(changes: Collection[Change], only: frozenset[str] | None = None) -> dict[str, Submission]:
    """Return the attacks as what is handed in, each on each of its projects, by ``attack@project``.

    Args:
        changes: the attacks.
        only: ids of attacks, or of attacks on one project; None: all.
    """
    found = {}
    for change in changes:
        for name in change.projects:
            key = f"{change.id}@{name}"
            if only is None or not only.isdisjoint({key, change.id}):
                found[key] = Submission(key, name, change.of(PROJECTS[name], PROJECTS[name].bug))
    return found


def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Hand in every attack on each of its projects, and one that succeeds by chance several times.

    What a grader makes of a patch does not hang on the kind of the sandbox, and Docker's cost three times as much:
    there one attack of each family is handed in on each project.
    """
    chosen = submissions(ATTACKS, None if only is None else frozenset(only))
    if only is None and sandbox != "bwrap":
        chosen = in_each_family(chosen)
    for answer in grade(chosen.values(), sandbox):
        yield row(answer, sandbox)
    if only is None or COIN.id in only:
        yield _tossed(sandbox)


def row(answer: Answer, sandbox: str) -> Row:
    """Return what came of an attack."""
    (wanted,) = (change.expected for change in ATTACKS if change.id == answer.submission.id.partition("@")[0])
    kind = "resolved" if answer.resolved else "tampering" if answer.failure == "tampering" else "fail"
    kind = "fault" if answer.failure == "fault" else kind
    limit = answer.resolved and answer.controlled is False and "lower assurance" in wanted
    kind = "lower assurance" if limit else kind
    got = kind if answer.resolved else f"{kind}: {answer.failure}: {answer.detail}"
    words = " or ".join(sorted(wanted))
    return Row("grader", answer.submission.id, sandbox, words, got, kind in wanted and not limit, limit)


def in_each_family(chosen: Mapping[str, Submission]) -> dict[str, Submission]:
    """Return one of the ``chosen`` attacks of each family on each project."""
    families = {change.id: change.family for change in ATTACKS}
    return some_of(chosen, lambda key: (families[key.partition("@")[0]], chosen[key].project))


def _tossed(sandbox: str) -> Row:
    """Count how often a coin passes that cheats in every second process: heads in the real run, tails in the control.

    An even coin does in a quarter of all cases; the bound on what is counted leaves a chance of one in two hundred.
    """
    (name,) = COIN.projects
    files = COIN.of(PROJECTS[name], PROJECTS[name].bug)
    answers = list(grade([Submission(f"{COIN.id}-{number}", name, files) for number in range(_TOSSES)], sandbox))
    passed = sum(answer.resolved for answer in answers)
    words = f"at most {_LUCKY} of {_TOSSES}"
    return Row("grader", f"{COIN.id}@{name}", sandbox, words, f"{passed} of {_TOSSES} resolved", passed <= _LUCKY)
