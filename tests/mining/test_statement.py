"""Statements: what the writer takes from a repository's texts and from examples, and what its rules keep out."""

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import TestResult
from codegate.mining.examples.example import Example, function_of, public_text
from codegate.mining.sources.enrichment import Enrichment, LinkedIssue
from codegate.mining.statements.interface import NO_INTERFACE, Interface, interface_of
from codegate.mining.statements.leak_rules import leak_rules_of
from codegate.mining.statements.material import entries_naming
from codegate.mining.statements.quotation import quote_texts, sentences_of
from codegate.mining.statements.statement import (
    StatementText,
    count_words,
    required_form,
    write_statement,
)
from codegate.mining.statements.statement import tests_to_change as functions_to_change
from codegate.mining.statements.vocabulary import FixVocabulary, gives_fix_away, vocabulary
from codegate.suite import Tree
from tests.mining.statement_world import (
    BASE,
    DAY,
    FAILED,
    FIXED,
    HIDDEN,
    TEST,
    cut_of,
    failing,
    files,
    outcomes_of,
    sums_cut,
    unit_of,
)

LINE = "return first + sum(items[1:], start=0)"


def issue(title: str, body: str, created: int = -2) -> LinkedIssue:
    return LinkedIssue(1, title, body, (), DAY + timedelta(days=created), None)


MESSAGE = "Fix total() of an empty list (#7)\n\nThe total of an empty list raises an error. It should be zero then."
EXAMPLE = Example("from pkg.sums import total", "total([])", "raises IndexError: list index out of range", "0")


def write(message: str = MESSAGE, result: TestResult | None = None, **arguments: object) -> StatementText | str:
    return write_statement(unit_of(message), sums_cut(), outcomes_of(TEST, result), **arguments)  # type: ignore[arg-type]


def stated(*arguments: object, **more: object) -> StatementText:
    found = write_statement(*arguments, **more)  # type: ignore[arg-type]
    assert isinstance(found, StatementText), found
    return found


def written(message: str = MESSAGE, result: TestResult | None = None, **arguments: object) -> StatementText:
    return stated(unit_of(message), sums_cut(), outcomes_of(TEST, result), **arguments)


def reported(body: str, title: str = "Lost sums of lists") -> str:
    """Return the statement of a change that closes an issue."""
    return written(enrichment=Enrichment("", "", (), (issue(title, body),))).text


