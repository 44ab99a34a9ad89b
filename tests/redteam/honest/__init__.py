"""Honest controls: patches that fix the bug, each in its own way. All are resolved, and none is accused."""

from collections.abc import Collection, Iterator

from tests.redteam.battery import Row
from tests.redteam.grader.grading import Answer, Submission, grade, some_of
from tests.redteam.grader.projects import PROJECTS
from tests.redteam.honest.forms import OPEN
from tests.redteam.honest.rewrites import REWRITES
from tests.redteam.honest.ways import WAYS


def submissions(only: frozenset[str] | None = None) -> dict[str, Submission]:
    """Return the controls as what is handed in, by ``way@project``; ``only`` as for the attacks."""
    found = {
        f"{change.id}@{name}": change.of(PROJECTS[name], PROJECTS[name].fix)
        for change in WAYS
        for name in change.projects
    }
    made = {key: Submission(key, key.partition("@")[2], files) for key, files in found.items()}
    made.update({key: Submission(key, project, files) for key, (project, files) in {**REWRITES, **OPEN}.items()})
    if only is None:
        return made
    return {key: one for key, one in made.items() if not only.isdisjoint({key, key.partition("@")[0]})}


def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Hand in every control, on two of its projects in bubblewrap and on one under Docker, and on each project some."""
    chosen = submissions(None if only is None else frozenset(only))
    if only is None:
        chosen = some_of(chosen, lambda key: key.partition("@")[0], 2 if sandbox == "bwrap" else 1)
    for answer in grade(chosen.values(), sandbox):
        yield row(answer, sandbox)


def row(answer: Answer, sandbox: str) -> Row:
    """Return what came of a control."""
    got = "resolved" if answer.resolved else f"{answer.failure}: {answer.detail}"
    return Row("honest", answer.submission.id, sandbox, "resolved", got, answer.resolved)
