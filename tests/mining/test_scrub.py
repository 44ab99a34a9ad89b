"""Scrubbing of what people wrote: references, patches, code, templates and plumbing go, prose stays."""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codegate.mining.statements.scrub import MAX_CHARACTERS, scrub_text
from codegate.mining.statements.vocabulary import gives_fix_away, vocabulary
from tests.mining.statement_world import sums_cut


class TestScrub:
    @pytest.mark.parametrize(
        ("message", "left"),
        [
            ("Sum up nothing (#12)", "Sum up nothing"),
            ("Sum up nothing\n\nFixes #12. It used to raise.", "Sum up nothing\n\nIt used to raise."),
            ("Sum up nothing\n\nSee https://example.org/a/b/issues/1 for more.", "Sum up nothing\n\nSee for more."),
            ("Sum up nothing\n\nBroken since 0a1b2c3d, other/repo#4 and GH-5.", "Sum up nothing\n\nBroken since, and."),
            ("Sum up nothing\n\nText.\n\nCo-authored-by: B <b@c>\nSigned-off-by: A <a@b>", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n<!-- hidden\ntext -->\n- [x] tests\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n```diff\n+x = 1\n```\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n```suggestion\nx = 1\n```\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n~~~\n@@ -1 +1 @@\n a\n~~~\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n-total = 1\n+total = 0\n\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n-1 is the total, not 0.", "Sum up nothing\n\n-1 is the total, not 0."),
            ("Sum up nothing\n\n## Tests added\n\nSome.\n\n### More\n\nOf it.\n\n## Why\n\nText.",
             "Sum up nothing\n\nText."),
            ("Sum up nothing\n\nChanges\n-------\nmuch\n\nWhy\n---\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n**How it was fixed**\nmuch\n\n**Why:**\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\nText.\n\nChanges:\n\n- much\n- more\n\nText.", "Sum up nothing\n\nText.\n\nText."),
            ("Sum up nothing\n\n### Checklist ✅\n\n- yes", "Sum up nothing"),
            ("Sum up nothing\n\n### Steps\n\n_No response_\n\n### Why\n\nText.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n![a picture](https://x.y/z.png) <img src='x'>Text.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\nA `<br>` and `<img>`<br>are lost.", "Sum up nothing\n\nA `<br>` and `<img>`are lost."),
            ("Sum up nothing\n\nPR by @some-body. Use @a.b.", "Sum up nothing\n\nPR by. Use @a.b."),
            ("Sum up nothing\n\nThanks [Some-body](https://a.b/some-body) and `me <https://a.b/me>`_ for it.",
             "Sum up nothing\n\nThanks and for it."),
            ("Sum up nothing\n\nThanks @some-body! Use @property or `@cache`, mail a@b.",
             "Sum up nothing\n\nThanks! Use @property or `@cache`, mail a@b."),
            ("Sum up nothing\n\nSee [the report](https://github.com/a/b/issues/3) and [docs](https://docs.org/x).",
             "Sum up nothing\n\nSee the report and docs."),
            ("Sum up [] as {} (#4)", "Sum up [] as {}"),
            ("Sum up `[]int` (#4)", "Sum up `[]int`"),
            ("Sum up ``f(..., x=1)`` and ``#3`` (#4)", "Sum up ``f(..., x=1)`` and"),
            ("Sum up nothing\n\nSee #4 and the text.", "Sum up nothing\n\nand the text."),
            ("Sum up nothing\n\nSee https://github.com/a/b/pull/3", "Sum up nothing"),
            ("Sum up nothing\n\nText\u200b\u2028and \ud800more\r\n.", "Sum up nothing\n\nText\nand ?more\n."),
            ("Sum up nothing\n\nCall total() for it (see #4).", "Sum up nothing\n\nCall total() for it."),
            ("Sum up nothing\n\n:class:`Sum` is empty. See #4", "Sum up nothing\n\n:class:`Sum` is empty."),
            ("Sum up nothing\n\nBroken since `other/repo#4`, `GH-5` and ``#6``.",
             "Sum up nothing\n\nBroken since, and."),
            ("Sum up nothing\n\nText (:issue:`#4`, `#5 <https://a.b>`__). See `#6`_.", "Sum up nothing\n\nText. See."),
            ("Sum up nothing\n\nText (:issue:`12`, {pr}`13`) of :class:`A`. Thanks :user:`me`.",
             "Sum up nothing\n\nText of :class:`A`. Thanks."),
            ("Sum up nothing\n\n`see(a/b#4, '#5')` and `#00ff12` if `!1`.",
             "Sum up nothing\n\n`see(…, '…')` and `#00ff12` if `!1`."),
            ("Merge pull request #1 from a/b", ""),
            ("", ""),
        ],
    )  # fmt: skip
    def test_what_is_not_for_the_model_goes(self, message: str, left: str) -> None:
        assert scrub_text(*message.split("\n\n", 1) if "\n\n" in message else (message, "")) == left

    def test_code_goes_and_so_does_what_follows_a_fence_that_nobody_closed(self) -> None:
        assert scrub_text("Sum up nothing", "Try:\n\n```python\nx = '<!-- a -->'\n```\n\nText.") == (
            "Sum up nothing\n\nTry:\n\nText."
        )
        assert scrub_text("T", "Text.\n```\ncode") == "T\n\nText."

    @given(
        st.lists(st.sampled_from([*" (#!).,\n[]/-", "#1", "a/b#2", "GH-3", "https://github.com/z", "word", "é", "fix"]))
    )
    def test_no_reference_survives(self, pieces: list[str]) -> None:
        left = scrub_text("Title", "".join(pieces))
        assert not re.search(r"(?<!\w)#\d", left)
        assert "https://" not in left

    @given(
        st.lists(
            st.sampled_from(
                [*" \n\n\n()[]`*#-+>@<|_", "```", "~~~", "# Changes", "## Why", "**Tests**", "---", "===", "Fixes:",
                 "#1", "a/b#2", "https://github.com/x", "<!--", "-->", "![a](b)",
                 "[a](https://github.com/b)", "- [ ]", "@me", "Changes:",
                 "+x", "-x", "0a1b2c3d", "word", "\u200b", "\t", "1.", "diff --git ", "@@ -1", "See"]
            ),
            max_size=60,
        )
    )  # fmt: skip
    @example(["``", "`\n", "#1"])
    @settings(max_examples=120)
    def test_scrubbing_twice_changes_nothing(self, pieces: list[str]) -> None:
        once = scrub_text("", "".join(pieces))
        assert scrub_text("", once) == once

    @pytest.mark.parametrize(
        "piece",
        ["(", "[", "![", "<!--", "<img ", "a.", "a/", ". ", ".", ",;", "`", "```\n", "~~~\n", "#", "# a\n", "**a", "_",
         "#1", "a/b#1", "https://", "https://a/ ", "@a-", "-", "+a\n-a\n", " ", "\t", "\u200b", "&#1", "\\_", "a\n==\n",
         "a:", "[a](", "[a](http://", "0a", "A-a-", "<details ", "> ", "how was it \n", "Merge ", "1: r=", "а",
         "**a**\n"],
    )  # fmt: skip
    def test_hostile_text_takes_no_time(self, piece: str) -> None:
        line = piece * (1900 // len(piece)) + "x\n"
        text = line * (24_000 // len(line)) + piece * 4000
        known = vocabulary(sums_cut())
        started = time.process_time()
        left = scrub_text(piece * 1000, text)
        gives_fix_away(left, known)
        assert time.process_time() - started < 3
        assert len(left) <= MAX_CHARACTERS + 400


def test_a_reference_that_is_taken_out_leaves_the_end_of_its_line_as_it_is() -> None:
    text = "Fixes #5. Bookings that only touch are reported as overlapping:\nSpan(9, 10) overlaps, as said in: #7"
    expected = "Bookings that only touch are reported as overlapping:\nSpan(9, 10) overlaps, as said in"
    assert scrub_text("", text) == expected
