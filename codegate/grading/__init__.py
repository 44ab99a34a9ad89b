"""What happened: apply, compile, hidden tests, lint, measure, classify.

A problem, its base tree and a patch go in; a ``Grade`` comes out, from execution in a fresh sandbox alone.
``run_tests`` is the same machinery for mining, validation and the model's own public test runs.
"""

from codegate.grading.behaviour import Behaviour
from codegate.grading.controls.copies import Copies
from codegate.grading.controls.instruments import Instruments
from codegate.grading.grade import FailureClass, Grade, TestResult
from codegate.grading.grader import (
    GRADER_VERSION,
    audit_controls,
    grade,
    grade_answer,
    grade_reference,
    instrument_tests,
    is_outdated,
)
from codegate.grading.sandboxes import RunCount, Sandboxes, base_images, counted_runs
from codegate.grading.testreport import TestReport, TestSelection, test_selection
from codegate.grading.testrun import run_hidden_tests, run_public_tests, run_tests

__all__ = [
    "GRADER_VERSION",
    "Behaviour",
    "Copies",
    "FailureClass",
    "Grade",
    "Instruments",
    "RunCount",
    "Sandboxes",
    "TestReport",
    "TestResult",
    "TestSelection",
    "audit_controls",
    "base_images",
    "counted_runs",
    "grade",
    "grade_answer",
    "grade_reference",
    "instrument_tests",
    "is_outdated",
    "run_hidden_tests",
    "run_public_tests",
    "run_tests",
    "test_selection",
]
