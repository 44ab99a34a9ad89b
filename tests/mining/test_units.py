from datetime import UTC, datetime

import pytest

from codegate.mining.history import Unit
from codegate.mining.units import Reason, reject_by_text, score_unit


def _unit(
    title: str, message: str | None = None, author: str = "Ada", branch: str = "", *, forward: bool = False
) -> Unit:
    return Unit(
        commit="c" * 40,
        base="b" * 40,
        kind="direct",
        pull_request=None,
        branch=branch,
        merges_forward=forward,
        title=title,
        message=title if message is None else message,
        author=author,
        email="a@example.org",
        date=datetime(2025, 1, 1, tzinfo=UTC),
        changes=(),
    )


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
def test_units_that_their_own_words_rule_out(unit: Unit, reason: Reason) -> None:
    assert reject_by_text(unit, score_unit(unit)) == reason


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
        "Support empty lists",
        "Release the lock on errors",
    ],
)
def test_fixes_are_not_ruled_out_by_a_word_that_only_looks_like_it(title: str) -> None:
    unit = _unit(title)
    assert reject_by_text(unit, score_unit(unit)) is None


@pytest.mark.parametrize(
    ("unit", "score", "evidence"),
    [
        (_unit("fix: sum of nothing"), 3, ("type:fix",)),
        (_unit("Fix sum of nothing"), 2, ("title:fix",)),
        (_unit("fix: wrong sum"), 4, ("type:fix", "title:wrong")),
        (_unit("Sum crashes", "Sum crashes\n\nCloses #12"), 3, ("closes:Closes #12", "title:crashes")),
        (_unit("Fix it", "Fix it\n\nfixes GH-7", branch="a/fix-sum"), 5, ("closes:fixes GH-7", "title:fix", "branch")),
        (_unit("SUM-12: nothing adds up"), 2, ("tracker key",)),
        (_unit("UTF-8: nothing adds up"), 0, ()),
        (_unit("feat: x", "feat: x\n\nCloses #1"), -3, ("type:feat",)),
        (_unit("Add sum", "Add sum\n\nCloses #1"), 0, ("closes:Closes #1", "title:add")),
        (_unit("Sum of nothing"), 0, ()),
        (_unit(""), 0, ()),
    ],
)  # fmt: skip
def test_the_score_says_what_it_comes_from(unit: Unit, score: int, evidence: tuple[str, ...]) -> None:
    found = score_unit(unit)
    assert (found.score, found.evidence) == (score, evidence)
