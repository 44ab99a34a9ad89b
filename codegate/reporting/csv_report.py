"""Render the report as CSV, safe to open in spreadsheets."""

import csv
import io

from codegate.reporting.view import ReportView

_ATTEMPT = (
    "sample", "status", "score", "tests_passed", "tests_total", "failure", "detail", "seconds", "model_seconds",
    "peak_memory_bytes", "lint_findings", "controlled", "suspicious", "input_tokens", "output_tokens", "fault",
    "fault_message",
)  # fmt: skip
"""Fields of an ``AttemptView`` that have a column."""

COLUMNS = ("run", "sandbox", "candidate", "model", "problem", *_ATTEMPT, "trace_id", "span_id")

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
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in view.problems:
        for entry, cell in zip(view.candidates, row.cells, strict=True):
            run = runs[entry.run]
            for attempt in cell.attempts:
                about = (entry.run, run.assurance, entry.label, entry.model, row.id)
                made = (getattr(attempt, name) for name in _ATTEMPT)
                writer.writerow([_field(value) for value in (*about, *made, run.trace_id, attempt.span_id)])
    return out.getvalue()
