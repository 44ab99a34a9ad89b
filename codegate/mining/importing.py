"""Import a file of another benchmark as a new suite.

A SWE-bench row becomes a merged change: ``patch`` is the fix and ``test_patch`` the hidden tests, both applied to the
base commit. Changes are validated like mined ones, and keep the row's statement and date. Execution decides which tests
a problem has; its provenance lists where the row differs.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from codegate.durable import check_new_folder, sha256
from codegate.environments import Recipe, environment_of, find_recipes, obtain_build, toolchain_check
from codegate.errors import CodegateError, InfrastructureError, Interrupted, UsageError
from codegate.grading import Sandboxes
from codegate.languages import PathClassifier
from codegate.mining.build import BuiltProblem, ProblemBuilder
from codegate.mining.cut import Cut, public_tests
from codegate.mining.environments.recorded import RecordedBuilds
from codegate.mining.languages import known_languages, language_name
from codegate.mining.options import KINDS, MineRequest
from codegate.mining.profile import Steps
from codegate.mining.sources.history import MergedChange, path_from
from codegate.mining.statements.statement import StatementText
from codegate.mining.units import BUG_LIKE, BugScore, Prospect, Rejected
from codegate.sandbox import Backend, close_soon
from codegate.strict import read_bytes
from codegate.suite import (
    Environment,
    ProblemManifest,
    Provenance,
    Suite,
    TestSets,
    Tree,
    TreeFile,
    apply_patch,
    git,
    make_problem,
    read_commit,
    write_suite,
)
from codegate.suite.exchange import (
    MAX_FILE_BYTES,
    SweBenchRow,
    check_any,
    check_row,
    read_rows,
    task_problem,
)
from codegate.wording import join_first

ImportFormat = Literal["swe-bench", "humaneval", "harbor"]

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class ImportedChange:
    """A SWE-bench row as a merged change with invented commit."""

    prospect: Prospect
    parts: Cut = field(repr=False)
    row: SweBenchRow


@dataclass(frozen=True)
class Agreement:
    """How a row's list of tests agrees with measured tests.

    Attributes:
        exact: whether the fail-to-pass tests are the same; None: the row publishes none.
        lines: the counts, and one line for each kind of difference.
    """

    exact: bool | None
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ImportReport:
    """The results of importing a file's rows.

    Attributes:
        skipped: rows that could not be used, each with the reason.
        rejected: by problem id, why the row's claims failed when they were executed.
        agreements: by problem id, how the published tests agree with the measured ones.
    """

    suite: Suite
    skipped: tuple[str, ...]
    rejected: dict[str, Rejected] = field(default_factory=dict)
    agreements: dict[str, Agreement] = field(default_factory=dict)


def import_proven(
    file: Path,
    kind: ImportFormat,
    out: Path,
    options: MineRequest,
    backend: Backend,
    repository: Path | None,
) -> ImportReport:
    """Import ``file`` as a new suite at ``out``.

    SWE-bench rows are proven by execution; HumanEval tasks are proven later, by ``codegate validate``. ``file`` is a
    JSON Lines file; for the format ``harbor``, it is a task folder or a folder of them. ``repository`` has the rows'
    base commits. The kinds of change in ``options`` are ignored, and the caller closes ``backend``.

    Raises:
        UsageError: no row can be used (the message names the first ones), ``repository`` is missing, or ``out`` is in
            use.
        InfrastructureError: the sandbox, the disk or the package index failed.
        Interrupted: stopped by the user; nothing was written.
    """
    name = options.name or _NOT_IN_NAMES.sub("-", file.stem).strip("._-")[:100] or "imported"
    if kind == "humaneval":
        numpy = b"import numpy" in read_bytes(file, MAX_FILE_BYTES)
        return import_tasks(file, out, name, task_environment(options.recipe, backend, numpy=numpy))
    sandboxes = Sandboxes(backend, {}, tree=lambda base: read_commit(repository or Path(), base.commit or ""))
    build = _RowBuilder(sandboxes, name, options, repository or Path())
    try:
        return import_rows(file, out, name, repository, build)
    except KeyboardInterrupt as error:
        close_soon(backend)
        raise Interrupted("the import was stopped; no suite was written.") from error
    finally:
        sandboxes.close()


class _RowBuilder:
    """Makes problems of imported rows; proves them as mining does.

    The configuration's recipe is used, else recipes that worked before and recipes that a base tree's files propose.
    """

    def __init__(self, sandboxes: Sandboxes, name: str, options: MineRequest, repository: Path) -> None:
        self._sandboxes, self._name, self._repository = sandboxes, name, repository
        self._options = options.model_copy(update={"include_new_tests": True, "kinds": KINDS})
        self._languages = known_languages()
        self._builder: ProblemBuilder | None = None

    def __call__(self, unit: ImportedChange) -> BuiltProblem | Rejected:
        self._builder = self._builder or self._begin(unit)
        statement = StatementText("sources", unit.row.problem_statement)  # ``finish`` marks it as imported
        return self._builder.build(unit.prospect, Steps(), unit.parts, statement)

    def _begin(self, unit: ImportedChange) -> ProblemBuilder:
        given = self._options.recipe
        recipe = given or next(iter(self._proposed(unit.parts.base)), Recipe())
        builds = (
            RecordedBuilds(recipe, self._sandboxes, written=True)
            if given
            else RecordedBuilds(recipe, self._sandboxes, proposed=self._proposed)
        )
        return ProblemBuilder(
            repository=self._repository,
            name=self._name,
            languages=self._languages,
            sandboxes=self._sandboxes,
            options=self._options.model_copy(update={"recipe": builds.recipe}),
            today=datetime.now(UTC).date(),
            tip=Tree({}),
            stop=threading.Event(),
            recorded=builds,
        )

    def _proposed(self, tree: Tree) -> list[Recipe]:
        has = toolchain_check(self._sandboxes.backend)
        return [found.recipe for found in find_recipes(tree, has=has) if found.recipe != Recipe()]


def task_environment(recipe: Recipe | None, backend: Backend, *, numpy: bool = False) -> Environment:
    """Return the environment for HumanEval tasks.

    Without a recipe, it has pytest, and with ``numpy`` also NumPy.
    """
    packages = "pytest numpy" if numpy else "pytest"
    recipe = recipe or Recipe(tools={"python": Recipe().python}, setup=(f"uv pip install {packages}",))
    today = datetime.now(UTC).date()
    built = obtain_build(recipe, Tree(), backend, day=today)
    return environment_of("tasks", recipe, built.resolved, day=today)


def import_tasks(file: Path, out: Path, name: str, environment: Environment) -> ImportReport:
    """Import HumanEval tasks, run in ``environment``, as suite ``name``."""
    check_new_folder(out)
    tasks, skipped = read_rows(file, lambda row, place: task_problem(row, place, environment.manifest))
    check_any(tasks, skipped, file)
    bases = {f"bases/{problem.id}": base for problem, base in tasks}
    problems = [problem for problem, _ in tasks]
    suite = write_suite(out, name=name, repository=None, environments=[environment], problems=problems, bases=bases)
    return ImportReport(suite, tuple(skipped))


def import_rows(
    file: Path,
    out: Path,
    name: str,
    repository: Path | None,
    build: Callable[[ImportedChange], BuiltProblem | Rejected],
) -> ImportReport:
    """Import SWE-bench rows, or Harbor tasks that hold such rows.

    ``name`` is the new suite's name. ``build`` validates a row as mining does.

    Raises:
        UsageError: no row can be used, ``repository`` is missing, or ``out`` is in use.
        InfrastructureError: the sandbox, the disk or the package index failed.
    """
    check_new_folder(out)
    checked, skipped = read_rows(file, check_row)
    if repository is None:
        raise UsageError(f"the rows of {file} are proven first.", "Give --repository, a clone of their repository.")
    home = path_from(out, repository)
    built: list[BuiltProblem] = []
    rejected: dict[str, Rejected] = {}
    agreements: dict[str, Agreement] = {}
    for row in checked:
        # Trees are large, so each row's are dropped before the next row.
        try:
            unit = cut_row(row, repository)
        except InfrastructureError:
            raise
        except CodegateError as error:
            skipped.append(f"{row.id}: {error.cause}"[:500])
            continue
        result = build(unit)
        if isinstance(result, Rejected):
            rejected[row.id] = result
        else:
            result, agreements[row.id] = finish(result, unit)
            built.append(result)
    failed = [f"{problem}: {why.reason}: {why.detail}" for problem, why in rejected.items()]
    check_any(built, [*skipped, *failed], file)
    environments = {result.environment.manifest.id: result.environment for result in built}
    suite = write_suite(
        out,
        name=name,
        repository=home,
        environments=[environment for _, environment in sorted(environments.items())],
        problems=[result.problem for result in built],
    )
    return ImportReport(suite, tuple(skipped), rejected, agreements)


def cut_row(row: SweBenchRow, repository: Path) -> ImportedChange:
    """Return ``row`` as a change, with its patches applied.

    Raises:
        UsageError: the repository does not have the commit, the patches overlap or make links, or there is no test.
        PatchError: a patch does not apply.
    """
    base = read_commit(repository, row.base_commit)
    fix, hidden = apply_patch(base, row.patch), apply_patch(base, row.test_patch)
    linked = sorted(path for path, file in {**fix, **hidden}.items() if file is not None and file.is_link)
    if linked:
        raise UsageError(f"{linked[0]!a} is a symbolic link, which no suite holds.")
    both = sorted(fix.keys() & hidden.keys())
    if both:
        raise UsageError(f"patch and test_patch both change {both[0]!a}.")
    if not fix or not hidden:
        raise UsageError(f"{'patch' if not fix else 'test_patch'} changes nothing.")
    fixed = base.overlay(hidden).overlay(fix)
    tests = _test_files(row, fixed, hidden)
    if not tests:
        raise UsageError("test_patch has no test module that can be run.")
    public = public_tests(base, PathClassifier.of(base), tests)
    lines = max(len(re.findall(rf"^\{sign}(?!\{sign}\{sign} )", row.patch, re.MULTILINE)) for sign in "+-")
    committed = git(repository, "log", "-1", "--format=%cI", "--end-of-options", row.base_commit)
    unit = MergedChange(
        commit=sha256(f"{row.instance_id}\0{row.patch}".encode())[:40],
        base=row.base_commit,
        kind="direct",
        pull_request=row.pull_request,
        branch="",
        merges_forward=False,
        title=next(iter(row.problem_statement.strip().splitlines()), "").strip()[:500],
        message=row.problem_statement,
        author="",
        email="",
        date=row.created or datetime.fromisoformat(committed.decode("ascii").strip()),
        changes=(),
    )
    parts = Cut(base, hidden, fix, fixed, test_files=tests, public_tests=public, source_lines=lines)
    return ImportedChange(Prospect(unit, BugScore(BUG_LIKE, ())), parts, row)


def _test_files(row: SweBenchRow, fixed: Tree, hidden: Mapping[str, TreeFile | None]) -> tuple[str, ...]:
    """Return the ``hidden`` files that are test files.

    These are files that the row's test ids name, and files that a test runner collects.
    """
    named = {test.partition("::")[0] for test in (*row.FAIL_TO_PASS, *row.PASS_TO_PASS)}
    classifier = PathClassifier.of(fixed)
    there = [path for path, file in hidden.items() if file is not None]
    collected = {path for path in there if language_name(path) is not None and classifier.is_test_module(path)}
    return tuple(sorted(path for path in there if path in named or path in collected))


def compare_tests(row: SweBenchRow, tests: TestSets) -> Agreement:
    """Return how the tests of ``row`` agree with measured tests.

    A published id that was truncated at a space (SWE-bench has hundreds) matches the measured ids that begin with it.
    """
    if not row.FAIL_TO_PASS:
        return Agreement(None, ("the row publishes no tests",))
    cut = tuple(test for test in (*row.FAIL_TO_PASS, *row.PASS_TO_PASS) if "[" in test and not test.endswith("]"))

    def lost(published: tuple[str, ...], measured: tuple[str, ...]) -> list[str]:
        begun = {test for test in published if test in cut and any(other.startswith(test) for other in measured)}
        return [test for test in published if test not in measured and test not in begun]

    fail, keep = lost(row.FAIL_TO_PASS, tests.FAIL_TO_PASS), lost(row.PASS_TO_PASS, tests.PASS_TO_PASS)
    gained = [test for test in tests.FAIL_TO_PASS if test not in row.FAIL_TO_PASS and not test.startswith(cut)]
    counts = " and ".join(
        f"{len(published) - len(gone)} of {len(published)} {name}"
        for published, gone, name in (
            (row.FAIL_TO_PASS, fail, "fail-to-pass"),
            (row.PASS_TO_PASS, keep, "pass-to-pass"),
        )
    )
    named = {
        "published as fail-to-pass only": fail,
        "measured as fail-to-pass only": gained,
        "published as pass-to-pass only": keep,
    }
    lines = (f"{what}: {join_first(listed)}"[:1000] for what, listed in named.items() if listed)
    return Agreement(not fail and not gained, (f"published: {counts} measured alike", *lines))


def finish(built: BuiltProblem, imported: ImportedChange) -> tuple[BuiltProblem, Agreement]:
    """Return the problem with the row's id, statement and origin.

    The second value compares the tests that the row lists with the measured ones.
    """
    problem, row = built.problem, imported.row
    agreement = compare_tests(row, problem.tests)
    old = problem.manifest
    provenance = Provenance(
        kind="imported",
        pull_request=row.pull_request,
        title=imported.prospect.unit.title,
        date=imported.prospect.unit.date,
        project=f"https://github.com/{row.repo}",
        evidence=agreement.lines,
        upstream=row.instance_id,
    )
    text = row.problem_statement
    tags = {True: {"published": "agrees"}, False: {"published": "differs"}, None: {}}[agreement.exact]
    facts = {
        **old.model_dump(by_alias=True),
        "id": row.id,
        "statement": {"mode": "imported", "sha256": sha256(text.encode("utf-8"))},
        "tags": {**old.tags, **tags},
        "provenance": provenance,
    }
    manifest = ProblemManifest.model_validate(facts)
    named = make_problem(manifest, text, problem.tests, problem.hidden, problem.fix, problem.environment)
    return replace(built, problem=named), agreement
