"""Every format of a report, from one view."""

import re
from html import unescape

import pytest

from codegate.reporting import (
    render_comment,
    render_console,
    render_csv,
    render_html,
    render_json,
    render_junit,
    render_markdown,
)
from tests.golden.golden import check
from tests.reporting.example import example_view


def _words(page: str) -> str:
    """Return what a person reads of a page, a line for each element."""
    shown = re.sub(r"(?s)<(style|script)>.*?</\1>", "", page)
    lines = (" ".join(line.split()) for line in unescape(re.sub(r"<[^>]*>", "\n", shown)).split("\n"))
    return "".join(f"{line}\n" for line in lines if line)


VIEW = example_view(n=4)
FORMATS = {
    "console.txt": lambda: render_console(VIEW, width=100),
    "comment.md": lambda: render_comment(VIEW),
    "summary.md": lambda: render_markdown(VIEW),
    "page.txt": lambda: _words(render_html(VIEW)),
    "attempts.json": lambda: render_json(VIEW),
    "attempts.csv": lambda: render_csv(VIEW).replace("\r\n", "\n"),
    "junit.xml": lambda: render_junit(VIEW),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.requirement("D1", "R1", "R3")
def test_a_format_is_what_it_was(name: str) -> None:
    check(f"formats/{name}", FORMATS[name]())
