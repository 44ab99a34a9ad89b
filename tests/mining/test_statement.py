import re
import time
import unicodedata
from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codegate.grading import TestResult
from codegate.mining.proving.validation import TestKind
from codegate.mining.sources.enrichment import Enrichment, LinkedIssue
from codegate.mining.statements.failures import title_of
from codegate.mining.statements.interface import interface_of
from codegate.mining.statements.scrub import MAX_CHARACTERS, scrub_text
from codegate.mining.statements.statement import MASK, count_words, scrub_change, write_statement
from codegate.mining.statements.testsource import exact_texts
from codegate.mining.statements.vocabulary import masked, quotes, vocabulary
from tests.mining.statement_world import (
    BASE,
    DAY,
    FAILED,
    FIXED,
    TEST,
    cut_of,
    failing,
    outcomes_of,
    sums_cut,
    unit_of,
)

LINE = "return first + sum(items[1:], start=0)"
ENOUGH = "The total of an empty list raises an error, it should be zero."


def issue(title: str, body: str, *, created: int = -2, edited: int | None = None, number: int = 1) -> LinkedIssue:
    changed = DAY + timedelta(days=edited) if edited is not None else None
    return LinkedIssue(number, title, body, (), DAY + timedelta(days=created), changed)


def enriched(*issues: LinkedIssue, title: str = "", body: str = "") -> Enrichment:
    return Enrichment(title=title, body=body, labels=(), issues=issues)


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
             "Sum up nothing\n\n## Why\n\nText."),
            ("Sum up nothing\n\nChanges\n-------\nmuch\n\nWhy\n---\nText.", "Sum up nothing\n\n## Why\nText."),
            ("Sum up nothing\n\n**How it was fixed**\nmuch\n\n**Why:**\nText.", "Sum up nothing\n\n**Why:**\nText."),
            ("Sum up nothing\n\nText.\n\nChanges:\n\n- much\n- more\n\nText.", "Sum up nothing\n\nText.\n\nText."),
            ("Sum up nothing\n\n### Checklist ✅\n\n- yes", "Sum up nothing"),
            ("Sum up nothing\n\n### Steps\n\n_No response_\n\n### Why\n\nText.", "Sum up nothing\n\n### Why\n\nText."),
            ("Sum up nothing\n\n![a picture](https://x.y/z.png) <img src='x'>Text.", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\nThanks @some-body! Use @property or `@cache`, mail a@b.",
             "Sum up nothing\n\nThanks! Use @property or `@cache`, mail a@b."),
            ("Sum up nothing\n\nSee [the report](https://github.com/a/b/issues/3) and [docs](https://docs.org/x).",
             "Sum up nothing\n\nSee the report and [docs](https://docs.org/x)."),
            ("Sum up nothing\n\nSee #4 and the text.", "Sum up nothing\n\nand the text."),
            ("Sum up nothing\n\nSee https://github.com/a/b/pull/3", "Sum up nothing"),
            ("Sum up nothing\n\nText\u200b\u2028and \ud800more\r\n.", "Sum up nothing\n\nText\nand ?more\n."),
            ("Merge pull request #1 from a/b", ""),
            ("", ""),
        ],
    )  # fmt: skip
    def test_what_is_not_for_the_model_goes(self, message: str, left: str) -> None:
        assert scrub_change(unit_of(message)) == left

    def test_a_reproduction_stays_as_it_is(self) -> None:
        code = (
            "```python\n# Changes\n@decorated  # like #1\nget('https://example.org/issue')\nx = '<!-- a -->'\n-1\n```"
        )
        assert scrub_text("Sum up nothing", f"Try:\n\n{code}") == f"Sum up nothing\n\nTry:\n\n{code}"

    def test_what_leads_to_the_fix_goes_from_a_reproduction_too(self) -> None:
        code = f"```\npip install git+https://github.com/a/b@{'a1' * 20}\ngit show {'a1' * 20}  # a/b#1\nx\n```"
        assert scrub_text("T", code) == "T\n\n```\npip install git+…\ngit show …  # …\nx\n```"

    def test_every_link_into_the_projects_own_repository_goes(self) -> None:
        body = "At https://code-host.example/team/app/src/x.py and https://other.example/doc"
        assert "other.example" in scrub_text("T", body, "team/app")
        assert "code-host" not in scrub_text("T", body, "Team/App")

    def test_a_fence_that_nobody_closed_is_closed(self) -> None:
        assert scrub_text("T", "```\ncode").endswith("```\ncode\n```")

    def test_a_merge_with_a_text_of_its_own_drops_the_commits_subjects(self) -> None:
        message = "Merge pull request #1 from a/b\n\nSum up nothing\n* use a default of 0"
        assert "default" not in scrub_change(unit_of(message, "merge"))

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
        masked(left, known)
        assert time.process_time() - started < 3
        assert len(left) <= MAX_CHARACTERS + 400


