"""What a run needs before the first model is asked: no money is spent on what cannot be graded."""

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from codegate.grading import Sandboxes
from codegate.running.faults import Faulted, with_retries
from codegate.running.outcome import Fault
from codegate.suite import Problem, Suite, find_repository, git, load_base


def check_bases(suite: Suite, problems: Sequence[Problem], repository: Path | None) -> None:
    """Check that the repository has the base commit of each problem, without reading the trees.

    Raises:
        UsageError: there is no repository, or it lacks a commit.
    """
    mined = [problem for problem in problems if problem.manifest.base.commit is not None]
    if not mined:
        return
    home = find_repository(suite, repository)
    names = "".join(f"{problem.manifest.base.commit}^{{tree}}\n" for problem in mined)
    answers = git(home, "cat-file", "--batch-check", stdin=names.encode("ascii")).splitlines()
    for problem, answer in zip(mined, answers, strict=True):
        if answer.endswith(b" missing"):
            load_base(suite, problem, repository)  # it says what is missing and what helps


def prepare_environments(sandboxes: Sandboxes, problems: Iterable[Problem], stop: threading.Event) -> dict[str, Fault]:
    """Build every environment of ``problems``; return the fault of each that cannot be built, by environment id.

    Raises:
        UsageError: a lock that no environment can be built from.
        Interrupted: ``stop`` was set.
    """
    broken: dict[str, Fault] = {}
    for environment in {problem.environment.id: problem.environment for problem in problems}.values():
        try:
            with_retries(partial(sandboxes.prepare, environment), stop, cause="environment")
        except Faulted as error:
            broken[environment.id] = error.fault
    return broken
