"""Recorded builds for mining.

One build serves changes of about the same time. It is tried first even on a change whose inputs (recipe, lock and
manifest files) differ. An *exact* build has the inputs of the change's own base tree. It is made only if tests fail
with the fix, and are not known to fail in exact builds as well.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Final

from codegate.durable import digest
from codegate.environments import (
    BuildFailed,
    Recipe,
    command_words,
    environment_of,
    holds_only_dependencies,
    inputs_of,
    obtain_build,
)
from codegate.errors import UsageError
from codegate.grading import Sandboxes
from codegate.languages import languages
from codegate.mining.languages import RunnerSettings, runs
from codegate.plugins import runner_places
from codegate.sandbox import Layer, NotInstalled, Unreachable
from codegate.suite import Base, Environment, ProblemLimits, RunnerName, Tree

RECIPE_ERRORS: Final = (BuildFailed, NotInstalled, Unreachable, UsageError)
"""Errors that are raised if a recipe fails on a tree, or needs something that the sandbox lacks or cannot reach."""
_WALL: Final = 4
"""A test run's limit of wall-clock time, as a multiple of its limit of processor time."""
_MOST_SECONDS: Final = 3600
_RUNNERS: Final = {"manage.py": "django", "mvn": "maven", "mvnw": "maven", "gradlew": "gradle"}
"""Runners by the names of their programs, where the two names differ."""
_OPTIONS: Final = {"node": "--test"}
"""Options without which a program of this name runs other programs than tests."""


@dataclass(frozen=True)
class RecordedBuild:
    """A recorded build.

    Attributes:
        recipe: the recipe that was built, without its failed parts.
        date: commit date of the tree for which it was built.
        asked: SHA-256 of the inputs of the whole recipe, with the parts that failed; empty if unknown.
        layer: the build's result; None if an earlier mining run made it, for the suite that is refreshed.
    """

    environment: Environment
    recipe: Recipe
    date: datetime
    asked: str = ""
    notes: tuple[str, ...] = ()
    layer: Layer | None = None


@dataclass(frozen=True)
class BuildChoice:
    """A recorded build that a change's tests may run in.

    Attributes:
        exact: it was built from the inputs of the change's own base tree.
        later: it was built from a later tree, which may have the fix.
    """

    environment: Environment
    recipe: Recipe
    exact: bool
    later: bool


