"""Small projects with a bug each, in the shapes that real ones have; a suite of them is written at run time.

Every attack and every honest control is a change of one module, ``Project.source``: what is written there is shared
by all projects, because a project names the callables of that module in ``targets``.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from codegate.suite import Base, Problem, ProblemLimits, RunnerName, Tree, TreeFile, git, write_suite
from tests.kit.environment import PLAIN
from tests.kit.problem import changes, problem
from tests.redteam.grader.sources import classes, functions, layout, rules, single
from tests.redteam.grader.sources.forms import FORMS

Files = Mapping[str, str | bytes | TreeFile | None]

_LIMITS: Final = ProblemLimits(seconds=30, memory_mb=512)


@dataclass(frozen=True)
class Project:
    """A project with a bug.

    Attributes:
        id: its name, and the problem's.
        source: path of the module with the bug.
        bug: the text of that module.
        fix: its text without the bug.
        targets: what of it the tests call: functions, and methods as ``Class.method``.
        base: the other files before the fix.
        hidden: the test files after it.
        fail_to_pass: ids of tests that the bug fails.
        pass_to_pass: ids of the other tests.
        runner: what runs them.
        python_path: import roots.
    """

    id: str
    source: str
    bug: str
    fix: str
    targets: tuple[str, ...]
    base: Files
    hidden: Files
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    runner: RunnerName = "pytest"
    python_path: tuple[str, ...] = ("", "src")

    @property
    def tree(self) -> Tree:
        """Return the base tree."""
        return Tree().overlay(changes({**self.base, self.source: self.bug}))

    @property
    def test_files(self) -> tuple[str, ...]:
        """Return the files that the expected tests are in."""
        return tuple(dict.fromkeys(test.partition("::")[0] for test in self.fail_to_pass + self.pass_to_pass))


def _of(name: str, module: ModuleType, **more: Any) -> Project:
    names = ("SOURCE", "BUG", "FIX", "TARGETS", "BASE", "HIDDEN", "FAIL_TO_PASS")
    fields = {one.lower(): getattr(module, one) for one in names if hasattr(module, one)}
    return Project(name, **{**fields, "pass_to_pass": getattr(module, "PASS_TO_PASS", ()), **more})


def _rules(name: str, hidden: Files, tests: tuple[str, ...], base: Files = rules.BASE) -> Project:
    return _of(name, rules, base=base, hidden=hidden, fail_to_pass=tests)


PROJECTS: Final[Mapping[str, Project]] = {
    project.id: project
    for project in (
        _of("functions", functions), _of("classes", classes), _of("unittest", classes, runner="unittest"),
        _of("layout", layout, python_path=("src",)), _of("single", single),
        _rules("table", rules.TABLE, rules.TABLE_TESTS), _rules("raising", rules.RAISING, rules.RAISING_TESTS),
        _rules("truth", rules.TRUTH, rules.TRUTH_TESTS), _rules("twice", rules.TWICE, rules.TWICE_TESTS),
        _rules("changed", rules.CHANGED, rules.CHANGED_TESTS, rules.OLDER),
        *(Project(name, **fields) for name, fields in FORMS.items()),
    )
}  # fmt: skip


def make_suite(folder: Path, ids: Collection[str] = PROJECTS) -> tuple[Path, Path]:
    """Write a suite of the projects ``ids`` below ``folder``; return its place and that of the repository it is of."""
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet")
    problems = [_problem(PROJECTS[name], _commit(repository, PROJECTS[name])) for name in ids]
    place = folder / "suite"
    write_suite(place, name="redteam", repository="../repository", environments=[PLAIN], problems=problems)
    return place, repository


def _commit(repository: Path, project: Project) -> str:
    """Commit the project's base tree alone; return the commit."""
    git(repository, "read-tree", "--empty")
    for path, file in project.tree.items():
        blob = git(repository, "hash-object", "-w", "--stdin", stdin=file.data).decode().strip()
        git(repository, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    tree = git(repository, "write-tree").decode().strip()
    identity = ("-c", "user.name=redteam", "-c", "user.email=redteam@localhost")
    commit = git(repository, *identity, "commit-tree", tree, "-m", project.id).decode().strip()
    git(repository, "update-ref", f"refs/heads/{project.id}", commit)
    return commit


def _problem(project: Project, commit: str) -> Problem:
    return problem(
        project.id,
        PLAIN.manifest,
        base=Base(commit=commit),
        hidden=changes(project.hidden),
        fix=changes({project.source: project.fix}),
        wanted=project.fail_to_pass,
        known=project.pass_to_pass,
        statement="What the module returns is wrong.\n",
        runner=project.runner,
        python_path=project.python_path,
        limits=_LIMITS,
    )
