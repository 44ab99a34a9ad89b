from pathlib import Path

import pytest

from codegate.mining.build import BuiltProblem
from codegate.mining.ledger import Ledger
from codegate.mining.sources.enrichment import Enrichment
from codegate.mining.units import BugScore, Prospect, Reason, Rejected
from tests.mining.statement_world import unit_of
from tests.suite.builders import ENVIRONMENT, problem

UNIT = unit_of("Fix it")
PROSPECT = Prospect(UNIT, BugScore(3, ()))


@pytest.mark.parametrize("reason", ["budget", "timeout", "env_unresolved", "oracle_fails", "unreadable"])
def test_what_another_day_may_mend_is_not_remembered(tmp_path: Path, reason: Reason) -> None:
    ledger = Ledger(tmp_path, {})
    ledger.record(PROSPECT, Rejected(reason, "not today"))
    assert ledger.find(PROSPECT) is None


def test_an_end_is_remembered_for_the_same_question_only(tmp_path: Path) -> None:
    Ledger(tmp_path, {"rounds": 3}).record(PROSPECT, Rejected("no_f2p", "it passes"))
    assert Ledger(tmp_path, {"rounds": 3}).find(PROSPECT) == Rejected("no_f2p", "it passes")
    assert Ledger(tmp_path, {"rounds": 5}).find(PROSPECT) is None
    told = Prospect(UNIT, PROSPECT.bug, Enrichment("Fix it", "a body", (), ()))
    assert Ledger(tmp_path, {"rounds": 3}).find(told) is None


@pytest.mark.parametrize("text", ["", "[]", "7", '{"reason": "wish"}', '{"reason": 1}', '{"digest": "x"}', "\xff"])
def test_what_is_damaged_is_looked_at_again(tmp_path: Path, text: str) -> None:
    ledger = Ledger(tmp_path, {})
    ledger.record(PROSPECT, Rejected("no_f2p"))
    (end,) = tmp_path.rglob("end.json")
    end.write_text(text, encoding="latin-1")
    assert ledger.find(PROSPECT) is None


def test_a_problem_is_remembered_as_it_was_and_a_damaged_one_is_looked_at_again(tmp_path: Path) -> None:
    ledger, built = Ledger(tmp_path, {}), BuiltProblem(problem(), ENVIRONMENT)
    ledger.record(PROSPECT, built)
    found = ledger.find(PROSPECT)
    assert isinstance(found, BuiltProblem)
    assert (found.problem.digest, found.environment) == (built.problem.digest, ENVIRONMENT)
    (end,) = tmp_path.rglob("end.json")
    known = end.read_text()
    end.write_text('{"digest": "0"}')
    assert ledger.find(PROSPECT) is None
    end.write_text(known)
    next(tmp_path.rglob("statement.md")).write_text("Another bug.\n")
    assert ledger.find(PROSPECT) is None
