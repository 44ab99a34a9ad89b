from dataclasses import replace
from datetime import timedelta

import pytest

from codegate.mining.kinds import score_change
from codegate.mining.sources.changes import PathChange
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.sources.history import MergedChange
from codegate.mining.sources.messages import closed_issues
from codegate.mining.units import BugScore, Reason, reject_by_text, reverted_commits
from tests.mining.statement_world import unit_of


def _unit(
    title: str, message: str | None = None, author: str = "Ada", branch: str = "", *, forward: bool = False
) -> MergedChange:
    found = replace(unit_of(title), message=title if message is None else message, pull_request=None)
    return replace(found, author=author, branch=branch, merges_forward=forward)


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        (_unit("Bump x from 1 to 2", author="dependabot[bot]"), "bot"),
        (_unit("Update deps", author="renovate-bot"), "bot"),
        (_unit("Update deps", branch="ada/dependabot/pip/x-1"), "bot"),
        (_unit("Merge branch 'main' into x", forward=True), "merge_forward"),
        (_unit('Revert "Fix sum"'), "revert"),
        (_unit("[Backport 2.x] Fix sum"), "backport"),
        (_unit("Fix sum", "Fix sum\n\n(cherry picked from commit 0123456789abcdef)"), "backport"),
        (_unit("Release 1.2.3"), "release"),
        (_unit("v1.2.3"), "release"),
        (_unit("Bump version to 1.2"), "release"),
        (_unit("chore(release): 1.2.3"), "release"),
        (_unit("feat: sums of dates"), "not_a_fix"),
        (_unit("Add sums of dates"), "not_a_fix"),
        (_unit("Refactor the adder"), "not_a_fix"),
    ],
)
def test_units_that_their_own_words_rule_out(unit: MergedChange, reason: Reason) -> None:
    assert reject_by_text(unit, score_change(unit)) == reason


@pytest.mark.parametrize(
    "title",
    [
        "Fix release of locks",
        "Reverting order fails for empty lists",
        "fix: add missing check",
        "Add missing check for zero",
        "oops",
        "Robotic arm overshoots",
        "Sum up empty lists",
        "Version comparison ignores suffixes",
        "Use zero for empty lists",
        "Release the lock on errors",
    ],
)
def test_fixes_are_not_ruled_out_by_a_word_that_only_looks_like_it(title: str) -> None:
    unit = _unit(title)
    assert reject_by_text(unit, score_change(unit)) is None


@pytest.mark.parametrize(
    ("unit", "score", "evidence"),
    [
        (_unit("Fix sum of nothing"), 2.0, ("+2.0 title: fix",)),
        (_unit("Sums crash", "Sums crash\n\nFixes #1"), 1.0, ("+1.0 in title: crash",)),
        (_unit("Add sum", "Add sum\n\nFixes #1"), -2.0, ("-2.0 title: add",)),
        (_unit("Sum of nothing"), 0, ()),
        (_unit(""), 0, ()),
    ],
)  # fmt: skip
def test_the_score_says_what_it_comes_from(unit: MergedChange, score: float, evidence: tuple[str, ...]) -> None:
    assert score_change(unit) == BugScore(score, evidence)


@pytest.mark.parametrize(("label", "score"), [("bug", 3), ("kind/bug", 3), ("type: Regression", 3), ("debug", 0),
                                              ("enhancement", -3)])  # fmt: skip
def test_a_label_counts(label: str, score: int) -> None:
    assert score_change(_unit("Sum"), Enrichment("Sum", "", ("area", label), ())).score == score


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("Fixes #1", (1,)),
        ("fixed: #1, #2 and GH-3", (1, 2, 3)),
        ("Closes #1, closes #2", (1, 2)),
        ("Resolves issue #7.", (7,)),
        ("Fixed #31415 -- Summed nothing.", (31415,)),
        ("Closes ada/sums#4 and eve/other#5", (4,)),
        ("close https://github.com/eve/sums/issues/6", (6,)),
        ("Closes https://gitlab.example.org/a/b/sums/-/issues/8", (8,)),
        ("fixes https://bugs.example.org/show_bug.cgi?id=99", ()),
        ("See #1, prefixes #2, fix 3, fixes#4, (#5), #6", ()),
        ("<!-- Fixes #1 -->", ()),
        ("Fixes #0", ()),
    ],
)
def test_what_a_text_closes(text: str, issues: tuple[int, ...]) -> None:
    assert closed_issues(text, "sums") == issues


def test_a_merged_branch_without_a_pull_request_must_be_one_change() -> None:
    names = [f"pkg/m{number}.py" for number in range(11)]
    for paths, reason in ((names, "too_large"), ([*names[1:], "pkg/test_m.py", "README"], None)):
        changes = tuple(PathChange(path, "M", "100644", "100644", "a", "b", 1, 1) for path in paths)
        unit = replace(_unit("Merge branch 'topic'"), kind="merge", changes=changes)
        assert reject_by_text(unit, score_change(unit)) == reason
        assert reject_by_text(replace(unit, pull_request=1), score_change(unit)) is None


def test_a_person_whose_branch_a_bot_merged_is_no_bot() -> None:
    merged = replace(_unit("Fix sum", author="mergify[bot]", branch="ada/fix-sum"), kind="merge", pull_request=7)
    assert reject_by_text(merged, score_change(merged)) is None
    bumped = replace(merged, branch="dependabot/pip/x-1")
    assert reject_by_text(bumped, score_change(bumped)) == "bot"
    squashed = replace(merged, kind="squash")
    assert reject_by_text(squashed, score_change(squashed)) == "bot"


@pytest.mark.parametrize(
    ("message", "taken_back"),
    [
        (f"Revert it\n\nThis reverts commit {'c' * 40}.", True),
        ("Fix colons\n\nReverts acme/app#7", True),
        ("Fix colons, a regression of #7", True),
        ("Fix what #7 broke", True),
        ("Fix colons\n\nFixes #7", False),
        ("Fix a regression of #70", False),
    ],
)
def test_a_change_that_a_later_one_takes_back_or_blames_is_no_problem(message: str, *, taken_back: bool) -> None:
    first = replace(_unit("Fix semicolons"), pull_request=7)
    later = replace(_unit(message), commit="d" * 40, date=first.date + timedelta(days=9))
    assert reverted_commits([later, first]) == ({first.commit: later.commit} if taken_back else {})
    earlier = replace(later, date=first.date - timedelta(days=9))
    assert reverted_commits([earlier, first]) == {}
