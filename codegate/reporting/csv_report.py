"""Render the report as CSV, safe to open in spreadsheets."""

import csv
import dataclasses
import io
from collections.abc import Iterable, Iterator, Sequence

from codegate.gating.estimates import Difference, Estimate
from codegate.reporting.view import ReportView

_ATTEMPT = (
    "sample", "status", "score", "tests_passed", "tests_total", "failure", "detail", "seconds", "model_seconds",
    "peak_memory_bytes", "lint_findings", "controlled", "suspicious", "input_tokens", "output_tokens", "fault",
    "fault_message",
)  # fmt: skip
"""Fields of an ``AttemptView`` that have a column."""

COLUMNS = ("run", "sandbox", "candidate", "model", "problem", *_ATTEMPT, "trace_id", "span_id")
MEASURE_COLUMNS = ("run", "candidate", "model", "measure", "value", "low", "high", "n", "of")

_FORMULA_STARTS = tuple("=+-@|%\t\r\uff1d\uff0b\uff0d\uff20")


def _field(value: object) -> str:
    """Return a value as CSV field, never as a formula.

    Numbers are not rounded; unknown values are empty. A leading apostrophe marks text (OWASP). Texts of the view are
    single lines without control characters already.
    """
    if isinstance(value, tuple):
        value = "; ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return "" if value is None else repr(value)
    return f"'{value}" if value.startswith(_FORMULA_STARTS) else value


def render_csv(view: ReportView) -> str:
    """Render a row per attempt; unknown values are empty."""
    runs = {run.id: run for run in view.runs}
    rows = []
    for row in view.problems:
        for entry, cell in zip(view.candidates, row.cells, strict=True):
            run = runs[entry.run]
            for attempt in cell.attempts:
                about = (entry.run, run.assurance, entry.label, entry.model, row.id)
                made = (getattr(attempt, name) for name in _ATTEMPT)
                rows.append((*about, *made, run.trace_id, attempt.span_id))
    return _written(COLUMNS, rows)


def render_measures_csv(view: ReportView) -> str:
    """Render a row per candidate and numeric measure.

    A measure's name is the path of fields in ``Measures``: ``correctness.pass_at_1``, ``failures.timeout.share``,
    ``cohorts.language:python.pass_rate``. Shares are in 0..1.
    """
    rows: list[tuple[object, ...]] = []
    for entry in view.candidates:
        rows += ((entry.run, entry.label, entry.model, *fields) for fields in _fields(entry.measures))
    if pinned := view.baseline:
        rows += (("", pinned.label, pinned.model, *fields) for fields in _fields(pinned.correctness, "baseline"))
    return _written(MEASURE_COLUMNS, rows)


def _written(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    writer.writerows([_field(value) for value in row] for row in rows)
    return out.getvalue()


def _fields(value: object, name: str = "") -> Iterator[tuple[object, ...]]:
    match value:
        case Estimate():
            yield name, value.value, value.low, value.high, value.n, value.of
        case Difference():
            yield name, value.value, value.low, value.high, value.n, "problems"
        case bool() | str() | None:
            return
        case int() | float():
            yield name, value, None, None, None, None
        case tuple():
            for entry in value:
                yield from _fields(entry, f"{name}.{_entry_id(entry)}")
        case _ if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                inner = f"{name}.{field.name}" if name else field.name
                yield from _fields(getattr(value, field.name), inner)


def _entry_id(entry: object) -> str:
    return next((str(getattr(entry, field)) for field in ("name", "tag", "number") if hasattr(entry, field)), "")
