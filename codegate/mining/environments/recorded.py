"""Recorded builds for mining: one serves changes of about the same time, an exact one is made where execution asks.

A build is tried on changes whose own inputs are others: whether it serves them shows when the fixed tests run. The
change's own base tree is built only where some of these tests fail, and are not known to fail in such a build too.
"""

import shlex
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from codegate.durable import digest
from codegate.environments import Recipe, environment_of, inputs_of, obtain
from codegate.grading import Sandboxes
from codegate.mining.languages import RunnerSettings
from codegate.plugins import registered
from codegate.suite import (
    Base,
    LockedEnvironment,
    ProblemLimits,
    RunnerName,
    Tree,
)

_WALL: Final = 4
"""Seconds of the clock for each of the processor that a test run may take."""
_MOST_SECONDS: Final = 3600
_RUNNERS: Final = {"manage.py": "django", "mvn": "maven", "mvnw": "maven", "gradlew": "gradle"}
"""Programs that run tests and are not called as the runner is."""


@dataclass(frozen=True)
class Rung:
    """A recorded build to try.

    Attributes:
        environment: it.
        exact: it was built from the inputs of the change's own base tree.
        later: it was built from a tree that may have the fix.
    """

    environment: LockedEnvironment
    exact: bool
    later: bool


class RecordedBuilds:
    """The recorded builds of a mining. Thread-safe.

    Args:
        recipe: the project's.
        sandboxes: where they are built and opened.
        known: those of a suite that is refreshed, each with the time of a change that it serves.
    """

    def __init__(
        self, recipe: Recipe, sandboxes: Sandboxes, known: tuple[tuple[LockedEnvironment, datetime], ...] = ()
    ) -> None:
        self.recipe = recipe
        self._sandboxes = sandboxes
        self._built = list(known)
        self._guard = threading.Lock()
        self._building = threading.Lock()
        self._failing: set[str] = set()

    @property
    def limits(self) -> ProblemLimits:
        """Return what a sandbox may use while a change is validated: applications take more than libraries."""
        seconds = min(_WALL * self.recipe.seconds, _MOST_SECONDS)
        return ProblemLimits(seconds=seconds, memory_mb=3072, pids=1024, disk_mb=2048)

    def settings(self, own: RunnerSettings | None) -> RunnerSettings | None:
        """Return how the recipe runs tests; ``own`` is what the tree says, for a recipe that does not."""
        recipe, command = self.recipe, tuple(shlex.split(self.recipe.tests or ""))
        runner = "junit" if recipe.report else runner_of(command) or (own.runner if own is not None else None)
        if runner is None:
            return None
        return RunnerSettings(runner, command, recipe.report, recipe.folder, recipe.before, recorded=True)

    def ladder(self, commit: str, base: Tree, date: datetime) -> Iterator[Rung]:
        """Yield the builds that may serve a change, best first.

        Args:
            commit: of the base tree.
            base: the base tree.
            date: when the change was merged.

        Raises:
            BuildFailed: the recipe fails on the base tree.
            SandboxError: the sandbox failed, or a package index cannot be reached.
        """
        near, exact = self._nearest(date), self._exact(base, date)
        if near is not None and exact is None:
            yield Rung(near[0], exact=False, later=near[1] > date)
        yield Rung(exact or self.build(commit, base, date), exact=True, later=False)

    def build(self, commit: str, base: Tree, date: datetime) -> LockedEnvironment:
        """Return the build of a base tree, from the cache or made now; raises as ``ladder``."""
        with self._building:  # each takes the whole machine
            day = date.date()
            built = obtain(self.recipe, base, self._sandboxes.backend, day=day)
            name = f"recorded-{digest([built.inputs, built.resolved, commit])[:8]}"
            environment = environment_of(
                name, self.recipe, built.resolved, day=day, base=Base(commit=commit), inputs=built.inputs
            )
            self._sandboxes.add(environment, built.environment)
        with self._guard:
            self._built.append((environment, date))
        return environment

    def doubts(self, rung: Rung, failing: frozenset[str]) -> bool:
        """Return whether a build may be why tests fail after the fix: some that fail in no build of its own tree."""
        with self._guard:
            if rung.exact:
                self._failing |= failing
            return not failing <= self._failing

    def _exact(self, base: Tree, date: datetime) -> LockedEnvironment | None:
        """Return the newest build that was made from the same inputs, and not from a later tree."""
        inputs = inputs_of(self.recipe, base, self._sandboxes.backend)
        with self._guard:
            built = [entry for entry in self._built if entry[1] <= date]
        same = (entry for entry in built if (made := entry[0].manifest.recorded) and made.inputs == inputs)
        found = max(same, key=lambda entry: entry[1], default=None)
        return found[0] if found is not None else None

    def _nearest(self, date: datetime) -> tuple[LockedEnvironment, datetime] | None:
        """Return the build that is nearest in time; one of an earlier tree, which cannot have the fix, comes first."""
        with self._guard:
            built = list(self._built)
        return min(built, key=lambda entry: (entry[1] > date, abs(entry[1] - date)), default=None)


def runner_of(command: tuple[str, ...]) -> RunnerName | None:
    """Return the test runner that a command starts, by the names of its programs; None: none that is known here."""
    known = registered("runners")
    for word in command:
        name = PurePosixPath(word).name
        found = _RUNNERS.get(name, name)
        if found in known:
            return found
    return None
