"""Grade patches by execution.

The stages: apply, compile, hidden tests, lint, measure, classify. A problem, its base tree and a patch go in, and a
``Grade`` comes out. It depends only on execution in a fresh sandbox. Mining, validation and a model's own test runs use
``run_tests`` directly.
"""

from codegate.grading.behaviour import Behaviour
from codegate.grading.controls.copies import Copies
from codegate.grading.controls.flips import find_flips, mark_tests
from codegate.grading.grade import FailureClass, Grade, OwnTests, Regressions, TestResult
from codegate.grading.grader import GRADER_VERSION, grade, grade_answer, grade_reference
from codegate.grading.sandboxes import RunCount, Sandboxes, SharedCache, base_images, counted_runs
from codegate.grading.shown_tests import find_regressions, run_full_test_suite, run_own_tests, run_public_tests
from codegate.grading.testreport import TestReport, TestSelection, test_selection
from codegate.grading.testrun import run_hidden_tests, run_tests

__all__ = [
    "GRADER_VERSION",
    "Behaviour",
    "Copies",
    "FailureClass",
    "Grade",
    "OwnTests",
    "Regressions",
    "RunCount",
    "Sandboxes",
    "SharedCache",
    "TestReport",
    "TestResult",
    "TestSelection",
    "base_images",
    "counted_runs",
    "find_flips",
    "find_regressions",
    "grade",
    "grade_answer",
    "grade_reference",
    "mark_tests",
    "run_full_test_suite",
    "run_hidden_tests",
    "run_own_tests",
    "run_public_tests",
    "run_tests",
    "test_selection",
]
