"""Commands before the tests: the preparation that a recorded build's recipe asks for, in each sandbox."""

from functools import partial

import pytest

from codegate.grading import Sandboxes, TestReport, TestSelection, run_tests
from codegate.grading.classify import classify_failure
from codegate.suite import ProblemLimits
from tests.grading.worlds import tree
from tests.kit.environment import PLAIN

pytestmark = pytest.mark.bwrap

TEST = "import pathlib\n\ndef test_prepared():\n    assert pathlib.Path('made/it').read_text() == 'ready'\n"


def run(sandboxes: Sandboxes, *before: str, folder: str = "") -> TestReport:
    selection = TestSelection(("app/test_it.py",), before=before, folder=folder, timeout_seconds=60)
    opened = partial(sandboxes.open, PLAIN.manifest, ProblemLimits(seconds=60))
    return run_tests(opened, tree({"app/test_it.py": TEST}), selection)


def test_tests_run_after_the_commands_before_them(sandboxes: Sandboxes) -> None:
    report = run(sandboxes, "mkdir made", "printf ready | tee made/it", folder="app")
    assert {test: result.status for test, result in report.results.items()} == {
        "app/test_it.py::test_prepared": "passed"
    }
    assert report.proven
    assert report.unprepared == ""


@pytest.mark.parametrize("line", ["false | cat", "false\ntrue", "echo no space; exit 7", "kill -9 $$"])
def test_a_command_before_the_tests_that_fails_is_no_failing_test(sandboxes: Sandboxes, line: str) -> None:
    report = run(sandboxes, "mkdir made", line, "printf ready > made/it")
    assert report.results == {}
    assert not report.proven
    assert report.unprepared.startswith(f"before: `{line}` failed (")
    failure, detail = classify_failure(report, [])
    assert (failure, detail) == ("runtime_error", report.unprepared)


def test_a_command_before_the_tests_says_why_it_failed(sandboxes: Sandboxes) -> None:
    report = run(sandboxes, "echo database is locked >&2; exit 7")
    assert report.unprepared.endswith("failed (exit status 7): database is locked")
