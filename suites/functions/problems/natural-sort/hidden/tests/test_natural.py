import pytest
from natural import natural_sorted


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        ([], []),
        (["b", "a"], ["a", "b"]),
        (["file10", "file2", "file1"], ["file1", "file2", "file10"]),
        (["B", "a", "C"], ["a", "B", "C"]),
        (["a1b10", "a1b9"], ["a1b9", "a1b10"]),
        (["10", "9", "x"], ["9", "10", "x"]),
        (["a", "1", "A"], ["1", "A", "a"]),
        (["a1", "a01"], ["a01", "a1"]),
        (["a1x", "a01"], ["a01", "a1x"]),
        (["ab", "a"], ["a", "ab"]),
        (["a-1", "a1"], ["a1", "a-1"]),
        (["v1.10.0", "v1.9.3", "v1.9"], ["v1.9", "v1.9.3", "v1.10.0"]),
    ],
)
def test_what_it_returns(names, ordered):
    assert natural_sorted(names) == ordered
