"""Write reports in all formats, also those of plug-in packages."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Final, cast

from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.plugins import load_plugin, plugin_names
from codegate.reporting.csv_report import render_csv
from codegate.reporting.html import render_html
from codegate.reporting.json_report import render_json
from codegate.reporting.junit import render_junit
from codegate.reporting.markdown import render_markdown
from codegate.reporting.view import ReportView

Format = tuple[str, Callable[[ReportView], str]]
"""A report's file name, and the function that renders it."""

_GROUP: Final = "codegate.reports"
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OWN: Final[Mapping[str, Format]] = {
    "html": ("report.html", render_html),
    "json": ("report.json", render_json),
    "junit": ("junit.xml", render_junit),
    "markdown": ("report.md", render_markdown),
    "csv": ("report.csv", render_csv),
}


@cache
def report_formats() -> tuple[str, ...]:
    """Return the names of all report formats, built-in ones first."""
    return (*_OWN, *(name for name in plugin_names(_GROUP) if name not in _OWN))


def _format(name: str) -> Format:
    found = _OWN.get(name) or load_plugin(_GROUP, name)
    own = {file for file, _ in _OWN.values()} if name not in _OWN else set()
    name_of_file, render = found if isinstance(found, tuple) and len(found) == 2 else ("", None)
    if not _FILE_NAME.fullmatch(str(name_of_file)) or name_of_file in own or not callable(render):
        raise UsageError(f"the entry point {name!r} of {_GROUP} is no (file name, renderer).", "Update the package.")
    return cast("Format", found)


def write_reports(view: ReportView, folder: Path, formats: Collection[str] | None = None) -> dict[str, Path]:
    """Write reports in ``formats`` (default: all); return their paths."""
    if folder.is_symlink():
        raise UsageError(
            f"{folder} is a symbolic link; reports are not written through one.", "Name the folder itself."
        )
    written: dict[str, Path] = {}
    for name in report_formats() if formats is None else formats:
        file_name, render = _format(name)
        path = folder / file_name
        try:
            text = render(view)
        except Exception as error:
            if name in _OWN:
                raise
            raise UsageError(
                f"the report format {name!r} of another package failed: {type(error).__name__}: {error}.",
                "Update or remove the package; `codegate report` writes the reports again.",
            ) from error
        write_atomic(path, text.encode("utf-8"))
        written[name] = path
    return written
