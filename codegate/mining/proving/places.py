"""What a proof of a suite holds for: the kind of sandbox, its images, and what is installed in its environments."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from codegate.durable import digest
from codegate.grading import Sandboxes, base_images
from codegate.sandbox import Command, SandboxError
from codegate.suite import Problem, ProvedEnvironment, ProvedPlace, Suite, place_of

_SECONDS: Final = 60.0
_PROGRAM: Final = """\
import importlib.metadata, json, platform, sys
found = {(d.metadata["Name"] or "", d.version) for d in importlib.metadata.distributions(path=sys.argv[1:])}
print(json.dumps([platform.python_version(), sorted(found)]))
"""


def proved_place(suite: Suite, proven: Sequence[str], sandboxes: Sandboxes, rounds: int) -> ProvedPlace:
    """Return what a validation has proved where it ran.

    Raises:
        SandboxError: a sandbox could not be looked into.
    """
    problems = [problem for problem in suite.problems if problem.id in set(proven)]
    first = {problem.environment.id: problem for problem in reversed(problems)}
    return ProvedPlace(
        place=place_of(sandboxes.backend.name, base_images(sandboxes.backend, suite.manifest.environments)),
        validated=datetime.now(UTC).isoformat(timespec="seconds"),
        rounds=rounds,
        environments={name: _installed(problem, sandboxes) for name, problem in sorted(first.items())},
        problems={problem.id: problem.digest for problem in problems},
    )


def _installed(problem: Problem, sandboxes: Sandboxes) -> ProvedEnvironment:
    command = Command(("{python}", "-I", "-S", "-B", "-c", _PROGRAM, "{site}"), timeout_seconds=_SECONDS)
    with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
        done = sandbox.run(command)
    if not done.ok:
        raise SandboxError(f"cannot list the packages of environment {problem.environment.id}: {done.stderr[-300:]!r}.")
    python, packages = json.loads(done.stdout)
    # What other package managers install is locked by hash, and what is installed follows from that.
    return ProvedEnvironment(
        python=python, packages=digest([packages, [entry.sha256 for entry in problem.environment.packages]])
    )
