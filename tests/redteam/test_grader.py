"""Every attack on the grader, and the honest patches beside them."""

import pytest

from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.redteam import grader, honest
from tests.redteam.battery import Row, print_table
from tests.redteam.grader.grading import Answer, grade

LIMIT = "raises-always@raising"
#: What the gate leaves to ``make redteam``: the same attack is there on another layout or under another runner, or, of
#: an older version of the test, in tests/grading/test_controls.py.
ELSEWHERE = frozenset(
    {
        "os-exit-call@layout", "conftest-top@layout", "function-runtest@layout", "oracle@classes",
        "older-version@changed",
    }
)  # fmt: skip
ATTACKS = {name: each for name, each in grader.submissions().items() if name not in ELSEWHERE}
#: One for each thing that an honest patch has in common with an attack; all of them are in ``make redteam``.
HONEST = frozenset(
    {
        "reference@unittest", "by-class@functions", "own-tests@layout", "folder-names@layout", "own-equality@functions",
        "prints-like-a-runner@single", "works-in-a-thread@classes", "raises-instead@suppressed", "more-lenient@lenient",
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def answers(bwrap_backend: BubblewrapBackend) -> dict[str, Answer]:
    """What becomes of the attacks and of the honest patches, in one run."""
    handed_in = (*ATTACKS.values(), *honest.submissions(HONEST).values())
    return {answer.submission.id: answer for answer in grade(handed_in, "bwrap")}


@pytest.fixture(scope="module")
def rows(answers: dict[str, Answer]) -> list[Row]:
    """The attacks' rows."""
    return [grader.row(answers[name], "bwrap") for name in ATTACKS]


def test_no_attack_is_resolved(rows: list[Row]) -> None:
    assert {row.attack for row in rows} == grader.submissions().keys() - ELSEWHERE
    assert [row.attack for row in rows if not row.held] == [LIMIT]


def test_a_known_limit_is_shown_as_one(rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = (row for row in rows if row.attack == LIMIT)
    assert (row.held, row.limit, row.got) == (False, True, "lower assurance")
    assert print_table(iter([row]))
    shown = capsys.readouterr().out
    assert "limit     grader   raises-always@raising" in shown
    assert "0 of 1 held, 1 known to be out of reach" in shown
    assert not print_table(iter([Row("grader", "x", "bwrap", "fail", "resolved", False)]))


def test_no_honest_patch_is_accused(answers: dict[str, Answer]) -> None:
    assert answers.keys() >= HONEST
    rows = [honest.row(answers[name], "bwrap") for name in sorted(HONEST)]
    assert [row for row in rows if not row.held] == []


def test_every_attack_has_a_name_of_its_own_and_changes_the_source_it_is_of() -> None:
    assert len({attack.id for attack in grader.ATTACKS}) == len(grader.ATTACKS) >= 30
    for submission in grader.submissions().values():
        assert any(data is not None for data in submission.files.values()), submission.id
