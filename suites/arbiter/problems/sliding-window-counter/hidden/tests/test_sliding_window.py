import pytest
from sliding_window import SlidingWindowCounter
from steps import steps


def test_events_in_the_window_are_counted():
    counter = SlidingWindowCounter(10)
    counter.add(1)
    counter.add(4)
    assert counter.total(5) == 2


def test_several_events_at_once():
    counter = SlidingWindowCounter(10)
    counter.add(1, 3)
    counter.add(1, 2)
    assert counter.total(5) == 5


def test_old_events_leave_the_window():
    counter = SlidingWindowCounter(10)
    counter.add(1)
    counter.add(8)
    assert counter.total(14) == 1
    assert counter.total(40) == 0


@pytest.mark.edge_case
def test_an_event_exactly_as_old_as_the_window_is_out():
    counter = SlidingWindowCounter(10)
    counter.add(5)
    assert counter.total(14) == 1
    assert counter.total(15) == 0


@pytest.mark.edge_case
def test_an_event_at_this_very_time_is_in():
    counter = SlidingWindowCounter(10)
    counter.add(5)
    assert counter.total(5) == 1


@pytest.mark.edge_case
@pytest.mark.parametrize("window", [0, -1])
def test_a_window_has_a_length(window):
    with pytest.raises(ValueError):
        SlidingWindowCounter(window)


@pytest.mark.edge_case
@pytest.mark.parametrize("count", [0, -2])
def test_a_count_is_at_least_one(count):
    counter = SlidingWindowCounter(10)
    with pytest.raises(ValueError):
        counter.add(1, count)
    assert counter.total(1) == 0


@pytest.mark.temporal
def test_a_late_event_counts_while_the_window_reaches_it():
    counter = SlidingWindowCounter(10)
    counter.add(9)
    assert counter.total(12) == 1
    counter.add(3)
    assert counter.total(12) == 2
    assert counter.total(14) == 1


@pytest.mark.temporal
def test_an_event_that_comes_too_late_never_counts():
    counter = SlidingWindowCounter(10)
    assert counter.total(50) == 0
    counter.add(20)
    assert counter.total(51) == 0


@pytest.mark.temporal
def test_an_event_in_the_future_waits_for_its_time():
    counter = SlidingWindowCounter(10)
    counter.add(20)
    assert counter.total(15) == 0
    assert counter.total(21) == 1


@pytest.mark.temporal
def test_time_does_not_go_back():
    counter = SlidingWindowCounter(10)
    counter.add(5)
    assert counter.total(9) == 1
    with pytest.raises(ValueError):
        counter.total(8)
    assert counter.total(9) == 1


@pytest.mark.performance
def test_a_full_window_is_not_counted_anew():
    counter = SlidingWindowCounter(10_000)
    with steps(at_most=120_000):
        for time in range(2_000):
            counter.add(time)
            total = counter.total(time)
    assert total == 2_000
