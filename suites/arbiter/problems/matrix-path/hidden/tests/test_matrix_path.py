import random

import pytest
from matrix_path import earliest
from steps import steps

GRID = [[0, 5, 1], [1, None, 1], [1, 1, 1]]


def test_the_fastest_way():
    assert earliest(GRID) == 4
    assert earliest([[0, 1], [9, 2]]) == 3


def test_a_way_may_go_up_and_left():
    grid = [
        [0, 9, 1, 1, 1],
        [1, 9, 1, 9, 1],
        [1, 1, 1, 9, 1],
    ]
    assert earliest(grid) == 10


def test_walls_are_not_crossed():
    assert earliest([[0, None, 1], [1, None, 1], [1, 7, 1]]) == 10
    assert earliest([[0, None], [None, 1]]) is None


@pytest.mark.edge_case
def test_a_single_cell():
    assert earliest([[7]]) == 0
    assert earliest([[None]]) is None


@pytest.mark.edge_case
def test_a_wall_at_either_end():
    assert earliest([[None, 1], [1, 1]]) is None
    assert earliest([[0, 1], [1, None]]) is None


@pytest.mark.edge_case
def test_moves_that_take_no_time():
    assert earliest([[3, 0, 0], [0, 0, 0]]) == 0


@pytest.mark.edge_case
@pytest.mark.parametrize("grid", [[], [[]], [[0, 1], [1]], [[0, 1], [-1, 1]], [[0], [1, 2]]])
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(ValueError):
        earliest(grid)


@pytest.mark.temporal
def test_one_waits_at_a_gate():
    assert earliest([[0, 1, 1]], {(0, 1): 10}) == 11
    assert earliest([[0, 3, 1]], {(0, 2): 10}) == 10


@pytest.mark.temporal
def test_a_gate_that_is_open_already_costs_nothing():
    assert earliest([[0, 4, 4]], {(0, 1): 3, (0, 2): 8}) == 8


@pytest.mark.temporal
def test_a_longer_way_may_be_faster_than_waiting():
    assert earliest(GRID, {(2, 1): 20}) == 8
    assert earliest(GRID, {(2, 1): 6}) == 7


@pytest.mark.temporal
def test_gates_that_mean_nothing():
    assert earliest(GRID, {(0, 0): 50, (1, 1): 50, (9, 9): 50}) == 4


@pytest.mark.performance
def test_a_large_grid():
    chance = random.Random(11)
    grid = [[chance.randrange(1, 50) for _ in range(40)] for _ in range(40)]
    with steps(at_most=300_000):
        found = earliest(grid)
    assert found < 40 * 50 * 2
