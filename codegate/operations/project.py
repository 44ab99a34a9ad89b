"""Inspect a repository, and try an environment's recipe on it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codegate.environments import (
    FoundRecipe,
    Recipe,
    find_recipes,
    is_obtainable,
    languages_of,
    project_parts,
    toolchain_check,
)
from codegate.environments.tools import Has
from codegate.errors import CodegateError, UsageError
from codegate.grading import Sandboxes
from codegate.mining import find_slug
from codegate.mining.environments.opening import (
    NewestTree,
    RecipeRun,
    builds_of_own_recipe,
    choose_recipe,
    runnable_tests,
    try_recipe,
)
from codegate.mining.environments.recorded import share_a_language
from codegate.mining.languages import known_languages, language_name, language_namer
from codegate.running import new_run_id, opened_backend
from codegate.sandbox import Choice, select_backend
from codegate.suite import GitError, Subtree, git, read_commit
from codegate.wording import count_of

_MOST_FILES: Final = 10


@dataclass(frozen=True)
class Repository:
    """A repository's properties that matter for mining.

    ``others`` are further languages with test files, and ``parts`` folders of projects with tests of their own.
    ``proposals`` are the recipes that its files propose, best first; ``apart`` are those for tests that the first does
    not run, one for each other language. ``unread`` is the reason why its files cannot be read. ``root`` is the
    relative path to its root, such as ``../``, or "". ``tests``: the repository has a test file.
    """

    commits: int = 0
    shallow: bool = False
    language: str | None = None
    runner: str | None = None
    slug: str | None = None
    others: tuple[str, ...] = ()
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    proposals: Sequence[FoundRecipe] = ()
    apart: Sequence[FoundRecipe] = ()
    unread: str = ""
    root: str = ""
    tests: bool = False

    def words(self) -> str:
        """Describe the repository in one line."""
        if not self.commits:
            return "a git repository without a commit"
        tests = f"tests run by {self.runner}" if self.runner else "no test runner that is known here"
        tests += "" if self.tests else "; no test file found, and only fixes with tests are mined"
        none = f"HEAD cannot be read ({self.unread})" if self.unread else "no language that is mined without a command"
        parts = [f"{self.language} ({tests})" if self.language else none]
        parts += [*self.others, count_of(self.commits, "commit")]
        return ", ".join([*parts, *([f"{self.slug} on GitHub"] if self.slug else [])])


def inspect_repository(repository: Path, path: str = "", sandbox: Choice = "auto") -> Repository | None:
    """Return a repository's properties; None for a folder without git.

    ``path`` is the folder of the project in it; UsageError if HEAD lacks it. ``sandbox`` is where the proposed recipes
    have to run.
    """
    try:
        shallow = git(repository, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except GitError:
        return None
    slug = find_slug(repository)
    root = git(repository, "rev-parse", "--show-cdup").decode().strip()
    try:
        head = git(repository, "rev-parse", "--verify", "HEAD").decode().strip()
        commits = int(git(repository, "rev-list", "--count", head))
    except CodegateError:
        return Repository(shallow=shallow, slug=slug, root=root)
    try:
        tree = read_commit(repository, head)
    except CodegateError as error:  # the tree is too large, or the clone lacks its files
        return Repository(commits, shallow, slug=slug, unread=error.cause.rstrip("."), root=root)
    part = Subtree.of(tree, path)
    named = Counter(filter(None, map(language_name, part)))
    language = next((name for name, _ in named.most_common(1)), None)
    runner = None
    if language is not None:
        settings = known_languages()[language].runner(part)
        runner = settings.runner if settings is not None else None
    if path and not any(name.startswith(f"{path}/") for name in tree):
        raise UsageError(f"HEAD has no folder {path}.", "Give --path a folder that is committed.")
    others = tuple(name for name in languages_of(tree, path) if name != language)
    tests = bool(runnable_tests(tree, language_namer(reports=False), path))
    parts = {} if path else project_parts(tree)
    proposals = [one for one in find_recipes(tree, path, has=_toolchains(sandbox)) if one.origin != "light"]
    apart: list[FoundRecipe] = []
    for found in proposals[1:]:
        if not any(share_a_language(found.recipe, one.recipe) for one in (proposals[0], *apart)):
            apart.append(found)
    return Repository(
        commits, shallow, language, runner, slug, others, parts, proposals, tuple(apart), root=root, tests=tests
    )


def _toolchains(sandbox: Choice) -> Has | None:
    # None if the sandbox uses images, which can bring any toolchain.
    try:
        backend = select_backend(sandbox, new_run_id())
    except CodegateError:
        return is_obtainable
    backend.close()
    return toolchain_check(backend)


def try_on_head(
    repository: Path, recipe: Recipe | None, path: str, sandbox: Choice, say: Callable[[str], None]
) -> tuple[FoundRecipe | None, RecipeRun]:
    """Build a recipe and run tests of HEAD with it.

    At most ten test files of the folder ``path`` run. Without ``recipe``, the recipes that the repository's files
    propose are tried until one works; ``say`` gets lines about these tries. Returns the proposed recipe that works
    (None if ``recipe`` was given) and the tests' result.

    Raises:
        UsageError: the recipe fails, no test passes, or no recipe is proposed.
        SandboxError: the sandbox failed, or a package index cannot be reached.
    """
    commit = git(repository, "rev-parse", "--verify", "HEAD").decode().strip()
    names = language_namer(reports=recipe is not None and bool(recipe.report))
    head = NewestTree.of(repository, commit, names, path, most=_MOST_FILES)
    languages = known_languages()
    with opened_backend(sandbox, new_run_id()) as backend:
        sandboxes = Sandboxes(backend, {}, tree=lambda base: read_commit(repository, base.commit or commit))
        try:
            if recipe is not None:
                return None, try_recipe(builds_of_own_recipe(recipe, sandboxes), languages, sandboxes, head)
            proved = choose_recipe(path, head, languages, sandboxes, say)
            return proved.found, proved.tried
        finally:
            sandboxes.close()
