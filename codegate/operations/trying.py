"""Try a recipe before anything is mined with it: built on HEAD, whose tests then run once without a network."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from codegate.environments import BuildFailed, Recipe
from codegate.errors import UsageError
from codegate.grading import Sandboxes
from codegate.languages import PathClassifier
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.environments.opening import Tried, try_recipe
from codegate.mining.environments.recorded import RecordedBuilds
from codegate.mining.languages import known_languages
from codegate.mining.options import running_python
from codegate.running import new_run_id, opened_backend
from codegate.sandbox import Choice, SandboxError
from codegate.strict import shown
from codegate.suite import git, read_commit

_MOST_FILES: Final = 10
_MOST_DROPPED: Final = 3
_LINE: Final = 300  # what a failed build names of a step


def try_on_head(
    repository: Path,
    recipe: Recipe,
    path: str = "",
    sandbox: Choice = "auto",
    dropped: Callable[[str], None] | None = None,
) -> tuple[Recipe, Tried]:
    """Return what the tests of HEAD, at most ten files of them, show in a build of the recipe, and that recipe.

    Args:
        repository: a clone.
        recipe: what is tried.
        path: part of the repository whose tests are run.
        sandbox: where.
        dropped: gets a clause for each part that fails and is left out, so that the tests decide whether it is needed:
            a step of CI that checks or publishes, or packages that this machine lacks. None: nothing is left out.

    Raises:
        UsageError: the recipe fails, no test passes, or there is none.
        SandboxError: the sandbox failed, or a package index cannot be reached.
    """
    head = git(repository, "rev-parse", "--verify", "HEAD").decode().strip()
    date = datetime.fromisoformat(git(repository, "log", "-1", "--format=%cI", head, "--").decode().strip())
    tree = read_commit(repository, head)
    classes = PathClassifier.of(tree)
    inside = f"{path}/" if path else ""
    files = tuple(name for name in tree if name.startswith(inside) and classes.is_test_module(name))
    files = files[:: -(-len(files) // _MOST_FILES) or 1]  # spread evenly
    with opened_backend(sandbox, new_run_id()) as backend:
        sandboxes = Sandboxes(backend, {}, tree=lambda base: read_commit(repository, base.commit or head))
        languages = known_languages(EnvironmentResolver(running_python()))
        try:
            for left in reversed(range(_MOST_DROPPED + 1)):
                try:
                    builds = RecordedBuilds(recipe, sandboxes)
                    return recipe, try_recipe(builds, languages, sandboxes, head, tree, date, files)
                except (UsageError, SandboxError) as error:
                    less = _less(recipe, error)
                    if less is None or dropped is None or not left:
                        raise
                    recipe, clause = less
                    dropped(clause)
        finally:
            sandboxes.close()
    raise AssertionError  # the last round returns or raises


def _less(recipe: Recipe, error: UsageError | SandboxError) -> tuple[Recipe, str] | None:
    """Return the recipe without what failed, and a clause about it; None where that cannot be left out."""
    failure = error.__cause__ if isinstance(error.__cause__, BuildFailed) else None
    if failure is not None:
        steps = [index for index, line in enumerate(recipe.setup) if shown(line, _LINE) == failure.step]
        if not steps or not steps[0]:
            return None  # the first step installs
        kept = tuple(line for index, line in enumerate(recipe.setup) if index != steps[0])
        last = f": {failure.lines[-1][:100]}" if failure.lines else ""
        return recipe.model_copy(update={"setup": kept}), f"`{' '.join(failure.step.split())[:80]}` failed{last}"
    if isinstance(error, SandboxError) and recipe.packages:
        return recipe.model_copy(update={"packages": ()}), error.cause.rstrip(".")
    return None
