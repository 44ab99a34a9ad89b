"""Bug fix or not, on changes in real repositories."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import TestResult
from codegate.mining.cut import Cut, cut
from codegate.mining.kinds import KindScore, classify_kind, new_names, score_change, without_type
from codegate.mining.proving.outcomes import TestKind, TestOutcomes
from codegate.mining.sources.enrichment import Enrichment, LinkedIssue
from codegate.mining.sources.history import MergedChange, read_merged_changes
from codegate.mining.units import BUG_LIKE
from codegate.suite import read_commit
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import unit_of

Files = Mapping[str, str | bytes | None]

LIMITS = "def clamp(value, low, high):\n    return max(low, min(value, high))\n"
LIMITS_FIXED = LIMITS.replace("    return", "    low, high = sorted((low, high))\n    return")
TESTS = "from limits import clamp\n\n\ndef test_clamp():\n    assert clamp(5, 0, 3) == 3\n"
SWAPPED = TESTS + "\n\ndef test_swapped():\n    assert clamp(5, 3, 0) == 3\n"
HALF = LIMITS + "\n\ndef half(value):\n    return value / 2\n"
HALF_TESTS = TESTS.replace("clamp\n", "clamp, half\n", 1) + "\n\ndef test_half():\n    assert half(4) == 2\n"


START: Files = {"limits.py": LIMITS, "tests/test_limits.py": TESTS}
SWAP: Files = {"limits.py": LIMITS_FIXED, "tests/test_limits.py": SWAPPED}
HALVED: Files = {"limits.py": HALF, "tests/test_limits.py": HALF_TESTS}
SWAP_TEST, HALF_TEST = "tests/test_limits.py::test_swapped", "tests/test_limits.py::test_half"


def change(
    history: HistoryBuilder, message: str, after: Files = SWAP, before: Files = START
) -> tuple[MergedChange, Cut]:
    history.commit("Begin", dict(before))
    commit = history.commit(message, dict(after))
    unit = next(unit for unit in read_merged_changes(history.folder) if unit.commit == commit)
    parts = cut(unit, read_commit(history.folder, unit.base), read_commit(history.folder, unit.commit))
    assert isinstance(parts, Cut), parts
    return unit, parts


@pytest.fixture(scope="module")
def swapped(tmp_path_factory: pytest.TempPathFactory) -> tuple[MergedChange, Cut]:
    """A small fix whose words tell nothing."""
    return change(HistoryBuilder(tmp_path_factory.mktemp("swapped")), "Swapped bounds")


def fails(*tests: str, kind: TestKind = "assertion", message: str = "", exception: str | None = None) -> TestOutcomes:
    results = {test: TestResult(id=test, status="failed", message=message, exception=exception) for test in tests}
    return TestOutcomes(tests, (), (), (), False, dict.fromkeys(tests, kind), results)


def names_of(found: KindScore) -> set[str]:
    return {line.partition(" ")[2].partition(": ")[0] for line in found.evidence}


def said(title: str, **others: Any) -> set[str]:
    """Return what the words of a change tell, such as ``+2.0 title``."""
    return {line.partition(": ")[0] for line in score_change(replace(unit_of(title), **others)).evidence}


def test_a_small_change_that_says_fix_is_a_bug_fix_and_shows_why(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Fix clamp for swapped bounds")
    found = classify_kind(unit, parts, fails(SWAP_TEST))
    assert found.kind == "bugfix"
    assert found.evidence == ("+2.0 title: fix", "+1.5 tiny: 1 changed line", "+0.5 few tests: 1 fail-to-pass")
    assert found.score == 4.0 >= BUG_LIKE


def test_tests_of_a_name_that_the_change_brings_are_a_features(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Halves", HALVED)
    found = classify_kind(unit, parts, fails(HALF_TEST))
    assert found.kind == "feature"
    assert "-3.0 tested new name: half" in found.evidence


def test_new_names_are_public_tested_and_neither_moved_nor_mended(history: HistoryBuilder) -> None:
    before = "class Box:\n    def __init__(self):\n        self.a = 1\n\n    def get(self):\n        return 1\n"
    after = (
        "class Base:\n    def get(self, default=None):\n        return 1\n\n\n"
        "class Box(Base):\n    def __init__(self, size=1):\n        self.size = size\n\n"
        "    def _pack(self):\n        pass\n\n"
        "    def __iter__(self):\n        return iter(())\n\n    def __eq__(self, other):\n        return True\n\n"
        "    def open(self):\n        pass\n"
    )
    tests = "def test_a():\n    assert Box(size=3).get() and Box().open() and Box()._pack()\n"
    _, parts = change(
        history, "Box", {"box.py": after, "tests/test_box.py": tests},
        {"box.py": before, "tests/test_box.py": "def test_a():\n    pass\n"},
    )  # fmt: skip
    assert new_names(parts) == ["Box().size", "Box.__iter__", "Box.open"]


@pytest.mark.parametrize(
    ("call", "kind"), [("clamp(5, 0, 3, strict=True)", "feature"), ("limit(strict=True)", "bugfix")]
)
def test_a_new_parameter_is_a_features_if_tests_pass_it(history: HistoryBuilder, call: str, kind: str) -> None:
    after = LIMITS.replace("high):", "high, strict=False):")
    tests = f"{TESTS}\n\ndef test_strict():\n    assert {call}\n"
    unit, parts = change(history, "Allow strict bounds", {"limits.py": after, "tests/test_limits.py": tests})
    found = classify_kind(unit, parts, fails("tests/test_limits.py::test_strict"))
    assert (found.kind, "-3.0 tested new name: clamp().strict" in found.evidence) == (kind, kind == "feature")


def test_size_and_failures_count(swapped: tuple[MergedChange, Cut]) -> None:
    unit, parts = swapped

    def told(outcomes: TestOutcomes, lines: int = 1) -> set[str]:
        return names_of(classify_kind(unit, replace(parts, source_lines=lines), outcomes))

    many = fails(*(f"{SWAP_TEST}[{each}]" for each in range(4)))
    assert told(fails(SWAP_TEST)) == {"tiny", "few tests"}
    assert told(fails(SWAP_TEST), 20) == {"few tests"}
    assert told(many, 40) == {"large", "many tests"}
    assert told(fails(SWAP_TEST, kind="collection"), 20) == {"not importable", "few tests"}


def test_labels_and_issues_of_a_forge_decide_where_words_do_not(swapped: tuple[MergedChange, Cut]) -> None:
    unit, parts = swapped
    outcomes = fails(SWAP_TEST)

    def asked(*labels: str, issue: str = "Bounds") -> KindScore:
        when = datetime(2025, 1, 1, tzinfo=UTC)
        issues = (LinkedIssue(1, issue, "", (), when, None),)
        return classify_kind(unit, parts, outcomes, Enrichment(unit.title, "", labels, issues))

    assert asked("type: bug").kind == "bugfix"
    assert asked("enhancement").kind == "feature"
    assert asked("bug", "kind/bug").score == asked("bug").score
    assert asked("needs bug report", "bug?", "breaking change") == classify_kind(unit, parts, outcomes)
    assert asked(issue="Crash on swapped bounds").score > asked().score > asked(issue="Add an option").score


def test_a_merge_without_a_title_is_judged_by_its_first_commit(history: HistoryBuilder) -> None:
    history.commit("Begin", dict(START))
    history.branch("swapped")
    history.commit("Correct clamp for swapped bounds", {"limits.py": LIMITS_FIXED})
    history.commit("Tests", {"tests/test_limits.py": SWAPPED})
    history.merge("swapped", "Merge branch 'swapped'")
    assert score_change(read_merged_changes(history.folder)[0]).evidence == ("+2.0 title: correct",)


@pytest.mark.parametrize("pull_request", [False, True])
def test_a_title_that_begins_with_merge_is_judged_as_it_is(history: HistoryBuilder, pull_request: bool) -> None:
    title = "Merge sort crashes on swapped bounds"
    history.commit("Begin", dict(START))
    if pull_request:
        history.branch("swapped")
    history.commit("Document it" if pull_request else f"{title}\n\nAdd a test for swapped bounds.", dict(SWAP))
    if pull_request:
        history.merge("swapped", f"Merge pull request #7 from ada/swapped\n\n{title}")
    assert score_change(read_merged_changes(history.folder)[0]).evidence == ("+1.0 in title: crashes",)


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Fix CVE-2024-12345: path traversal in clamp", "security"),
        ("Prevent access to __proto__", "security"),
        ("Fix a crash", "bugfix"),
        ("Never return a bound below the lower one", "bugfix"),
        ("Allow swapped bounds", "bugfix"),
        ("perf: clamp without sorting", "perf"),
        ("Make clamp faster", "perf"),
        ("refactor: clamp", "refactor"),
        ("Rename the bounds of clamp", "refactor"),
        ("feat: clamp takes swapped bounds", "feature"),
        ("Deprecate swapped bounds", "feature"),
        ("Swapped bounds", "feature"),
    ],
)
def test_each_kind_has_its_words(swapped: tuple[MergedChange, Cut], title: str, kind: str) -> None:
    large = replace(swapped[1], source_lines=20 if kind in {"bugfix", "security"} else 40)
    assert classify_kind(unit_of(title), large, fails(SWAP_TEST)).kind == kind


@pytest.mark.parametrize(
    ("source", "tests", "before", "after", "test_before", "test_after", "failure"),
    [
        (
            "lib/limits.js", "test/limits.test.js", "exports.clamp = (v) => v;\n",
            "exports.clamp = (v) => v;\nexports.half = (v) => v / 2;\n", "const m = require('../lib/limits');\n",
            "const m = require('../lib/limits');\ntest('half', () => { m.half(4); });\n", "m.half is not a function",
        ),
        (
            "limits.go", "limits_test.go", "package limits\n\nfunc Clamp(v int) int { return v }\n",
            "package limits\n\nfunc Clamp(v int) int { return v }\n\nfunc Half(v int) int { return v / 2 }\n",
            "package limits\n", "package limits\n\nfunc TestHalf(t *testing.T) { Half(4) }\n", "undefined: Half",
        ),
    ],
)  # fmt: skip
def test_other_languages_declare_names_too(
    history: HistoryBuilder, source: str, tests: str, before: str, after: str, test_before: str, test_after: str,
    failure: str,
) -> None:  # fmt: skip
    unit, parts = change(
        history,
        "Halves",
        {source: after, tests: test_after},
        {
            source: before,
            tests: test_before,
            "package.json": '{"devDependencies": {"jest": "1"}}',
            "go.mod": "module a",
        },
    )
    found = classify_kind(unit, parts, fails(f"{tests}::half", kind="exception", message=failure))
    assert found.kind == "feature"
    assert "tested new name" in names_of(found)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fixed #12345 -- Added support for X", {"-2.0 title"}),
        ("Fix #1, fix #2: halves", set()),
        ("fix(parser)!: handle null", {"+3.0 title"}),
        ("fix: escape names, an XSS", {"+3.0 title", "+1.0 in title"}),
        ("feat: handle null", {"-3.0 title"}),
        ("refactor(parser)!: never keep globals", {"-3.0 title"}),
        ("net/http: fix data race", {"+2.0 title"}),
        ("[BUG] Bounds", {"+2.0 title"}),
        ("🐛 Fix empty input", {"+2.0 title"}),
        ("fix: adding missing names", {"+3.0 title"}),
        ("ENH: Add param", {"-3.0 title"}),
        ("Add tests and fix the bounds", {"-2.0 title", "+1.0 in title"}),
        ("Bounds that crash", {"+1.0 in title"}),
        ("Drop the lower bound, which broke clamp", {"-2.0 title", "+1.0 in title"}),
        ("Mention the docs", set()),
        ("Make `fix` an option", {"+1.0 in title"}),
        ("", set()),
    ],
)
def test_the_first_telling_word_of_a_title_counts(title: str, expected: set[str]) -> None:
    assert said(title) == expected


def test_a_branch_speaks_for_a_title_that_says_nothing() -> None:
    assert said("Bounds", branch="ada/fix/bounds") == {"+1.0 branch"}
    assert said("Add bounds", branch="ada/fix/bounds") == {"-2.0 title"}


@pytest.mark.parametrize(
    ("title", "rest"),
    [("fix(parser)!: x", "x"), ("docs: x", "x"), ("parser: x", "parser: x"), ("Fix x", "Fix x")],
)
def test_types_of_commits_are_cut_off(title: str, rest: str) -> None:
    assert without_type(title) == rest


@given(st.text(max_size=600), st.text(max_size=200))
def test_no_text_breaks_it(title: str, label: str) -> None:
    assert score_change(replace(unit_of(title), branch=label), Enrichment(label, title, (label, title), ())).score < 100


def test_broken_and_binary_files_are_no_obstacle(history: HistoryBuilder) -> None:
    unit, parts = change(
        history,
        "Fix the syntax of clamp",
        {"limits.py": LIMITS, "tests/test_limits.py": SWAPPED, "CHANGES.md": b"\xff\xfe\n- Fix \xff"},
        {"limits.py": "def clamp(:\n", "tests/test_limits.py": TESTS, "CHANGES.md": b"\xff\xfe"},
    )
    assert classify_kind(unit, parts, fails(SWAP_TEST)).kind == "bugfix"
