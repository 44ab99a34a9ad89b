"""Try a recipe on HEAD before anything is mined.

HEAD's tests run once without a network.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from codegate.environments import Found, Recipe
from codegate.grading import Sandboxes
from codegate.mining.environments.opening import (
    Head,
    Tried,
    builds_of_written,
    choose_recipe,
    evenly_spaced,
    runnable,
    try_recipe,
)
from codegate.mining.languages import known_languages, names_by
from codegate.running import new_run_id, opened_backend
from codegate.sandbox import Choice
from codegate.suite import Tree, git, read_commit

_MOST_FILES: Final = 10


def try_on_head(
    repository: Path, recipe: Recipe | None, path: str, sandbox: Choice, say: Callable[[str], None]
) -> tuple[Found | None, Tried]:
    """Return the recipe found, and HEAD's test run in it.

    At most ten files of tests run.

    Args:
        repository: a clone.
        recipe: what is tried; None: those that its files say, and the first that works is taken.
        path: part of the repository whose tests are run.
        sandbox: where.
        say: see ``choose_recipe``.

    Raises:
        UsageError: the recipe fails, no test passes, or there is none.
        SandboxError: the sandbox failed, or a package index cannot be reached.
    """

    def tests(tree: Tree) -> tuple[str, ...]:
        names = names_by(reports=recipe is not None and bool(recipe.report))
        return evenly_spaced(tuple(runnable(tree, names, path)), _MOST_FILES)

    commit = git(repository, "rev-parse", "--verify", "HEAD").decode().strip()
    head = Head.of(repository, commit, tests, path)
    languages = known_languages()
    with opened_backend(sandbox, new_run_id()) as backend:
        sandboxes = Sandboxes(backend, {}, tree=lambda base: read_commit(repository, base.commit or commit))
        try:
            if recipe is not None:
                return None, try_recipe(builds_of_written(recipe, sandboxes, ()), languages, sandboxes, head)
            proved = choose_recipe(path, head, languages, sandboxes, say)
            return proved.found, proved.tried
        finally:
            sandboxes.close()
