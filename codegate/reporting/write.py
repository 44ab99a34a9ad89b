"""Writes the reports of a view into a folder."""

from collections.abc import Callable, Collection
from pathlib import Path

from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.reporting.csv_report import render_csv
from codegate.reporting.html import render_html
from codegate.reporting.json_report import render_json
from codegate.reporting.junit import render_junit
from codegate.reporting.markdown import render_markdown
from codegate.reporting.measures_csv import render_measures_csv
from codegate.reporting.view import ReportView

REPORTS: dict[str, tuple[str, Callable[[ReportView], str]]] = {
    "html": ("report.html", render_html),
    "json": ("report.json", render_json),
    "junit": ("junit.xml", render_junit),
    "markdown": ("report.md", render_markdown),
    "csv": ("report.csv", render_csv),
    "measures": ("measures.csv", render_measures_csv),
}
"""Formats by name: file name and renderer."""


def write_reports(view: ReportView, folder: Path, formats: Collection[str] = tuple(REPORTS)) -> dict[str, Path]:
    """Write ``formats`` into ``folder`` and return where each is, by format name.

    Raises:
        UsageError: ``folder`` is a link; in a run's folder, that may be somebody else's, it could lead anywhere.
        InfrastructureError: the disk refused.
    """
    if folder.is_symlink():
        raise UsageError(
            f"{folder} is a symbolic link; reports are not written through one.", "Name the folder itself."
        )
    written: dict[str, Path] = {}
    for name in formats:
        file_name, render = REPORTS[name]
        path = folder / file_name
        write_atomic(path, render(view).encode("utf-8"))
        written[name] = path
    return written
