"""The prose of what people wrote: references, patches, code and templates are left out, sentences stay whole."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.mining.statements.prose import has_references, prose
from codegate.mining.statements.quotation import first_title, quote_texts, sentences_of
from codegate.mining.statements.vocabulary import gives_fix_away, vocabulary
from tests.mining.statement_world import sums_cut


def quoted(text: str) -> list[str]:
    return sentences_of(quote_texts([(text, "issue")], "", lambda *_: ""))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Fixes #12\nText.", "Text."),
        ("See https://example.org/a/b/issues/1\n\nText.", "Text."),
        ("Fixes #12. text of it", "text of it"),
        ("#12 Text of it", "Text of it"),
        ("#12 has text of it", "#12 has text of it"),
        ("Text.\nhttps://example.org/a", "Text."),
        ("Text as per\nhttps://example.org/a\nand more.", "Text as per\nhttps://example.org/a\nand more."),
        ("Text.\n\nCo-authored-by: B <b@c>\nSigned-off-by: A <a@b>", "Text."),
        ("<!-- hidden\ntext -->\n- [x] tests\nText.", "Text."),
        ("A `<!-- more -->` in text.", "A `<!-- more -->` in text."),
        ("```diff\n+x = 1\n```\nText.", "Text."),
        ("~~~\n@@ -1 +1 @@\n a\n~~~\nText.", "Text."),
        ("Text.\n```\ncode", "Text."),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nText.", "Text."),
        ("-1 is the total, not 0.", "-1 is the total, not 0."),
        ("## Tests added\n\nSome.\n\n### More\n\nOf it.\n\n## Why\n\nText.", "Text."),
        ("Changes\n-------\nmuch\n\nWhy\n---\nText.", "Text."),
        ("**How it was fixed**\nmuch\n\n**Why:**\nText.", "Text."),
        ("Text.\n\nChanges:\n\n- much\n- more\n\nText.", "Text.\n\nText."),
        ("### Checklist ✅\n\n- yes", ""),
        ("### Steps\n\n_No response_\n\n### Why\n\nText.", "Text."),
        ("<details><summary>The fix</summary>\nMore.\n</details>\nText.", "Text."),
        ("Text. <!-- hidden.\nMore of it. --> Text.", "Text. <!-- --> Text."),
        ("## What does this PR do?\n\nMuch.\n\n## How does this PR address it?\n\nMore.\n\n## Why\n\nText.", "Text."),
        ("### What did you do?\n\nText.\n\n### What did you expect to see?\n\nText.", "Text.\nText."),
        ("-return first line.\n+return second line.\nText.", "Text."),
        ("Closes: check the length.\nText.", "Text."),
        ("Said by [alice](https://github.com/alice) of it.", "Said by [alice](https://github.com/alice) of it."),
        ("See [the report](https://github.com/a/b/issues/3) in it.", "See the report in it."),
        ("Text\u200b\u2028and \ud800more\r\n.", "Text\nand ?more\n."),
        ("Merge pull request #1 from a/b", ""),
    ],
)
def test_what_is_no_prose_is_left_out(text: str, left: str) -> None:
    assert "\n".join(line for line in prose(text).strip().splitlines() if line) == left.replace("\n\n", "\n")


def test_words_of_others_are_not_quoted_however_their_lines_end() -> None:
    other = "The fix is to read the length first."
    assert quoted(f"It fails for an empty list.\r> {other}\u2028> {other}\x0b\u200b> {other}") == [
        "It fails for an empty list."
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Broken since 0a1b2c3d.", True),
        ("Broken since other/repo#4.", True),
        ("Broken since `GH-5`.", True),
        ("See :issue:`12` or {pr}`13`.", True),
        ("Said by {user}`me`.", True),
        ("Said by @some-body!", True),
        ("As `the issue <https://a.b>`_ says.", True),
        ("As in ![a picture](x.png).", True),
        ("As <!-- --> it says.", True),
        ("As it says.<br>", True),
        ("`#00ff12` is a colour, `!1` a negation, `@cache` a decorator, :class:`Sum` a class.", False),
        ("Use @a.b, mail a@b, call total() and [] of <T>.", False),
    ],
)
def test_a_reference_is_known(text: str, found: bool) -> None:
    assert has_references(text) is found


@given(
    st.lists(
        st.sampled_from(
            ["The sums of lists are lost. ", "They should be kept ", "fixes #1", "a/b#2", "GH-3", "@me ",
             "https://github.com/z", "[a](https://github.com/b)", "`#5`", "<br>", "<!--", "-->", "```\n", "# Why\n",
             "+x\n", "word ", ". ", "\n", "\n\n", "- ", "> "]
        ),
        max_size=40,
    )
)  # fmt: skip
@settings(max_examples=150)
def test_a_sentence_is_quoted_whole_and_without_references(pieces: list[str]) -> None:
    text = "".join(pieces)
    written = " ".join(text.replace("[a](https://github.com/b)", "a").split())
    for sentence in quoted(text):
        assert not has_references(sentence)
        assert sentence in written


@pytest.mark.parametrize(
    "piece",
    ["(", "[", "![", "<!--", "<img ", "a.", "a/", ". ", ".", ",;", "`", "```\n", "~~~\n", "#", "# a\n", "**a", "_",
     "#1", "a/b#1", "https://", "https://a/ ", "@a-", "-", "+a\n-a\n", " ", "\t", "\u200b", "&#1", "\\_", "a\n==\n",
     "a:", "[a](", "[a](http://", "0a", "A-a-", "<details ", "> ", "how was it \n", "Merge ", "1: r=", "а",
     "**a**\n", "fixes ", "see #1 and "],
)  # fmt: skip
def test_hostile_text_takes_no_time(piece: str) -> None:
    line = piece * (1900 // len(piece)) + "x\n"
    text = line * (24_000 // len(line)) + piece * 4000
    known = vocabulary(sums_cut())
    started = time.process_time()
    first_title([(piece * 1000, "issue")], lambda *_: "", short=True)
    for each in (*quoted(text), prose(text)):
        gives_fix_away(each, known)
    assert time.process_time() - started < 3