class TestQuotations:
    @pytest.mark.requirement("M11")
    def test_words_are_shown_as_the_words_of_those_who_wrote_them(self) -> None:
        found = written()
        assert found.text == (
            "# Fix total() of an empty list\n\nThe commit that fixed it says:\n\n"
            "> The total of an empty list raises an error. It should be zero then.\n\n"
            "What works today must keep working.\n"
        )
        assert (found.mode, found.sources) == ("sources", ("commit",))
        assert found.words == count_words(found.text)

    def test_title_and_one_sentence_are_enough(self) -> None:
        body = "A price with fewer than ten cents loses a digit: the price of 209 cents is shown as 2.9."
        found = written(f"Fix prices losing the zero of few cents (#2)\n\n{body}")
        assert found.text.startswith("# Fix prices losing the zero of few cents\n\n")
        assert f"> {body}\n" in found.text

    @pytest.mark.parametrize(
        ("message", "kept"),
        [
            ("Totals of empty lists are wrong", False),
            ("Totals of empty lists are wrong\n\nSee above.", False),
            ("Totals of empty lists\n\nTotals of empty lists are wrong.", True),
            ("Totals of lists\n\nTotals of empty lists are wrong.", False),
            ("Totals of lists\n\nTotals of empty lists are wrong. They should be zero instead.", True),
            ("Totals of lists\n\nThe result of `total([])` is wrong.", True),
            ("total() of empty lists is wrong", False),
            ("total() of empty lists is wrong\n\nIt should be zero for them.", True),
            ("`total()`", False),
        ],
    )
    def test_without_an_example_two_sentences_are_needed_or_one_with_code(self, message: str, kept: bool) -> None:
        assert isinstance(write(message), StatementText) == kept
        assert kept or str(write(message)).startswith("no example can be shown, and ")

    def test_a_sentence_may_say_what_equals_what(self) -> None:
        body = "An earlier match keeps middleware away (no match == no middleware). It should run for each match."
        assert f"> {body}\n" in written(f"Totals of routes\n\n{body}").text

    def test_code_that_ends_in_a_full_stop_ends_no_sentence(self) -> None:
        body = "The total is reset at the `...` Marker alone. It should be reset at each."
        assert "> The total is reset at the `...` Marker alone.\n" in written(f"Totals of documents\n\n{body}").text

    def test_what_a_reference_is_part_of_is_left_out_and_marked(self) -> None:
        body = (
            "Sums are lost in lists. As said in #12, all are. They should be (#12) kept. It is [right](a/b) to say so."
        )
        text = reported(body)
        assert "> Sums are lost in lists. […] They should be kept. It is [right](a/b) to say so.\n" in text

    def test_roles_of_numbers_and_users_are_references(self) -> None:
        body = "Sums are lost (:issue:`12`) in ``lists`` (:pr:`13`). Thanks to :user:`me` for this report."
        assert "> Sums are lost in ``lists``.\n\nWhat" in reported(body)

    def test_what_is_no_prose_is_left_out(self) -> None:
        body = (
            "Sums are lost in all the lists:\n\n    total([])  # gives an error of that kind\n\n"
            "| list | what its total is |\n\n- Sums of lists are lost too.\n- Tests of all of them\n\n合計が空になる。"
        )
        text = reported(body)
        assert "says:\n\n> Sums of lists are lost too.\n>\n> 合計が空になる。\n\nWhat works" in text

    def test_expected_behaviour_of_an_issue_stands_under_its_heading(self) -> None:
        body = "### Expected\n\nSums are kept in lists.\n\n### Why?\n\nSums of lists are lost. They stay so for ever."
        assert (
            "> *Expected:* Sums are kept in lists.\n>\n> *Why?* Sums of lists are lost. They stay so for ever.\n\nWhat"
        ) in reported(body)

    def test_a_repeated_sentence_is_quoted_once(self) -> None:
        body = " ".join(f"The total of {number % 3} lists is lost." for number in range(40))
        assert reported(body).count("The total of") == 3

    def test_code_is_quoted_as_it_is(self) -> None:
        body = (
            "Calling `parse('#12')` loses ``a `row``. It calls get('git://a'). The `(a) => b. Now` is lost (#13) too."
        )
        assert "> Calling `parse('#12')` loses ``a `row``. […] The `(a) => b. Now` is lost too.\n\n" in reported(body)

    def test_the_opposite_of_a_sentence_is_no_repetition_under_another_heading(self) -> None:
        body = "### Expected\n\nThere are no errors in lists.\n\n### Actual\n\nThere are errors in lists."
        assert "> *Actual:* There are errors in lists.\n" in reported(body)

    def test_nothing_is_said_twice(self) -> None:
        body = "Totals of lists are lost. Sums of lists are lost too.\n\n* fix(sums): totals of lists are lost"
        text = reported(body, "Totals of lists are lost")
        assert text.lower().count("totals of lists are lost") == 1

    def test_a_sentence_that_ends_in_a_reference_is_not_quoted_without_it(self) -> None:
        body = "Sums are lost in all lists. They are lost in [#12](https://a.b/12) by @sum\n\n- Lists are lost in #12"
        assert "says:\n\n> Sums are lost in all lists.\n\nThe commit" in reported(body)

    def test_what_a_text_quotes_itself_is_left_out(self) -> None:
        text = reported(
            "Sums are lost in all lists. They are empty.\n\n> Lists are old. The sum of a list is that of its items."
        )
        assert ("Sums are lost" in text, "The sum of a list" in text) == (True, False)

    def test_a_text_that_never_ends_is_quoted_in_part(self) -> None:
        body = " ".join(f"The total of {number} lists is lost." for number in range(40))
        assert reported(body).count("The total of") == 10

    def test_of_a_message_no_more_is_quoted_than_is_needed(self) -> None:
        body = "Sums are lost in lists. All of them are lost. The loop ends too early, so let it go on."
        text = written(f"Fix lost sums of lists\n\n{body}\n\n* Add a test of it all.\n* Sums are lost.").text
        assert "says:\n\n> Sums are lost in lists. All of them are lost.\n\nWhat works" in text
        code = body.replace("in lists", "by `total`")
        assert "> Sums are lost by `total`.\n\nWhat works" in written(f"Fix lost sums of lists\n\n{code}").text

    def test_a_sentence_does_not_end_with_an_abbreviation(self) -> None:
        body = "Sums are lost at a delimiter (e.g. '.') and at the start, i.e. `total` is nothing."
        assert f"> {body}\n" in reported(body)
        body = "Sums are lost since release 2.0. All totals are wrong in main.c. Now they are lost as well."
        assert len(sentences_of(quote_texts([(body, "issue")], "", lambda *_: ""))) == 3

    def test_brackets_around_a_reference_go_as_a_whole(self) -> None:
        body = "Sums are lost (see https://a.b/c) here ([#12][i12]). They are [lost](https://a.b/d) and gone [#13]."
        assert "> Sums are lost here. They are lost and gone.\n" in reported(body)

    def test_a_quotation_cannot_leave_its_block(self) -> None:
        text = reported("This ends here and now\n# And more of that\n> And what is more.\n\nThat > is not all of it.")
        quoted = text.partition("says:\n\n")[2].partition("\n\nWhat works")[0]
        assert all(line.startswith(">") for line in quoted.splitlines())


