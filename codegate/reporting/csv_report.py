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
)

_FORMULA_STARTS = tuple("=+-@|%\t\r\uff1d\uff0b\uff0d\uff20")


def _text(value: str | None) -> str:
    """Return text that no spreadsheet takes for a formula: a leading apostrophe makes it text (OWASP).

    The view's short texts already are single lines without control characters.
    """
    line = value or ""
    return f"'{line}" if line.startswith(_FORMULA_STARTS) else line


def _number(value: float | None) -> str:
    return "" if value is None else repr(value)


def render_csv(view: ReportView) -> str:
    """Return one row per attempt with a header, every field quoted, unknown values empty (RFC 4180)."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    sandboxes = {run.id: run.assurance for run in view.runs}
    for row in view.problems:
        for entry, cell in zip(view.candidates, row.cells, strict=True):
            for attempt in cell.attempts:
                sandbox = _text(sandboxes.get(entry.run))
                start = (_text(entry.run), sandbox, _text(entry.label), _text(entry.model), _text(row.id))
                writer.writerow([*start, *_fields(attempt)])
    return out.getvalue()


def _fields(attempt: AttemptView) -> list[str]:
    return [
        str(attempt.sample),
        attempt.status,
        _number(attempt.score),
        _number(attempt.tests_passed),
        _number(attempt.tests_total),
        _text(attempt.failure),
        _text(attempt.detail),
        _number(attempt.seconds),
        _number(attempt.model_seconds),
        _number(attempt.peak_memory_bytes),
        _number(attempt.lint_findings),
        "" if attempt.controlled is None else str(attempt.controlled).lower(),
        _text("; ".join(attempt.suspicious)),
        _number(attempt.input_tokens),
        _number(attempt.output_tokens),
        _text(attempt.fault),
        _text(attempt.fault_message),
    ]
