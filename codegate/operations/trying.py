"""Try a recipe before anything is mined with it: built on HEAD, whose tests then run once without a network."""

from datetime import datetime
from pathlib import Path
from typing import Final

from codegate.environments import Recipe
from codegate.grading import Sandboxes
from codegate.languages import PathClassifier
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.environments.opening import Tried, try_recipe
from codegate.mining.environments.recorded import RecordedBuilds
from codegate.mining.languages import known_languages
from codegate.mining.options import running_python
from codegate.running import new_run_id, opened_backend
from codegate.sandbox import Choice
from codegate.suite import git, read_commit

_MOST_FILES: Final = 20


def try_on_head(repository: Path, recipe: Recipe, path: str = "", sandbox: Choice = "auto") -> Tried:
    """Return what the tests of HEAD, at most twenty files of them, show in a build of the recipe.

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
        try:
            languages = known_languages(EnvironmentResolver(running_python()))
            return try_recipe(RecordedBuilds(recipe, sandboxes), languages, sandboxes, head, tree, date, files)
        finally:
            sandboxes.close()