class TestHeadings:
    @pytest.mark.parametrize(
        ("message", "title"),
        [
            ("fix(sums)!: totals of nothing (#12)", "totals of nothing"),
            ("Fix GH-12: totals of nothing", "totals of nothing"),
            ("pkg/sums: totals of nothing", "pkg/sums: totals of nothing"),
            ("- fix: totals of nothing", "totals of nothing"),
            ("Only treat a text as a list", "Only treat a text as a list"),
            ("Fix #12", "`total([])` raises `IndexError`"),
            ("Do what #12 says of totals", "`total([])` raises `IndexError`"),
            ("Fix tests", "`total([])` raises `IndexError`"),
            ("Test and fix for #12", "`total([])` raises `IndexError`"),
            ("Test and fix for: GH-12", "`total([])` raises `IndexError`"),
            ("Totals of nothing are wrong, fixes #12", "Totals of nothing are wrong"),
            ("Fix crash of the totals #12", "Fix crash of the totals"),
            ("Fix totals of a list (#12)", "Fix totals of a list"),
            ("Add nil_sum for lists", "`total([])` raises `IndexError`"),
            (f"Let it {LINE}", "`total([])` raises `IndexError`"),
        ],
    )
    def test_a_title_stays_unless_it_says_nothing_or_gives_the_fix_away(self, message: str, title: str) -> None:
        found = written(message, examples=[EXAMPLE])
        assert found.text.startswith(f"# {title}\n\nFor example:\n")
        assert found.sources == (("probe",) if title.startswith("`") else ("commit", "probe"))

    def test_beside_an_example_no_word_tells_what_the_fix_begins_to_use(self) -> None:
        plain = {"pkg/names.py": "def key(name):\n    return name.lower()\n"}
        fixed = {"pkg/names.py": "import json\n\ndef key(name):\n    return json.dumps(name.strip())\n"}
        cut = cut_of(plain, fixed, {"tests/test_names.py": "def test_key():\n    assert key('a ')\n"})
        example = Example("", "key('b ')", "'b '", '"b"', tests=("tests/test_names.py::test_key",))
        message = "Using JSON for keys\n\nKeys of names are wrong here. Stripping keys of names is needed."
        reports = Enrichment("", "", (), (issue("Keys are no JSON", "Stripping the keys seems to be needed."),))

        def statement(examples: list[Example], enrichment: Enrichment | None = None) -> StatementText:
            tests = failing(("tests/test_names.py::test_key",))
            return stated(unit_of(message), cut, tests, enrichment=enrichment, examples=examples)

        told = statement([example])
        assert "Stripping" not in told.text
        assert told.text.startswith("# `key('b ')` gives `'b '` instead of `\"b\"`\n")
        assert "> Keys of names are wrong here.\n" in told.text
        assert told.dropped[0] == "commit: has words of what only the fix uses: json"
        shown = statement([replace(example, expected="json.loads")])
        assert shown.text.startswith("# Using JSON for keys\n")
        assert statement([example], reports).text.startswith("# Keys are no JSON\n")

    def test_beside_an_example_no_word_names_the_attribute_that_the_fix_changes(self) -> None:
        base = {"a.py": "def find(state):\n    return state.first\n"}
        fixed = {"a.py": "def find(state):\n    state.cart.total = 0\n    return state.first\n"}
        cut = cut_of(base, fixed, {"tests/test_a.py": "def test_f():\n    assert find(1)\n"})
        example = Example("", "find(b)", "1", "2", tests=("tests/test_a.py::test_f",))
        message = "Find the first again\n\nSums stay as they were. The old `state.cart.total` was left in it."
        found = stated(unit_of(message), cut, failing(("tests/test_a.py::test_f",)), examples=[example])
        assert "cart" not in found.text
        assert "commit: names state.cart.total, which the fix changes" in found.dropped

    def test_without_an_example_such_words_are_no_statement_but_those_before_them_are(self) -> None:
        base, fixed = {"a.py": "def f(x):\n    return x\n"}, {"a.py": "def f(x):\n    return x.strip()\n"}
        cut = cut_of(base, fixed, {"tests/test_a.py": "def test_f():\n    pass\n"})
        symptom, means = "Names of files keep blanks around them.", "We now strip all names of files."

        def quoted(title: str, *told: str) -> str:
            message = f"{title}\n\n{' '.join(told)}"
            found = write_statement(unit_of(message), cut, failing(("tests/test_a.py::test_f",)))
            return found.text if isinstance(found, StatementText) else found

        others, title = "Reports of all files show them.", "Blanks stay in all names"
        assert f"> {symptom}\n" in quoted(title, symptom, means, others), "and nothing comes in its place"
        lacking = "no example can be shown, and fewer than two sentences say what is wrong"
        assert quoted(title, means, others) == quoted("Blanks stay", symptom, means, others) == lacking
        assert quoted("Strip all names", symptom).endswith("and no title says what is wrong")

    def test_a_message_whose_code_is_all_changed_by_the_fix_is_no_statement(self) -> None:
        base = {"a.py": "def find(state):\n    return state.first\n"}
        fixed = {"a.py": "def find(state):\n    state.MatchError = None\n    return state.first\n"}
        title, symptom = "Clear matchError while searching", "Before, matchError was set and it ended the search early."

        def written(
            symptom: str, added: str = "1", reports: Enrichment | None = None, examples: tuple[Example, ...] = ()
        ) -> StatementText | str:
            old = {"tests/test_a.py": f"def test_e():\n    assert {added}\n"}
            cut = cut_of(
                {**base, **old},
                fixed,
                {"tests/test_a.py": f"{old['tests/test_a.py']}\ndef test_f():\n    assert {added}\n"},
            )
            tests = failing(("tests/test_a.py::test_f",))
            return write_statement(unit_of(f"{title}\n\n{symptom}"), cut, tests, enrichment=reports, examples=examples)

        assert str(written(symptom)).endswith("all code that the words name is what the fix changes")
        report = Enrichment("", "", (), (issue(title, symptom),))
        example = Example("", "find(b)", "1", "2", tests=("tests/test_a.py::test_f",))
        for found in (
            written(symptom.replace("search", "call of `search()`")),
            written(symptom, "state.matchError is None"),
            written(symptom, reports=report),
            written(symptom, examples=(example,)),
        ):
            assert isinstance(found, StatementText), found

    @pytest.mark.parametrize(
        ("example", "title"),
        [
            ({"observed": "1"}, "`total([])` gives `1` instead of `0`"),
            ({"observed": "1" * 80}, "`total([])` gives a wrong result"),
            (
                {"code": "rows = [1]\nadd_to(\n    rows,\n)", "expression": "rows", "observed": "1"},
                "The example gives `1` instead of `0`",
            ),
            ({"observed": "1", "expected": "'`'"}, "`total([])` gives a wrong result"),
            ({"expression": f"total({list(range(30))})", "observed": "1"}, "The example gives `1` instead of `0`"),
            ({"expression": ""}, "`from pkg.sums import total` raises `IndexError`"),
            ({"code": "found = total(1)", "expression": "found"}, "`total(1)` raises `IndexError`"),
            ({"code": "const found = total(1);", "expression": "found"}, "`total(1)` raises `IndexError`"),
            ({"code": "found, err := total(1)", "expression": "found"}, "`total(1)` raises `IndexError`"),
            ({"expression": 'fmt.Printf("%#v\\n", total(1))', "observed": "1"}, "`total(1)` gives `1` instead of `0`"),
            ({"raising": "parts = split([])"}, "`split([])` raises `IndexError`"),
            ({"observed": "panics: no"}, "`total([])` panics"),
            ({"observed": "throws TypeError: no", "expected": "throws Error: no"},
             "`total([])` throws `TypeError` instead of `Error`"),
            ({"expected": "raises IndexError: no"}, "`total([])` raises `IndexError`"),
            ({"observed": "1", "expected": "raises ValueError: no"}, "`total([])` does not raise `ValueError`"),
        ],
    )  # fmt: skip
    def test_the_call_of_an_example_stands_for_a_title(self, example: dict[str, str], title: str) -> None:
        text = written("Fix #12", examples=[replace(EXAMPLE, **example)]).text  # type: ignore[arg-type]
        assert text.startswith(f"# {title}\n")

    def test_without_an_example_a_title_is_needed_and_a_short_one_will_do(self) -> None:
        body = "Totals of empty lists are wrong. They should be zero instead."
        assert written(f"Fix sums\n\n{body}").text.startswith("# Fix sums\n\nThe commit")
        assert write(f"Fixes #12\n\n{body}") == "no example can be shown, and no title says what is wrong"


