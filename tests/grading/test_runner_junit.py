"""Any command that writes JUnit XML, and what a hostile report may not do."""

import contextlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import Sandboxes, TestReport
from codegate.languages.junit.runners import read_report
from tests.grading.worlds import room_of, statuses

REPORT = """<?xml version="1.0"?>
<testsuites><testsuite name="s">
  <testcase classname="pkg.Sums" name="adds" time="0.5"/>
  <testcase classname="pkg.Sums" name="is wrong"><failure type="AssertionError" message="2 != 3">at</failure></testcase>
  <testcase classname="pkg.Sums" name="breaks"><error type="KeyError"/></testcase>
  <testcase classname="pkg.Sums" name="left out"><skipped/></testcase>
  <testcase file="./test/a.rb" classname="A" name="placed" time="1,000.5"/>
  <testcase classname="pkg.Sums" name="twin"/><testcase classname="pkg.Sums" name="twin"><failure/></testcase>
</testsuite></testsuites>
"""
PROGRAM = """
import os, sys
if not os.path.exists("reports/old.xml"):
    os.makedirs("reports")
    open("reports/new.xml", "w").write(open("report.txt").read())
print(sys.argv[1:])
sys.exit(int(open("status.txt").read()))
"""


Run = Callable[..., TestReport]
COMMAND = ("python3", "run.py", "{files}")


@pytest.fixture
def run(sandboxes: Sandboxes) -> Run:
    """Runs a program that copies a report to where the settings say."""

    def run(report: str, status: int = 1, **files: str) -> TestReport:
        content = {"run.py": PROGRAM, "report.txt": report, "status.txt": str(status), "t/a b.x": "", **files}
        return room_of(sandboxes, runner="junit").run(
            content, "t/a b.x", "t/c.x", command=COMMAND, reports=("reports",)
        )

    return run


@pytest.mark.bwrap
def test_tests_are_read_from_the_reports(run: Run) -> None:
    report = run(REPORT)
    assert statuses(report) == {
        "pkg.Sums::adds": "passed",
        "pkg.Sums::is wrong": "failed",
        "pkg.Sums::breaks": "error",
        "pkg.Sums::left out": "skipped",
        "test/a.rb::placed": "passed",
        "pkg.Sums::twin": "failed",
    }
    assert report.results["pkg.Sums::is wrong"].exception == "AssertionError"
    assert report.results["test/a.rb::placed"].seconds == 1000.5
    assert report.proven
    assert report.exit_code == 1
    assert "['t/a b.x', 't/c.x']" in report.output


@pytest.mark.bwrap
def test_command_files_and_reports_are_where_the_tests_run(sandboxes: Sandboxes) -> None:
    program = (
        "import os, sys\nassert os.path.isfile(sys.argv[1]), sys.argv\nopen('out.xml', 'w').write(open('in').read())\n"
    )
    content = {"web/run.py": program, "web/in": REPORT, "web/t/a.x": "", "web/out.xml": "<old"}
    room = room_of(sandboxes, runner="junit")
    report = room.run(content, "web/t/a.x", command=COMMAND, reports=("out.xml",), folder="web")
    assert "pkg.Sums::adds" in report.results, report.output


@pytest.mark.bwrap
def test_a_report_that_was_there_before_is_not_believed(run: Run) -> None:
    forged = '<testsuite><testcase classname="a" name="never"/></testsuite>'
    report = run(REPORT, **{"reports/old.xml": forged})
    assert "a::never" not in report.results
    assert "pkg.Sums::adds" in report.results


@pytest.mark.bwrap
@pytest.mark.parametrize("text", ["<testsuite>", "", "<!DOCTYPE a><testsuite/>"])
def test_a_report_that_cannot_be_read_is_a_collection_error(run: Run, text: str) -> None:
    report = run(text, status=0)
    assert report.results == {}
    assert [error.id for error in report.collection_errors] == ["reports/new.xml"]


@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("report", "status"),
    [
        ('<testsuite><testcase classname="a" name="passes"/></testsuite>', 3),  # something else failed, who knows what
        ("<testsuites/>", 0),
    ],
)
def test_a_run_that_shows_no_failure_or_no_test_proves_nothing(run: Run, report: str, status: int) -> None:
    found = run(report, status)
    assert found.results == {}
    assert not found.proven
    assert run(REPORT).proven


def test_a_suite_that_counts_failures_which_none_of_its_tests_has_is_no_result() -> None:
    with pytest.raises(ValueError, match="counts 2 failures"):
        list(read_report(b'<a><testsuite failures="1" errors="1"><testcase name="t"/></testsuite></a>'))


def test_a_test_that_passed_when_it_was_run_again_has_passed() -> None:
    again = '<flakyFailure message="once"><stackTrace>x</stackTrace></flakyFailure>'
    never = '<failure message="m"/><rerunFailure message="m"/>'
    cases = "".join(
        f'<testcase classname="T" name="{name}">{said}</testcase>' for name, said in (("a", again), ("b", never))
    )
    results = read_report(f'<testsuite tests="2" failures="1">{cases}</testsuite>'.encode())
    assert [result.status for result in results] == ["passed", "failed"]


def test_entities_and_depth_are_refused() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
    for text in (bomb, "<a>" * 100 + "</a>" * 100, '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>'):
        with pytest.raises(ValueError, match=r"document type|nested"):
            list(read_report(text.encode()))


@given(st.binary(max_size=300) | st.text(alphabet='<>/="abc&; testcase').map(str.encode))
def test_no_report_ends_the_reader(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        json.dumps([result.model_dump() for result in read_report(data)])


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ('status="run" result="completed"', "passed"),
        ('status="notrun" result="suppressed"', "skipped"),  # GoogleTest, switched off
        ('status="disabled"', "skipped"),  # CTest
        ('status="fail"', "failed"),  # CTest
    ],
)
def test_what_a_test_says_in_attributes_alone_counts(attributes: str, status: str) -> None:
    (result,) = read_report(f'<testsuite><testcase classname="T" name="t" {attributes}/></testsuite>'.encode())
    assert result.status == status
