import random

import pytest
from intervals import free, merge
from steps import steps


def test_overlapping_intervals_become_one():
    assert merge([(1, 4), (3, 6), (8, 9)]) == [(1, 6), (8, 9)]


def test_the_result_is_in_order():
    assert merge([(5, 7), (1, 2), (6, 9)]) == [(1, 2), (5, 9)]


def test_an_interval_within_another():
    assert merge([(1, 10), (2, 3), (4, 5)]) == [(1, 10)]


@pytest.mark.edge_case
def test_intervals_that_touch_become_one():
    assert merge([(3, 4), (1, 3), (5, 6)]) == [(1, 4), (5, 6)]


@pytest.mark.edge_case
def test_nothing_covers_nothing():
    assert merge([]) == []
    assert merge([(4, 4), (1, 2), (9, 9)]) == [(1, 2)]


@pytest.mark.edge_case
def test_an_interval_does_not_end_before_it_starts():
    with pytest.raises(ValueError):
        merge([(1, 2), (5, 4)])


@pytest.mark.edge_case
def test_arguments_are_left_alone():
    given = [[5, 7], [1, 2], [6, 9]]
    assert merge(given) == [(1, 2), (5, 9)]
    assert given == [[5, 7], [1, 2], [6, 9]]
    assert merge(iter(given)) == [(1, 2), (5, 9)]


@pytest.mark.temporal
def test_gaps_of_a_day():
    assert free([(12, 13), (9, 10)], opens=8, closes=17) == [(8, 9), (10, 12), (13, 17)]


@pytest.mark.temporal
def test_what_is_busy_may_reach_beyond_the_day():
    assert free([(5, 9), (16, 20)], opens=8, closes=17) == [(9, 16)]
    assert free([(5, 20)], opens=8, closes=17) == []
    assert free([(1, 3), (30, 40)], opens=8, closes=17) == [(8, 17)]


@pytest.mark.temporal
def test_short_gaps_are_left_out():
    assert free([(9, 10), (11, 14)], opens=8, closes=17, least=2) == [(14, 17)]


@pytest.mark.temporal
def test_a_day_that_is_over_before_it_starts():
    assert free([], opens=9, closes=9) == []
    assert free([(1, 2)], opens=9, closes=8) == []


@pytest.mark.performance
def test_many_intervals():
    starts = list(range(0, 10_000, 4))
    random.Random(7).shuffle(starts)
    with steps(at_most=100_000):
        merged = merge([(start, start + 2) for start in starts])
    assert len(merged) == 2_500