class TestExamples:
    @pytest.mark.requirement("M11")
    def test_an_example_shows_its_two_results_before_what_people_wrote(self) -> None:
        found = written("Fix total of nothing\n\nTotals of nothing raise an error.", examples=[EXAMPLE])
        assert found.text == (
            "# Fix total of nothing\n\n"
            "For example:\n\n```python\nfrom pkg.sums import total\ntotal([])\n```\n\n"
            "Actual:\n\n```\nraises IndexError: list index out of range\n```\n\nExpected:\n\n```\n0\n```\n\n"
            "The commit that fixed it says:\n\n> Totals of nothing raise an error.\n\n"
            "What works today must keep working.\n"
        )
        assert found.sources == ("commit", "probe")

    def test_a_message_is_quoted_up_to_what_cannot_be_shown(self) -> None:
        message = (
            "Fix total of nothing\n\nTotals of nothing raise an error.\n\nOops:\n\nSo just begin with that number."
        )
        assert "> Totals of nothing raise an error.\n\n" in (text := written(message, examples=[EXAMPLE]).text)
        assert "So just" not in text
        assert "So just" not in written(message).text
        assert "fewer than two sentences" in str(write(message.replace("Totals of nothing raise an error.", "Why:")))

    def test_what_the_framework_gives_an_example_is_said(self) -> None:
        example = replace(
            EXAMPLE, given=(("client", "a pytest fixture"), ("self", "a test case of `PingTests(TestCase)`"))
        )
        told = "Here `client` is a pytest fixture and `self` is a test case of `PingTests(TestCase)`."
        assert f"```\n\n{told}\n\nActual:" in written(examples=[example]).text
        example = replace(EXAMPLE, given=(("", "a test case of `SumCase`"),))
        told = "It runs in a test case of `SumCase`."
        assert f"```\n\n{told}\n\nActual:" in written(examples=[example]).text

    def test_a_long_result_is_said_to_be_cut(self) -> None:
        text = written(examples=[replace(EXAMPLE, expected="[" + "1, " * 200)]).text
        assert "Actual:\n" in text
        assert "Expected, the first 300 characters:\n\n```\n[1, 1, " in text
        assert "..." not in text

    def test_tests_that_expect_what_is_wrong_are_named(self) -> None:
        tests = outcomes_of("tests/test_sums.py::test_total", None)
        unit, cut, old = unit_of("Fix total of nothing"), sums_cut(), ["tests/test_sums.py::test_total"]
        example = replace(EXAMPLE, tests=(*old,))
        found = stated(unit, cut, tests, examples=[example], overturned=old)
        assert "What works today must keep working" not in found.text
        assert found.text.endswith(
            "These tests expect the wrong behaviour and will be changed: `tests/test_sums.py::test_total`.\n"
        )
        refused = write_statement(unit, cut, tests, examples=[EXAMPLE], overturned=old)
        assert refused == "the fix changes what existing tests expect, and no example shows it"

    @pytest.mark.parametrize(
        ("tests", "named"),
        [
            (["T::test_total[none-0]", "T::test_total[one-1]"], "`T::test_total[none-0]`, `T::test_total[one-1]`"),
            ([f"T::test_total[{row}]" for row in range(9)], "`T::test_total`"),
            (["T::test_total[`]"], "`T::test_total`"),
        ],
    )
    def test_rows_that_expect_what_is_wrong_are_named_if_they_are_few(self, tests: list[str], named: str) -> None:
        unit, cut, proved = unit_of("Fix total of nothing"), sums_cut(), outcomes_of("T::test_total", None)
        example = replace(EXAMPLE, tests=("T::test_total",))
        found = stated(unit, cut, proved, examples=[example], overturned=tests)
        assert found.text.endswith(f"and will be changed: {named}.\n")
        assert functions_to_change(found.text) == {"T::test_total"}