class RecordedBuilds:
    """The recorded builds of a mining run. Thread-safe.

    Args:
        known: builds of a suite that is refreshed.
        proposed: function that returns recipes found in the files of a tree, for changes that ``recipe`` does not fit.
        written: ``recipe`` is the project's own, so no part of it is left out.
    """

    def __init__(
        self,
        recipe: Recipe,
        sandboxes: Sandboxes,
        known: Sequence[RecordedBuild] = (),
        proposed: Callable[[Tree], Sequence[Recipe]] = lambda _: (),
        *,
        written: bool = False,
    ) -> None:
        self.recipe = recipe
        self._sandboxes = sandboxes
        self._proposed = proposed
        self._written = written
        self._built = list(known)
        self._guard = threading.Lock()
        self._building = threading.Lock()
        self._failing: set[str] = set()
        self._empty: set[str] = set()
        self._broken: dict[str, BuildFailed] = {}

    def builds_to_try(self, commit: str, base: Tree, date: datetime) -> Iterator[BuildChoice]:
        """Yield the builds to try for a change, best first.

        ``base`` is the tree before the change, at ``commit``; ``date`` is the change's date.

        Raises:
            RECIPE_ERRORS: a recipe failed; usually raised after the other recipes' builds were yielded.
            SandboxError: the sandbox failed.
        """
        near = self._nearest(date)
        first = near.recipe if near is not None and not self._written else self.recipe
        if near is not None and self._exact(first, base, date) is None:
            # Dates do not tell which of two commits of the same second is later, so the build counts as later.
            yield BuildChoice(near.environment, near.recipe, exact=False, later=near.date >= date)
        failed: Exception | None = None
        for recipe in self._recipes(first, base):
            try:
                found = self._exact(recipe, base, date) or self.build(commit, base, date, recipe)
            except RECIPE_ERRORS as error:
                if self._is_written(recipe) and (not isinstance(error, BuildFailed) or error.unreachable):
                    raise  # other recipes cannot replace a missing variable, toolchain or index
                failed = failed or error
                continue
            yield BuildChoice(found.environment, found.recipe, exact=True, later=False)
        if failed is not None:
            raise failed

    def build(self, commit: str, base: Tree, date: datetime, recipe: Recipe | None = None) -> RecordedBuild:
        """Return the build of the tree ``base``, cached or new.

        The tree is that of ``commit``; ``date`` decides which packages are installed. Without ``recipe``, the chosen
        one is built.
        """
        recipe = recipe or self.recipe
        with self._building:  # one at a time, because a build uses the whole machine
            day = date.date()
            asked = inputs_of(recipe, base, self._sandboxes.backend)
            if asked in self._broken:
                raise self._broken[asked]
            # Set-up may begin with another build only if it just loads dependencies, which the tools choose by content.
            near = self._nearest(date) if holds_only_dependencies(recipe) else None
            try:
                built = obtain_build(
                    recipe, base, self._sandboxes.backend,
                    day=day, nearest=near.layer if near else None, found=not self._is_written(recipe),
                )  # fmt: skip
            except BuildFailed as error:
                self._broken[asked] = error
                raise
            name = f"recorded-{digest([built.inputs, built.resolved, commit])[:8]}"
            environment = environment_of(
                name, built.recipe, built.resolved, day=day, base=Base(commit=commit), inputs=built.inputs
            )
            self._sandboxes.add(environment, built.environment)
        recorded = RecordedBuild(environment, built.recipe, date, asked, built.notes, built.layer)
        with self._guard:
            self._built.append(recorded)
        return recorded

    def may_be_at_fault(self, choice: BuildChoice, failing: frozenset[str]) -> bool:
        """Return whether tests may fail because of the build ``choice``.

        ``failing`` are the tests that fail in it. An exact build is never at fault; its failing tests are remembered.
        Another build may be at fault if one of ``failing`` is not known to fail in an exact build.
        """
        if choice.exact:
            self.remember_failing(failing)
        with self._guard:
            return not failing <= self._failing

    def remember_failing(self, failing: Iterable[str]) -> None:
        """Record tests that fail in an exact build."""
        with self._guard:
            self._failing.update(failing)

    def exclude(self, choice: BuildChoice) -> None:
        """Stop using the build ``choice``, in which no test passed."""
        with self._guard:
            self._empty.add(choice.environment.manifest.id)

    def _recipes(self, first: Recipe, base: Tree) -> Iterator[Recipe]:
        yield first
        seen = {first.identity}
        for recipe in (self.recipe, *self._proposed(base)):
            if recipe.identity not in seen and share_a_language(recipe, self.recipe):
                seen.add(recipe.identity)
                yield recipe

    def _exact(self, recipe: Recipe, base: Tree, date: datetime) -> RecordedBuild | None:
        """Return the newest build of equal inputs up to ``date``.

        The inputs are those of ``recipe`` on the tree ``base``. None if there is no such build.
        """
        inputs = inputs_of(recipe, base, self._sandboxes.backend)
        same = (
            one
            for one in self._serving()
            if one.date <= date and inputs in {one.environment.manifest.inputs, one.asked}
        )
        return max(same, key=lambda one: one.date, default=None)

    def _nearest(self, date: datetime) -> RecordedBuild | None:
        # Builds of earlier trees come first, because they cannot have the fix. If the recipe is written, only its own
        # builds count.
        serving = [one for one in self._serving() if not self._written or self._is_written(one.recipe)]
        return min(serving, key=lambda one: (one.date > date, abs(one.date - date)), default=None)

    def _is_written(self, recipe: Recipe) -> bool:
        return self._written and recipe.identity == self.recipe.identity

    def _serving(self) -> list[RecordedBuild]:
        """Return the builds in which at least one test passed."""
        with self._guard:
            return [one for one in self._built if one.environment.manifest.id not in self._empty]


def limits_of(recipe: Recipe) -> ProblemLimits:
    """Return the sandbox limits for validating a change."""
    seconds = min(_WALL * recipe.seconds, _MOST_SECONDS)
    return ProblemLimits(seconds=seconds, memory_mb=3072, pids=1024, disk_mb=2048)


def settings_of(recipe: Recipe, own: RunnerSettings | None) -> RunnerSettings | None:
    """Return how a recipe's tests are run, None if unknown.

    ``own`` are the settings found in the tree's files. They are used where the recipe says nothing.
    """
    if recipe.tests is None:
        if own is None:
            return None
        return replace(own, folder=recipe.folder or own.folder, before=recipe.before)
    command = command_words(recipe.tests)
    runner = "junit" if recipe.report else known_runner(command) or (own.runner if own is not None else None)
    if runner is None:
        return None
    return RunnerSettings(runner, command, recipe.report, recipe.folder, recipe.before)


def runner_of_recipe(recipe: Recipe) -> RunnerName | None:
    """Return the test runner that a recipe's command starts.

    None if the recipe has no command, its runner is unknown, or it writes reports.
    """
    return known_runner(command_words(recipe.tests)) if recipe.tests is not None and not recipe.report else None


def share_a_language(one: Recipe, other: Recipe) -> bool:
    """Return whether two recipes may run the same tests."""
    first, second = runner_of_recipe(one), runner_of_recipe(other)
    return (
        first is None
        or second is None
        or any(runs(first, each.name) and runs(second, each.name) for each in languages())
    )


def known_runner(command: tuple[str, ...]) -> RunnerName | None:
    """Return the test runner that a command starts, or None."""
    known = runner_places()
    for word in command:
        name = PurePosixPath(word).name
        found = _RUNNERS.get(name, name)
        if found in known and _OPTIONS.get(found, name) in {name, *command}:
            return found
    return None
