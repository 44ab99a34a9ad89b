"""The report as CSV: one row per attempt, safe to open in a spreadsheet."""

import csv
import io

from codegate.reporting.view import AttemptView, ReportView

COLUMNS = (
    "run",
    "sandbox",
    "candidate",
    "model",
    "problem",
    "sample",
    "status",
    "score",
    "tests_passed",
    "tests_total",
    "failure",
    "detail",
    "seconds",
    "model_seconds",
    "peak_memory_bytes",
    "lint_findings",
    "controlled",
    "suspicious",
    "input_tokens",
    "output_tokens",
    "fault",
    "fault_message",
    "trace_id",
    "span_id",
)

_FORMULA_STARTS = tuple("=+-@|%\t\r\uff1d\uff0b\uff0d\uff20")


def text(value: str | None) -> str:
    """Return text that no spreadsheet takes for a formula: a leading apostrophe makes it text (OWASP).

    The view's short texts already are single lines without control characters.
    """
    line = value or ""
    return f"'{line}" if line.startswith(_FORMULA_STARTS) else line


def number(value: float | None) -> str:
    """Return a number in full, and nothing for the unknown."""
    return "" if value is None else repr(value)


def render_csv(view: ReportView) -> str:
    """Return one row per attempt with a header, every field quoted, unknown values empty (RFC 4180)."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    sandboxes = {run.id: run.assurance for run in view.runs}
    traces = {run.id: run.trace_id for run in view.runs}
    for row in view.problems:
        for entry, cell in zip(view.candidates, row.cells, strict=True):
            for attempt in cell.attempts:
                sandbox = text(sandboxes.get(entry.run))
                start = (text(entry.run), sandbox, text(entry.label), text(entry.model), text(row.id))
                ids = (text(traces.get(entry.run)), text(attempt.span_id))
                writer.writerow([*start, *_fields(attempt), *ids])
    return out.getvalue()


def _fields(attempt: AttemptView) -> list[str]:
    return [
        str(attempt.sample),
        attempt.status,
        number(attempt.score),
        number(attempt.tests_passed),
        number(attempt.tests_total),
        text(attempt.failure),
        text(attempt.detail),
        number(attempt.seconds),
        number(attempt.model_seconds),
        number(attempt.peak_memory_bytes),
        number(attempt.lint_findings),
        "" if attempt.controlled is None else str(attempt.controlled).lower(),
        text("; ".join(attempt.suspicious)),
        number(attempt.input_tokens),
        number(attempt.output_tokens),
        text(attempt.fault),
        text(attempt.fault_message),
    ]