class TestCrashes:
    def test_a_crash_implies_its_opposite(self) -> None:
        text = written("Sum up lists of nothing", FAILED).text
        assert "\n\nToday `IndexError: list index out of range` is raised, and it should not be.\n\n" in text
        text = written("Sum up lists of nothing", FAILED, errors={function_of(TEST): "ValueError"}).text
        assert "\n\nToday `IndexError: list index out of range` is raised, and `ValueError` is expected.\n\n" in text
        assert isinstance(write("Fix #12", FAILED), str)
        assert "Today" not in written("Sum up lists of nothing", FAILED, examples=[EXAMPLE]).text
        assert "Today" not in written(MESSAGE.replace("an error", "an IndexError"), FAILED).text

    @pytest.mark.parametrize(
        ("place", "where"),
        [
            (("pkg/sums.py", "total"), " in `total` of `pkg/sums.py`"),
            (("pkg/sums.py", "<lambda>"), " in `pkg/sums.py`"),
            (("pkg/sums.py", "give_this_order"), " in `pkg/sums.py`"),
            (("elsewhere.py", "total"), ""),
        ],
    )
    def test_where_it_crashes_is_said_of_the_bases_own_functions(self, place: tuple[str, str], where: str) -> None:
        outcomes = replace(outcomes_of(TEST, FAILED), places={TEST: place})
        found = stated(unit_of("Sum up lists of nothing"), sums_cut(), outcomes)
        assert f"Today `IndexError: list index out of range` is raised{where}, and it should not be." in found.text

    def test_what_the_test_itself_raises_is_no_crash(self) -> None:
        message = "Totals of lists\n\nTotals of lists are all lost. Sums of lists are lost too."
        cut = sums_cut()
        outcomes = replace(outcomes_of(TEST, FAILED), places={TEST: (next(iter(cut.hidden)), "test_total")})
        found = stated(unit_of(message), cut, outcomes)
        assert "Today" not in found.text

    @pytest.mark.parametrize("name", ["AssertionError", "AssertionFailedError", "ExpectationNotMetError", "Failed"])
    def test_an_assertion_is_no_crash(self, name: str) -> None:
        failed = FAILED.model_copy(update={"exception": f"org.{name}", "message": "1 is not 0"})
        assert isinstance(write("Sum up lists of nothing", failed), str)

    def test_a_new_name_that_is_not_there_yet_is_no_crash(self) -> None:
        failed = FAILED.model_copy(update={"exception": "AttributeError", "message": "'Sum' has no attribute 'least'"})
        new = Interface(("class Sum: least",), frozenset({"least"}))
        message = "Totals of lists\n\nTotals of lists are all lost. Sums of lists are lost too."
        assert "Today `AttributeError" in written(message, failed).text
        assert "Today" not in written(message, failed, interface=new).text

    def test_a_crash_of_few_tests_does_not_stand_for_many(self) -> None:
        failed = FAILED.model_copy(update={"exception": "AssertionError", "message": "assert 1 == 0"})
        tests = (TEST, *(f"tests/test_sums.py::test_{number}" for number in range(3)))
        many = replace(outcomes_of(TEST, FAILED), fail_to_pass=tests)
        many = replace(many, evidence={**dict.fromkeys(tests, failed), TEST: FAILED})
        assert isinstance(write_statement(unit_of("Sum up lists of nothing"), sums_cut(), many), str)

    def test_a_message_that_gives_the_fix_away_is_not_shown(self) -> None:
        failed = FAILED.model_copy(update={"exception": "TypeError", "message": "nil_sum is missing"})
        assert "Today `TypeError` is raised" in written("Sum up lists of nothing", failed).text

    def test_a_message_with_an_address_in_memory_is_not_shown(self) -> None:
        failed = FAILED.model_copy(update={"exception": "pkg.SumError", "message": "pkg.SumError: <List at 0x7fdf76>"})
        assert "Today `SumError` is raised" in written("Sum up lists of nothing", failed).text
        failed = failed.model_copy(update={"message": "pkg.SumError: no list"})
        assert "Today `SumError: no list` is raised" in written("Sum up lists of nothing", failed).text


