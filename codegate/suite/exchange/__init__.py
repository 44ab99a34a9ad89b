"""Formats of other tools: SWE-bench, HumanEval, MBPP and Harbor.

Rows are read as plain data and checked one by one. Unusable ones are reported with a reason; no foreign code is run.
"""

from codegate.suite.exchange.export import export_suite, repository_slug
from codegate.suite.exchange.humaneval import task_problem
from codegate.suite.exchange.predictions import Prediction, predictions_for, write_predictions
from codegate.suite.exchange.rows import MAX_FILE_BYTES, check_any, read_rows
from codegate.suite.exchange.swebench import SweBenchRow, check_row, instance_ids

__all__ = [
    "MAX_FILE_BYTES",
    "Prediction",
    "SweBenchRow",
    "check_any",
    "check_row",
    "export_suite",
    "instance_ids",
    "predictions_for",
    "read_rows",
    "repository_slug",
    "task_problem",
    "write_predictions",
]
