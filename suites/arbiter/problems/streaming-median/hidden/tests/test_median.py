import math

import pytest
from median import StreamingMedian
from steps import steps


def stream_of(*values):
    stream = StreamingMedian(10)
    for value in values:
        stream.add(value, now=0)
    return stream


def test_the_middle_of_an_odd_number():
    assert stream_of(9, 1, 5).median(now=0) == 5


def test_the_mean_of_the_two_in_the_middle():
    assert stream_of(9, 1, 5, 2).median(now=0) == 3.5
    assert stream_of(2, 1).median(now=0) == 1.5


def test_the_median_follows_the_stream():
    stream = StreamingMedian(100)
    found = []
    for now, value in enumerate([8, 3, 5, 1, 9]):
        stream.add(value, now)
        found.append(stream.median(now))
    assert found == [8, 5.5, 5, 4, 5]


@pytest.mark.edge_case
def test_no_value_has_no_median():
    assert StreamingMedian(10).median(now=0) is None


@pytest.mark.edge_case
def test_equal_values_each_count():
    assert stream_of(1, 7, 7, 7, 9, 1, 1).median(now=0) == 7
    assert stream_of(4, 4).median(now=0) == 4


@pytest.mark.edge_case
def test_what_is_not_a_number_is_refused():
    stream = stream_of(1)
    with pytest.raises(ValueError):
        stream.add(math.nan, now=0)
    assert stream.median(now=0) == 1
    stream.add(math.inf, now=0)
    assert stream.median(now=0) == math.inf


@pytest.mark.edge_case
@pytest.mark.parametrize("window", [0, -1])
def test_a_window_has_a_length(window):
    with pytest.raises(ValueError):
        StreamingMedian(window)


@pytest.mark.temporal
def test_a_value_leaves_when_it_is_as_old_as_the_window():
    stream = StreamingMedian(10)
    stream.add(5, now=0)
    stream.add(1, now=4)
    assert stream.median(now=9) == 3
    assert stream.median(now=10) == 1
    assert stream.median(now=14) is None


@pytest.mark.temporal
def test_equal_values_leave_one_by_one():
    stream = StreamingMedian(10)
    for now in (0, 2, 4):
        stream.add(7, now)
    stream.add(1, now=5)
    assert stream.median(now=11) == 7
    assert stream.median(now=13) == 4
    assert stream.median(now=14) == 1


@pytest.mark.temporal
def test_time_does_not_go_back():
    stream = StreamingMedian(10)
    stream.add(5, now=3)
    assert stream.median(now=8) == 5
    with pytest.raises(ValueError):
        stream.add(1, now=7)
    with pytest.raises(ValueError):
        stream.median(now=7)
    assert stream.median(now=8) == 5


@pytest.mark.performance
def test_nothing_is_sorted_anew():
    class Counted(float):
        __hash__ = float.__hash__

        def __lt__(self, other):
            return float(self) < float(other)

        def __gt__(self, other):
            return float(self) > float(other)

    stream = StreamingMedian(501)
    with steps(at_most=200_000):
        for now in range(2_000):
            stream.add(Counted(now * 7919 % 2_003), now)
            found = stream.median(now)
    assert 0 < found < 2_003