DISGUISES: Mapping[str, str] = {"a": "а", "e": "е", "o": "о", "(": "（", "_": "\\_", "+": "&#43;", "s": "ѕ", "r": "𝐫"}


def plain(text: str) -> str:
    """Undo the disguises, by other means than the code under test has."""
    for letter, disguise in DISGUISES.items():
        text = text.replace(disguise, letter)
    return "".join(letter for letter in text.lower() if unicodedata.category(letter) != "Cf" and letter not in " `\n")


class TestLeaks:
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["words of a report ", LINE, "empty_amount", "x\n\n", "```\n", "# T\n", "`"]),
                st.dictionaries(st.sampled_from(sorted(DISGUISES)), st.just(True)),
                st.sampled_from(["", "\u200b", "\u00ad", "`"]),
                st.booleans(),
            ),
            max_size=8,
        )
    )
    @settings(max_examples=60)
    def test_no_disguise_gets_a_line_or_a_name_of_the_fix_through(
        self, pieces: list[tuple[str, dict[str, bool], str, bool]]
    ) -> None:
        body = [f"{ENOUGH} It happens with every list that has nothing in it at all, in all releases.\n"]
        for piece, disguised, between, shouted in pieces:
            spoken = piece.upper() if shouted and piece == LINE else piece
            shown = "".join(DISGUISES[letter] if letter in disguised else letter for letter in spoken)
            body.append(between.join(shown) if between != "`" else shown.replace(" ", "` `"))
            body.append(" ")
        text = "".join(body)
        found = write_statement("s", unit_of(f"Sum up nothing\n\n{text}"), sums_cut(), outcomes_of(TEST, FAILED))
        assert found is not None
        assert "[1:],start=0)" not in plain(found.text)
        assert "empty_amount" not in plain(found.text)

    def test_a_quotation_of_the_fix_is_masked(self) -> None:
        text = f"Sum up nothing\n\n{ENOUGH} It does so for all lists that are empty, everywhere. Now we {LINE} instead."
        found = write_statement("sums", unit_of(text), sums_cut(), outcomes_of(TEST, FAILED))
        assert found is not None
        assert found.mode == "change"
        assert found.text.endswith(f"Now we return first + {MASK} instead.\n")
        assert found.flags == ("masked",)

    @pytest.mark.parametrize("name", ["empty\u200b_amount", "empty\\_amount", "empty&#95;amount", "еmpty_amount"])
    def test_a_name_is_seen_through_its_disguise_wherever_it_comes_from(self, name: str) -> None:
        assert masked(f"Use {name} here.", vocabulary(sums_cut())) == f"Use {MASK} here."

    def test_a_quotation_of_what_the_fix_replaces_is_none(self) -> None:
        text = f"Sum up nothing\n\n{ENOUGH} The line is `return first + sum(items[1:])`."
        found = write_statement("sums", unit_of(text), sums_cut(), outcomes_of(TEST, FAILED))
        assert found is not None
        assert found.text.endswith("`return first + sum(items[1:])`.\n")

    def test_two_short_lines_of_the_fix_are_a_quotation_together(self) -> None:
        assert quotes("if not items:\n    return empty_amount(items)", vocabulary(sums_cut()))

    def test_a_code_block_that_quotes_the_fix_goes_and_the_others_stay(self) -> None:
        text = f"Sum up nothing\n\n{ENOUGH}\n\n```\ntotal([])\n```\n\n```\n{LINE}\n```\n\nSo it is."
        found = write_statement("sums", unit_of(text), sums_cut(), outcomes_of(TEST, FAILED))
        assert found is not None
        assert found.text == f"Sum up nothing\n\n{ENOUGH}\n\n```\ntotal([])\n```\n\nSo it is.\n"
        assert set(found.flags) == {"fence_dropped", "repro"}

    def test_the_vocabulary_is_what_the_whole_base_does_not_have(self) -> None:
        assert vocabulary(sums_cut()).identifiers == {"empty_amount"}
        assert vocabulary(sums_cut({"docs/x.md": "empty_amount"})).identifiers == set()
        assert vocabulary(sums_cut({"docs/x.md": "non_empty_amounts"})).identifiers == {"empty_amount"}

    def test_a_plain_word_is_not_masked_because_the_fix_calls_something_by_it(self) -> None:
        unit = unit_of("Start from nothing\n\nThe start of the sum is wrong for an empty list.")
        found = write_statement("p", unit, sums_cut(), outcomes_of(TEST, FAILED))
        assert found is not None
        assert MASK not in found.text


