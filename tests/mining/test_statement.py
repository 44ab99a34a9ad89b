import re
from datetime import UTC, datetime
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import TestResult
from codegate.mining.cut import Cut
from codegate.mining.history import Unit
from codegate.mining.leak import audit
from codegate.mining.statement import MASK, scrub, vocabulary, write_statement
from codegate.mining.validation import TestKind, TestOutcomes
from codegate.suite import Tree, TreeFile

BASE = {
    "pkg/sums.py": "def total(items):\n    first = items[0]\n    return first + sum(items[1:])\n",
    "tests/test_sums.py": "from pkg.sums import total\n",
}
FIXED = (
    "def total(items):\n    if not items:\n        return empty_amount(items)\n"
    "    return first + sum(items[1:], start=0)\n"
)
HIDDEN = "from pkg.sums import total\n\ndef test_total_of_nothing():\n    assert total([]) == 0\n" + "# filler\n" * 10


def _unit(message: str, kind: Literal["merge", "squash", "direct"] = "direct") -> Unit:
    title = message.partition("\n")[0]
    when = datetime(2025, 1, 1, tzinfo=UTC)
    return Unit("c" * 40, "b" * 40, kind, 7, "", False, title, message, "A", "a@b", when, ())


def _cut(extra: dict[str, str] | None = None) -> Cut:
    base = Tree({path: TreeFile(text.encode()) for path, text in (BASE | (extra or {})).items()})
    fix = {"pkg/sums.py": TreeFile(FIXED.encode())}
    hidden = {"tests/test_sums.py": TreeFile(HIDDEN.encode())}
    fixed = base.overlay(fix).overlay(hidden)
    return Cut(base, hidden, fix, fixed, ("tests/test_sums.py",), (), 3)


def _outcomes(test: str, result: TestResult | None, kind: TestKind = "assertion") -> TestOutcomes:
    return TestOutcomes((test,), (), (), (), False, {test: kind}, {test: result})


TEST = "tests/test_sums.py::TestTotals::test_total_of_nothing[x-1]"
FAILED = TestResult(id=TEST, status="failed", exception="IndexError", message="list index out of range")


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
            ("Sum up nothing\n\n```diff\n+x = 1\n```\nText.\n```\nunclosed", "Sum up nothing\n\nText."),
            ("Sum up nothing\n\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\nText.", "Sum up nothing\n\nText."),
            ("Merge pull request #1 from a/b", ""),
            ("", ""),
        ],
    )
    def test_what_is_not_for_the_model_goes(self, message: str, left: str) -> None:
        assert scrub(_unit(message)) == left

    def test_a_merge_with_a_text_of_its_own_drops_the_commits_subjects(self) -> None:
        message = "Merge pull request #1 from a/b\n\nSum up nothing\n* use a default of 0"
        assert "default" not in scrub(_unit(message, "merge"))

    @given(st.lists(st.sampled_from([*" (#!).,\n`[]/-", "#1", "a/b#2", "GH-3", "https://x.y/z", "word", "é", "fix"])))
    def test_no_reference_survives(self, pieces: list[str]) -> None:
        left = scrub(_unit(f"Title\n\n{''.join(pieces)}"))
        assert not re.search(r"(?<!\w)#\d", left)
        assert "https://" not in left


class TestModes:
    def test_the_changes_own_words_are_taken_when_there_are_enough(self) -> None:
        text = "Sum up nothing (#3)\n\nThe total of an empty list raises an error, it should be zero."
        found = write_statement("sums", _unit(text), _cut(), _outcomes(TEST, FAILED))
        assert found is not None
        assert found.mode == "change"
        assert found.text == "Sum up nothing\n\nThe total of an empty list raises an error, it should be zero.\n"

    def test_a_name_that_only_the_fix_knows_is_masked(self) -> None:
        text = "Sum up nothing\n\nThe total of an empty list raises; use empty_amount instead of indexing items."
        found = write_statement("sums", _unit(text), _cut(), _outcomes(TEST, FAILED))
        assert found is not None
        assert found.mode == "change"
        assert "empty_amount" not in found.text
        assert MASK in found.text

    @pytest.mark.parametrize(
        "text",
        [
            "oops",
            "Fix #12",
            "Sum up nothing\n\nNow we return first + sum(items[1:], start=0) for every list that there is.",
        ],
    )
    def test_too_few_words_or_a_quotation_of_the_fix_fall_back_to_the_failures(self, text: str) -> None:
        found = write_statement("sums", _unit(text), _cut(), _outcomes(TEST, FAILED))
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
            (TestResult(id=TEST, status="failed", exception="E", message="got return first + sum(items[1:], start=0)"),
             "assertion", "- Totals: total of nothing [x-1]\n"),
        ],
    )  # fmt: skip
    def test_each_way_to_fail_is_told_without_the_fix(
        self, result: TestResult | None, kind: TestKind, words: str
    ) -> None:
        found = write_statement("sums", _unit("oops"), _cut(), _outcomes(TEST, result, kind))
        assert found is not None
        assert words in found.text
        assert "pkg/sums.py" not in found.text
        assert len(found.text) < 1200

    def test_when_even_a_tests_name_quotes_the_fix_there_is_no_statement(self) -> None:
        test = "tests/test_sums.py::test_it[return first + sum(items[1:], start=0)]"
        assert write_statement("sums", _unit("oops"), _cut(), _outcomes(test, None)) is None


def test_the_vocabulary_is_what_the_whole_base_does_not_have() -> None:
    known = vocabulary(_cut())
    assert known.identifiers == {"empty_amount"}
    assert vocabulary(_cut({"docs/x.md": "empty_amount"})).identifiers == set()


class TestAudit:
    def test_a_clean_base_has_no_findings(self) -> None:
        assert audit(_cut()) == ()

    def test_a_copy_of_the_fix_in_the_base_is_found(self) -> None:
        (finding,) = audit(_cut({"build/lib/pkg/sums.py": FIXED}))
        assert finding.startswith("build/lib/pkg/sums.py has 2 of the 2")

    def test_a_copy_of_a_hidden_test_in_the_base_is_found(self) -> None:
        assert audit(_cut({"old/test_sums.py.orig": HIDDEN})) == (
            "old/test_sums.py.orig has the content of the hidden test tests/test_sums.py",
        )


def test_a_plain_word_is_not_masked_because_the_fix_calls_something_by_it() -> None:
    found = write_statement(
        "p",
        _unit("Start from nothing\n\nThe start of the sum is wrong for an empty list."),
        _cut(),
        _outcomes(TEST, FAILED),
    )
    assert found is not None
    assert MASK not in found.text
