"""How people did on the problems of a history, beside the models."""

import json
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.gating.history import append_history
from codegate.gating.people import people_path, read_people, record_people
from codegate.reporting import render_dashboard
from tests.gating.test_history import entry

TABLE = "problem,person,solved\np0,Ada,yes\np0,Bo,no\np1,Ada,yes\np2,Bo,No\n"
PROBLEMS = frozenset(f"p{i}" for i in range(10))


@pytest.fixture
def history(tmp_path: Path) -> Path:
    append_history(tmp_path / "history.jsonl", [entry("night-1"), entry("night-2", 1)])
    return tmp_path / "history.jsonl"


def write(history: Path, text: str) -> Path:
    path = history.with_name("people.csv")
    path.write_text(text)
    return path


@pytest.mark.requirement("D11")
def test_the_dashboard_has_a_column_of_what_people_solved_where_it_was_recorded(history: Path) -> None:
    entries = [entry("night-1"), entry("night-2", 1)]
    assert "People" not in render_dashboard(entries, ())
    assert read_people(history) is None
    made = record_people(history, write(history, TABLE), PROBLEMS)
    assert (made.people, made.counts) == (2, {"p0": (1, 2), "p1": (1, 1), "p2": (0, 1)})
    assert read_people(history) == made
    assert "Ada" not in people_path(history).read_text(), "who they are is not kept"
    rate = made.rate_on(entries[0].counts)
    assert (rate.value, rate.n) == (0.5, 3), "the mean of a half, all and nothing"
    page = render_dashboard(entries, (), made)
    assert '<th scope="col">People</th>' in page
    assert page.count(rate.words()) == 3, "for each run, and for the candidate"


def test_it_is_replaced_by_the_next_table(history: Path) -> None:
    record_people(history, write(history, TABLE), PROBLEMS)
    record_people(history, write(history, "problem,person,solved\np9,Cy,yes\n"), PROBLEMS)
    found = read_people(history)
    assert found is not None
    assert (found.words(), found.counts) == ("one person", {"p9": (1, 1)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "first line is not problem,person,solved"),
        ("problem,solved\np0,yes\n", "first line is not"),
        ("problem,person,solved\n", "has no result"),
        ("problem,person,solved\np0,Ada,maybe\n", "line 2 is no problem, person and yes or no"),
        ("problem,person,solved\np0,,yes\n", "line 2 is no"),
        ("problem,person,solved\np0,Ada\n", "line 2 is no"),
        ("problem,person,solved\np0,Ada,yes,no\n", "line 2 is no"),
        ("problem,person,solved\nq0,Ada,yes\n", "no run of .* has the problem q0"),
        (TABLE + "p0,Ada,no\n", "Ada has two results of p0"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_line(history: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        record_people(history, write(history, text), PROBLEMS)
    assert not people_path(history).exists()


def test_a_broken_record_is_refused(history: Path) -> None:
    document = {"schema": "codegate.people/1", "people": 1, "counts": {"p0": [0, -1]}}
    people_path(history).write_text(json.dumps(document))
    with pytest.raises(UsageError, match="Record it again"):
        read_people(history)
