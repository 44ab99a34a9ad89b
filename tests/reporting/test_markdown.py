import functools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from codegate.reporting import one_line, render_markdown
from codegate.reporting.markdown import SUMMARY_LIMIT, escape
from tests.reporting.example import example_view
from tests.reporting.hostile import PAYLOADS

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def structure(text: str) -> list[tuple[str, str]]:
    """Return every token of the parsed page but the text itself."""

    def walk(tokens: list[Token]) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for token in tokens:
            if token.type in {"text", "text_special", "softbreak"}:
                continue
            found.append((token.type, token.content if token.type == "html_inline" else token.tag))
            found += walk(token.children or [])
        return found

    return walk(PARSER.parse(text))


@functools.cache
def benign_structure() -> list[tuple[str, str]]:
    return structure(render_markdown(example_view("x", n=3)))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_data_never_becomes_markup(payload: str) -> None:
    tokens = structure(render_markdown(example_view(f"x{payload}", n=3)))
    assert tokens == benign_structure()
    assert {content for kind, content in tokens if kind == "html_inline"} == {"<code>", "</code>"}
    assert not {kind for kind, _ in tokens} & {"link_open", "image", "html_block", "fence", "code_block"}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_escaped_text_is_inert_anywhere(payload: str) -> None:
    escaped = escape(payload)
    assert not set(escaped) & set("<>|`@*_[]!$~\\\n")
    for frame in ("{}", "a {} b", "# {}", "> {}", "- {}"):
        kinds = structure(frame.format(escaped))
        assert kinds == structure(frame.format("x" if escaped else ""))


@given(st.text(max_size=80))
def test_escaping_loses_nothing(text: str) -> None:
    tokens = PARSER.parseInline(f"<code>{escape(text)}</code>")[0].children or []
    shown = "".join(token.content for token in tokens if token.type in {"text", "text_special"})
    assert shown.replace("\u200b", "").split() == one_line(text).replace("\u200b", "").split()


def test_mentions_and_issue_references_are_broken_up() -> None:
    assert escape("@team fixes #1") == "&#64;&#8203;team fixes &#35;&#8203;1"


@settings(max_examples=20, deadline=None)
@given(st.integers(1_000, 60_000))
def test_the_size_is_bounded_and_rows_stay_whole(limit: int) -> None:
    text = render_markdown(VIEW, limit=limit)
    assert len(text.encode()) <= limit
    for line in text.splitlines():
        if line.startswith("| "):
            assert line.endswith(" |")
            assert line.count("<code>") == line.count("</code>")
    if limit < 20_000:
        assert "more" in text
        assert "Cut to the size limit" in text


VIEW = example_view("`|@", n=200)


def test_a_summary_always_fits_what_github_takes() -> None:
    text = render_markdown(example_view("&" * 180, n=600))
    assert 0.9 * SUMMARY_LIMIT < len(text.encode()) <= SUMMARY_LIMIT
    assert "more" in text


def test_everything_is_there() -> None:
    text = render_markdown(example_view())
    for said in (
        "## ✗ codegate: regressed",
        "## ≈ codegate: inconclusive",
        "## ≠ codegate: incomparable",
        "83.3% [66–93%] n=30",
        "| <code>cache-02</code> | ✓ passed | ! infrastructure |",
        "| <code>flaky-01</code> | not run | <code>quarantined&#58; flaky</code> |",
        "| <code>worse</code> | <code>provider&#46;rate&#95;limit</code> | 1 |",
        "| — |",
    ):
        assert said in text
    assert not re.search(r"^\+\d+ more", text, re.MULTILINE)
