"""One view model, many formats: each of them shows the same figures."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator

from codegate.reporting import (
    ReportView,
    figures,
    render_comment,
    render_console,
    render_csv,
    render_html,
    render_json,
    render_junit,
    render_markdown,
)
from tests.reporting.example import example_view
from tests.reporting.test_said import plainly

Failed = Counter[tuple[str, str]]
"""Failed attempts by candidate and problem."""


def test_people_read_the_same_rates_and_differences_everywhere() -> None:
    view = example_view()
    pages = {
        "console": render_console(view, width=400),
        "markdown": render_markdown(view),
        "html": render_html(view),
        "comment": render_comment(view),
    }
    said = [text for verdict in view.verdicts if verdict.difference is not None for text in (
        verdict.reason, figures.percent(verdict.candidate_rate), figures.percent(verdict.baseline_rate),
        *(flip.problem for flip in verdict.regressions),
    )]  # fmt: skip
    assert len(said) > 20
    for name, page in pages.items():
        shown = plainly(page).replace("`", "").replace("\\", "")
        assert [text for text in said if plainly(text) not in shown] == [], name


def test_machines_read_the_same_failures_everywhere() -> None:
    view = example_view()
    expected = Counter(_in_view(view))
    assert sum(expected.values()) == 20
    assert Counter(_in_json(view)) == Counter(_in_csv(view)) == expected
    assert set(_in_junit(view)) == set(expected)


def _in_view(view: ReportView) -> Iterator[tuple[str, str]]:
    for row in view.problems:
        for entry, cell in zip(view.candidates, row.cells, strict=True):
            yield from ((entry.label, row.id) for attempt in cell.attempts if attempt.status == "failed")


def _in_json(view: ReportView) -> Iterator[tuple[str, str]]:
    document = json.loads(render_json(view))
    labels = [entry["label"] for entry in document["candidates"]]
    for row in document["problems"]:
        for label, cell in zip(labels, row["cells"], strict=True):
            yield from ((label, row["id"]) for attempt in cell["attempts"] if attempt["status"] == "failed")


def _in_csv(view: ReportView) -> Iterator[tuple[str, str]]:
    for row in csv.DictReader(io.StringIO(render_csv(view))):
        if row["status"] == "failed":
            yield row["candidate"], row["problem"]


def _in_junit(view: ReportView) -> Iterator[tuple[str, str]]:
    for suite in ET.fromstring(render_junit(view)).findall("testsuite"):
        for case in suite.findall("testcase"):
            if case.find("failure") is not None and case.get("name") != "verdict":
                yield suite.get("name", ""), case.get("name", "").partition(":")[0]
