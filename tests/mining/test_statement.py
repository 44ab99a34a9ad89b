"""Statements: what the writer takes from a repository's texts and from examples, and what its gates keep out."""

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.grading import TestResult
from codegate.mining.probes.example import Example
from codegate.mining.sources.enrichment import Enrichment, LinkedIssue
from codegate.mining.statements.interface import NO_INTERFACE, interface_of
from codegate.mining.statements.material import entries_of
from codegate.mining.statements.statement import StatementText, count_words, gates_of, write_statement
from codegate.mining.statements.testsource import named_case
from codegate.mining.statements.vocabulary import FixVocabulary, gives_away, vocabulary
from codegate.suite import Tree
from tests.mining.statement_world import BASE, DAY, FAILED, FIXED, TEST, cut_of, files, outcomes_of, sums_cut, unit_of

LINE = "return first + sum(items[1:], start=0)"
ENOUGH = "The total of an empty list raises an error. It has to be said that the total should be zero."
MESSAGE = f"Fix total() of an empty list\n\n{ENOUGH.replace('It has to be said that the', 'The')}"
EXAMPLE = Example(
    "from pkg.sums import total", "total([])", "raises IndexError: list index out of range", "0", called="total"
)


def write(message: str = MESSAGE, result: TestResult | None = None, **arguments: object) -> StatementText | str:
    return write_statement(unit_of(message), sums_cut(), outcomes_of(TEST, result), **arguments)  # type: ignore[arg-type]


def written(message: str = MESSAGE, result: TestResult | None = None, **arguments: object) -> StatementText:
    found = write(message, result, **arguments)
    assert isinstance(found, StatementText), found
    return found