class TestModes:
    def test_the_changes_own_words_are_taken_when_there_are_enough(self) -> None:
        found = write_statement(
            "sums", unit_of(f"Sum up nothing (#3)\n\n{ENOUGH}"), sums_cut(), outcomes_of(TEST, FAILED)
        )
        assert found is not None
        assert found.mode == "change"
        assert found.text == f"Sum up nothing\n\n{ENOUGH}\n"
        assert found.words == 16 == count_words(found.text)

    def test_a_name_that_only_the_fix_knows_is_masked(self) -> None:
        text = "Sum up nothing\n\nThe total of an empty list raises; use empty_amount instead of indexing items."
        found = write_statement("sums", unit_of(text), sums_cut(), outcomes_of(TEST, FAILED))
        assert found is not None
        assert found.mode == "change"
        assert "empty_amount" not in found.text
        assert MASK in found.text

    def test_a_name_that_the_hidden_tests_use_is_shown_and_not_masked(self) -> None:
        fix = {"pkg/sums.py": FIXED + "\n\ndef empty_amount(items):\n    return 0\n"}
        cut = cut_of(
            BASE,
            fix,
            {"tests/test_sums.py": "from pkg.sums import empty_amount\n\ndef test_x():\n    empty_amount([])\n"},
        )
        interface = interface_of(cut)
        found = write_statement(
            "s", unit_of(f"Sum\n\n{ENOUGH} See empty_amount."), cut, outcomes_of(TEST, FAILED), interface=interface
        )
        assert found is not None
        assert found.text == (
            f"Sum\n\n{ENOUGH} See empty_amount.\n\n## Interface\n\n"
            "The tests use these names, which the code does not have yet:\n\n- `pkg.sums.empty_amount(items)`\n"
        )
        assert found.flags == ("interface",)
        assert found.words == 17

    @pytest.mark.parametrize("text", ["oops", "Fix #12", f"{LINE}\n\nNow we {LINE} for all."])
    def test_too_few_words_or_little_but_the_fix_fall_back_to_the_failures(self, text: str) -> None:
        found = write_statement("sums", unit_of(text), sums_cut(), outcomes_of(TEST, FAILED), modes=("issue", "change"))
        assert found is not None
        assert found.mode == "failure"
        assert found.text == (
            "In sums (pkg), the following behaviour does not work as expected:\n\n"
            "- Totals: total of nothing [x-1] (`IndexError`):\n\n      list index out of range\n\n\n"
            "Find the cause and mend it, without breaking what works.\n"
        )

    @pytest.mark.parametrize(
        ("result", "kind", "words"),
        [
            (None, "timeout", "it does not finish in time"),
            (None, "exception", "it ends the process"),
            (None, "collection", "cannot even be imported"),
            (TestResult(id=TEST, status="failed", exception="_pytest.outcomes.Failed", message="Failed: DID NOT RAISE"),
             "assertion", "(`Failed`):\n\n      DID NOT RAISE"),
            (TestResult(id=TEST, status="failed", exception="E", message="x" * 3000), "assertion", "x" * 400 + "…"),
            (TestResult(id=TEST, status="failed", exception="E", message="in pkg/sums.py at 0x7f00aa"), "assertion",
             "in … at 0x…"),
            (TestResult(id=TEST, status="failed", exception="E", message=f"got {LINE}"), "assertion",
             "- Totals: total of nothing [x-1]\n"),
            (TestResult(id=TEST, status="failed", message="\x1b[31m1 !== 2\x1b[0m\n    at f (/x/pkg/sums.js:1:2)\n"),
             "assertion", ":\n\n      1 !== 2\n\n\nFind"),
            (TestResult(id=TEST, status="failed", message="    sums_test.go:12: Total() = 1, want 0"), "assertion",
             ":\n\n      Total() = 1, want 0\n"),
        ],
    )  # fmt: skip
    def test_each_way_to_fail_is_told_without_the_fix(
        self, result: TestResult | None, kind: TestKind, words: str
    ) -> None:
        found = write_statement("sums", unit_of("oops"), sums_cut(), outcomes_of(TEST, result, kind))
        assert found is not None
        assert words in found.text
        assert "pkg/sums.py" not in found.text
        assert len(found.text) < 1200

    def test_when_even_a_tests_name_quotes_the_fix_there_is_no_statement(self) -> None:
        test = f"tests/test_sums.py::test_it[{LINE}]"
        assert write_statement("sums", unit_of("oops"), sums_cut(), outcomes_of(test, None)) is None


