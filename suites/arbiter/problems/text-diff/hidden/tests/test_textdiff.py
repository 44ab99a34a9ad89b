import random

import pytest
from steps import steps
from textdiff import apply, blame, diff


def kept(changes):
    return sum(kind == " " for kind, _ in changes)


def most_kept(old, new):
    """Return the length of the longest common subsequence, by the table of all prefixes."""
    row = [0] * (len(new) + 1)
    for line in old:
        before, row = row, [0]
        for place, other in enumerate(new):
            row.append(before[place] + 1 if line == other else max(row[place], before[place + 1]))
    return row[-1]


def test_a_line_is_changed():
    assert diff(["a", "b", "c"], ["a", "x", "c"]) == [(" ", "a"), ("-", "b"), ("+", "x"), (" ", "c")]


def test_lines_come_and_go():
    assert diff(["a", "b"], ["a", "b", "c"]) == [(" ", "a"), (" ", "b"), ("+", "c")]
    assert diff(["a", "b", "c"], ["b", "c"]) == [("-", "a"), (" ", "b"), (" ", "c")]


def test_changes_make_the_new_text_and_as_many_lines_as_possible_stay():
    chance = random.Random(3)
    for _ in range(60):
        old, new = ([chance.choice("abcd") for _ in range(chance.randrange(9))] for _ in range(2))
        changes = diff(old, new)
        assert apply(old, changes) == new
        assert kept(changes) == most_kept(old, new)


@pytest.mark.edge_case
def test_empty_texts():
    assert diff([], []) == []
    assert diff([], ["a"]) == [("+", "a")]
    assert diff(["a"], []) == [("-", "a")]


@pytest.mark.edge_case
def test_what_goes_stands_before_what_comes():
    changes = diff(["k", "a", "b", "c", "l"], ["k", "x", "y", "l", "z"])
    assert "".join(kind for kind, _ in changes) == " ---++ +"


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "changes",
    [
        [(" ", "a")],
        [(" ", "a"), ("-", "x")],
        [(" ", "a"), (" ", "b"), (" ", "c")],
        [(" ", "b"), (" ", "a")],
        [(" ", "a"), ("?", "b")],
    ],
)
def test_changes_of_another_text_are_refused(changes):
    with pytest.raises(ValueError):
        apply(["a", "b"], changes)


@pytest.mark.edge_case
def test_arguments_are_left_alone():
    old, new = ["a", "b"], ["b", "c"]
    changes = diff(old, new)
    assert apply(old, changes) == ["b", "c"]
    assert (old, new) == (["a", "b"], ["b", "c"])


@pytest.mark.temporal
def test_each_line_is_from_the_revision_that_brought_it():
    assert blame([["a", "b"], ["a", "b", "c"], ["z", "a", "c"]]) == [2, 0, 1]


@pytest.mark.temporal
def test_a_line_that_comes_back_is_new():
    assert blame([["a", "b"], ["a"], ["a", "b"]]) == [0, 2]
    assert blame([["a"], [], ["a"], ["a"]]) == [2]


@pytest.mark.temporal
def test_few_revisions():
    assert blame([]) == []
    assert blame([["a", "b"]]) == [0, 0]


@pytest.mark.performance
def test_long_texts_with_few_changes():
    old = [str(number) for number in range(3_000)]
    new = ["first", *old[:1_500], "middle", *old[1_510:], "last"]
    with steps(at_most=400_000):
        changes = diff(old, new)
    assert kept(changes) == 2_990
