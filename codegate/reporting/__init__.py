"""Reports: one function per format, over the same view model.

``build_view`` turns runs, verdicts and the ``Evidence`` that ``read_evidence`` finds into a ``ReportView``: every
measure with its n and its interval, every text without characters that act on a terminal. Each ``render_*`` turns that
view into one format and escapes it by that format's rules. Only ``write_reports`` touches the disk. The libraries
behind a format are imported when it is rendered.
"""

from codegate.reporting.build import build_view
from codegate.reporting.cells import bug
from codegate.reporting.comment import COMMENT_LIMIT, NO_BASELINE, render_comment, render_notice
from codegate.reporting.console import ProgressLines, render_console, render_tables
from codegate.reporting.csv_report import render_csv
from codegate.reporting.dashboard import render_dashboard
from codegate.reporting.evidence import Evidence, read_evidence, terms_of
from codegate.reporting.html import render_html
from codegate.reporting.json_report import MAX_RESULT_BYTES, read_result, render_json
from codegate.reporting.junit import render_junit
from codegate.reporting.markdown import render_markdown
from codegate.reporting.measure_table import judge_table
from codegate.reporting.measures import ReportTerms
from codegate.reporting.plain import one_line, untrusted
from codegate.reporting.review import render_review, review_view, reviewed_problem
from codegate.reporting.sweep import sweep_of
from codegate.reporting.table import sweep_tables
from codegate.reporting.traces import collector, send_trace
from codegate.reporting.view import ReportView
from codegate.reporting.write import report_formats, write_reports

__all__ = [
    "COMMENT_LIMIT",
    "MAX_RESULT_BYTES",
    "NO_BASELINE",
    "Evidence",
    "ProgressLines",
    "ReportTerms",
    "ReportView",
    "bug",
    "build_view",
    "collector",
    "judge_table",
    "one_line",
    "read_evidence",
    "read_result",
    "render_comment",
    "render_console",
    "render_csv",
    "render_dashboard",
    "render_html",
    "render_json",
    "render_junit",
    "render_markdown",
    "render_notice",
    "render_review",
    "render_tables",
    "report_formats",
    "review_view",
    "reviewed_problem",
    "send_trace",
    "sweep_of",
    "sweep_tables",
    "terms_of",
    "untrusted",
    "write_reports",
]
