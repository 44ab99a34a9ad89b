import pytest
from versions import compare


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        ("1.0", "2.0", -1),
        ("1.10", "1.9", 1),
        ("1.4", "1.4.0", 0),
        ("0", "0.0.0", 0),
        ("1.4.0-rc.1", "1.4.0", -1),
        ("1.4.1-rc.1", "1.4.0", 1),
        ("1.0-rc.2", "1.0-rc.10", -1),
        ("1.0-alpha", "1.0-beta", -1),
        ("1.0-1", "1.0-alpha", -1),
        ("1.0-rc", "1.0-rc.1", -1),
        ("1.0-rc.01", "1.0.0-rc.1", 0),
        ("01.2", "1.2", 0),
    ],
)
def test_what_it_returns(one, other, order):
    assert compare(one, other) == order


@pytest.mark.edge_case
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("", "1"),
        ("1.", "1"),
        ("1", "v1"),
        ("1.0-", "1"),
        ("1 ", "1"),
    ],
)
def test_what_it_refuses(one, other):
    with pytest.raises(ValueError):
        compare(one, other)
