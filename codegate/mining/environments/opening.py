"""Choose a mining run's recipe and try it.

The project's own recipe is used if there is one, else the first proposed recipe with which most tests pass.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from codegate.environments import (
    VENV,
    BuildFailed,
    FoundRecipe,
    Has,
    Recipe,
    find_recipes,
    recipe_of,
    toolchain_check,
)
from codegate.errors import UsageError
from codegate.grading import Sandboxes, run_tests
from codegate.grading.grade import file_of
from codegate.languages import PathClassifier
from codegate.mining.environments.recorded import (
    RecordedBuild,
    RecordedBuilds,
    limits_of,
    runner_of_recipe,
    settings_of,
)
from codegate.mining.languages import LanguageSupport, NameOf, RunnerSettings, language_name, language_namer, runs
from codegate.mining.proving.outcomes import without_doubtful_passes
from codegate.mining.proving.validation import graded_selection
from codegate.mining.sources.changes import absent_parts
from codegate.mining.units import Prospect
from codegate.sandbox import NotInstalled, SandboxClosed, SandboxError, SandboxFile
from codegate.strict import printable
from codegate.suite import Base, Language, Suite, Tree, git, load_tree, read_commit
from codegate.wording import count_of, documentation

_LOG: Final = logging.getLogger(__name__)
_MOST_TRIED: Final = 3
_LINE: Final = 450  # characters of a failed build's message
_SETUP: Final = "its `setup` has to install what the tests and their options need"
_CHECK: Final = f"Correct `environment` in codegate.yml: {_SETUP}."
_REPORT: Final = (
    f"Write `tests` of `environment` as a command that writes JUnit XML, and `report`: "
    f"{documentation('environments.md#any-other-language-or-runner')}"
)
_WRITE: Final = f"Write `environment` into codegate.yml: {_SETUP}. `codegate init` begins with what was found."


@dataclass(frozen=True)
class RecipeRun:
    """Counts of a recipe's test run on one tree.

    Attributes:
        recipe: the recipe that was built; a proposed one lacks the parts that failed.
        failed: ids of tests that failed, and paths of files that reported nothing.
        message: message of the first test that failed.
    """

    recipe: Recipe
    files: int
    passed: int
    failed: tuple[str, ...]
    skipped: int
    seconds: float
    message: str = ""

    @property
    def ready(self) -> bool:
        """Return whether more tests pass than fail.

        Not all have to pass, because tests that need a network fail here.
        """
        return self.passed > len(self.failed)

    @property
    def full(self) -> bool:
        """Return whether at least nine of ten tests pass."""
        return self.passed >= 9 * (len(self.failed) + self.skipped)

    @property
    def words(self) -> str:
        """Return the counts as one line of text."""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        of = f"of {count_of(self.files, 'test file')} without a network, in {self.seconds:.0f} s"
        first = f" ({', '.join(self.failed[:3])}{' …' if self.failed[3:] else ''})" if self.failed else ""
        # Names come last, because a line of progress is cut at its end.
        return f"{self.passed} passed{failed}{skipped} {of}{first}"


@dataclass(frozen=True)
class NewestTree:
    """The newest tree, and test files to try recipes with.

    Attributes:
        tests: test files below ``folder``, in the tree's order.
        changed: those that the next changes touch, in their order.
        folder: the part of the repository that is mined; empty: all of it.
        most: how many test files of all are tried, beside ``changed``.
    """

    commit: str
    tree: Tree
    date: datetime
    tests: tuple[str, ...]
    changed: tuple[str, ...] = ()
    folder: str = ""
    most: int = _MOST_TRIED

    @classmethod
    def of(
        cls, repository: Path, commit: str, name: NameOf, folder: str, queue: Iterable[Prospect] = (),
        most: int = _MOST_TRIED,
    ) -> "NewestTree":  # fmt: skip
        """Return the tree at ``commit``, with the tests below ``folder``.

        ``name`` returns a file's language, and ``queue`` has the next changes.
        """
        date = datetime.fromisoformat(git(repository, "log", "-1", "--format=%cI", commit, "--").decode().strip())
        tree = read_commit(repository, commit)
        tests = runnable_tests(tree, name, folder)
        changed = dict.fromkeys(change.path for prospect in queue for change in prospect.unit.changes)
        return cls(commit, tree, date, tuple(tests), tuple(path for path in changed if path in tests), folder, most)

    def files_to_try(self, recipe: Recipe) -> tuple[str, ...]:
        """Return test files to run with ``recipe``.

        Its test command has to run their language. First come files that the next changes touch; further ones are
        spread evenly.
        """
        own = runner_of_recipe(recipe)
        languages = {path: language_name(path) for path in self.tests}
        fitting = [path for path, of in languages.items() if own is None or (of is not None and runs(own, of))]
        changed = (path for path in self.changed if path in fitting)
        return tuple(dict.fromkeys((*islice(changed, _MOST_TRIED), *_evenly_spaced(fitting, self.most))))


@dataclass(frozen=True)
class ChosenRecipe:
    """The chosen recipe, its builds, and its test run."""

    found: FoundRecipe
    builds: RecordedBuilds
    tried: RecipeRun


def builds_of_suite(old: Suite | None, sandboxes: Sandboxes) -> list[RecordedBuild]:
    """Return the builds that the active problems of ``old`` use.

    Empty if ``old`` is None. Their environments are registered in ``sandboxes``.
    """
    if old is None:
        return []
    found: dict[str, RecordedBuild] = {}
    for problem in old.active:
        name, when = problem.manifest.environment, problem.manifest.provenance.date
        if when is not None:
            found[name] = RecordedBuild(old.environments[name], recipe_of(old.environments[name]), when)
    for one in found.values():
        sandboxes.register(one.environment)
    return list(found.values())


def base_tree(repository: Path, old: Suite | None, base: Base) -> Tree:
    """Return the tree that an environment was built from.

    ``base`` names a folder of ``old``, the suite that is refreshed, or a commit of ``repository``.
    """
    return load_tree(old, base) if old is not None and base.folder else read_commit(repository, base.commit or "")


def _evenly_spaced(files: Sequence[str], most: int) -> Sequence[str]:
    """Return at most ``most`` of ``files``, spread evenly."""
    return files[:: -(-len(files) // most) or 1]


def runnable_tests(tree: Tree, name: NameOf, folder: str) -> dict[str, None]:
    """Return the test files of ``tree`` below ``folder``.

    ``name`` returns a file's language; files of unknown languages are left out.
    """
    classes, inside = PathClassifier.of(tree), f"{folder}/" if folder else ""
    paths = (path for path in tree if path.startswith(inside) and path.isprintable() and name(path) is not None)
    return dict.fromkeys(path for path in paths if classes.is_test_module(path))


def builds_of_own_recipe(
    recipe: Recipe, sandboxes: Sandboxes, known: Sequence[RecordedBuild] = (), path: str = ""
) -> RecordedBuilds:
    """Return the builds of a recipe that the project wrote.

    ``known`` are builds of the suite that is refreshed; builds of the same recipe are used. ``path`` is the folder that
    is mined; empty: all of the repository.
    """
    same = [one for one in known if one.recipe.identity == recipe.identity]
    proposed = partial(recipes_of_older_tree, path=path, has=toolchain_check(sandboxes.backend))
    return RecordedBuilds(recipe, sandboxes, same, proposed, written=True)


def choose_recipe(
    path: str,
    head: NewestTree,
    languages: Mapping[Language, LanguageSupport],
    sandboxes: Sandboxes,
    say: Callable[[str], None],
    known: Sequence[RecordedBuild] = (),
) -> ChosenRecipe:
    """Return the first proposed recipe with which most tests pass.

    If there is none, return the recipe with the most passing tests. ``path`` is the folder that is mined, ``head`` the
    newest tree, and ``known`` are builds of the suite that is refreshed. ``say`` gets a line on each rejected recipe.

    Raises:
        UsageError: no test passes with any recipe.
        SandboxError: the sandbox failed.
    """
    has = toolchain_check(sandboxes.backend)
    proposed = partial(recipes_of_older_tree, path=path, has=has)
    best: ChosenRecipe | None = None
    reason: UsageError | SandboxError | None = None
    for found in find_recipes(head.tree, path, has=has):
        builds = RecordedBuilds(found.recipe, sandboxes, known, proposed)
        try:
            tried = try_recipe(builds, languages, sandboxes, head)
        except SandboxClosed:
            raise
        except (UsageError, SandboxError) as error:
            reason = reason or error
            say(f"{found.place}: {printable(' '.join(error.cause.split()), _LINE)}")
            continue
        builds.recipe = tried.recipe
        one = ChosenRecipe(found.reduced(tried.recipe, "it failed; tests pass without it"), builds, tried)
        if tried.full if found.origin == "light" else tried.ready:
            return one
        say(f"{found.place}: {tried.words}")
        best = one if best is None or tried.passed > best.tried.passed else best
    if best is None:
        cause = reason.cause if reason is not None else "neither CI nor lock files say how the project is set up."
        remedy = f"{reason.remedy.removesuffix(_CHECK)} {_WRITE}".strip() if reason and reason.remedy else _WRITE
        raise UsageError(f"no recipe was found that works: {cause}", remedy) from reason
    return best


def recipes_of_older_tree(tree: Tree, path: str, has: Has | None) -> list[Recipe]:
    """Return recipes to try if the chosen one fails.

    They are the best recipes that the files of ``tree`` propose for its folder ``path``, one of each
    ``FoundRecipe.origin``. ``has`` says which toolchains are available.
    """
    first: dict[str, Recipe] = {}
    for found in find_recipes(tree, path, has=has):
        if found.recipe != Recipe():
            first.setdefault(found.origin, found.recipe)
    # The recipe of a whole job comes last, because it may check and publish for minutes.
    return [first[origin] for origin in ("light", "files", "job") if origin in first]


def try_recipe(
    builds: RecordedBuilds,
    languages: Mapping[Language, LanguageSupport],
    sandboxes: Sandboxes,
    head: NewestTree,
) -> RecipeRun:
    """Build the recipe on a tree; return its test run.

    ``builds`` has the recipe, and ``head`` the tree. Only test files of one language run, once and without a network:
    the most frequent one that the recipe's command runs.

    Raises:
        UsageError: the recipe fails, no test passes, or the test runner is unknown.
        SandboxError: the sandbox failed, or a package index cannot be reached.
    """
    commit, tree, recipe = head.commit, head.tree, builds.recipe
    language, chosen, settings = _tests_to_try(recipe, head, languages)
    refused = [path for path, file in tree.items() if SandboxFile(path, file.data, file.mode).leads_out]
    try:
        built = builds.build(commit, tree, head.date)
    except NotInstalled as error:
        raise UsageError(error.cause, error.remedy) from error
    except BuildFailed as error:
        raise UsageError(f"the recipe fails on {commit[:12]}: {error.cause}", error.remedy) from error
    _LOG.info("running %s without a network", count_of(len(chosen), "test file"))
    limits = limits_of(recipe)
    opened = partial(sandboxes.open, built.environment.manifest, limits)
    runnable = tree.overlay(dict.fromkeys(refused))
    report = without_doubtful_passes(run_tests(opened, runnable, graded_selection(chosen, limits, settings)))
    statuses = {test: result.status for test, result in report.results.items()}
    failed = tuple(sorted(test for test, result in report.results.items() if result.failed))
    reported = {file_of(test) for test in statuses}
    if reported.intersection(chosen):  # the recipe of a part may run only some of the files
        failed += tuple(path for path in chosen if path not in reported)
    builds.remember_failing(failed)
    counts = Counter(statuses.values())
    if not counts["passed"]:
        broken = "; ".join(f"{error.id}: {error.reason}" for error in report.collection_errors)
        first = next((f"{test}: {result.message}" for test, result in report.results.items() if result.message), "")
        seen = report.unprepared or broken or first or _last_lines(report.output, 1000) or "nothing was reported"
        more = f" within {report.seconds:.0f} s" if report.timed_out else ""
        absent = absent_parts(tree)
        more += f"; {absent} is not here" if absent else ""
        more += "".join(f"; {note}" for note in built.notes)
        remedy = " ".join(filter(None, (_other_interpreter(recipe.tests or "", language), _CHECK)))
        raise UsageError(f"the recipe builds, but none of its tests passes{more}: {seen.strip()[:1500]}", remedy)
    first_failed = report.results.get(failed[0]) if failed else None
    message = first_failed.message if first_failed is not None else None
    return RecipeRun(
        built.recipe, len(chosen), counts["passed"], failed, counts["skipped"], report.seconds, (message or "").strip()
    )


def _tests_to_try(
    recipe: Recipe, head: NewestTree, languages: Mapping[Language, LanguageSupport]
) -> tuple[Language, tuple[str, ...], RunnerSettings]:
    """Return the most frequent language, its tests and runner.

    Raises:
        UsageError: the tree has no tests that are known, or no known runner runs them.
    """
    name, files = language_namer(reports=True), head.files_to_try(recipe)
    language = next((found for found, _ in Counter(map(name, files)).most_common(1)), None)
    support = languages.get(language) if language is not None else None
    if language is None or support is None:
        raise UsageError(f"{head.commit[:12]} has no tests that are known here.", "Write `tests` of `environment`.")
    settings = settings_of(recipe, support.runner(head.tree))
    if settings is None:
        asked = f"`{recipe.tests}`" if recipe.tests else f"what runs {files[0]}"
        raise UsageError(f"{asked} is no test runner that is known here.", _REPORT)
    chosen = tuple(path for path in files if name(path) == language)
    return language, chosen, replace(settings, folder=settings.folder or head.folder)


def _last_lines(text: str, most: int) -> str:
    """Return the last lines of ``text``, without repeated ones.

    They have at most ``most`` characters.
    """
    # Each process of a run may print the same traceback.
    lines = list(dict.fromkeys(line.rstrip() for line in text.splitlines() if line.strip()))
    while len(lines) > 1 and sum(map(len, lines)) > most:
        del lines[0]
    return "\n".join(lines)[-most:]


def _other_interpreter(tests: str, language: Language | None) -> str:
    """Return a hint if a test command names another Python.

    ``tests`` is the command. Return "" if its program is in the virtual environment or has no path, and for other
    languages.
    """
    program = tests.partition(" ")[0]
    if language != "python" or "/bin/" not in program or program.startswith(f"{VENV}/"):
        return ""
    return (
        f"Tests run with the virtual environment that is active during `setup` ({VENV}), not with `{program}`: let "
        "`setup` install into it, such as with `pip install -e .`."
    )
