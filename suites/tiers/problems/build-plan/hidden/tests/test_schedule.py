import pytest
from planner.schedule import schedule


def build(**targets):
    return {name: {"seconds": seconds, "needs": list(needs)} for name, (seconds, *needs) in targets.items()}


def test_one_worker_follows_the_needs():
    plan = schedule(build(a=(2,), b=(3, "a"), c=(1, "b")), {"a", "b", "c"}, 1)
    assert plan == [(0, 0, "a"), (2, 0, "b"), (5, 0, "c")]


def test_the_longest_way_is_first():
    targets = build(a=(1,), b=(4,), c=(1,), d=(9, "c"))
    assert schedule(targets, set(targets), 1) == [(0, 0, "c"), (1, 0, "d"), (10, 0, "b"), (14, 0, "a")]


def test_workers_share():
    targets = build(a=(3,), b=(2,), c=(2,), d=(1, "a", "b"))
    assert schedule(targets, set(targets), 2) == [(0, 0, "a"), (0, 1, "b"), (2, 1, "c"), (3, 0, "d")]


def test_other_needs_are_there_already():
    targets = build(a=(5,), b=(2, "a"))
    assert schedule(targets, {"b"}, 1) == [(0, 0, "b")]


@pytest.mark.edge_case
def test_equal_ways_go_by_name():
    targets = build(b=(2,), a=(2,), c=(2,))
    assert schedule(targets, set(targets), 2) == [(0, 0, "a"), (0, 1, "b"), (2, 0, "c")]


@pytest.mark.edge_case
def test_targets_of_no_time():
    targets = build(a=(0,), b=(0, "a"), c=(1, "b"))
    assert schedule(targets, set(targets), 1) == [(0, 0, "a"), (0, 0, "b"), (0, 0, "c")]


@pytest.mark.edge_case
def test_nothing_to_build():
    assert schedule({}, set(), 3) == []
    with pytest.raises(ValueError):
        schedule({}, set(), 0)


@pytest.mark.temporal
def test_the_lowest_free_worker_is_taken():
    targets = build(a=(1,), b=(2,), c=(3,), d=(1, "c"))
    assert schedule(targets, set(targets), 3) == [(0, 0, "c"), (0, 1, "b"), (0, 2, "a"), (3, 0, "d")]


@pytest.mark.temporal
def test_a_worker_waits_while_nothing_is_ready():
    targets = build(a=(4,), b=(1,), c=(1, "a"), d=(1, "a"))
    assert schedule(targets, set(targets), 2) == [(0, 0, "a"), (0, 1, "b"), (4, 0, "c"), (4, 1, "d")]


@pytest.mark.temporal
def test_what_ends_at_the_same_time_is_all_ready():
    targets = build(a=(2,), b=(2,), c=(1, "a"), d=(5, "b"))
    assert schedule(targets, set(targets), 2) == [(0, 0, "b"), (0, 1, "a"), (2, 0, "d"), (2, 1, "c")]


@pytest.mark.performance
def test_a_long_chain():
    targets = {f"t{number}": {"needs": [f"t{number - 1}"] if number else [], "seconds": 1} for number in range(5_000)}
    plan = schedule(targets, set(targets), 4)
    assert (plan[0], plan[-1]) == ((0, 0, "t0"), (4_999, 0, "t4999"))
