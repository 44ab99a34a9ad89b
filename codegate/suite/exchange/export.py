"""A suite out, in other tools' formats; what cannot go is named."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from codegate.errors import InfrastructureError, UsageError
from codegate.suite.exchange.harbor import write_task
from codegate.suite.exchange.rows import write_rows
from codegate.suite.exchange.swebench import export_row, instance_ids
from codegate.suite.git import GitError, git
from codegate.suite.model import Problem, Suite
from codegate.suite.repository import find_repository, load_base
from codegate.suite.tree import Tree

ExportFormat = Literal["swe-bench", "harbor"]

_SLUG: Final = re.compile(r"[\w.-]+/[\w.-]+")
_REMOTE: Final = re.compile(r"[:/](?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?$")
_MAX_BASE: Final = 8 << 20


@dataclass(frozen=True)
class ExportReport:
    """What became of a suite's problems.

    Attributes:
        out: the file or folder that was written.
        ids: by problem, the id that it has there, which is what predictions for it have to name.
        left_out: by problem, why it is not there.
        notes: by problem, what other tools than codegate cannot do with it.
    """

    out: Path
    ids: dict[str, str]
    left_out: dict[str, str]
    notes: dict[str, str]


def export_suite(
    suite: Suite, out: Path, kind: ExportFormat, repository: Path | None = None, slug: str | None = None
) -> ExportReport:
    """Write all problems of ``suite``, whatever their status, for other tools.

    Args:
        suite: the suite.
        out: for ``swe-bench`` the JSON Lines file, which is replaced; for ``harbor`` a new folder of task folders.
        kind: the format.
        repository: where base commits are; default as in ``load_base``.
        slug: the repository as ``owner/name``; default from its remote ``origin``, else ``local/<suite>``.

    Raises:
        UsageError: a base commit cannot be read, ``slug`` is none, or no problem can be exported.
        InfrastructureError: the disk refused.
    """
    slug = slug or repository_slug(suite, repository)
    if not _SLUG.fullmatch(slug):
        raise UsageError(f"{slug!r} does not name a repository.", "Give it as owner/name.")
    ids = instance_ids(suite, slug)
    write = _write_swe_bench if kind == "swe-bench" else _write_harbor
    report = ExportReport(out, {}, {}, {})
    write(suite, repository, slug, ids, report)
    if not report.ids:
        first = next(iter(report.left_out.items()), None)
        raise UsageError(
            f"no problem of suite {suite.name} can be exported to {kind}"
            + (f"; {first[0]}: {first[1]}" if first else ": it has none.")
        )
    return report


def _write_swe_bench(
    suite: Suite, repository: Path | None, slug: str, ids: dict[str, str], report: ExportReport
) -> None:
    rows = []
    for problem, base in _with_bases(suite, repository, report):
        row = export_row(suite, problem, base, slug, _setup_commit(suite, problem))
        rows.append({**row, "instance_id": ids[problem.id]})
        report.ids[problem.id] = ids[problem.id]
        if problem.manifest.base.commit is None:
            report.notes[problem.id] = "its base tree is in the row, and no commit: only codegate can use it."
    if rows:
        write_rows(report.out, rows)


def _write_harbor(suite: Suite, repository: Path | None, slug: str, ids: dict[str, str], report: ExportReport) -> None:
    if report.out.exists() and (not report.out.is_dir() or any(report.out.iterdir())):
        raise UsageError(f"{report.out} exists already.", "Choose another folder.")
    names: set[str] = set()
    for problem, base in _with_bases(suite, repository, report):
        name = ids[problem.id] if ids[problem.id].lower() not in names else problem.id
        names.add(name.lower())
        row = {**export_row(suite, problem, base, slug, _setup_commit(suite, problem)), "instance_id": ids[problem.id]}
        try:
            write_task(report.out / name, suite, problem, base, row)
        except UsageError as error:
            report.left_out[problem.id] = error.cause
        except OSError as error:
            raise InfrastructureError(f"cannot write {report.out}: {error.strerror or error}.") from error
        else:
            report.ids[problem.id] = ids[problem.id]


def _with_bases(suite: Suite, repository: Path | None, report: ExportReport) -> Iterator[tuple[Problem, Tree]]:
    for problem in suite.problems:
        base = load_base(suite, problem, repository)
        size = sum(len(file.data) for file in base.values())
        if problem.manifest.base.folder is not None and size > _MAX_BASE:
            report.left_out[problem.id] = f"its base folder has {size} bytes; {_MAX_BASE} can be in a row."
        else:
            yield problem, base


def _setup_commit(suite: Suite, problem: Problem) -> str:
    """Return the base commit of the first problem that has the same environment."""
    same = (other for other in suite.problems if other.manifest.environment == problem.manifest.environment)
    return next((other.manifest.base.commit or "" for other in same), "")


def repository_slug(suite: Suite, repository: Path | None) -> str:
    """Return ``owner/name`` of the suite's repository by its remote ``origin``, or ``local/<suite>``."""
    try:
        address = git(find_repository(suite, repository), "config", "--get", "remote.origin.url").decode("utf-8")
        found = _REMOTE.search(address.strip())
    except (GitError, UsageError, UnicodeDecodeError):
        found = None
    return f"{found['owner']}/{found['name']}" if found else f"local/{suite.name}"
