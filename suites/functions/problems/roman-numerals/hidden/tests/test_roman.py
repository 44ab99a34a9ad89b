import pytest
from roman import to_roman


@pytest.mark.parametrize(
    ("number", "numeral"),
    [
        (1, "I"),
        (3, "III"),
        (4, "IV"),
        (9, "IX"),
        (49, "XLIX"),
        (90, "XC"),
        (400, "CD"),
        (944, "CMXLIV"),
        (1988, "MCMLXXXVIII"),
        (3999, "MMMCMXCIX"),
    ],
)
def test_what_it_returns(number, numeral):
    assert to_roman(number) == numeral


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "number",
    [
        0,
        -5,
        4000,
    ],
)
def test_what_it_refuses(number):
    with pytest.raises(ValueError):
        to_roman(number)
