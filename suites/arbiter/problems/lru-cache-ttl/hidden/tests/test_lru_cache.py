import pytest
from lru_cache import LRUCache
from steps import steps


def test_what_is_stored_is_found():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    assert cache.get("a", now=1) == 1
    assert cache.get("b", now=1) is None
    assert cache.get("b", now=1, default=7) == 7


def test_the_least_recently_used_entry_goes():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    cache.put("b", 2, now=1)
    assert cache.get("a", now=2) == 1
    cache.put("c", 3, now=3)
    assert cache.get("b", now=4) is None
    assert cache.get("a", now=4) == 1


def test_storing_counts_as_a_use():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    cache.put("b", 2, now=1)
    cache.put("a", 3, now=2)
    cache.put("c", 4, now=3)
    assert cache.get("a", now=4) == 3
    assert cache.get("b", now=4) is None


@pytest.mark.edge_case
@pytest.mark.parametrize("value", [None, 0, ""])
def test_a_value_may_be_anything(value):
    cache = LRUCache(2, 60)
    cache.put("a", value, now=0)
    assert cache.get("a", now=1, default="none") == value


@pytest.mark.edge_case
def test_replacing_pushes_nothing_out():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    cache.put("b", 2, now=1)
    cache.put("b", 3, now=2)
    assert cache.size(now=3) == 2
    assert cache.get("a", now=3) == 1


@pytest.mark.edge_case
@pytest.mark.parametrize(("capacity", "ttl"), [(0, 60), (-1, 60), (1, 0), (1, -5)])
def test_limits_are_checked(capacity, ttl):
    with pytest.raises(ValueError):
        LRUCache(capacity, ttl)


@pytest.mark.temporal
def test_an_entry_dies_at_the_end_of_its_time():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    assert cache.get("a", now=59) == 1
    assert cache.get("a", now=60) is None
    assert cache.size(now=60) == 0


@pytest.mark.temporal
def test_storing_again_starts_the_time_anew():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    cache.put("a", 2, now=50)
    assert cache.get("a", now=100) == 2
    assert cache.get("a", now=110) is None


@pytest.mark.temporal
def test_reading_does_not_prolong_a_life():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    assert cache.get("a", now=40) == 1
    assert cache.get("a", now=70) is None


@pytest.mark.temporal
def test_the_dead_make_room_before_the_living():
    cache = LRUCache(2, 60)
    cache.put("a", 1, now=0)
    cache.put("b", 2, now=50)
    assert cache.get("a", now=55) == 1
    cache.put("c", 3, now=70)
    assert cache.get("b", now=71) == 2
    assert cache.size(now=71) == 2


@pytest.mark.performance
def test_a_full_cache_is_as_fast_as_an_empty_one():
    cache = LRUCache(1_000, 1_000_000)
    with steps(at_most=150_000):
        for now in range(3_000):
            cache.put(now, now, now)
            cache.get(now - 500, now)
    assert cache.get(2_000, 3_000) == 2_000
