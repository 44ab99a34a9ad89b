import pytest
from duration import seconds


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("45s", 45),
        ("90m", 5400),
        ("1h30m", 5400),
        ("2d 4h", 187200),
        (" 1 d 1 s ", 86401),
        ("1D2H3M4S", 93784),
        ("0s", 0),
        ("100h", 360000),
    ],
)
def test_what_it_returns(text, length):
    assert seconds(text) == length


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "5",
        "-5s",
        "1.5h",
        "5 weeks",
        "30m1h",
        "1h1h",
    ],
)
def test_what_it_refuses(text):
    with pytest.raises(ValueError):
        seconds(text)
