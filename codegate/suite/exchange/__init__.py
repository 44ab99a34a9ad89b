"""Suites in other tools' formats, and back: SWE-bench's rows and predictions, HumanEval's tasks, Harbor's task folders.

Rows come in as plain data, checked one by one, and problems go out with all that a row has no field for. What
cannot be used or written is named with its reason; nothing in a file from elsewhere is run.
"""

from codegate.suite.exchange.bases import check_new, write_new_suite
from codegate.suite.exchange.export import ExportFormat, ExportReport, export_suite, repository_slug
from codegate.suite.exchange.harbor_tasks import HarborTask, read_task, read_tasks
from codegate.suite.exchange.humaneval import TaskProblem, task_problem
from codegate.suite.exchange.lossless import Restored, base_of, of_codegate, restore, suite_facts
from codegate.suite.exchange.portable import portable_patch
from codegate.suite.exchange.predictions import Prediction, few, predictions_for, read_predictions, write_predictions
from codegate.suite.exchange.rows import Row, Skipped, check_any, convert_each, read_rows, write_rows
from codegate.suite.exchange.swebench import FIELDS, SweBenchRow, check_row, export_row, instance_ids

__all__ = [
    "FIELDS",
    "ExportFormat",
    "ExportReport",
    "HarborTask",
    "Prediction",
    "Restored",
    "Row",
    "Skipped",
    "SweBenchRow",
    "TaskProblem",
    "base_of",
    "check_any",
    "check_new",
    "check_row",
    "convert_each",
    "export_row",
    "export_suite",
    "few",
    "instance_ids",
    "of_codegate",
    "portable_patch",
    "predictions_for",
    "read_predictions",
    "read_rows",
    "read_task",
    "read_tasks",
    "repository_slug",
    "restore",
    "suite_facts",
    "task_problem",
    "write_new_suite",
    "write_predictions",
    "write_rows",
]