class TestIssues:
    def write(
        self, enrichment: Enrichment, modes: tuple[Literal["issue", "change"], ...] = ("issue",)
    ) -> tuple[str, str]:
        found = write_statement(
            "sums", unit_of(f"Own words\n\n{ENOUGH}"), sums_cut(), outcomes_of(TEST, FAILED),
            enrichment=enrichment, modes=modes, repository="a/b",
        )  # fmt: skip
        assert found is not None
        return found.mode, found.text

    def test_the_linked_issue_comes_first(self) -> None:
        mode, text = self.write(enriched(issue("Empty list (#3)", f"{ENOUGH}\n\n### Suggested fix\n\nuse a default")))
        assert (mode, text) == ("issue", f"Empty list\n\n{ENOUGH}\n")

    @pytest.mark.parametrize(("created", "edited", "body"), [(1, None, ENOUGH), (-2, 1, "")])
    def test_what_was_written_after_the_fix_is_not_used(self, created: int, edited: int | None, body: str) -> None:
        late = issue("The empty list is not summed up to zero as it ought to be", body, created=created, edited=edited)
        assert self.write(enriched(late))[0] == "failure"
        assert self.write(enriched(issue("Other", ENOUGH), late), ("issue", "change"))[0] == "change"

    @pytest.mark.parametrize("edited", [-1, 1])
    def test_an_edit_does_no_harm_to_a_body_from_before_the_fix(self, edited: int) -> None:
        assert self.write(enriched(issue("Empty list", ENOUGH, edited=edited)))[0] == "issue"

    def test_several_issues_are_told_together_in_order(self) -> None:
        second, first = issue("Later", ENOUGH, created=-1), issue("Earlier", ENOUGH, created=-3)
        assert self.write(enriched(second, first))[1] == f"# Earlier\n\n{ENOUGH}\n\n# Later\n\n{ENOUGH}\n"

    def test_an_issue_that_is_gone_after_scrubbing_leaves_the_next_mode(self) -> None:
        empty = issue("#4", "<!-- nothing -->", number=2)
        assert self.write(enriched(issue("Empty list", ENOUGH), empty))[0] == "failure"

    def test_the_pull_requests_words_come_before_the_commits(self) -> None:
        found = self.write(enriched(title="Sum up nothing", body=f"{ENOUGH} Really."), ("issue", "change"))
        assert found == ("change", f"Sum up nothing\n\n{ENOUGH} Really.\n")
        assert self.write(enriched(title="Titled"), ("change",))[1] == f"Titled\n\n{ENOUGH}\n"


class TestScaffold:
    HIDDEN = (
        "import pytest\n\n\nclass TestSum:\n"
        + "".join(
            f'    @pytest.mark.parametrize("x", [1, 2])\n    def test_{name}(self, x):\n'
            "        assert total([]) == x\n\n"
            for name in "abcd"
        )
        + f"    def test_leak(self):\n        {LINE}\n"
    )
    IDS = tuple(f"tests/test_sums.py::TestSum::test_{name}[{x}]" for name in "abcd" for x in (1, 2))

    def shown(self, ids: tuple[str, ...], problem: str = "p", hidden: str = HIDDEN) -> tuple[str, str]:
        cut = cut_of(BASE, {"pkg/sums.py": FIXED}, {"tests/test_sums.py": hidden})
        found = write_statement("s", unit_of("x"), cut, failing(ids), modes=("scaffold",), problem=problem)
        assert found is not None
        return found.mode, found.text

    def test_half_of_the_tests_are_shown_with_their_source(self) -> None:
        mode, text = self.shown(self.IDS)
        assert mode == "scaffold"
        assert "4 of the 8 tests that fail are shown here" in text
        assert text.count("@pytest.mark.parametrize") == text.count("def test_") == 2
        assert '```python\n@pytest.mark.parametrize("x", [1, 2])\ndef test_' in text

    def test_which_ones_follows_from_the_problems_id_alone(self) -> None:
        assert self.shown(self.IDS, "p") == self.shown(self.IDS, "p")
        assert len({self.shown(self.IDS, str(number))[1] for number in range(12)}) > 1

    @pytest.mark.parametrize("number", range(6))
    def test_a_test_that_quotes_the_fix_is_never_shown(self, number: int) -> None:
        ids = (*self.IDS[:2], "tests/test_sums.py::TestSum::test_leak")
        mode, text = self.shown(ids, str(number))
        assert mode == "scaffold"
        assert "def test_a" in text
        assert "start=0" not in text

    @pytest.mark.parametrize(
        "ids",
        [IDS[:2], IDS[:1], ("tests/test_sums.py::TestSum::test_inherited", IDS[0]), ("a.test.js::x", "a.test.js::y")],
    )
    def test_when_nothing_could_stay_hidden_it_is_the_failures(self, ids: tuple[str, ...]) -> None:
        assert self.shown(ids)[0] == "failure"

    def test_tests_too_long_to_show_are_not_shown(self) -> None:
        assert self.shown(self.IDS, hidden=self.HIDDEN.replace("== x", f"== '{'x' * 9000}'"))[0] == "failure"


