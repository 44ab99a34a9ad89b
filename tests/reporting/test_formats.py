import csv
import functools
import io
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from codegate.errors import InfrastructureError, UsageError
from codegate.reporting import (
    build_view,
    render_console,
    render_csv,
    render_json,
    render_junit,
    render_markdown,
    report_formats,
    untrusted,
    write_reports,
)
from codegate.reporting.csv_report import COLUMNS
from tests.reporting.example import altered, example, example_view, run_of
from tests.reporting.hostile import HOSTILE

payloads = pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)


# JSON


@payloads
def test_json_is_inert_ascii_and_reads_back(payload: str) -> None:
    text = render_json(example_view(payload, n=3))
    assert text.isascii()
    assert not set(text) & set("<>&\x1b\x00\x7f")
    assert json.loads(text)["schema"] == "codegate.report/1"


# JUnit


def junit_elements(text: str) -> list[tuple[str, list[str]]]:
    root = ET.fromstring(render_junit(example_view(text, n=3)))
    return [(element.tag, sorted(element.attrib)) for element in root.iter()]


@functools.cache
def benign_elements() -> list[tuple[str, list[str]]]:
    return junit_elements("x")


@payloads
def test_junit_reparses_with_the_same_elements(payload: str) -> None:
    assert junit_elements(payload) == benign_elements()


def test_a_missing_outcome_is_an_error_not_a_pass() -> None:
    run = run_of({"a": {"p1": [True]}})
    root = ET.fromstring(render_junit(build_view([run.model_copy(update={"outcomes": ()})])))
    error = root.find("testsuite/testcase/error")
    assert error is not None
    assert error.get("type") == "missing"


@pytest.mark.parametrize(
    ("kind", "tag"),
    [
        ("pass", None),
        ("regressed", "failure"),
        ("inconclusive", "skipped"),
        ("incomparable", "error"),
        ("infrastructure", "error"),
    ],
)
def test_junit_is_as_red_as_the_verdict(kind: str, tag: str | None) -> None:
    run, verdicts = example("", 3)
    one = verdicts[0].model_copy(update={"kind": kind})
    root = ET.fromstring(render_junit(build_view([run], [one])))
    [case] = [each for each in root.iter("testcase") if each.get("name") == "verdict"]
    assert [each.tag for each in case] == ([tag] if tag is not None else [])


def test_junit_fails_when_some_samples_fail() -> None:
    root = ET.fromstring(render_junit(build_view([run_of({"a": {"p1": [True, False, True]}})])))
    failure = root.find("testsuite/testcase/failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("2 of 3 attempts passed; logic error")


# CSV


@payloads
@pytest.mark.requirement("R3")
def test_csv_has_no_formula_and_no_broken_row(payload: str) -> None:
    rows = list(csv.reader(io.StringIO(render_csv(example_view(payload, n=3)), newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 1 + 3 * 2
    for row in rows[1:]:
        assert len(row) == len(COLUMNS)
        for cell in row:
            assert not re.match(r"[=+\-@|%\t\r\uff1d\uff0b\uff0d\uff20]", cell), cell
            assert not re.search(r"[\x00-\x1f\x7f]", cell)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "|", "%", "\t=", " =", "\r=", "\uff1d", "\x1b[1m="])
def test_a_field_that_begins_like_a_formula_becomes_text(start: str) -> None:
    run = run_of({"a": {f"{start}1+1": [True]}})
    row = list(csv.reader(io.StringIO(render_csv(build_view([run])), newline="")))[1]
    assert row[COLUMNS.index("problem")].startswith("'")


# Console


@payloads
def test_console_holds_no_command_for_terminal_or_ci(payload: str) -> None:
    text = untrusted(render_console(example_view(payload, n=3), width=40))  # as every caller prints it
    assert not re.search(r"^\s*::|##\[", text, re.MULTILINE)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e]", text)


def test_a_run_without_gaps_lists_no_missing_grades_as_unknown() -> None:
    assert "Without a grade" not in render_console(build_view([run_of({"one": {"p1": [True], "p2": [False]}})]))


def test_a_run_that_is_not_gated_ends_with_what_its_candidates_solve() -> None:
    text = render_console(build_view([run_of({"one": {"p1": [True], "p2": [False]}})]))
    assert text.splitlines()[-1] == "one solves 50.0% [9–91%] n=2; not gated"


def test_without_a_baseline_problems_show_the_first_failure() -> None:
    run = run_of({"one": {"p1": [True], "p2": [False]}})
    detail = "`x.py`: the SEARCH text does not occur"
    failed = {"failure": "patch_does_not_apply", "detail": detail, "tests": ()}
    view = build_view([altered(run, {}, {"grade": failed})])
    assert f"✗ failed: patch does not apply: {detail}" in render_console(view, width=200)
    assert f"✗ failed: patch does not apply: {detail}".replace("`", "\\`") in render_markdown(view)


def test_a_candidate_that_solves_nothing_has_no_weighted_score() -> None:
    text = render_console(build_view([run_of({"one": {"p1": [False], "p2": [False]}})]))
    assert re.search(r"Weighted score +— \(nothing solved\)\n", text)


def test_console_shows_markup_as_it_is() -> None:
    text = render_console(example_view("[bold]x[/bold] :boom:", n=3), width=400)
    assert "good[bold]x[/bold] :boom:" in text


def test_console_lists_are_bounded() -> None:
    text = render_console(example_view(n=120), width=100)
    assert "+40 more" in text


def test_a_console_table_of_many_candidates_is_printed_in_parts() -> None:
    names = [f"candidate-{number}" for number in range(12)]
    text = render_console(build_view([run_of({name: {"p1": [False]} for name in names})]), width=100)
    heads = [line.split() for line in text.splitlines() if line.startswith(" Problem ")]
    columns = ["Bug", *names]
    assert heads == [["Problem", *columns[start : start + 4]] for start in (0, 4, 8, 12)]


# All of them


def test_all_reports_are_written_and_are_the_same_the_next_time(tmp_path: Path) -> None:
    run, verdicts = example(n=6)
    view = build_view([run], verdicts)
    first = write_reports(view, tmp_path / "a" / "b")
    second = write_reports(build_view([run], verdicts), tmp_path / "c")
    assert list(first) == list(report_formats()) == ["html", "json", "junit", "markdown", "csv"]
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes()
        assert path.stat().st_size > 500


def test_reports_are_not_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "reports").symlink_to(outside)
    with pytest.raises(UsageError, match="symbolic link"):
        write_reports(build_view([]), tmp_path / "reports")
    assert list(outside.iterdir()) == []


def test_reports_of_nothing_are_still_reports(tmp_path: Path) -> None:
    for path in write_reports(build_view([]), tmp_path).values():
        assert path.exists()
    render_console(build_view([]))


def test_a_folder_that_cannot_be_written_is_an_infrastructure_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        write_reports(build_view([]), tmp_path / "file" / "reports")


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    view = example_view("\ud800\udfff", n=3)
    assert len(write_reports(view, tmp_path)) == len(report_formats())
    render_console(view).encode()