class TestSources:
    def test_the_changelog_comes_before_the_message(self) -> None:
        cut = cut_of(
            {**BASE, "CHANGES.md": "# 1.0\n\n- Begin.\n"},
            {"pkg/sums.py": FIXED},
            {"CHANGES.md": "# 1.1\n\n- `total` of empty lists no longer raises an error.\n\n# 1.0\n\n- Begin.\n"},
        )
        unit = unit_of(MESSAGE, changed=["CHANGES.md"])
        found = stated(unit, cut, outcomes_of(TEST, None))
        assert found.text.startswith(
            "# Fix total() of an empty list\n\nThe changelog says of the fix:\n\n"
            "> `total` of empty lists no longer raises an error.\n\nWhat works today"
        )
        assert found.sources == ("commit", "changelog")

    def test_an_older_entry_whose_author_is_corrected_is_not_of_the_change(self) -> None:
        older = "- Prevent `mean` from raising an error when a list has no items (#260 by [@bbc]).\n"
        added = "- `total` of empty lists no longer raises an error (#261 by [@ann]).\n"
        cut = cut_of(
            {**BASE, "CHANGES.md": f"# 1.0\n\n{older}"},
            {"pkg/sums.py": FIXED},
            {"CHANGES.md": f"# 1.0\n\n{added}{older.replace('@bbc', '@bbc2')}"},
        )
        found = stated(unit_of(MESSAGE, changed=["CHANGES.md"]), cut, outcomes_of(TEST, None))
        assert ("empty lists no longer" in found.text, "mean" in found.text) == (True, False)

    @pytest.mark.parametrize("entry", ["[FIXED] Fixed the month limits of totals.", "Bugfix: month limits in totals."])
    def test_an_entry_with_the_words_of_the_title_says_nothing_more(self, entry: str) -> None:
        cut = cut_of(
            {**BASE, "CHANGES.md": "# 1.0\n\n- Begin.\n"},
            {"pkg/sums.py": FIXED},
            {"CHANGES.md": f"# 1.1\n\n- {entry}\n\n# 1.0\n\n- Begin.\n"},
        )
        unit = unit_of("fix total month limits of the totals", changed=["CHANGES.md"])
        found = write_statement(unit, cut, outcomes_of(TEST, None))
        assert found == "no example can be shown, and fewer than two sentences say what is wrong"

    @pytest.mark.parametrize(
        ("title", "sentence"),
        [
            ("Dates after 2021 parse as dates before", "Dates before 2024 parse as dates after 2029."),
            ("当列表为空时，函数返回错误", "当列表只有一个元素时，函数返回空值。"),
        ],
    )
    def test_a_sentence_with_the_first_letters_of_others_may_say_more(self, title: str, sentence: str) -> None:
        assert sentences_of(quote_texts([(sentence, "issue")], title, lambda *_: "")) == [sentence]

    def test_a_release_note_in_yaml_says_what_its_texts_say(self) -> None:
        note = "---\nfixes:\n  - |\n    Prevent `total()` from raising an error\n    when a list has no items.\n"
        path = "releasenotes/notes/empty-list.yaml"
        base = sums_cut()
        cut = replace(base, fixed=base.fixed.overlay(files({path: note})))
        found = stated(unit_of("Fix the empty sum", changed=(path,)), cut, outcomes_of(TEST, None))
        assert "> Prevent `total()` from raising an error when a list has no items.\n" in found.text

    def test_of_a_changelog_in_yaml_what_was_there_before_is_not_of_the_change(self) -> None:
        old = "fixes:\n- Prevent `mean()` from raising an error when a list has no items.\n"
        path = "releasenotes/unreleased.yaml"
        base = sums_cut({path: old})
        note = f"{old}- Prevent `total()` from raising an error when a list has no items.\n"
        cut = replace(base, fixed=base.fixed.overlay(files({path: note})))
        found = stated(unit_of("Fix the empty sum", changed=(path,)), cut, outcomes_of(TEST, None))
        assert ("total()` from" in found.text, "mean()" in found.text) == (True, False)

    def test_later_changelogs_are_found_by_number(self) -> None:
        text = "- Fix a crash when there is nothing. (#7)\n  It goes on.\n- Another thing (#70)\n"
        assert entries_naming(Tree(files({"NEWS.md": text, "a.md": text})), [7]) == [
            "Fix a crash when there is nothing. (#7) It goes on."
        ]
        assert entries_naming(Tree(files({"NEWS.md": text})), []) == []

    def test_an_issue_from_before_the_fix_comes_first(self) -> None:
        known = Enrichment("Fix it", "", (), (issue("Crash of an empty list (#3)", MESSAGE),))
        found = written(enrichment=known)
        assert found.text.startswith("# Crash of an empty list\n\nThe issue says:\n\n> Fix total()")
        assert found.sources == ("issue",)

    def test_a_pull_requests_title_comes_before_a_commits(self) -> None:
        known = Enrichment("Totals of nothing crash (#3)", "It is all of the totals. None is right.", (), ())
        found = written(enrichment=known)
        assert found.text.startswith("# Totals of nothing crash\n\nThe pull request that fixed it says:\n\n> It is all")

    def test_what_was_written_after_the_fix_is_not_used(self) -> None:
        late = Enrichment("", "", (), (issue("Later words on this", "Later it crashes again and again.", created=1),))
        assert "ater" not in written(enrichment=late).text


