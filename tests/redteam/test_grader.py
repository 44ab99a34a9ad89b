"""The most telling attacks on the grader, and honest patches beside them; all of them are in ``make redteam``."""

import pytest

from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.redteam import grader, honest
from tests.redteam.battery import Row, print_table
from tests.redteam.grader.grading import Answer, grade, some_of
from tests.redteam.grader.sources.shapes import PARTS, SHAPES

#: One for each thing that an attack can lay hands on.
ATTACKS = frozenset(
    {
        "sys-exit-import@unittest", "os-exit-call@functions", "skip-call@single", "collect-only@single",
        "summary-everywhere@functions", "conftest-top@layout", "sitecustomize@functions", "shadow-pytest@functions",
        "entry-point@functions", "report-from-call@functions", "function-runtest@layout",
        "unittest-should-stop@classes", "unittest-result@unittest", "records-without-token@single",
        "channel-by-gc@functions", "driver-again-with-receipts@single", "tests-rewritten-at-run-time@single",
        "always-equal@single", "oracle@classes", "oracle@unittest", "raises-by-gc@functions", "memorised-tests@single",
        "constants-written@single", "assertions-stripped@single", "comparison-of-texts@single",
        "first-time-tmp@single", "oracle-alone@twice",
    }
)  # fmt: skip
LIMIT = "raises-always@raising"
HONEST = frozenset(
    {
        "reference@unittest", "by-class@functions", "own-tests@layout", "folder-names@layout", "own-equality@functions",
        "prints-like-a-runner@single", "works-in-a-thread@classes", "raises-instead@suppressed", "more-lenient@lenient",
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def answers(bwrap_backend: BubblewrapBackend) -> dict[str, Answer]:
    """What the grader said of them, of an attack that is known to be out of reach, and of the honest patches."""
    handed = {**grader.submissions(grader.ATTACKS, ATTACKS | {LIMIT}), **honest.submissions(HONEST)}
    return {answer.submission.id: answer for answer in grade(handed.values(), "bwrap")}


@pytest.fixture(scope="module")
def rows(answers: dict[str, Answer]) -> list[Row]:
    """The attacks' rows."""
    return [grader.row(answers[name], "bwrap") for name in sorted(ATTACKS | {LIMIT})]


def test_no_attack_is_resolved(rows: list[Row]) -> None:
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
    rows = [honest.row(answers[name], "bwrap") for name in sorted(HONEST)]
    assert [row for row in rows if not row.held] == []


def test_what_docker_sees_is_of_every_family_and_every_project() -> None:
    every, families = grader.submissions(grader.ATTACKS), {attack.id: attack.family for attack in grader.ATTACKS}
    some = grader.in_each_family(every)
    pairs = [(families[key.partition("@")[0]], one.project) for key, one in some.items()]
    assert sorted(pairs) == sorted({(families[key.partition("@")[0]], one.project) for key, one in every.items()})
    assert len(some) < len(every)


@pytest.mark.parametrize("most", [1, 2])
def test_some_of_many_have_every_way_and_every_project(most: int) -> None:
    every = honest.submissions()
    some = some_of(every, lambda key: key.partition("@")[0], most)
    assert {key.partition("@")[0] for key in some} == {key.partition("@")[0] for key in every}
    assert {one.project for one in some.values()} == {one.project for one in every.values()}
    assert len(some) < len(every)


def test_every_attack_has_a_name_of_its_own_and_changes_the_source_it_is_of() -> None:
    assert len({attack.id for attack in grader.ATTACKS}) == len(grader.ATTACKS) >= 100
    assert len(SHAPES) == sum(map(len, PARTS)), "one takes the place of another"
    for submission in grader.submissions(grader.ATTACKS).values():
        assert any(data is not None for data in submission.files.values()), submission.id
    assert Row("grader", "x", "bwrap", "fail", "fail", True).held
