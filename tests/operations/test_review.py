"""What a maintainer decides about a problem, in the suite's files."""

from datetime import date
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.operations.editing import review_suite
from codegate.suite import Problem, Quarantine, Suite, load_suite
from tests.suite.builders import problem, suite

FLAKY = Quarantine(reason="flaky", evidence="failed once in 3 runs", expires=date(2031, 1, 1))


def by_id(loaded: Suite) -> dict[str, Problem]:
    return {entry.id: entry for entry in loaded.problems}


def test_a_dropped_problem_stays_in_the_suite_and_takes_part_in_nothing(tmp_path: Path) -> None:
    before = suite(tmp_path / "s", problem("p-1"), problem("p-2"))
    after = review_suite(before, drop=["p-2"])
    assert after == load_suite(tmp_path / "s")
    assert [entry.id for entry in after.problems] == ["p-1", "p-2"]
    assert [entry.id for entry in after.active] == ["p-1"]
    manifest = by_id(after)["p-2"].manifest
    assert manifest.status == "retired"
    assert manifest.quarantine == Quarantine(reason="manual", evidence="dropped in review", expires=date.max)
    assert after.expired(date(9998, 1, 1)) == ()
    assert after.digest == before.digest, "runs of before can still be compared"


@pytest.mark.parametrize("aside", [None, FLAKY], ids=["active", "quarantined"])
def test_keep_restores_what_was_there_before_the_drop(tmp_path: Path, aside: Quarantine | None) -> None:
    status = "quarantined" if aside else "active"
    before = suite(tmp_path / "s", problem("p-1", status=status, quarantine=aside))
    dropped = review_suite(before, drop=["p-1"])
    assert dropped.problems[0].dropped
    assert not dropped.active
    assert review_suite(dropped, keep=["p-1"]).problems == before.problems


def test_a_decision_that_is_repeated_changes_nothing(tmp_path: Path) -> None:
    before = suite(tmp_path / "s", problem("p-1"), problem("p-2"))
    assert review_suite(before, keep=["p-1"]).problems == before.problems
    once = review_suite(before, drop=["p-1", "p-1"])
    assert review_suite(once, drop=["p-1"]).problems == once.problems


def test_a_refused_decision_writes_nothing(tmp_path: Path) -> None:
    retired = Quarantine(reason="oracle_fails", evidence="the fix fails", expires=date(2031, 1, 1))
    before = suite(tmp_path / "s", problem("p-1"), problem("p-2", status="retired", quarantine=retired))
    for drop, keep, words in (
        (["p-1", "p-3"], [], "suite.yml has no problem p-3"),
        (["p-1"], ["p-3"], "suite.yml has no problem p-3"),
        (["p-1"], ["p-1"], "p-1: both dropped and kept"),
        (["p-1", "p-2"], [], "problem p-2 was retired by mining: the fix fails"),
        ([], ["p-2"], "problem p-2 was retired by mining: the fix fails"),
    ):
        with pytest.raises(UsageError, match=words):
            review_suite(before, drop, keep)
        assert load_suite(tmp_path / "s").problems == before.problems
