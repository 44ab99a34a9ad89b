"""Patches through ``codegate grade``, many in one run."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegate.suite import load_base, load_suite, make_patch, update_problem
from tests.grading.worlds import with_controls
from tests.kit.command import FORKER
from tests.kit.problem import changes
from tests.kit.unboxed import Unboxed, UnboxedSandboxes
from tests.redteam.grader.projects import PROJECTS, Files, make_suite
from tests.redteam.grader.sources.forms import FORMS

JOBS: Final = 2
_SECONDS_EACH: Final = 60.0


@dataclass(frozen=True)
class Submission:
    """A change of a project that is handed in.

    Attributes:
        id: unique among those handed in together.
        project: which project it is of.
        files: the change.
    """

    id: str
    project: str
    files: Files


@dataclass(frozen=True)
class Answer:
    """What ``codegate grade`` said of a submission.

    Attributes:
        submission: what was handed in.
        resolved: it passed.
        failure: the failure class; None when resolved, ``fault`` when there is no grade.
        detail: one line of evidence.
        controlled: of what is resolved, False where its pass is shown as one of lower assurance.
    """

    submission: Submission
    resolved: bool
    failure: str | None
    detail: str
    controlled: bool | None = None


def grade(submissions: Iterable[Submission], sandbox: str) -> Iterator[Answer]:
    """Hand in the submissions in one run of the real command; yield the answers.

    Raises:
        RuntimeError: the command did not answer all of them.
    """
    wanted = list(submissions)
    if not wanted:
        return
    with tempfile.TemporaryDirectory(prefix="redteam-") as name:
        folder = Path(name)
        suite, repository = make_suite(folder, {one.project: None for one in wanted})
        add_controls(suite, repository)
        predictions = folder / "predictions.jsonl"
        predictions.write_text("".join(f"{json.dumps(_prediction(one))}\n" for one in wanted))
        words = (
            "--predictions",
            predictions,
            "--json",
            "--sandbox",
            sandbox,
            "--jobs",
            JOBS,
            "--repository",
            repository,
        )
        seconds = 120 + _SECONDS_EACH * len(wanted)
        done = FORKER.run("grade", suite, *words, cwd=folder, environment=os.environ, seconds=seconds)
        lines = done.stdout.splitlines()
        yield from (_answer(one, json.loads(line)) for one, line in zip(wanted, lines, strict=False))
        if len(lines) < len(wanted):
            message = f"{len(lines)} of {len(wanted)} answers, then: {done.stderr.strip()[-500:]}"
            raise RuntimeError(message)


def patch_of(submission: Submission) -> str:
    """Return the submission as a unified diff."""
    return make_patch(PROJECTS[submission.project].tree, changes(submission.files))


def add_controls(place: Path, repository: Path) -> None:
    """Find the flips that each reference fix fails, and write them into the suite.

    No attack runs here, so folders do in place of sandboxes: they take a quarter of the time.

    Raises:
        RuntimeError: no flip fails a reference fix, so that the tests of its problem may fail anyway. ``FORMS`` are
            for honest patches, which show that theirs pass.
    """
    suite = load_suite(place)
    with closing(Unboxed()) as own:
        for problem in suite.problems:
            found = with_controls(problem, load_base(suite, problem, repository), UnboxedSandboxes(own))
            if not (found.manifest.controls and found.manifest.controls.flips) and problem.id not in FORMS:
                raise RuntimeError(problem.id)
            suite = update_problem(suite, found)


def _prediction(submission: Submission) -> dict[str, str]:
    return {
        "instance_id": submission.project,
        "model_name_or_path": submission.id,
        "model_patch": patch_of(submission),
    }


def _answer(submission: Submission, outcome: dict[str, Any]) -> Answer:
    if outcome["candidate"] != submission.id:
        message = f"{outcome['candidate']} answers {submission.id}"
        raise RuntimeError(message)
    grade = outcome["grade"]
    if grade is None:
        return Answer(submission, False, "fault", str(outcome["fault"]["message"]))
    return Answer(submission, grade["resolved"], grade["failure"], grade["detail"], grade["controlled"])
