"""Bug fix or not, on changes in real repositories."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegate.grading import TestResult
from codegate.mining.cut import Cut, cut
from codegate.mining.kinds.kind import KindOf, classify_kind, declared_names, signals
from codegate.mining.kinds.words import label_signals, title_signals
from codegate.mining.proving.outcomes import TestKind, TestOutcomes
from codegate.mining.sources.enrichment import Enrichment, LinkedIssue
from codegate.mining.sources.history import Unit, read_merged_changes
from codegate.mining.units import BUG_LIKE
from codegate.suite import read_commit
from tests.kit.repository import HistoryBuilder

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


def change(history: HistoryBuilder, message: str, after: Files = SWAP, before: Files = START) -> tuple[Unit, Cut]:
    history.commit("Begin", dict(before))
    commit = history.commit(message, dict(after))
    unit = next(unit for unit in read_merged_changes(history.folder) if unit.commit == commit)
    parts = cut(unit, read_commit(history.folder, unit.base), read_commit(history.folder, unit.commit))
    assert isinstance(parts, Cut), parts
    return unit, parts


def fails(*tests: str, kind: TestKind = "assertion", message: str = "", exception: str | None = None) -> TestOutcomes:
    results = {test: TestResult(id=test, status="failed", message=message, exception=exception) for test in tests}
    return TestOutcomes(tests, (), (), (), False, dict.fromkeys(tests, kind), results)


def names_of(found: KindOf) -> set[str]:
    return {line.partition(" ")[2].partition(": ")[0] for line in found.evidence}


def test_a_small_change_that_says_fix_is_a_bug_fix_and_shows_why(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Fix clamp for swapped bounds")
    found = classify_kind(unit, parts, fails(SWAP_TEST))
    assert found.kind == "bugfix"
    assert found.evidence[0] == "+3.0 title: fix: fix"
    assert sum(float(line.split()[0]) for line in found.evidence) == found.score >= BUG_LIKE


def test_tests_of_a_name_that_the_change_brings_are_a_features(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Halves", HALVED)
    found = classify_kind(unit, parts, fails(HALF_TEST))
    assert found.kind == "feature"
    assert "-3.0 tested new definition: half" in found.evidence


def test_a_new_name_that_no_test_uses_does_not_outweigh_the_word_fix(history: HistoryBuilder) -> None:
    unit, parts = change(
        history,
        "Fix clamp for swapped bounds",
        {"limits.py": LIMITS_FIXED + "\n\ndef helper():\n    pass\n", "tests/test_limits.py": SWAPPED},
    )
    found = classify_kind(unit, parts, fails(SWAP_TEST))
    assert found.kind == "bugfix"
    assert "-1.0 new definition: helper" in found.evidence


def test_fix_before_a_reference_is_no_word_for_a_bug(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Fix #157: Add half()", HALVED)
    found = classify_kind(unit, parts, fails(HALF_TEST))
    assert found.kind == "feature"
    assert "title: fix" not in names_of(found)


def test_new_parameters_attributes_and_operators_are_seen_and_private_moved_and_mended_ones_are_not(
    history: HistoryBuilder,
) -> None:
    before = "class Box:\n    def __init__(self):\n        self.a = 1\n\n    def get(self):\n        return 1\n"
    after = (
        "class Base:\n    def get(self, default=None):\n        return 1\n\n\n"
        "class Box(Base):\n    def __init__(self, size=1, _hidden=2):\n        self.a = 1\n        self.size = size\n\n"
        "    def __iter__(self):\n        return iter(())\n\n    def __eq__(self, other):\n        return True\n"
    )
    _, parts = change(
        history,
        "Box",
        {"box.py": after, "tests/test_box.py": "def test_a():\n    assert Box(size=3).get() and Box(_hidden=3)\n"},
        {"box.py": before, "tests/test_box.py": "def test_a():\n    pass\n"},
    )
    names = declared_names(parts)
    assert dict(names.used) == {"Box.__iter__": "operator", "Box.size": "attribute", "Box().size": "parameter"}
    assert names.unused == ("Base",)


@pytest.mark.parametrize(
    ("kind", "message", "name"),
    [
        ("collection", "", "not importable"),
        ("exception", "module 'limits' has no attribute 'half'", "misses a new name"),
        ("timeout", "", "hangs"),
    ],
)
def test_how_the_tests_fail_counts(history: HistoryBuilder, kind: TestKind, message: str, name: str) -> None:
    unit, parts = change(history, "Halves", HALVED)
    outcomes = fails(HALF_TEST, kind=kind, message=message)
    assert name in names_of(classify_kind(unit, parts, outcomes))
    assert name not in names_of(classify_kind(unit, parts, fails(HALF_TEST)))


@pytest.mark.parametrize("title", ["Allow swapped bounds", "Support swapped bounds", "Accept a new option of bounds"])
def test_a_wish_is_no_feature_where_a_test_of_existing_behaviour_fails(history: HistoryBuilder, title: str) -> None:
    unit, parts = change(history, title, {"limits.py": HALF, "tests/test_limits.py": SWAPPED})
    ran, missing = fails(SWAP_TEST), fails(SWAP_TEST, message="cannot import name 'half'", kind="exception")
    assert classify_kind(unit, parts, ran).kind == "bugfix"
    assert "title: allow" not in " ".join(classify_kind(unit, parts, ran).evidence)
    assert "-1.0 title: allow" in " ".join(classify_kind(unit, parts, missing).evidence)


def test_an_attribute_that_none_lacks_is_no_missing_new_name(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Swapped bounds")
    outcomes = fails(SWAP_TEST, message="'NoneType' object has no attribute 'low'")
    assert "misses a new name" not in names_of(classify_kind(unit, parts, outcomes))


def test_tests_of_both_ages_or_many_of_them_speak_against_a_bug_fix(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Swapped bounds")
    path = "tests/test_limits.py"

    def told(*rows: str) -> set[str]:
        return names_of(classify_kind(unit, parts, fails(*(f"{path}::test_{row}" for row in rows))))

    assert {"new and old tests", "few tests"} <= told("clamp", "swapped[a]")
    assert {"only new tests", "few tests"} <= told("swapped[a]")
    many = told("clamp", "swapped[a]", "swapped[b]", "swapped[c]")
    assert "many tests" in many
    assert "new and old tests" not in many, "many tests are of both ages: that is one sign, not two"


@pytest.mark.parametrize(
    ("path", "before", "after", "kind"),
    [
        ("CHANGELOG.md", "# 1.0\n\n### Fixed\n\n- a\n", "# 1.0\n\n### Fixed\n\n- a\n- swapped bounds\n", "bugfix"),
        ("CHANGES.rst", "1.0\n---\n\nAdded\n^^^^^\n\n- a\n", "1.0\n---\n\nAdded\n^^^^^\n\n- a\n- bounds\n", "feature"),
        ("newsfragments/12.bugfix.rst", None, "Swapped bounds.\n", "bugfix"),
        ("releasenotes/notes/a.yaml", None, "---\nfeatures:\n  - |\n    Swapped bounds.\n", "feature"),
    ],
)
def test_the_changelogs_section_counts(
    history: HistoryBuilder, path: str, before: str | None, after: str, kind: str
) -> None:
    unit, parts = change(
        history, "Swapped bounds", {**SWAP, path: after}, {**START, **({path: before} if before else {})}
    )
    found = signals(unit, parts, fails(SWAP_TEST))
    assert [signal.kind for signal in found if signal.name == "section"] == [kind]


def test_what_was_in_the_changelog_before_does_not_count(history: HistoryBuilder) -> None:
    old = "## Fixed\n\n- Fix one\n\n## Added\n\n"
    after = {**HALVED, "CHANGES.md": f"{old[:-1]}- h\n"}
    unit, parts = change(history, "Halves", after, {**START, "CHANGES.md": old})
    found = signals(unit, parts, fails(HALF_TEST))
    assert [(signal.name, signal.kind) for signal in found if signal.name in {"section", "changelog"}] == [
        ("section", "feature")
    ]


def test_labels_and_issues_of_a_forge_decide_where_words_do_not(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Swapped bounds")
    outcomes = fails(SWAP_TEST)

    def asked(*labels: str, issue: str = "Bounds") -> KindOf:
        when = datetime(2025, 1, 1, tzinfo=UTC)
        issues = (LinkedIssue(1, issue, "", (), when, None),)
        return classify_kind(unit, parts, outcomes, Enrichment(unit.title, "", labels, issues))

    assert asked("type: bug").kind == "bugfix"
    assert asked("enhancement").kind == "feature"
    assert asked("needs bug report", "bug?") == classify_kind(unit, parts, outcomes)
    assert asked(issue="Crash on swapped bounds").score > asked().score > asked(issue="Add an option").score


def test_a_merge_without_a_title_is_judged_by_its_first_commit(history: HistoryBuilder) -> None:
    history.commit("Begin", dict(START))
    history.branch("swapped")
    history.commit("Correct clamp for swapped bounds", {"limits.py": LIMITS_FIXED})
    history.commit("Tests", {"tests/test_limits.py": SWAPPED})
    history.merge("swapped", "Merge branch 'swapped'")
    unit = read_merged_changes(history.folder)[0]
    parts = cut(unit, read_commit(history.folder, unit.base), read_commit(history.folder, unit.commit))
    assert isinstance(parts, Cut)
    found = classify_kind(unit, parts, fails(SWAP_TEST))
    assert "+3.0 title: fix: correct" in found.evidence


def test_a_title_that_says_nothing_is_helped_by_the_texts_first_line(history: HistoryBuilder) -> None:
    unit, parts = change(history, "Swapped bounds (#12)\n\n* Add bounds in any order")
    assert "-1.0 body: add: add" in classify_kind(unit, parts, fails(SWAP_TEST)).evidence


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("Fix CVE-2024-12345: path traversal in clamp", "security"),
        ("Prevent access to __proto__", "security"),
        ("Prevent writing to the object prototype or constructor", "security"),
        ("Fix a crash", "bugfix"),
        ("Avoid swapped bounds", "bugfix"),
        ("Never return a bound below the lower one", "bugfix"),
        ("perf: clamp without sorting", "perf"),
        ("Make clamp faster", "perf"),
        ("refactor: clamp", "refactor"),
        ("Rename the bounds of clamp", "refactor"),
        ("Use sorted bounds instead of swapped ones", "refactor"),
        ("feat: clamp takes swapped bounds", "feature"),
        ("Deprecate swapped bounds", "feature"),
        ("Add __proto__ as a key", "feature"),
    ],
)
def test_each_kind_has_its_words(history: HistoryBuilder, title: str, kind: str) -> None:
    longer = LIMITS.replace("    return", "    a = b = c = d = 0\n" * 14 + "    return")
    unit, parts = change(history, title, {"limits.py": longer, "tests/test_limits.py": SWAPPED})
    assert classify_kind(unit, parts, fails(SWAP_TEST)).kind == kind


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
def test_other_languages_are_judged_by_words_shape_and_failures(
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
    assert {"tested new definition", "misses a new name"} <= names_of(found)


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fixed #12345 -- Added support for X", {"title: add"}),
        ("fix(parser)!: handle null", {"title type", "title: handle"}),
        ("net/http: fix data race", {"title: fix"}),
        ("[BUG] Bounds", {"tag"}),
        ("Issue 1001: fix last()", {"title: fix"}),
        ("🐛 Fix empty input", {"title: fix"}),
        ("fix: allow a nil default of flags", {"title type"}),
        ("fix: adding missing names", {"title type", "title: defect"}),
        ("ENH: Add param", {"title type", "title: add"}),
        ("Encode: add bound check for large numbers", {"title: handle"}),
        ("Add OSError handling in find_imports", {"title: handle"}),
        ("Added support for error handling", {"title: add"}),
        ("Add tests of error handling", {"title: add"}),
        ("Add handling for several flags", {"title: add"}),
        ("Fix #12", {"title: fix"}),
        ("PROJ-123: Crash when saving", {"title: defect"}),
        ("Raise ValueError on collision", set()),
        ("", set()),
    ],
)
def test_titles_are_read_past_what_stands_before_them(title: str, expected: set[str]) -> None:
    assert {signal.name for signal in title_signals(title, "title")} == expected


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=600), st.text(max_size=200))
def test_no_text_breaks_it_and_every_signal_has_bits(title: str, label: str) -> None:
    found = [*title_signals(title, "title"), *title_signals(f"Fix #1: {title}", "title"), *label_signals([label])]
    assert all(signal.bits > 0 for signal in found)


def test_broken_and_binary_files_are_no_obstacle(history: HistoryBuilder) -> None:
    unit, parts = change(
        history,
        "Fix the syntax of clamp",
        {"limits.py": LIMITS, "tests/test_limits.py": SWAPPED, "CHANGES.md": b"\xff\xfe\n- Fix \xff"},
        {"limits.py": "def clamp(:\n", "tests/test_limits.py": TESTS, "CHANGES.md": b"\xff\xfe"},
    )
    assert classify_kind(unit, parts, fails(SWAP_TEST)).kind == "bugfix"
