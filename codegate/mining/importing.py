"""Import a file of another benchmark as a new suite."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from codegate.errors import CodegateError, InfrastructureError, Interrupted, UsageError
from codegate.grading import Sandboxes
from codegate.mining.build import Built, ProblemBuilder
from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.imported import Agreement, ImportedUnit, cut_row, finish
from codegate.mining.languages import known_languages
from codegate.mining.options import KINDS, MineOptions, running_python
from codegate.mining.profile import Steps
from codegate.mining.statements.statement import StatementText
from codegate.mining.units import Rejected
from codegate.sandbox import Backend
from codegate.suite import LockedEnvironment, Suite, Tree, git, repository_path, write_suite
from codegate.suite.exchange import (
    Skipped,
    check_any,
    check_row,
    convert_each,
    read_rows,
    read_tasks,
    task_problem,
)

ImportFormat = Literal["swe-bench", "humaneval", "harbor"]

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class ImportReport:
    """What became of a file's rows.

    Attributes:
        suite: the suite that was written.
        skipped: rows that could not be used, and why.
        rejected: by problem id, why execution did not show what the row claims.
        agreements: by problem id, how the published tests agree with the measured ones.
    """

    suite: Suite
    skipped: tuple[Skipped, ...]
    rejected: dict[str, Rejected] = field(default_factory=dict)
    agreements: dict[str, Agreement] = field(default_factory=dict)


def import_proven(
    file: Path, kind: ImportFormat, out: Path, options: MineOptions, backend: Backend, repository: Path | None = None
) -> ImportReport:
    """Import ``file`` as a new suite at ``out``.

    SWE-bench rows are proven by execution; HumanEval tasks are not, ``codegate validate`` does that.

    Args:
        file: a JSON Lines file; of the format ``harbor`` a task folder, or a folder of them.
        kind: its format.
        out: folder of the suite; it must not exist, or be empty.
        options: the suite's name, interpreter and rounds; the kinds of change are ignored.
        backend: where the code runs; the caller closes it.
        repository: a clone that has the rows' base commits.

    Raises:
        UsageError: no row can be used (names the first ones), ``repository`` is missing, or ``out`` is in use.
        InfrastructureError: the sandbox, the disk or the package index failed.
        Interrupted: stopped by the user; nothing was written.
    """
    name = options.name or _NOT_IN_NAMES.sub("-", file.stem).strip("._-")[:100] or "imported"
    languages = known_languages(EnvironmentResolver(options.python or running_python()))
    today = datetime.now(UTC).date()
    if kind == "humaneval":
        # The tasks declare nothing: the first environment for an empty tree is the test runner alone.
        environment = next(languages["python"].environments(Tree(), Tree(), today), None)
        if environment is None:
            raise UsageError("the test runner cannot be resolved to packages.", "Check the package index.")
        return import_tasks(file, out, name, environment)
    sandboxes = Sandboxes(backend, {})
    builder = ProblemBuilder(
        repository=repository or Path(),
        name=name,
        languages=languages,
        sandboxes=sandboxes,
        options=replace(options, include_new_tests=True, kinds=KINDS),
        today=today,
        tip=Tree({}),
        stop=threading.Event(),
    )

    def build(unit: ImportedUnit) -> Built | Rejected:
        statement = StatementText("sources", unit.row.problem_statement)  # ``finish`` marks it as imported
        return builder.build_parts(unit.prospect, unit.parts, Steps(), statement)

    try:
        return import_rows(file, kind, out, name, repository, build)
    except KeyboardInterrupt as error:
        backend.close()
        raise Interrupted("the import was stopped; no suite was written.") from error
    finally:
        sandboxes.close()


def import_tasks(file: Path, out: Path, name: str, environment: LockedEnvironment) -> ImportReport:
    """Import HumanEval tasks, which run in ``environment``; raises as ``import_proven``."""
    _check_new(out)
    rows, unreadable = read_rows(file)
    tasks, unusable = convert_each(rows, lambda row: task_problem(row, environment.manifest))
    skipped = (*unreadable, *unusable)
    check_any(tasks, skipped, file)
    bases = {f"bases/{problem.id}": base for problem, base in tasks}
    problems = [problem for problem, _ in tasks]
    suite = write_suite(out, name=name, repository=None, environments=[environment], problems=problems, bases=bases)
    return ImportReport(suite, skipped)


def import_rows(
    file: Path,
    kind: ImportFormat,
    out: Path,
    name: str,
    repository: Path | None,
    build: Callable[[ImportedUnit], Built | Rejected],
) -> ImportReport:
    """Import SWE-bench rows, or Harbor task folders that hold such rows; raises as ``import_proven``.

    Args:
        file: as for ``import_proven``.
        kind: likewise.
        out: likewise.
        name: the suite's name.
        repository: likewise.
        build: validates a unit, as mining does, in an environment of its date.
    """
    _check_new(out)
    rows, unreadable = read_tasks(file) if kind == "harbor" else read_rows(file)
    if repository is None:
        raise UsageError(f"the rows of {file} are proven first.", "Give --repository, a clone of their repository.")
    home = _path(repository, out)
    checked, unusable = convert_each(rows, check_row)
    skipped = [*unreadable, *unusable]
    built: list[Built] = []
    rejected: dict[str, Rejected] = {}
    agreements: dict[str, Agreement] = {}
    for row in checked:
        # Trees are large: nothing of one row is kept for the next.
        try:
            unit = cut_row(row, repository)
        except InfrastructureError:
            raise
        except CodegateError as error:
            skipped.append(Skipped(0, f"{row.id}: {error.cause}"[:500]))
            continue
        result = build(unit)
        if isinstance(result, Rejected):
            rejected[row.id] = result
        else:
            result, agreements[row.id] = finish(result, unit)
            built.append(result)
    failed = [Skipped(0, f"{problem}: {why.reason}: {why.detail}") for problem, why in rejected.items()]
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


def _check_new(folder: Path) -> None:
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(f"{folder} exists already.", "Choose another folder.")


def _path(repository: Path, out: Path) -> str | None:
    bare = git(repository, "rev-parse", "--is-bare-repository").strip() == b"true"
    top = git(repository, "rev-parse", "--absolute-git-dir" if bare else "--show-toplevel")
    return repository_path(Path(top.rstrip(b"\n").decode("utf-8", "surrogateescape")), out)