class TestForms:
    def test_names_that_the_tests_need_are_disclosed(self) -> None:
        fix = {"pkg/sums.py": FIXED + "\n\ndef nil_sum(items):\n    return 0\n"}
        hidden = {"tests/test_sums.py": "from pkg.sums import nil_sum\n\ndef test_x():\n    nil_sum([])\n"}
        cut = cut_of(BASE, fix, hidden)
        found = stated(unit_of(MESSAGE), cut, outcomes_of(TEST, None), interface=interface_of(cut))
        assert found.text.endswith(
            "## Interface\n\nThe tests use these names or parameters, which the code does not have yet:\n\n"
            "- `pkg.sums.nil_sum(items)`\n"
        )

    def test_a_text_that_fix_and_test_share_is_disclosed_as_required(self) -> None:
        fix = {"pkg/sums.py": 'def total(items):\n    if not items:\n        raise ValueError("nothing to add up")\n'}
        hidden = 'def test_total():\n    with raises(ValueError, match="nothing to add up"):\n        total([])\n'
        cut = cut_of(BASE, fix, {"tests/test_sums.py": hidden})
        message = "Fix total() of nothing\n\nThe total of nothing is not told. It should be told then."
        found = stated(unit_of(message), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert found.text.endswith("## Required form\n\nThese texts are expected exactly:\n\n- `nothing to add up`\n")

    def test_a_message_that_tests_have_words_of_is_disclosed_without_its_values(self) -> None:
        fix = {"pkg/sums.py": "def total(items):\n    if not items:\n"}
        fix["pkg/sums.py"] += '        raise ValueError(f"nothing to add up in {len(items)} items, {items}")\n'
        fix["pkg/sums.py"] += '    log("a text that no test has", "(0, 1, -31)", "%(n)s of … what is 100%done")\n'
        test = 'def test_total():\n    total((0, 1, -31), "few words of … what is 100%done")\n'
        hidden = f'PATTERN = "^nothing to add up in [0-9]"\n\n{test}'
        cut = cut_of(BASE, fix, {"tests/test_sums.py": hidden})
        message = "Fix total() of nothing\n\nThe total of nothing is not told. It should be told then."
        found = stated(unit_of(message), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert found.text.endswith(
            "## Required form\n\nThese texts are expected exactly (`…` stands for a value):\n\n"
            "- `… of … what is 100%done`\n- `nothing to add up in … items, …`\n"
        )

    def test_a_beginning_of_a_message_that_a_test_asks_for_is_disclosed(self) -> None:
        fix = {"pkg/sums.py": 'def total(items):\n    raise ValueError(f"nothing to add up: {items}")\n'}
        hidden = 'def test_total():\n    with raises(ValueError, match=r"nothing to add up"):\n        total([])\n'
        cut = cut_of(BASE, fix, {"tests/test_sums.py": hidden})
        found = leak_rules_of(cut, failing(("tests/test_sums.py::test_total",)), NO_INTERFACE, public_text(cut))
        assert found.exact == ("nothing to add up",)

    @pytest.mark.parametrize(
        ("path", "hidden"),
        [
            ("tests/a.test.js", "test('x', () => { expect(() => f(-3)).toThrow(/FORM/); });"),
            ("tests/a.test.js", "test('x', () => { expect(() => f(-3)).toThrow('FORM'); });"),
            ("tests/a.rs", '#[test]\n#[should_panic(expected = "FORM")]\nfn x() { f(-3); }'),
            ("tests/a_test.go", "package a\nfunc ExampleF() {\n\tF(3)\n\t// Output: FORM\n}"),
            ("tests/test_a.py", "def test_x():\n    '''\n    >>> f(3)\n    'FORM'\n    '''"),
        ],
    )
    @pytest.mark.parametrize("form", ["size must be a number", r"can\'t have the size of it"])
    def test_a_message_is_disclosed_wherever_a_test_has_it(self, path: str, hidden: str, form: str) -> None:
        cut = cut_of(
            {"lib/a.js": "f = 3;\n"},
            {"lib/a.js": f"throw new Error('{form}');\n"},
            {path: hidden.replace("FORM", form)},
        )
        found = leak_rules_of(cut, failing((f"{path}::x",)), NO_INTERFACE, public_text(cut))
        assert found.exact == (form,)
        assert form.replace("\\", "") in required_form(found.exact, NO_INTERFACE, "")


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
                st.sampled_from(["words of a report ", LINE, "nil_sum", "x\n\n", "```\n", "# T\n", "`"]),
                st.dictionaries(st.sampled_from(sorted(DISGUISES)), st.just(True)),
                st.sampled_from(["", "\u200b", "\u00ad", "`"]),
                st.booleans(),
            ),
            max_size=8,
        )
    )
    def test_no_disguise_gets_a_line_or_a_name_of_the_fix_through(
        self, pieces: list[tuple[str, dict[str, bool], str, bool]]
    ) -> None:
        body = ["The total of an empty list raises an error. The total should be zero.\n\n"]
        for piece, disguised, between, shouted in pieces:
            spoken = piece.upper() if shouted and piece == LINE else piece
            shown = "".join(DISGUISES[letter] if letter in disguised else letter for letter in spoken)
            body.append(between.join(shown) if between != "`" else shown.replace(" ", "` `"))
            body.append(" ")
        found = stated(
            unit_of(f"Sum up nothing\n\n{''.join(body)}"), sums_cut(), outcomes_of(TEST, FAILED), examples=[EXAMPLE]
        )
        assert "[1:],start=0)" not in plain(found.text)
        assert "nil_sum" not in plain(found.text)

    @pytest.mark.parametrize(
        ("sentence", "reason"),
        [
            (f"It should {LINE} for lists.", "commit: quotes the fix or names what only the fix has"),
            (
                "Lists without items should use nil_sum instead.",
                "commit: names nil_sum, which the fix changes",
            ),
        ],
    )
    def test_a_sentence_that_gives_the_fix_away_goes_and_is_listed(self, sentence: str, reason: str) -> None:
        found = written(f"{MESSAGE.rpartition('. ')[0]}. {sentence}")
        assert "start=0" not in found.text
        assert "nil_sum" not in found.text
        assert found.dropped == (reason,)

    def test_a_sentence_with_a_hidden_value_goes(self) -> None:
        hidden = "def test_total():\n    assert total(['seventeen apples']) == 'one basket'\n"
        cut = cut_of(BASE, {"pkg/sums.py": FIXED}, {"tests/test_sums.py": hidden})
        message = f"{MESSAGE.rpartition('. ')[0]}. A list of seventeen apples should be one basket."
        found = stated(unit_of(message), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert "basket" not in found.text
        assert found.dropped == ("commit: shows the hidden literal 'one basket'",)
        message = message.replace("one basket", "One Basket")
        found = stated(unit_of(message), cut, outcomes_of("tests/test_sums.py::test_total", None))
        assert "Basket" not in found.text

    def test_a_private_name_of_a_changed_file_says_where_the_fix_is(self) -> None:
        base = {"pkg/sums.py": "def _sum_up(items):\n    return 1\n\ndef total(items):\n    return _sum_up(items)\n"}
        cut = cut_of(base, {"pkg/sums.py": base["pkg/sums.py"].replace("1", "0")}, {"tests/test_sums.py": HIDDEN})
        message = "Fix _sum_up of nothing\n\nThe total of nothing is one. It should be zero then."
        found = stated(unit_of(message), cut, outcomes_of(TEST, None), examples=[EXAMPLE])
        assert "_sum_up" not in found.text
        assert found.dropped == ("commit: names _sum_up, which the fix changes",)
        told = {"tests/test_sums.py": f"{HIDDEN}from pkg.sums import _sum_up\n"}
        cut = cut_of(base, {"pkg/sums.py": base["pkg/sums.py"].replace("1", "0")}, told)
        found = stated(unit_of(message), cut, outcomes_of(TEST, None), examples=[EXAMPLE])
        assert found.text.startswith("# Fix _sum_up of nothing\n")

    def test_texts_of_a_hidden_component_are_hidden(self) -> None:
        component = "<template><p>{{ 'a walrus in hats' }}</p></template>\n"
        cut = cut_of(BASE, {"pkg/sums.py": "def total(items):\n    return 0\n"}, {"tests/Hat.vue": component})
        rules = leak_rules_of(cut, outcomes_of("tests/hat.test.js::shows it", None), NO_INTERFACE, "")
        assert "a walrus in hats" in rules.hidden

    def test_values_of_tests_in_any_language_are_hidden(self) -> None:
        hidden = "it 'keeps zeros' do\n  expect(Price.format(1057)).to eq('10.57')\nend\n"
        cut = cut_of({"price.rb": "x"}, {"price.rb": "y"}, {"spec/price_spec.rb": hidden})
        rules = leak_rules_of(cut, outcomes_of("spec/price_spec.rb::keeps zeros", None), NO_INTERFACE, "12.34")
        assert rules.reason("A price of 1057 cents is wrong.") == "shows the hidden literal '1057'"
        assert rules.reason("It should be 10.57.") == "shows the hidden literal '10.57'"
        assert not rules.reason("The price of 209 cents should be 2.09.")

    def test_a_literal_that_the_fix_has_too_may_be_shown(self) -> None:
        fix = f"{FIXED}WORDS = ['half_dozen']\n"
        hidden = "def test_total():\n    assert total('half_dozen eggs') == total(['half_dozen'])\n"
        cut = cut_of(BASE, {"pkg/sums.py": fix}, {"tests/test_sums.py": hidden})
        rules = leak_rules_of(cut, outcomes_of("tests/test_sums.py::test_total", None), NO_INTERFACE, "")
        assert not rules.reason("The word half_dozen is not known.")
        assert rules.reason("The text half_dozen eggs is not known.")

    @pytest.mark.parametrize("name", ["nil\u200b_sum", "nil\\_sum", "nil&#95;sum", "nіl_sum"])
    def test_a_name_is_seen_through_its_disguise(self, name: str) -> None:
        assert gives_fix_away(f"Use {name} here.", vocabulary(sums_cut()))

    @pytest.mark.parametrize("text", ["find(&notEmpty)", "it = &notEmpty;", "it = &notEmpty; &amp;"])
    def test_a_name_behind_an_ampersand_is_no_entity(self, text: str) -> None:
        assert gives_fix_away(text, FixVocabulary((), frozenset({"notEmpty"}), ()))

    def test_a_quotation_of_what_the_fix_replaces_is_none(self) -> None:
        assert not gives_fix_away("The line is `return first + sum(items[1:])`.", vocabulary(sums_cut()))

    def test_two_short_lines_of_the_fix_are_a_quotation_together(self) -> None:
        assert gives_fix_away("if not items:\n    return nil_sum(items)", vocabulary(sums_cut()))

    def test_the_vocabulary_is_what_the_whole_base_does_not_have(self) -> None:
        assert vocabulary(sums_cut()).identifiers == {"nil_sum"}
        assert vocabulary(sums_cut({"docs/x.md": "nil_sum"})).identifiers == set()
        assert vocabulary(sums_cut({"docs/x.md": "non_nil_sums"})).identifiers == {"nil_sum"}
