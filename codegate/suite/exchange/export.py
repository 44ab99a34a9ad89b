"""Write a suite as rows of SWE-bench."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from codegate.errors import UsageError
from codegate.suite.exchange.rows import write_rows
from codegate.suite.exchange.swebench import export_row, instance_ids
from codegate.suite.git import origin_place
from codegate.suite.loaded import Suite
from codegate.suite.repository import find_repository, load_base

_SLUG: Final = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass
class ExportReport:
    """Which problems of a suite were exported.

    Attributes:
        ids: by problem id, the id in the export.
        left_out: by problem id, why the problem was not exported.
    """

    ids: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def export_suite(suite: Suite, out: Path, repository: Path | None = None, slug: str | None = None) -> ExportReport:
    """Write a suite's problems as rows to the file ``out``.

    An existing file is replaced. ``repository`` has the base commits; None: the one that the suite names. ``slug`` is
    ``owner/name``; None takes it from the remote ``origin``.

    Raises:
        UsageError: a base commit cannot be read, ``slug`` is malformed, or no problem can be exported.
    """
    slug = slug or repository_slug(suite, repository)
    if not _SLUG.fullmatch(slug):
        raise UsageError(f"{slug!r} does not name a repository.", "Give it as owner/name.")
    report = ExportReport()
    rows: list[dict[str, str]] = []
    instances = instance_ids(suite, slug)
    # By environment, the base commit of its first problem.
    setups = {one.manifest.environment: one.manifest.base.commit or "" for one in reversed(suite.problems)}
    for problem in suite.problems:
        base = load_base(suite, problem, repository)
        instance = instances[problem.id]
        try:
            if problem.manifest.answer:
                raise UsageError("it is a question, which a row cannot have.")
            if problem.manifest.service:
                raise UsageError("its tests call a service, which a row cannot have.")
            rows.append(export_row(problem, base, slug, instance, setups[problem.manifest.environment]))
        except UsageError as error:
            report.left_out[problem.id] = error.cause
        else:
            report.ids[problem.id] = instance
    if not report.ids:
        why = next((f"; {name}: {reason}" for name, reason in report.left_out.items()), ": it has none.")
        raise UsageError(f"no problem of suite {suite.name} can be exported{why}")
    write_rows(out, rows)
    return report


def repository_slug(suite: Suite, repository: Path | None) -> str:
    """Return ``owner/name`` of the remote origin, else ``local/<suite>``."""
    try:
        _, path = origin_place(find_repository(suite, repository)) or ("", "")
    except UsageError:
        path = ""
    slug = "/".join(path.split("/")[-2:])
    return slug if _SLUG.fullmatch(slug) else f"local/{suite.name}"
