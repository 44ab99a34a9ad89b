"""Commands before the tests: the preparation that a recorded build's recipe asks for, in each sandbox."""

import pytest

from codegate.grading import Sandboxes
from codegate.grading.classify import classify_failure
from tests.grading.worlds import room_of, statuses

pytestmark = pytest.mark.bwrap

FILE = "app/test_it.py"
TEST = "import pathlib\n\ndef test_prepared():\n    assert pathlib.Path('made/it').read_text() == 'ready'\n"


def test_tests_run_after_the_commands_before_them(sandboxes: Sandboxes) -> None:
    prepare = ("mkdir made", 'python -c \'import pytest; print("ready", end="")\' | tee made/it')
    report = room_of(sandboxes).run({FILE: TEST}, FILE, before=prepare, folder="app")
    assert statuses(report, FILE) == {"test_prepared": "passed"}
    assert (report.proven, report.unprepared) == (True, "")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("false | cat", "(exit status 1): "),
        ("false\ntrue", "(exit status 1): "),
        ("echo database is locked >&2; exit 7", "(exit status 7): database is locked"),
        ("kill -9 $$", ""),
    ],
)
def test_a_command_before_the_tests_that_fails_is_no_failing_test(sandboxes: Sandboxes, line: str, why: str) -> None:
    prepare = ("mkdir made", line, "printf ready > made/it")
    report = room_of(sandboxes).run({FILE: TEST}, FILE, before=prepare, folder="app")
    assert (report.results, report.proven) == ({}, False)
    assert report.unprepared.startswith(f"before: `{line}` failed (")
    assert report.unprepared.endswith(why)
    assert classify_failure(report, []) == ("runtime_error", report.unprepared)