class TestSlots:
    def test_title_observed_and_expected_come_from_the_message(self) -> None:
        found = written()
        assert found.text == (
            "# The total of an empty list raises an error\n\n"
            "The total should be zero.\n\nWhat works today must keep working.\n"
        )
        assert (found.mode, found.sources) == ("sources", ("commit",))
        assert found.words == count_words(found.text)

    def test_an_example_shows_its_two_results(self) -> None:
        found = written("Fix total of nothing", examples=[EXAMPLE])
        assert found.text == (
            "# Total of nothing: `IndexError` is raised\n\n"
            "For example:\n\n```python\nfrom pkg.sums import total\ntotal([])\n```\n\n"
            "Actual:\n\n```\nraises IndexError: list index out of range\n```\n\nExpected:\n\n```\n0\n```\n\n"
            "What works today must keep working.\n"
        )
        assert found.sources == ("probe",)

    def test_further_values_of_an_example_are_one_line_each(self) -> None:
        example = replace(EXAMPLE, also=(("len(rest)", "1", "2"),))
        assert "```\n0\n```\n\n`len(rest)` is `1` and should be `2`.\n\nWhat works" in written(examples=[example]).text

    @pytest.mark.parametrize(
        ("message", "title"),
        [
            ("Return zero for nothing", "Zero is not returned for nothing"),
            ("Disable nested lists", "Nested lists are not disabled"),
            ("Do not apply limits to nested lists", "Limits are applied to nested lists"),
            ("Only treat a text as a list", "`total([])` gives `1` instead of `0`"),
            ("Reject lists of words instead of summing them", "Lists of words are not rejected"),
            ("Fix order of nested lists", "Order of nested lists: `total([])` gives `1` instead of `0`"),
            ("Fix page count of lists", "Page count of lists: `total([])` gives `1` instead of `0`"),
            ("Fix totals of nested lists", "Totals of nested lists: `total([])` gives `1` instead of `0`"),
            ("Fix rounding nested lists", "Rounding nested lists: `total([])` gives `1` instead of `0`"),
            ("Fix padding width", "Padding width: `total([])` gives `1` instead of `0`"),
            ("Fix superfluous space", "Superfluous space"),
            ("fix: totals with nested lists", "Totals with nested lists: `total([])` gives `1` instead of `0`"),
            ("fix: hoist nested lists", "`total([])` gives `1` instead of `0`"),
            ("fix failing test", "`total([])` gives `1` instead of `0`"),
            ("Fix nil pointer dereference of lists", "Nil pointer dereference of lists"),
            ("Fix deadlocks of two writers", "Deadlocks of two writers"),
            ("Fix raw markup printed on errors", "Raw markup printed on errors"),
            ("Fix grapheme widths and edge cases", "Grapheme widths: `total([])` gives `1` instead of `0`"),
            ("Properly support nested lists", "Nested lists are not supported"),
            ("Fix wrong total of nothing", "Wrong total of nothing"),
            ("Fix copy of lists: keep the bounds", "Copy of lists: `total([])` gives `1` instead of `0`"),
            ("Fix split handling of lists", "Split handling of lists: `total([])` gives `1` instead of `0`"),
            ("Fix total2 of lists", "total2 of lists: `total([])` gives `1` instead of `0`"),
            ("Order of nested lists", "`total([])` gives `1` instead of `0`"),
            ("Fix sums of lists to compare all values", "Sums of lists do not compare all values"),
            ("Fix #12", "`total([])` gives `1` instead of `0`"),
            ("Keep the last of the items", "Last of the items is not kept"),
            ("Make lists of words summable", "Lists of words are not summable"),
            ("Raise on odd items instead of dropping them", "`total()` does not raise on odd items"),
            ("fix: lists without names", "Lists without names"),
            ("Encode names more consistently", "Names are not encoded"),
            ("Fix parser mixing names of lists", "Parser mixing names of lists: `total([])` gives `1` instead of `0`"),
            ("Reset names of lists", "Names of lists are not reset"),
            ("fix: keep lists deterministic", "`total()` does not keep lists deterministic"),
            ("fix: reduce limits to prevent lost names", "Lost names"),
            (
                "Raise KeyError instead of IndexError for nothing",
                "IndexError is raised instead of KeyError for nothing",
            ),
            (
                "In lists, resolve <br/> to a space instead of a name",
                "`<br/>` is resolved to a name instead of a space in lists",
            ),
            ("Fix totals: use sums of names", "`total([])` gives `1` instead of `0`"),
            ("Don't crash in total() when nothing is given", "Crash in total() when nothing is given"),
            ("Detect and fall back for nothing", "`total()` does not detect and fall back for nothing"),
            ("Report division by zero as an error", "Division by zero is not reported as an error"),
            ("Fix premature sums", "Premature sums: `total([])` gives `1` instead of `0`"),
            ("Always pad names with zeros", "Names are not always padded with zeros"),
            ("Make totals operate on runes to avoid lost names", "Lost names"),
            ("fix: SQL lists", "SQL lists: `total([])` gives `1` instead of `0`"),
            ("Fix <= comparison", "<= comparison: `total([])` gives `1` instead of `0`"),
            ("Stop adding up names", "`total()` does not stop adding up names"),
            ("Honor sort_keys for lists", "sort_keys for lists is not honored"),
            ("Reject text in sums of a and b", "Text in sums of a and b is not rejected"),
            ("A text is not a list", "`total([])` gives `1` instead of `0`"),
            ("Handle TypeError in sums", "`total([])` gives `1` instead of `0`"),
            ("Fix bug where lists are lost because the loop compares items", "Lists are lost"),
        ],
    )
    def test_a_title_names_who_is_at_fault_and_that_something_is_wrong(self, message: str, title: str) -> None:
        example = replace(EXAMPLE, observed="1", called="total")
        assert written(message, examples=[example]).text.startswith(f"# {title}\n")

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            ("Fix #12", "no source says what happens today, and no probe shows it"),
            ("Sum up nothing\n\nTotals should be zero when there is nothing.", "no source says what happens today"),
            ("Fix crash of the total for empty lists", "no source says what should happen instead"),
            ("Handle totals of empty lists", "no source says what should happen instead"),
        ],
    )
    def test_without_observed_and_expected_there_is_no_statement(self, message: str, reason: str) -> None:
        found = write(message)
        assert isinstance(found, str)
        assert found.startswith(reason)

    def test_one_example_does_not_stand_for_many_tests(self) -> None:
        many = outcomes_of(TEST, None)
        many = replace(many, fail_to_pass=tuple(f"tests/test_sums.py::test_{number}[x]" for number in range(3)))
        unit, cut = unit_of("Fix total of nothing"), sums_cut()
        assert write_statement(unit, cut, many, examples=[EXAMPLE]) == (
            "the tests check more than the examples show, and no source says it"
        )
        alike = write_statement(unit, cut, many, examples=[replace(EXAMPLE, tests=("a", "b"))])
        assert isinstance(alike, StatementText)

    def test_without_an_example_a_title_alone_is_no_statement(self) -> None:
        title = "Totals of nothing crash; totals of nothing should be zero"
        assert write(title) == "no source says more than the title, and no probe shows it"

    @pytest.mark.parametrize(
        ("example", "title"),
        [
            ({"expression": f"total({list(range(30))})"}, "Page count of lists: `total()` gives `1` instead of `0`"),
            ({"expression": "found"}, "Page count of lists: `total()` gives `1` instead of `0`"),
            (
                {"expression": 'fmt.Printf("%#v\\n", total(1))'},
                "Page count of lists: `total(1)` gives `1` instead of `0`",
            ),
            ({"expression": "found", "observed": "1" * 80}, "Problem with page count of lists"),
            (
                {"expression": "fmt.Println(err)", "observed": "1" * 80, "expected": "<nil>"},
                "Page count of lists: `total()` returns an error",
            ),
            (
                {"expression": "fmt.Println(err)", "observed": "1" * 80, "expected": "2"},
                "Page count of lists: `total()` returns a wrong error",
            ),
            (
                {"expression": "fmt.Println(err)", "observed": "<nil>", "expected": "1" * 80},
                "Page count of lists: `total()` returns no error",
            ),
            (
                {"expression": "fmt.Println(found)", "observed": f"panics: {'1' * 80}"},
                "Page count of lists: panic",
            ),
            (
                {"code": "const sums = require('./sums')", "expression": "sums.total(1)"},
                "Page count of lists: `sums.total(1)` gives `1` instead of `0`",
            ),
            (
                {"code": "const sums = read()", "expression": "sums.total()"},
                "Page count of lists: `total()` gives `1` instead of `0`",
            ),
            (
                {"expression": "found.first", "observed": "1" * 80},
                "Problem with page count of lists",
            ),
            (
                {"observed": "'the sum of **lists**'", "expected": "'the sum of lists'"},
                "Page count of lists: the result of `total()` has `**` too many in 2 places",
            ),
            (
                {"observed": "'the sum of all the lists'", "expected": "''"},
                "Page count of lists: `total([])` gives `'the sum of all the lists'` instead of `''`",
            ),
            (
                {"observed": "'the sum oflists'", "expected": "'the sum of lists'"},
                "Page count of lists: the result of `total()` lacks one space",
            ),
            (
                {"observed": r'"\n sum of\nlists"', "expected": r'"\nsum of lists "'},
                "Page count of lists: the result of `total()` has wrong whitespace",
            ),
            (
                {"observed": r"'\n\nthe sum'", "expected": r"'\n\n\xa0the sum'"},
                r"Page count of lists: the result of `total()` lacks `\xa0`",
            ),
        ],
    )
    def test_a_topic_is_completed_by_what_the_function_gives(self, example: dict[str, str], title: str) -> None:
        shown = replace(EXAMPLE, **{"called": "total", "observed": "1", **example})  # type: ignore[arg-type]
        assert written("Fix page count of lists", examples=[shown]).text.startswith(f"# {title}\n")

    def test_a_long_sentence_is_no_title(self) -> None:
        many = " and ".join(["The total of an empty list is wrong"] * 4)
        found = written(f"Fix #12\n\n{many}.", examples=[EXAMPLE])
        assert found.text.startswith("# `total([])` raises `IndexError`\n")

    def test_tests_that_expect_what_is_wrong_are_named(self) -> None:
        tests = outcomes_of("tests/test_sums.py::test_total", None)
        unit, cut, old = unit_of("Fix total of nothing"), sums_cut(), ["tests/test_sums.py::test_total"]
        example = replace(EXAMPLE, tests=(*old,))
        found = write_statement(unit, cut, tests, examples=[example], overturned=old)
        assert isinstance(found, StatementText)
        assert "What works today must keep working" not in found.text
        assert found.text.endswith(
            "These tests expect the wrong behaviour and will be changed: `tests/test_sums.py::test_total`.\n"
        )
        found = write_statement(unit, cut, tests, examples=[EXAMPLE], overturned=old)
        assert found == "the fix changes what existing tests expect, and no example shows it"

    def test_a_sentence_on_something_else_is_left_out(self) -> None:
        body = "Arrays of sums are lost. Control codes have a width. Totals of nothing are missing."
        message = f"Fix total of nothing\n\n{body}"
        text = written(message, examples=[EXAMPLE]).text
        assert "Control codes" not in text
        assert "Arrays" not in text
        assert "Totals of nothing are missing" in text

    def test_beside_an_example_no_other_error_is_shown(self) -> None:
        other = FAILED.model_copy(update={"exception": "KeyError", "message": "'nothing'"})
        assert "KeyError" not in written("Fix total of nothing", other, examples=[EXAMPLE]).text
        assert "KeyError" not in written("Fix total of nothing", other, examples=[replace(EXAMPLE, observed="1")]).text

    def test_without_a_title_what_a_test_demands_by_its_name_is_the_symptom(self) -> None:
        outcomes = outcomes_of("tests/test_sums.py::test_zero_in_lists_of_numbers_is_not_an_error", None)
        found = write_statement(unit_of("Fix #12"), sums_cut(), outcomes, examples=[EXAMPLE])
        assert isinstance(found, StatementText)
        assert found.text.startswith("# Zero in lists of numbers is an error\n")

    def test_an_example_without_a_word_is_no_statement(self) -> None:
        assert written("Fix #12", examples=[EXAMPLE]).text.startswith("# `total([])` raises `IndexError`\n")
        long = replace(EXAMPLE, observed="1" * 80)
        assert write("Fix #12", examples=[long]) == "no source says in words what is wrong"
        assert (
            write("Fix #12", examples=[replace(EXAMPLE, observed="1", called="")])
            == "no source says in words what is wrong"
        )

    def test_a_demand_alone_is_no_expectation(self) -> None:
        demand = "Show zero in place of an error when summing lists"
        assert write(demand, FAILED) == "no source says what should happen instead, and no probe shows it"
        text = written(demand, examples=[EXAMPLE]).text
        assert text.startswith("# Zero is not shown when summing lists\n\nFor example")

    def test_beside_what_is_observed_a_demand_is_title_and_expectation(self) -> None:
        observed = "Sums of ten numbers that somebody else has measured with another unit are missing one of them"
        text = written(f"Do not lose items of lists\n\n{observed}.").text
        assert text.startswith(f"# Items of lists are lost\n\n{observed}.\n\nIt should not lose items of lists.\n")

    def test_a_demand_without_an_object_is_told_of_the_function(self) -> None:
        long = replace(EXAMPLE, observed="1" * 80)
        text = written("Count up to the last item", examples=[long]).text
        assert text.startswith("# `total()` does not count up to the last item\n")
        several = [replace(long, called=name) for name in ("total", "mean")]
        assert write("Count up to the last item", examples=several) == "no source says in words what is wrong"

    def test_a_function_that_the_project_does_not_declare_is_not_blamed(self) -> None:
        text = written("Count up to the last item", examples=[replace(EXAMPLE, called="strip")]).text
        assert text.startswith("# `IndexError` is raised\n")

    def test_a_demand_with_a_subject_is_told_of_it(self) -> None:
        text = written("Sums of lists should not be zero", examples=[EXAMPLE]).text
        assert text.startswith("# Sums of lists are zero\n")

    def test_a_title_that_says_what_happens_is_no_topic(self) -> None:
        long = replace(EXAMPLE, observed="1" * 80)
        for message in ("Fix total returning names of lists", "Fix total mixing names of lists"):
            assert written(message, examples=[long]).text.startswith("# Total ")
        assert write("Check that names have lists", examples=[long]) == "no source says in words what is wrong"

    def test_an_error_of_no_call_is_told_alone(self) -> None:
        example = replace(EXAMPLE, code="found = total([])", expression="found[0]")
        assert written("Fix #12", examples=[example]).text.startswith("# `IndexError` is raised\n")

    def test_a_value_at_the_end_of_a_title_is_left_out_where_it_is_hidden(self) -> None:
        hidden = 'def test_total():\n    assert total("2016-03-06 +0900") == 0\n'
        cut = cut_of(BASE, {"pkg/sums.py": FIXED}, {"tests/test_sums.py": hidden})
        unit, tests = (
            unit_of('Fix totals of days for "2016-03-06 +0900"'),
            outcomes_of("tests/test_sums.py::test_total", None),
        )
        found = write_statement(unit, cut, tests, examples=[replace(EXAMPLE, observed="1" * 80)])
        assert isinstance(found, StatementText)
        assert found.text.startswith("# Problem with totals of days\n")

    def test_an_error_in_place_of_another_is_told_in_the_title(self) -> None:
        other = replace(EXAMPLE, expected="raises ValueError: nothing to add up")
        text = written("Fix #12", examples=[other]).text
        assert text.startswith("# `total([])` raises `IndexError` instead of `ValueError`\n")

    def test_an_exception_of_the_code_is_observed_and_an_assertion_is_not(self) -> None:
        message = "Sum up nothing\n\nTotals should be zero when there is nothing."
        assert "`IndexError: list index out of range` is raised." in written(message, FAILED).text
        failed = TestResult(id=TEST, status="failed", exception="AssertionError", message="assert 1 == 0")
        assert isinstance(write(message, failed), str)

    def test_an_exception_is_named_in_a_title_that_has_only_the_topic(self) -> None:
        hint = "The hint that is shown for lists which nobody has filled in yet is wrong in a good many cases."
        message = f"Fix the error message for lists\n\n{hint} Totals should be zero when there is nothing."
        assert written(message, FAILED).text.startswith("# Error message for lists: `IndexError` is raised\n")

    def test_one_exception_does_not_stand_for_many_tests(self) -> None:
        message = "Sum up nothing\n\nTotals should be zero when there is nothing."
        failed = TestResult(id=TEST, status="failed", exception="AssertionError", message="assert 1 == 0")
        many = outcomes_of(TEST, FAILED)
        tests = (TEST, *(f"{TEST}{number}" for number in range(3)))
        many = replace(many, fail_to_pass=tests, evidence={**dict.fromkeys(tests, failed), TEST: FAILED})
        found = write_statement(unit_of(message), sums_cut(), many)
        assert found == "the tests check more than the examples show, and no source says it"

    def test_a_short_observation_is_a_better_title_than_a_topic(self) -> None:
        message = "Fix padding width\n\nFixed extra padding width of the first cell. It is all."
        assert written(message, examples=[EXAMPLE]).text.startswith(
            "# Extra padding width of the first cell\n\nFor example"
        )

    def test_a_title_that_says_less_than_an_observation_gives_way_to_it(self) -> None:
        message = "fix superfluous space\n\nFixed superfluous space above sums of lists. It is all."
        assert written(message, examples=[EXAMPLE]).text.startswith("# Superfluous space above sums of lists\n")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("tests/a.py::TestX::test_pointer_in_schema_with_no_id[x]", "pointer in schema with no id"),
            ("a.test.js::sums > should skip rows in an empty table", "It should skip rows in an empty table."),
            ("a.test.js::sums > keeps the parser when printing", "It should keep the parser when printing."),
            ("a.py::test_scalar_is_not_lost_in_table", "Scalar should not be lost in table."),
            ("a_test.go::TestX/list_without_items", "list without items"),
            ("sums.test.js::sums > when lists are in lists then order is kept", "when lists are in lists"),
            ("a.py::test_parser_rejects_tab_in_table", "Parser should reject tab in table."),
            ("a.py::test_return_zero_when_nothing_is_given", ""),
            ("a.py::test_value_with_quotes", ""),
            ("a.py::test_total", ""),
            ("a.py::test_issue_1234_in_sums", ""),
        ],
    )
    def test_the_name_of_a_test_tells_its_case(self, name: str, said: str) -> None:
        named = named_case([name])
        assert (named.text if named else "") == said

    def test_a_case_is_said_where_nothing_else_says_it(self) -> None:
        tests = outcomes_of("tests/test_sums.py::test_rows_in_table_without_items", None)
        unit, cut = unit_of("Fix total of nothing"), sums_cut()
        found = write_statement(unit, cut, tests, examples=[EXAMPLE])
        assert isinstance(found, StatementText)
        assert "\n\nAffected case: rows in table without items.\n\n" in found.text
        found = write_statement(unit_of("Fix #12"), cut, tests, examples=[replace(EXAMPLE, called="total")])
        assert isinstance(found, StatementText)
        assert found.text.startswith("# Rows in table without items: `IndexError` is raised\n\nFor example")

    def test_an_error_is_raised_when_something_is_done(self) -> None:
        text = written("Fix counting of empty lists", examples=[EXAMPLE]).text
        assert text.startswith("# Counting of empty lists: `IndexError` is raised\n")
        other = replace(EXAMPLE, expected="raises IndexError: nothing to add up")
        text = written("Fix text of empty lists", examples=[other]).text
        assert text.startswith("# Text of empty lists: `total([])` raises `IndexError` with a wrong message\n")
        text = written("Fix adding up empty lists", examples=[EXAMPLE]).text
        assert text.startswith("# Adding up empty lists: `IndexError` is raised\n")

    def test_the_changelog_comes_before_the_message(self) -> None:
        cut = cut_of(
            {**BASE, "CHANGES.md": "# 1.0\n\n- Begin.\n"},
            {"pkg/sums.py": FIXED},
            {"CHANGES.md": "# 1.1\n\n- Totals of empty lists no longer raise an error.\n\n# 1.0\n\n- Begin.\n"},
        )
        unit = unit_of(MESSAGE, changed=["CHANGES.md"])
        found = write_statement(unit, cut, outcomes_of(TEST, None))
        assert isinstance(found, StatementText)
        assert found.text.startswith("# Totals of empty lists raise an error\n")
        assert "Totals of empty lists should not raise an error." in found.text
        assert found.sources[0] == "changelog"

    def test_the_changelog_names_the_symptom_where_the_title_names_none(self) -> None:
        cut = cut_of(
            {**BASE, "CHANGES.md": "# 1.0\n\n- Begin.\n"},
            {"pkg/sums.py": FIXED},
            {"CHANGES.md": "# 1.1\n\n- Fix lost totals of empty lists.\n\n# 1.0\n\n- Begin.\n"},
        )
        for title in ("Fix totals of lists", "Fix #12"):
            unit = unit_of(title, changed=["CHANGES.md"])
            found = write_statement(unit, cut, outcomes_of(TEST, None), examples=[EXAMPLE])
            assert isinstance(found, StatementText)
            assert found.text.startswith("# Lost totals of empty lists\n")

    def test_later_changelogs_are_found_by_number(self) -> None:
        text = "- Fix a crash when there is nothing. (#7)\n  It goes on.\n- Another thing (#70)\n"
        assert entries_of(Tree(files({"NEWS.md": text, "a.md": text})), [7]) == [
            "Fix a crash when there is nothing. (#7) It goes on."
        ]
        assert entries_of(Tree(files({"NEWS.md": text})), []) == []

    def test_names_that_the_tests_need_are_disclosed(self) -> None:
        fix = {"pkg/sums.py": FIXED + "\n\ndef empty_amount(items):\n    return 0\n"}
        hidden = {"tests/test_sums.py": "from pkg.sums import empty_amount\n\ndef test_x():\n    empty_amount([])\n"}
        cut = cut_of(BASE, fix, hidden)
        found = write_statement(unit_of(MESSAGE), cut, outcomes_of(TEST, None), interface=interface_of(cut))
        assert isinstance(found, StatementText)
        assert found.text.endswith(
            "## Interface\n\nThe tests use these names or parameters, which the code does not have yet:\n\n"
            "- `pkg.sums.empty_amount(items)`\n"
        )

    def test_a_text_that_fix_and_test_share_is_disclosed_as_required(self) -> None:
        fix = {"pkg/sums.py": 'def total(items):\n    if not items:\n        raise ValueError("nothing to add up")\n'}
        hidden = 'def test_total():\n    with raises(ValueError, match="nothing to add up"):\n        total([])\n'
        cut = cut_of(BASE, fix, {"tests/test_sums.py": hidden})
        found = write_statement(unit_of(MESSAGE), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert isinstance(found, StatementText)
        assert found.text.endswith("## Required form\n\nThese texts are expected exactly:\n\n- `nothing to add up`\n")


def issue(title: str, body: str, created: int = -2) -> LinkedIssue:
    return LinkedIssue(1, title, body, (), DAY + timedelta(days=created), None)


class TestIssues:
    def test_an_issue_from_before_the_fix_comes_first(self) -> None:
        known = Enrichment("Fix it", "", (), (issue("Crash of an empty list (#3)", ENOUGH),))
        found = written(enrichment=known)
        assert found.text.startswith("# Crash of an empty list\n\nThe total of an empty list raises an error.")
        assert "issue" in found.sources

    def test_what_was_written_after_the_fix_is_not_used(self) -> None:
        late = Enrichment("", "", (), (issue("Later words on this", "Later it crashes again and again.", created=1),))
        assert "ater" not in written(enrichment=late).text


DISGUISES: Mapping[str, str] = {"a": "а", "e": "е", "o": "о", "(": "（", "_": "\\_", "+": "&#43;", "s": "ѕ", "r": "𝐫"}


def plain(text: str) -> str:
    """Undo the disguises, by other means than the code under test has."""
    for letter, disguise in DISGUISES.items():
        text = text.replace(disguise, letter)
    return "".join(letter for letter in text.lower() if unicodedata.category(letter) != "Cf" and letter not in " `\n")


class TestGates:
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
        body = ["The total of an empty list raises an error. The total should be zero.\n\n"]
        for piece, disguised, between, shouted in pieces:
            spoken = piece.upper() if shouted and piece == LINE else piece
            shown = "".join(DISGUISES[letter] if letter in disguised else letter for letter in spoken)
            body.append(between.join(shown) if between != "`" else shown.replace(" ", "` `"))
            body.append(" ")
        found = write_statement(
            unit_of(f"Sum up nothing\n\n{''.join(body)}"), sums_cut(), outcomes_of(TEST, FAILED), examples=[EXAMPLE]
        )
        assert isinstance(found, StatementText)
        assert "[1:],start=0)" not in plain(found.text)
        assert "empty_amount" not in plain(found.text)

    @pytest.mark.parametrize(
        ("sentence", "reason"),
        [
            (f"It should {LINE} for lists.", "commit: quotes the fix or names what only the fix has"),
            (
                "Lists without items should use empty_amount instead.",
                "commit: names empty_amount, which the fix changes",
            ),
        ],
    )
    def test_a_sentence_that_gives_the_fix_away_goes_and_is_listed(self, sentence: str, reason: str) -> None:
        found = written(f"{MESSAGE} {sentence.replace('It should', 'Empty lists should')}")
        assert "start=0" not in found.text
        assert "empty_amount" not in found.text
        assert found.dropped == (reason,)

    def test_a_sentence_with_a_hidden_value_goes(self) -> None:
        hidden = "def test_total():\n    assert total(['seventeen apples']) == 'one basket'\n"
        cut = cut_of(BASE, {"pkg/sums.py": FIXED}, {"tests/test_sums.py": hidden})
        message = f"{MESSAGE} A list of seventeen apples should be one basket."
        found = write_statement(unit_of(message), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert isinstance(found, StatementText)
        assert "basket" not in found.text
        assert found.dropped == ("commit: shows the hidden literal 'one basket'",)
        message = message.replace("one basket", "One Basket")
        found = write_statement(unit_of(message), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert isinstance(found, StatementText)
        assert "Basket" not in found.text

    def test_a_literal_that_the_fix_has_too_may_be_shown(self) -> None:
        fix = f"{FIXED}WORDS = ['half_dozen']\n"
        hidden = "def test_total():\n    assert total('half_dozen eggs') == total(['half_dozen'])\n"
        cut = cut_of(BASE, {"pkg/sums.py": fix}, {"tests/test_sums.py": hidden})
        gates = gates_of(cut, outcomes_of("tests/test_sums.py::test_total", None), NO_INTERFACE, "")
        assert not gates.reason("The word half_dozen is not known.")
        assert gates.reason("The text half_dozen eggs is not known.")

    @pytest.mark.parametrize("name", ["empty\u200b_amount", "empty\\_amount", "empty&#95;amount", "еmpty_amount"])
    def test_a_name_is_seen_through_its_disguise(self, name: str) -> None:
        assert gives_away(f"Use {name} here.", vocabulary(sums_cut()))

    @pytest.mark.parametrize("text", ["find(&notEmpty)", "it = &notEmpty;", "it = &notEmpty; &amp;"])
    def test_a_name_behind_an_ampersand_is_no_entity(self, text: str) -> None:
        assert gives_away(text, FixVocabulary((), frozenset({"notEmpty"}), ()))

    def test_a_quotation_of_what_the_fix_replaces_is_none(self) -> None:
        assert not gives_away("The line is `return first + sum(items[1:])`.", vocabulary(sums_cut()))

    def test_two_short_lines_of_the_fix_are_a_quotation_together(self) -> None:
        assert gives_away("if not items:\n    return empty_amount(items)", vocabulary(sums_cut()))

    def test_the_vocabulary_is_what_the_whole_base_does_not_have(self) -> None:
        assert vocabulary(sums_cut()).identifiers == {"empty_amount"}
        assert vocabulary(sums_cut({"docs/x.md": "empty_amount"})).identifiers == set()
        assert vocabulary(sums_cut({"docs/x.md": "non_empty_amounts"})).identifiers == {"empty_amount"}
