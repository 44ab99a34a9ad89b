import itertools

import pytest
from chunks import chunks


@pytest.mark.parametrize(
    ("items", "size", "lists"),
    [
        ([], 3, []),
        ([1, 2, 3, 4], 2, [[1, 2], [3, 4]]),
        ([1, 2, 3], 5, [[1, 2, 3]]),
        ([1, 2, 3], 1, [[1], [2], [3]]),
        ("abcde", 2, [["a", "b"], ["c", "d"], ["e"]]),
        (range(7), 3, [[0, 1, 2], [3, 4, 5], [6]]),
        ([None, 0, ""], 2, [[None, 0], [""]]),
    ],
)
def test_what_it_yields(items, size, lists):
    assert list(chunks(items, size)) == lists


def test_an_endless_iterable():
    found = chunks(itertools.count(), 3)
    assert [next(found), next(found)] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.edge_case
def test_no_more_is_taken_than_is_needed():
    source = iter(range(10))
    found = chunks(source, 3)
    assert next(found) == [0, 1, 2]
    assert next(source) == 3


@pytest.mark.edge_case
@pytest.mark.parametrize("size", [0, -1])
def test_a_size_is_checked_at_once(size):
    source = iter([1, 2])
    with pytest.raises(ValueError):
        chunks(source, size)
    assert list(source) == [1, 2]


@pytest.mark.edge_case
def test_lists_are_new():
    found = list(chunks([1, 2, 3, 4], 2))
    found[0].append(9)
    assert found == [[1, 2, 9], [3, 4]]
