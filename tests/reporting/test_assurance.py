"""Every format says whether the sandbox was verified, by what, and what it does not promise."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from codegate.reporting import ReportView, build_view, render_console, render_json
from codegate.reporting.csv_report import render_csv
from codegate.reporting.html import render_html
from codegate.reporting.junit import render_junit
from codegate.reporting.markdown import render_markdown
from codegate.sandbox import Assurance
from tests.reporting.example import example

WORDS = "verified (docker, runc 1.1.5)"
WEAK = "runc 1.1.5 has a number older than 1.1.12"


def _assurance(**changes: object) -> Assurance:
    return Assurance.model_validate({
        "sandbox": "docker", "tier": "runc", "engine": "Docker 28.0.0", "runtime": "runc 1.1.5", "kernel": "6.1",
        "environment": "sha256:0", "checks": (), "weaknesses": (WEAK,), **changes,
    })  # fmt: skip


FORMATS: dict[str, Callable[[ReportView], str]] = {
    "html": render_html, "markdown": render_markdown, "console": lambda view: render_console(view, width=200),
    "json": render_json, "junit": render_junit, "csv": render_csv,
}  # fmt: skip


def _plainly(text: str) -> str:
    return unescape(re.sub(r"<code>|</code>|\u200b", "", unescape(text)))


@pytest.mark.parametrize("name", FORMATS)
def test_a_verified_sandbox_is_said(name: str) -> None:
    run, verdicts = example()
    text = _plainly(FORMATS[name](build_view([run.model_copy(update={"assurances": (_assurance(),)})], verdicts)))
    assert WORDS in text
    assert "not verified" not in text
    assert WEAK in text or name == "csv"


@pytest.mark.parametrize("name", FORMATS)
def test_a_sandbox_that_was_not_looked_at_is_said(name: str) -> None:
    run, verdicts = example()
    assert "not verified (bwrap)" in _plainly(FORMATS[name](build_view([run], verdicts)))


def test_sandboxes_of_several_kinds_and_hostile_words_are_said_in_one_line() -> None:
    run, _ = example()
    odd = _assurance(runtime="runc\n\x1b[31m::error::", environment="other", weaknesses=())
    view = build_view([run.model_copy(update={"assurances": (_assurance(), odd)})])
    assert view.runs[0].assurance == f"{WORDS}; verified (docker, runc ::error::)"
    assert "::error" not in render_console(view, width=200)
