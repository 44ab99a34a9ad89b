"""Check what a run needs before its first model call: nothing is spent on what cannot be graded."""

import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.grading import Sandboxes
from codegate.running.faults import Faulted, with_retries
from codegate.running.outcome import Fault
from codegate.suite import Problem, Suite, find_repository, git, load_base

IMAGES_VARIABLE: Final = "CODEGATE_IMAGES"
_IMAGE: Final = re.compile(r"(?:[a-z0-9][a-z0-9./:_-]{0,250}@)?sha256:[0-9a-f]{64}")


def check_images(suite: Suite) -> None:
    """Refuse base images of ``suite`` that CODEGATE_IMAGES does not allow.

    A suite is untrusted: the daemon fetches an image from any registry with its own credentials, and the image's
    interpreter runs the sandbox's supervisor.

    Raises:
        UsageError: an image is not named by its content, or not allowed.
    """
    allowed = frozenset(os.environ.get(IMAGES_VARIABLE, "").split())
    for environment in suite.manifest.environments:
        if environment.image is None:
            continue
        place = f"{suite.folder / 'suite.yml'}: environment {environment.id}"
        if not _IMAGE.fullmatch(environment.image):
            raise UsageError(
                f"{place}: {environment.image!r} does not name an image by its content.", "Write name@sha256:…"
            )
        if environment.image not in allowed:
            raise UsageError(
                f"{place} uses the image {environment.image}, which is not allowed here.",
                f"If you trust it, add it to the environment variable {IMAGES_VARIABLE} (separated by blanks).",
            )


def warn_of_expired(suite: Suite, announce: Callable[[str], None]) -> None:
    """Announce the problems whose quarantine has expired, and the command that renews it."""
    expired = suite.expired(datetime.now(UTC).date())
    if expired:
        announce(
            f"the quarantine of {len(expired)} of {len(suite.problems)} problems has expired ({', '.join(expired[:5])}"
            f"{', …' if len(expired) > 5 else ''}); `codegate validate {suite.folder}` releases them or renews it"
        )


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
            load_base(suite, problem, repository)  # raises with cause and remedy


def prepare_environments(sandboxes: Sandboxes, problems: Iterable[Problem], stop: threading.Event) -> dict[str, Fault]:
    """Build the environments of ``problems``; return the faults by environment id.

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
