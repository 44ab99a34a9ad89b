"""``codegate demo``: the first thing that anybody runs."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from tests.e2e.conftest import Demo

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def test_the_demo_does_what_it_says(demo: Demo) -> None:
    assert demo.code == 0, demo.errors + demo.out
    assert len(re.findall(r"^good .*: PASS\.", demo.out, re.MULTILINE)) == 1
    assert len(re.findall(r"^worse .*: REGRESSED\.", demo.out, re.MULTILINE)) == 1
    assert "handwritten" in demo.out
    assert "Traceback" not in demo.errors


def test_it_says_how_far_it_is(demo: Demo) -> None:
    steps = re.findall(r"^\[(\d+)/(\d+)\]", demo.errors, re.MULTILINE)
    assert len(steps) >= 4
    assert all(int(done) <= int(total) for done, total in steps)


def test_it_leaves_the_reports_that_it_names(demo: Demo) -> None:
    named = dict(re.findall(r"^(html|junit|json) +(\S+)$", demo.out, re.MULTILINE))
    reports = demo.folder / "reports"
    assert {name: path.rpartition("/")[2] for name, path in named.items()} == {
        "html": "report.html",
        "junit": "junit.xml",
        "json": "report.json",
    }
    report = json.loads((reports / "report.json").read_text())
    assert [verdict["kind"] for verdict in report["verdicts"]] == ["pass", "regressed"]
    assert 24 <= len(report["problems"]) <= 30
    suites = ET.parse(reports / "junit.xml").getroot()
    assert sum(1 for _ in suites.iter("testcase")) >= len(report["problems"])
    page = Tags()
    page.feed((reports / "report.html").read_text())
    assert {"html", "head", "body", "table"} <= page.seen


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
