"""A suite from a file of another benchmark's: rows that codegate exported come back, others are proven first."""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from codegate.errors import Interrupted, UsageError
from codegate.grading import Sandboxes
from codegate.mining.build import Built, ProblemBuilder
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.imported import Agreement, ImportedUnit, build_all, import_rows, runner_environment
from codegate.mining.languages import known_languages
from codegate.mining.options import KINDS, MineOptions, running_python
from codegate.mining.profile import Steps
from codegate.mining.statements.statement import StatementText
from codegate.mining.units import Rejected
from codegate.sandbox import Backend
from codegate.suite import LockedEnvironment, Problem, Suite, SuiteManifest, Tree, git, read_commit, repository_path
from codegate.suite.exchange import (
    Restored,
    Row,
    Skipped,
    base_of,
    check_any,
    check_new,
    convert_each,
    of_codegate,
    read_rows,
    read_tasks,
    restore,
    suite_facts,
    task_problem,
    write_new_suite,
)

ImportFormat = Literal["swe-bench", "humaneval", "harbor"]
Build = Callable[[ImportedUnit], Built | Rejected]

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class ImportReport:
    """What became of a file's rows.

    Attributes:
        suite: the suite that was written.
        skipped: rows that could not be used, and why.
        rejected: by problem id, why execution did not show what the row claims.
        agreements: by problem id, how the published tests agree with the measured ones.
        left: by problem id, fields of its row that were too large to be kept.
    """

    suite: Suite
    skipped: tuple[Skipped, ...] = ()
    rejected: dict[str, Rejected] = field(default_factory=dict)
    agreements: dict[str, Agreement] = field(default_factory=dict)
    left: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class _Found:
    """What is going to be the suite."""

    problems: list[Problem] = field(default_factory=list)
    environments: dict[str, LockedEnvironment] = field(default_factory=dict)
    bases: dict[str, Tree] = field(default_factory=dict)

    def add(self, problem: Problem, environment: LockedEnvironment, base: Tree | None) -> None:
        """Add a problem.

        Raises:
            UsageError: an environment or a base folder of the same name is another one.
        """
        name = environment.manifest.id
        if self.environments.get(name, environment) != environment:
            raise UsageError(f"problem {problem.id}: its environment {name} is not that of other rows.")
        folder = problem.manifest.base.folder
        if folder is not None and base is not None:
            if self.bases.get(folder, base) != base or any(_within(folder, other) for other in self.bases):
                raise UsageError(f"problem {problem.id}: its base folder {folder} is that of other rows too.")
            self.bases[folder] = base
        self.environments[name] = environment
        self.problems.append(problem)


def _within(folder: str, other: str) -> bool:
    return folder.startswith(f"{other}/") or other.startswith(f"{folder}/")


def import_suite(
    file: Path,
    kind: ImportFormat,
    out: Path,
    *,
    repository: Path | None = None,
    name: str | None = None,
    environment: LockedEnvironment | None = None,
    build: Build | None = None,
) -> ImportReport:
    """Import ``file`` as a new suite at ``out``.

    Args:
        file: a JSON Lines file; of the format ``harbor`` a task folder, or a folder of them.
        kind: its format.
        out: folder of the suite; it must not exist, or be empty.
        repository: a clone that has the rows' base commits.
        name: the suite's name; default the exported suite's, or the file's.
        environment: of the format ``humaneval``, what the tasks run in (see ``runner_environment``).
        build: validates a unit that codegate did not export itself.

    Raises:
        UsageError: no row can be used, or ``out`` holds something; names the first rows and what is wrong.
        InfrastructureError: ours, the sandbox's or the package index's fault.
    """
    check_new(out)
    rows, unreadable = read_tasks(file) if kind == "harbor" else read_rows(file)
    found = _Found()
    if kind == "humaneval":
        if environment is None:
            raise UsageError("an environment is needed to import tasks of HumanEval's.")
        skipped = _add_tasks(found, rows, environment)
        report = _write(found, out, name or _name(file.stem), None, None, file, [*unreadable, *skipped], {})
        return ImportReport(report, (*unreadable, *skipped))
    return _import_rows(found, file, out, rows, list(unreadable), repository, name, build)


