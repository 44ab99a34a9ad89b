"""What a mining's environments come from: declarations that are resolved, or the project's recipe, tried first."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Final

from codegate.environments import VENV, BuildFailed
from codegate.errors import UsageError
from codegate.grading import Sandboxes, run_tests
from codegate.languages import PathClassifier
from codegate.mining.build import ProblemBuilder
from codegate.mining.environments.declarations import read_declarations
from codegate.mining.environments.environment import EnvironmentResolver, available_pythons, choose_python
from codegate.mining.environments.eras import Eras
from codegate.mining.environments.given import read_user_environment
from codegate.mining.environments.recorded import RecordedBuilds, Rung
from codegate.mining.languages import LanguageSupport, name_of
from codegate.mining.options import MineOptions, running_python
from codegate.mining.proving.outcomes import decided
from codegate.mining.proving.validation import graded_selection
from codegate.mining.units import Prospect
from codegate.suite import Base, Language, Part, Suite, Tree, git, load_tree, read_commit
from codegate.wording import count_of

_LOG: Final = logging.getLogger(__name__)
_MOST_TRIED: Final = 3
_CHECK: Final = "Correct `environment` in codegate.yml."


@dataclass(frozen=True)
class Tried:
    """What a recipe's tests showed on one tree: how many passed, and the ids of those that failed or were skipped.

    ``message`` is that of the first that failed.
    """

    files: int
    passed: int
    failed: tuple[str, ...]
    skipped: int
    seconds: float
    message: str = ""

    @property
    def ready(self) -> bool:
        """Return whether most tests pass: the others may need a network, but the recipe has what tests need."""
        return self.passed > len(self.failed)

    @property
    def words(self) -> str:
        """Return the counts for people."""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        of = f"of {count_of(self.files, 'test file')} without a network, in {self.seconds:.0f} s"
        first = f" ({', '.join(self.failed[:3])}{' …' if self.failed[3:] else ''})" if self.failed else ""
        return f"{self.passed} passed{failed}{skipped} {of}{first}"  # names last: a line of progress cuts its end


def resolver_of(repository: Path, tip: str, options: MineOptions, old: Suite | None) -> EnvironmentResolver:
    """Return what resolves the environments of a mining that has no recipe."""
    day = date.fromisoformat(git(repository, "log", "-1", "--format=%cs", tip, "--").decode("ascii").strip())
    declared = read_declarations(Part.of(read_commit(repository, tip), options.path))
    supported = choose_python(declared, day, (running_python(),)) or choose_python(declared, day, available_pythons())
    user = read_user_environment(options.requirements, options.image)
    user = replace(user, command=options.command, reports=options.reports)
    known = tuple((old.locked(name), when.date()) for name, when in _known(old).items()) if old is not None else ()
    return EnvironmentResolver(
        options.python or supported or running_python(),
        user=user if options.requirements or options.image or options.command else None,
        eras=Eras(repository, tip, options.path),
        known=tuple(entry for entry in known if entry[0].manifest.recorded is None),
    )


def builds_of(options: MineOptions, sandboxes: Sandboxes, old: Suite | None) -> RecordedBuilds | None:
    """Return the builds of the recipe, those of the suite that is refreshed first; None where there is no recipe."""
    if options.recipe is None:
        return None
    known = [(old.locked(name), when) for name, when in _known(old).items()] if old is not None else []
    recorded = tuple(each for each in known if each[0].manifest.recorded)
    for environment, _ in recorded:
        sandboxes.learn(environment)
    return RecordedBuilds(options.recipe, sandboxes, recorded)


def _known(old: Suite | None) -> dict[str, datetime]:
    return {
        problem.manifest.environment: problem.manifest.provenance.date
        for problem in (old.active if old is not None else ())
        if problem.manifest.provenance.date is not None
    }


def base_tree(repository: Path, old: Suite | None, base: Base) -> Tree:
    """Return the tree that an environment of a mining was built from."""
    return load_tree(old, base) if old is not None and base.folder else read_commit(repository, base.commit or "")


def try_on_tip(builder: ProblemBuilder, builds: RecordedBuilds, tip: str, queue: Iterable[Prospect]) -> Tried:
    """Try the recipe on the newest tree, by a few test files that the first changes touch; raises as ``try_recipe``."""
    head, tree = PathClassifier.of(builder.tip), builder.tip
    changed = (change.path for prospect in queue for change in prospect.unit.changes)
    files = tuple(dict.fromkeys(path for path in changed if path in tree and head.is_test_module(path)))[:_MOST_TRIED]
    date = datetime.fromisoformat(git(builder.repository, "log", "-1", "--format=%cI", tip, "--").decode().strip())
    return try_recipe(builds, builder.languages, builder.sandboxes, tip, tree, date, files)


def try_recipe(
    builds: RecordedBuilds,
    languages: Mapping[Language, LanguageSupport],
    sandboxes: Sandboxes,
    commit: str,
    tree: Tree,
    date: datetime,
    files: tuple[str, ...],
) -> Tried:
    """Build the recipe on a tree, and run test files of it once without a network.

    Args:
        builds: of the recipe.
        languages: what is known of each.
        sandboxes: where the tests run.
        commit: of the tree.
        tree: the tree.
        date: when it was committed.
        files: test files of the tree; those of the most frequent language are run.

    Raises:
        UsageError: the recipe fails, no test passes, or it is not known how they are run.
        SandboxError: the sandbox failed, or a package index cannot be reached.
    """
    try:
        environment = builds.build(commit, tree, date)
    except BuildFailed as error:
        raise UsageError(f"the recipe fails on {commit[:12]}: {error.cause}", error.remedy) from error
    named = Counter(name_of(path) or "junit" for path in files)
    language = next((name for name, _ in named.most_common(1)), None)
    support = languages.get(language) if language is not None else None
    settings = builds.settings(support.runner(tree)) if support is not None else None
    if support is None or settings is None:
        raise UsageError(f"{commit[:12]} has no tests that are known here.", "Write `tests` of `environment`.")
    chosen = tuple(path for path in files if (name_of(path) or "junit") == language)
    _LOG.info("running %s without a network", count_of(len(chosen), "test file"))
    opened = partial(sandboxes.open, environment.manifest, builds.limits)
    report = decided(
        run_tests(opened, tree, graded_selection(chosen, support.python_path(tree), builds.limits, settings))
    )
    statuses = {test: result.status for test, result in report.results.items()}
    failed = tuple(sorted(test for test, status in statuses.items() if status in {"failed", "error"}))
    builds.doubts(Rung(environment, exact=True, later=False), frozenset(failed))
    counts = Counter(statuses.values())
    if not counts["passed"]:
        broken = "; ".join(f"{error.id}: {_last_lines(error.text, 300)}" for error in report.collection_errors)
        first = next((f"{test}: {result.message}" for test, result in report.results.items() if result.message), "")
        seen = report.unprepared or broken or first or _last_lines(report.output, 1000) or "nothing was reported"
        more = f" within {report.seconds:.0f} s" if report.timed_out else ""
        remedy = " ".join(filter(None, (_other_interpreter(builds.recipe.tests or "", language), _CHECK)))
        raise UsageError(f"the recipe builds, but none of its tests passes{more}: {seen.strip()[:1500]}", remedy)
    message = report.results[failed[0]].message if failed else None
    return Tried(len(chosen), counts["passed"], failed, counts["skipped"], report.seconds, (message or "").strip())


def _last_lines(text: str, most: int) -> str:
    """Return the last lines, whole and each once: each process of a run prints the same traceback."""
    lines = list(dict.fromkeys(line.rstrip() for line in text.splitlines() if line.strip()))
    while len(lines) > 1 and sum(map(len, lines)) > most:
        del lines[0]
    return "\n".join(lines)[-most:]


def _other_interpreter(tests: str, language: Language | None) -> str:
    """Return what is said of a test command that names a virtual environment of its own; else nothing."""
    program = tests.partition(" ")[0]
    if language != "python" or "/bin/" not in program or program.startswith(f"{VENV}/"):
        return ""
    return (
        f"Tests run with the virtual environment that is active during `setup` ({VENV}), not with `{program}`: let "
        "`setup` install into it, such as with `pip install -e .`."
    )