@pytest.mark.parametrize(
    ("test", "title"),
    [
        ("tests/a.py::TestSums::test_total_of_nothing[x-1]", "Sums: total of nothing [x-1]"),
        ("tests/a.py::test_total[a::b]", "total [a::b]"),
        ("tests/a.py::SumsTestCase::testTotalOfNothing", "Sums: Total Of Nothing"),
        ("tests/a.py::test_DictMixin", "Dict Mixin"),
        ("tests/a.py", "tests a py"),
        ("app.tests.SumsTests.test_total", "Sums: total"),
        ("test/app.test.js::describe > it title", "describe: it title"),
        ("test/app.test.ts::sums > of [1, 2] > adds::up", "sums: of [1, 2]: adds::up"),
        ("pkg::TestParse/empty_input", "Parse: empty input"),
        ("example.org/mod/pkg::TestParse", "Parse"),
        ("pkg::TestParseURL/a/b_c", "Parse URL: a / b c"),
        ("pkg::Test", "Test"),
        ("x::\u200btest_a\nb" + "c" * 900, "a b" + "c" * 277 + "…"),
    ],
)
def test_titles_read_well_in_every_language(test: str, title: str) -> None:
    assert title_of(test) == title


class TestExactTexts:
    PYTHON = (
        "def test_match():\n    with pytest.raises(ValueError, match='x'):\n        f()\n"
        "def test_long():\n    assert f() == 'twenty characters long'\n    assert f() == 'short'\n"
        "class TestX(TestCase):\n    def test_unit(self):\n"
        "        self.assertEqual(f(), f'twenty characters {x} longer')\n"
        "        self.assertRaisesRegex(E, 'x', f)\n        self.assertEqual(f(), 1)\n"
        "def test_snapshot(snapshot):\n    assert f() == snapshot\n"
    )
    SCRIPT = (
        "describe('sums', () => {\n  it('is exact', () => {\n    expect(f()).toBe('twenty characters long');\n"
        "    expect(f()).toMatchInlineSnapshot();\n    expect(f).toThrow('no')\n  });\n"
        "  it('is loose', () => { expect(f()).toBe(1); });\n});\n"
    )
    GO = (
        'package sums\n\nfunc TestExact(t *testing.T) {\n\tif f() != "twenty characters long" {\n\t}\n}\n\n'
        "func TestLoose(t *testing.T) {\n\tif f() != 1 {\n\t}\n}\n"
    )

    @pytest.mark.parametrize(
        ("tests", "count"),
        [
            (("t.py::test_match",), 1),
            (("t.py::test_long",), 1),
            (("t.py::TestX::test_unit[1]", "t.py::TestX::test_unit[2]"), 2),
            (("t.py::test_snapshot", "t.py::test_match"), 2),
            (("t.py::test_none",), None),
            (("a.test.js::sums > is exact",), 3),
            (("a.test.js::sums > is loose",), 0),
            (("sums::TestExact/a", "sums::TestExact/b"), 1),
            (("sums::TestLoose",), 0),
        ],
    )
    def test_assertions_of_exact_wording_are_counted(self, tests: tuple[str, ...], count: int | None) -> None:
        hidden = {"t.py": self.PYTHON, "a.test.js": self.SCRIPT, "sums/sums_test.go": self.GO}
        assert exact_texts(cut_of({}, {}, hidden), tests) == count
