"""Render the report as JSON, and read such reports back.

Its schema is ``codegate.report/1``. It is the only file of an untrusted run that is read, and only with the keys, types
and sizes that ``render_json`` writes. Whoever controls the run can invent its figures, so they are shown as claims and
decide nothing.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any, Final

from pydantic import TypeAdapter

from codegate.errors import UsageError
from codegate.reporting.view import ReportView
from codegate.strict import log_json, parse_json

REPORT_SCHEMA = "codegate.report/1"

_IN_SCRIPT = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})
MAX_RESULT_BYTES: Final = 64 << 20

_LARGEST: Final = 1e15  # largest accepted number, such as bytes of memory or tokens
_PLACE: Final = "report.json"
_AGAIN: Final = (
    "Another version may have written it: use one version in both workflows, or write it again with "
    "`codegate report RUN --out FOLDER`."
)


def render_json(view: ReportView) -> str:
    """Render the whole view as JSON in ASCII.

    The text has no ``<``, ``>`` and ``&``, so that it is inert in a page and in a log. Keys are the fields of
    ``reporting.view`` and of ``gating.Verdict``; unknown values are null.
    """
    document = {
        "schema": REPORT_SCHEMA,
        "runs": [dataclasses.asdict(run) for run in view.runs],
        "verdicts": [verdict.model_dump(mode="json") for verdict in view.verdicts],
        "candidates": [dataclasses.asdict(entry) for entry in view.candidates],
        "baseline": dataclasses.asdict(view.baseline) if view.baseline else None,
        "problems": [dataclasses.asdict(row) for row in view.problems],
        "sweep": dataclasses.asdict(view.sweep) if view.sweep else None,
    }
    return log_json(document, indent=1).translate(_IN_SCRIPT) + "\n"


def read_result(data: bytes) -> ReportView:
    """Parse a JSON report; raise UsageError for other data."""
    if len(data) > MAX_RESULT_BYTES:
        raise UsageError(f"{_PLACE} is larger than {MAX_RESULT_BYTES} bytes.")
    try:
        document = parse_json(data.decode("utf-8"), _PLACE)
    except UnicodeDecodeError as error:
        raise UsageError(f"{_PLACE} is not UTF-8 text.") from error
    if not isinstance(document, dict) or document.get("schema") != REPORT_SCHEMA:
        raise UsageError(f"{_PLACE} is no {REPORT_SCHEMA}.", _AGAIN)
    if any(abs(number) > _LARGEST for number in _numbers(document)):
        raise UsageError(f"{_PLACE} has a number that no report has.")
    try:
        view = TypeAdapter(ReportView).validate_python({key: document[key] for key in document if key != "schema"})
        written = json.loads(render_json(view))  # refuses the infinity that a text such as "1e400" becomes
    except ValueError as error:
        raise UsageError(f"{_PLACE} has not the form of a {REPORT_SCHEMA}.", _AGAIN) from error
    columns = len(view.candidates)
    # Validation accepts a text for a number and unknown or missing keys; writing the view again reveals them.
    if any(len(row.cells) != columns for row in view.problems) or written != document:
        raise UsageError(f"{_PLACE} has not the form of a {REPORT_SCHEMA}.", _AGAIN)
    return view


def _numbers(document: Any) -> Iterator[float]:
    left = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, (int, float)):
            yield value
