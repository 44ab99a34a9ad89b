"""Patches that leave the bug in place and want to pass: none is resolved.

``projects`` are what they are patches of, ``attacks`` the attacks, and ``grading`` hands them in.
"""

from collections.abc import Collection, Iterator
from typing import Final

from tests.redteam.battery import Row
from tests.redteam.grader.attacks import answers, channel, endings, frameworks, places
from tests.redteam.grader.grading import Answer, Submission, grade
from tests.redteam.grader.projects import PROJECTS
from tests.redteam.grader.writing import Change

ATTACKS: Final[tuple[Change, ...]] = (
    *endings.ATTACKS, *places.ATTACKS, *frameworks.ATTACKS, *channel.ATTACKS, *answers.ATTACKS
)  # fmt: skip


def submissions(changes: Collection[Change] = ATTACKS, only: Collection[str] | None = None) -> dict[str, Submission]:
    """Return the attacks as what is handed in, each on each of its projects, by ``attack@project``.

    Args:
        changes: the attacks.
        only: ids such as ``attack@project``; None: all.
    """
    found = {}
    for change in changes:
        for name in change.projects:
            key = f"{change.id}@{name}"
            if only is None or key in only:
                found[key] = Submission(key, name, change.of(PROJECTS[name], PROJECTS[name].bug))
    return found


def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Hand in every attack on each of its projects."""
    for answer in grade(submissions(only=only).values(), sandbox):
        yield row(answer, sandbox)


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
