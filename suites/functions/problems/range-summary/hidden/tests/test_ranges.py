import pytest
from ranges import summary


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([5], "5"),
        ([1, 2], "1,2"),
        ([1, 2, 3], "1-3"),
        ([3, 1, 2], "1-3"),
        ([1, 1, 2, 2, 3], "1-3"),
        ([1, 3, 5], "1,3,5"),
        ([1, 2, 4, 5, 6, 9], "1,2,4-6,9"),
        ([-3, -2, -1, 4], "(-3)-(-1),4"),
        ([-1, 0, 1], "(-1)-1"),
        ([-7, 0], "(-7),0"),
        (range(100), "0-99"),
    ],
)
def test_what_it_returns(numbers, text):
    assert summary(numbers) == text
