import pytest
from limited_queue import RateLimitedQueue
from steps import steps


def test_first_in_first_out():
    queue = RateLimitedQueue(10, 1_000)
    for item in "abc":
        queue.put(item)
    assert [queue.take(0) for _ in range(4)] == ["a", "b", "c", None]


def test_the_highest_priority_is_next():
    queue = RateLimitedQueue(10, 1_000)
    queue.put("low", priority=-1)
    queue.put("first", priority=5)
    queue.put("none")
    queue.put("second", priority=5)
    assert [queue.take(0) for _ in range(4)] == ["first", "second", "none", "low"]


def test_the_limit_holds():
    queue = RateLimitedQueue(2, 1_000)
    for item in "abc":
        queue.put(item)
    assert [queue.take(5) for _ in range(3)] == ["a", "b", None]
    assert queue.take(2_000) == "c"


@pytest.mark.edge_case
def test_items_need_not_be_comparable():
    queue = RateLimitedQueue(10, 1_000)
    items = [{"a": 1}, {"b": 2}, ["c"], {"d"}]
    for item in items:
        queue.put(item, priority=3)
    assert [queue.take(0) for _ in items] == [{"a": 1}, {"b": 2}, ["c"], {"d"}]


@pytest.mark.edge_case
def test_none_is_no_item_but_what_is_false_is():
    queue = RateLimitedQueue(10, 1_000)
    with pytest.raises(ValueError):
        queue.put(None)
    queue.put(0)
    queue.put("")
    assert queue.next_time(0) == 0
    assert [queue.take(0), queue.take(0), queue.take(0)] == [0, "", None]


@pytest.mark.edge_case
def test_an_empty_queue():
    queue = RateLimitedQueue(1, 1_000)
    assert queue.take(0) is None
    assert queue.next_time(0) is None
    queue.put("a")
    assert queue.take(0) == "a"


@pytest.mark.edge_case
@pytest.mark.parametrize(("limit", "per"), [(0, 1), (1, 0), (-1, 5)])
def test_limits_are_checked(limit, per):
    with pytest.raises(ValueError):
        RateLimitedQueue(limit, per)


@pytest.mark.temporal
def test_an_item_counts_until_its_time_is_over():
    queue = RateLimitedQueue(1, 1_000)
    queue.put("a")
    queue.put("b")
    assert queue.take(5) == "a"
    assert queue.take(1_004) is None
    assert queue.next_time(1_004) == 1_005
    assert queue.take(1_005) == "b"


@pytest.mark.temporal
def test_the_window_slides():
    queue = RateLimitedQueue(2, 1_000)
    for item in "abcd":
        queue.put(item)
    taken = [queue.take(time) for time in (0, 900, 1_000, 1_100, 1_900)]
    assert taken == ["a", "b", "c", None, "d"]


@pytest.mark.temporal
def test_an_item_waits_for_its_time():
    queue = RateLimitedQueue(10, 1_000)
    queue.put("later", priority=9, not_before=500)
    queue.put("now")
    assert queue.take(0) == "now"
    assert queue.take(499) is None
    assert queue.next_time(499) == 500
    assert queue.take(500) == "later"


@pytest.mark.temporal
def test_the_next_time_waits_for_both_item_and_limit():
    queue = RateLimitedQueue(1, 1_000)
    queue.put("a")
    queue.put("b", not_before=1_500)
    assert queue.take(0) == "a"
    assert queue.next_time(10) == 1_500
    queue.put("c", not_before=300)
    assert queue.next_time(10) == 1_000


@pytest.mark.performance
def test_many_items_wait():
    queue = RateLimitedQueue(3_000, 1_000)
    with steps(at_most=200_000):
        for number in range(1, 3_001):
            queue.put(number, priority=number % 7)
        taken = [queue.take(1) for _ in range(3_000)]
    assert taken[:2] == [6, 13]