def import_proven(
    file: Path, kind: ImportFormat, out: Path, options: MineOptions, backend: Backend, repository: Path | None = None
) -> ImportReport:
    """Import ``file`` as a new suite at ``out``, proving what codegate did not export itself.

    Args:
        file: as for ``import_suite``.
        kind: its format.
        out: folder of the suite.
        options: its name, interpreter and rounds; a row's kind of change is not asked.
        backend: where the code runs; stays the caller's to close.
        repository: a clone that has the rows' base commits.

    Raises:
        UsageError: as ``import_suite``.
        InfrastructureError: likewise.
        Interrupted: stopped by the user; nothing was written.
    """
    languages = known_languages(EnvironmentResolver(options.python or running_python()))
    environment = runner_environment(languages["python"]) if kind == "humaneval" else None
    sandboxes = Sandboxes(backend, {})
    builder = ProblemBuilder(
        repository=repository or Path(),
        name=options.name or _name(file.stem),
        languages=languages,
        sandboxes=sandboxes,
        options=replace(options, include_new_tests=True, kinds=KINDS),
        today=datetime.now(UTC).date(),
        tip=Tree({}),
        stop=threading.Event(),
    )

    def build(unit: ImportedUnit) -> Built | Rejected:
        statement = StatementText("sources", unit.row.statement)  # the row's own, which ``finish`` puts in its place
        return builder.build_parts(unit.prospect, unit.parts, Steps(), statement)

    try:
        return import_suite(
            file, kind, out, repository=repository, name=options.name, environment=environment, build=build
        )
    except KeyboardInterrupt as error:
        backend.close()
        raise Interrupted("the import was stopped; no suite was written.") from error
    finally:
        sandboxes.close()


def _import_rows(
    found: _Found,
    file: Path,
    out: Path,
    rows: Sequence[Row],
    skipped: list[Skipped],
    repository: Path | None,
    name: str | None,
    build: Build | None,
) -> ImportReport:
    own = [row for row in rows if of_codegate(row.data)]
    others = [row for row in rows if not of_codegate(row.data)]
    skipped += _add_restored(found, own, repository)
    rejected: dict[str, Rejected] = {}
    agreements: dict[str, Agreement] = {}
    left: dict[str, tuple[str, ...]] = {}
    if others:
        if repository is None or build is None:
            raise UsageError(
                f"{file} has rows that are proven first.", "Give --repository, a clone of their repository."
            )
        units, unusable = import_rows(others, repository)
        skipped += unusable
        for unit, result, agreement in build_all(units, build):
            if isinstance(unit, Skipped):
                skipped.append(unit)
            elif isinstance(result, Built) and agreement is not None:
                if any(problem.id == unit.id for problem in found.problems):
                    skipped.append(Skipped(0, f"{unit.id}: another row has that id too."))
                    continue
                found.add(result.problem, result.environment, None)
                agreements[unit.id] = agreement
                left |= {unit.id: unit.row.left} if unit.row.left else {}
            elif isinstance(result, Rejected):
                rejected[unit.id] = result
    exported = suite_facts(own[0].data) if own else None
    chosen = name or (exported.name if exported else _name(file.stem))
    suite = _write(found, out, chosen, repository, exported, file, skipped, rejected)
    return ImportReport(suite, tuple(skipped), rejected, agreements, left)


def _add_tasks(found: _Found, rows: Sequence[Row], environment: LockedEnvironment) -> list[Skipped]:
    tasks, skipped = convert_each(rows, lambda row: task_problem(row, environment.manifest))
    for task in tasks:
        found.add(task.problem, environment, task.base)
    return skipped


def _add_restored(found: _Found, rows: Sequence[Row], repository: Path | None) -> list[Skipped]:
    @lru_cache(2)
    def tree(commit: str) -> Tree:
        if repository is None:
            raise UsageError("its base commit is in a repository; give --repository.")
        return read_commit(repository, commit)

    def convert(row: Row) -> tuple[str, Restored]:
        commit, base = base_of(row.data)
        restored = restore(row.data, base if base is not None else tree(commit or ""))
        if all(problem.id != restored.problem.id for problem in found.problems):
            found.add(restored.problem, restored.environment, restored.base)
        return restored.problem.id, restored

    return convert_each(rows, convert)[1]


def _write(
    found: _Found,
    out: Path,
    name: str,
    repository: Path | None,
    exported: SuiteManifest | None,
    file: Path,
    skipped: Sequence[Skipped],
    rejected: dict[str, Rejected],
) -> Suite:
    failed = [Skipped(0, f"{problem}: {why.reason}: {why.detail}") for problem, why in rejected.items()]
    check_any(found.problems, [*skipped, *failed], file)
    return write_new_suite(
        out,
        name=name,
        repository=_path(repository, out) if repository is not None else None,
        environments=[environment for _, environment in sorted(found.environments.items())],
        problems=found.problems,
        bases=found.bases,
        scanned=exported.scanned if exported else None,
        canary=exported.canary if exported else None,
    )


def _path(repository: Path, out: Path) -> str | None:
    bare = git(repository, "rev-parse", "--is-bare-repository").strip() == b"true"
    said = git(repository, "rev-parse", "--absolute-git-dir" if bare else "--show-toplevel")
    return repository_path(Path(said.rstrip(b"\n").decode("utf-8", "surrogateescape")), out)


def _name(stem: str) -> str:
    return _NOT_IN_NAMES.sub("-", stem).strip("._-")[:100] or "imported"
