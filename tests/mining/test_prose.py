"""The prose of what people wrote: references, patches, code and templates are left out, sentences stay whole."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.mining.statements.prose import has_references, paragraphs
from codegate.mining.statements.quotation import first_title, quote_texts, sentences_of
from codegate.mining.statements.template import template_of
from codegate.mining.statements.vocabulary import gives_fix_away, vocabulary
from codegate.suite import Tree, TreeFile
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
        ("Text as per\nhttps://example.org/a\nand more.", "Text as per https://example.org/a and more."),
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
        ("Text\u200b\u2028and \ud800more\r\n.", "Text and ?more ."),
        ("Merge pull request #1 from a/b", ""),
        ("Merge branch 'main'\nMerge branches fails here.", "Merge branches fails here."),
        ("<Button> crashes in a <Form>\n<img src=x>", "<Button> crashes in a <Form>"),
        ("[ ] Feature request\n[X] Bug report\n\nText.", "Text."),
        ("![image](https://a.b/c.png)\n\nText.", "Text."),
        ("### Suggested fix <!-- optional -->\n\nMuch.\n\n### Why <!-- -->\n\nText.", "Text."),
        ("Text.\n\n| a | b |\n|---|---|\n| much | more |\n\n> Much.\n\n    much()\n\n```\nmore()\n```", "Text."),
        ("It fails:\n\n```\nmore()\n```\nand goes on.", "It fails:\n[…] and goes on."),
        ("Version: 3.2\nSystem: Linux\nShell: sh", "Version: 3.2\nSystem: Linux\nShell: sh"),
        (
            "A line of text that its author wrapped where an editor does:\nSums(3) goes on in the next, as in many.",
            "A line of text that its author wrapped where an editor does: Sums(3) goes on in the next, as in many.",
        ),
        ("> # Old\n\nText.", "Text."),
        ("Proposed fix:\n\nMuch of it.\n\n**Possible fix:** More.\nEven more.\n\n**Why:** Text.", "Text."),
        ("```html\n<!-- much\n```\nText.", "Text."),
        ("The log of the failing run says this:\n\n    much", "The log of the failing run says this: […]"),
        ("See !12 for the text.\nSee !12", "See !12 for the text."),
    ],
)
def test_what_is_no_prose_is_left_out(text: str, left: str) -> None:
    assert "\n".join(each.text for each in paragraphs(text)) == left.replace("\n\n", "\n")


def test_paragraphs_know_their_headings_and_what_they_are() -> None:
    text = (
        "### Steps\n\n1. Make a list.\n\n**Expected**\nIt is whole.\n\nActual:\n\n- It is lost.\n\nSeen twice.\n\n"
        "### Hints\n\nA=1\nB=2\nC=3"
    )
    assert [(each.text, each.heading, each.form) for each in paragraphs(text)] == [
        ("Make a list.", "Steps", "step"),
        ("It is whole.", "Expected", "paragraph"),
        ("Actual:", "Actual", "paragraph"),
        ("It is lost.", "Actual", "bullet"),
        ("Seen twice.", "Expected", "paragraph"),
        ("A=1", "Hints", "line"),
        ("B=2", "Hints", "line"),
        ("C=3", "Hints", "line"),
    ]


def test_what_the_repository_s_templates_say_is_not_quoted() -> None:
    form = """
    body:
      - {type: markdown, attributes: {value: Thank you for taking the time!}}
      - {type: input, attributes: {label: "What version is it? "}}
      - {type: textarea, attributes: {label: What happened?, value: Tell us what you saw of it.}}
      - {type: textarea, attributes: {label: Output of it, render: shell}}
    """
    template = template_of(
        Tree(
            {
                ".github/ISSUE_TEMPLATE/bug.yml": TreeFile(form.encode()),
                ".github/ISSUE_TEMPLATE/old.md": TreeFile(
                    b"### Describe it\n\nA clear description of  the bug.\n**Note**: read it all.\n```\ncode\n```\n"
                ),
                "src/issue_template.py": TreeFile(b"Sums are lost.\n"),
            }
        )
    )
    body = (
        "Thank you for taking the time!\n\n### What version is it?\n\nIt is a version of last year.\n\n"
        "### What happened?\n\nTell us what you saw of it.\nSums are lost.\n\n### Output of it\n\nMuch of it.\n\n"
        "### Describe it\n\nA clear description of the bug.\n**Note**: read it all.\n```\ncode\n```\nThey are lost."
    )
    assert [(each.heading, each.text) for each in paragraphs(body, template)] == [
        ("What happened?", "Sums are lost."),
        ("Describe it", "They are lost."),
    ]


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
        ("Broken since GH-5.", True),
        ("See :issue:`12` or {pr}`13`.", True),
        ("Said by {user}`me`.", True),
        ("Said by @some-body!", True),
        ("As `the issue <https://a.b>`_ says.", True),
        ("As in ![a picture](x.png).", True),
        ("As <!-- --> it says.", True),
        ("As it says.<br>", True),
        ("`GH-5` and `0a1b2c3d` are code, `!1` negates, `@cache` decorates, :class:`Sum` is a class.", False),
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
def test_a_sentence_is_quoted_whole_and_without_references(pieces: list[str]) -> None:
    text = "".join(pieces)
    seen = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)  # nobody sees a comment
    written = " ".join(seen.replace("[a](https://github.com/b)", "a").split())
    for sentence in quoted(text):
        assert not has_references(sentence)
        assert sentence.removeprefix("[…] ") in written


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
    for each in (*quoted(text), "\n".join(each.text for each in paragraphs(text))):
        gives_fix_away(each, known)
    assert time.process_time() - started < 3
