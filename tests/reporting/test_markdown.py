import functools
import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from codegate.reporting import one_line, render_markdown
from codegate.reporting.cells import Name, Title
from codegate.reporting.markdown import SUMMARY_LIMIT, code, escape, table_row
from tests.reporting.example import example_view
from tests.reporting.hostile import HOSTILE, PAYLOADS

SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def structure(text: str) -> list[tuple[str, str]]:
    """Return every token of the parsed page but the text itself."""

    def walk(tokens: list[Token]) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        for token in tokens:
            if token.type in {"text", "text_special", "softbreak"}:
                continue
            shown = token.content if token.type == "html_inline" else token.attrs.get("href", token.tag)
            found.append((token.type, str(shown)))
            found += walk(token.children or [])
        return found

    return walk(PARSER.parse(text))


@functools.cache
def benign_structure() -> list[tuple[str, str]]:
    return structure(render_markdown(example_view("x", n=3)))


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_data_never_becomes_markup(payload: str) -> None:
    tokens = structure(render_markdown(example_view(f"x{payload}", n=3)))
    assert tokens == benign_structure()
    assert not {kind for kind, _ in tokens} & {"image", "html_inline", "html_block", "fence", "code_block"}
    links = {where for kind, where in tokens if kind == "link_open"}
    assert links == {f"https://github.com/acme/shop/pull/{number}" for number in (100, 101, 102)}


PAGE = "https://git.example/acme/shop"
FRAMES = ("{}", "a {} b", "# {}", "> {}", "- {}", "> a\n> {}", "**{}**")
MARKUP = st.text(st.sampled_from("`*_[](){}<>!#|\\~@:-=+1. /&;$ax\n\t"), max_size=30)
"""Text of little else than what Markdown reads as markup."""


def inert(text: str) -> None:
    """Both ways to write ``text`` are one plain text or one code span, wherever they stand."""
    sentence, name = escape(text), code(text)
    for frame in FRAMES:
        assert structure(frame.format(sentence)) == structure(frame.format("x" if sentence else "")), sentence
    assert not re.search(r"@\w|#\w|gh-\d|\w://|www\.", html.unescape(sentence), re.IGNORECASE)
    if name:
        assert structure(f"a {name} b") == structure("a `x` b"), name
    table = "\n".join(
        [
            table_row("ab"),
            "| --- | --- |",
            table_row([Title(text if sentence else "x", PAGE), Name(text if name else "x")]),
        ]
    )
    assert structure(table) == structure(f"| a | b |\n| --- | --- |\n| [x]({PAGE}) | `x` |"), table
    assert structure(table_row([text if sentence else "x"])) == structure("| x |")


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_escaped_text_is_inert_anywhere(payload: str) -> None:
    inert(payload)


@given(MARKUP)
def test_text_made_of_markup_is_inert_anywhere(text: str) -> None:
    inert(text)


@given(st.text(max_size=80) | MARKUP)
def test_escaping_loses_nothing(text: str) -> None:
    for written in (escape(text), code(text)):
        tokens = PARSER.parseInline(written)[0].children or []
        shown = "".join(token.content for token in tokens)
        assert shown.replace("\u200b", "").split() == one_line(text).replace("\u200b", "").split()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the candidate is worse (p = .002): -30 pp, 93 % interval -50 to -10", None),
        ('3 < 5 & a > b; don\'t quote "this", {that} or $0.12', None),
        ("provider.rate_limit in tests/test_a.py::test_it", None),
        ("@team fixes #1, GH-2", "@\u200bteam fixes #\u200b1, GH-\u200b2"),
        ("see https://a.example/x", "see https\u200b://a.example/x"),
        ("**bold** [x](y) <b> &amp; __init__ a|b", r"\*\*bold\*\* \[x](y) \<b> \&amp; \_\_init\_\_ a\|b"),
        ("# no heading", r"\# no heading"),
        ("1. no list", r"1\. no list"),
    ],
)
def test_a_sentence_can_be_read_without_being_rendered(text: str, written: str | None) -> None:
    assert escape(text) == (written or text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("tests/a.py::test_b[x-<1>]", "`tests/a.py::test_b[x-<1>]`"),
        ("a`b``c", "```a`b``c```"),
        ("`", "`` ` ``"),
        ("", ""),
    ],
)
def test_a_name_is_a_code_span_that_holds_it_as_it_is(text: str, written: str) -> None:
    assert code(text) == written


@given(st.integers(1_000, 32_000))
def test_the_size_is_bounded_and_rows_stay_whole(limit: int) -> None:
    text = render_markdown(VIEW, limit=limit)
    assert len(text.encode()) <= limit
    for line in text.splitlines():
        if line.startswith("| "):
            assert line.endswith(" |")
            assert "`" not in SPAN.sub("", line.replace("\\`", "")), "every code span is closed"
    if limit < 20_000:
        assert "more" in text
        assert "Cut to the size limit" in text


VIEW = example_view("`|@", n=60)  # 32 kB


@pytest.mark.sandbox
@pytest.mark.full
def test_a_summary_always_fits_what_github_takes() -> None:
    text = render_markdown(example_view("&" * 180, n=1500))
    assert 0.9 * SUMMARY_LIMIT < len(text.encode()) <= SUMMARY_LIMIT
    assert "more" in text
