"""The measures as CSV: one row per candidate and measure, for a spreadsheet or a data frame."""

import csv
import dataclasses
import io
from collections.abc import Iterator

from codegate.reporting.csv_report import number, text
from codegate.reporting.estimates import Difference, Estimate
from codegate.reporting.view import ReportView

MEASURE_COLUMNS = ("run", "candidate", "model", "measure", "value", "low", "high", "n", "of")


def render_measures_csv(view: ReportView) -> str:
    """Return every measure that is a number, every field quoted, unknown values empty (RFC 4180).

    Names are the fields of ``Measures``, with dots between a field and its parts: ``correctness.pass_at_1``,
    ``failures.timeout.share``, ``cohorts.language:python.pass_rate``. Shares are in 0..1.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(MEASURE_COLUMNS)
    for entry in view.candidates:
        for name, fields in _fields(entry.measures):
            writer.writerow([text(entry.run), text(entry.label), text(entry.model), name, *fields])
    if view.baseline:
        for name, fields in _fields(view.baseline.correctness):
            label, model = text(view.baseline.label), text(view.baseline.model)
            writer.writerow(["", label, model, f"baseline.{name}", *fields])
    return out.getvalue()


def _fields(value: object, name: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    match value:
        case Estimate():
            yield name, (number(value.value), number(value.low), number(value.high), str(value.n), value.of)
        case Difference():
            yield name, (number(value.value), number(value.low), number(value.high), str(value.n), "problems")
        case bool() | str() | None:
            return
        case int() | float():
            yield name, (number(value), "", "", "", "")
        case tuple():
            for entry in value:
                yield from _fields(entry, f"{name}.{_called(entry)}")
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                inner = f"{name}.{field.name}" if name else field.name
                yield from _fields(getattr(value, field.name), inner)


def _called(entry: object) -> str:
    """Return what an entry of a list is called: a turn by its number, a class or part by its name, a cohort its tag."""
    for field in ("name", "tag", "number"):
        if hasattr(entry, field):
            return str(getattr(entry, field))
    return ""
