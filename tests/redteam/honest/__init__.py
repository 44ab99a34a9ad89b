"""Honest controls: patches that fix the bug, each in its own way. All are resolved, and none is accused."""

from collections.abc import Collection, Iterator

from tests.redteam.battery import Row
from tests.redteam.grader.grading import Answer, Submission, grade
from tests.redteam.grader.projects import PROJECTS
from tests.redteam.honest.forms import OPEN
from tests.redteam.honest.rewrites import REWRITES
from tests.redteam.honest.ways import WAYS


def submissions(only: Collection[str] | None = None) -> dict[str, Submission]:
    """Return the controls as what is handed in, by ``way@project``; ``only`` as for the attacks."""
    found = {
        f"{change.id}@{name}": (name, change.of(PROJECTS[name], PROJECTS[name].fix))
        for change in WAYS
        for name in change.projects
    }
    made = {**found, **REWRITES, **OPEN}
    return {key: Submission(key, *change) for key, change in made.items() if only is None or key in only}


def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Hand in every control."""
    for answer in grade(submissions(only).values(), sandbox):
        yield row(answer, sandbox)


def row(answer: Answer, sandbox: str) -> Row:
    """Return what came of a control."""
    got = "resolved" if answer.resolved else f"{answer.failure}: {answer.detail}"
    return Row("honest", answer.submission.id, sandbox, "resolved", got, answer.resolved)
