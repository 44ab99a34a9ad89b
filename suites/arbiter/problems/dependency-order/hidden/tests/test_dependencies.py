import pytest
from dependencies import CycleError, order, starts
from steps import steps


def test_each_comes_after_what_it_needs():
    assert order({"app": ["lib", "db"], "lib": ["core"]}) == ["core", "db", "lib", "app"]


def test_the_smallest_name_comes_first_where_it_can():
    assert order({"d": [], "b": ["d"], "c": [], "a": ["c"]}) == ["c", "a", "d", "b"]


def test_a_cycle_is_shown():
    needs = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    with pytest.raises(CycleError) as caught:
        order(needs)
    cycle = caught.value.cycle
    assert sorted(cycle) == ["a", "b", "c"]
    assert all(after in needs[name] for name, after in zip(cycle, cycle[1:] + cycle[:1], strict=True))


@pytest.mark.edge_case
def test_nothing_at_all():
    assert order({}) == []
    assert starts({}, {}) == {}


@pytest.mark.edge_case
def test_a_task_that_needs_itself():
    with pytest.raises(CycleError) as caught:
        order({"a": [], "b": ["b", "a"]})
    assert caught.value.cycle == ["b"]


@pytest.mark.edge_case
def test_a_need_that_is_given_twice_counts_once():
    needs = {"b": ["a", "a"], "c": ["b", "a", "b"]}
    assert order(needs) == ["a", "b", "c"]
    assert needs == {"b": ["a", "a"], "c": ["b", "a", "b"]}


@pytest.mark.temporal
def test_a_task_starts_when_the_last_of_its_needs_has_ended():
    assert starts({"c": ["a", "b"]}, {"a": 3, "b": 5}) == {"a": 0, "b": 0, "c": 5}


@pytest.mark.temporal
def test_times_add_up_along_a_chain():
    found = starts({"app": ["lib", "db"], "lib": ["core"]}, {"core": 2, "lib": 3, "db": 4, "app": 9})
    assert found == {"core": 0, "db": 0, "lib": 2, "app": 5}


@pytest.mark.temporal
def test_a_task_without_seconds_takes_no_time():
    assert starts({"c": ["b"], "b": ["a"]}, {"a": 7}) == {"a": 0, "b": 7, "c": 7}


@pytest.mark.temporal
def test_tasks_that_wait_for_each_other_never_start():
    with pytest.raises(CycleError):
        starts({"a": ["b"], "b": ["a"]}, {"a": 1, "b": 1})


@pytest.mark.performance
def test_long_chains():
    names = [f"{number:05}" for number in range(2_000)]
    with steps(at_most=150_000):
        found = order({name: [before] for before, name in zip(names, names[1:], strict=False)})
    assert found[-1] == "01999"


@pytest.mark.performance
def test_many_tasks_that_need_one():
    needs = {f"{number:05}": ["base"] for number in range(2_000)}
    with steps(at_most=150_000):
        found = order(needs)
    assert found[:2] == ["base", "00000"]
