import pytest
from luhn import check_digit


@pytest.mark.parametrize(
    ("number", "digit"),
    [
        ("0", "0"),
        ("1", "8"),
        ("5", "9"),
        ("9", "1"),
        ("59", "6"),
        ("18", "2"),
        ("411111111111111", "1"),
        ("4111 1111 1111 111", "1"),
        ("37828-2246-3100-0", "5"),
        ("0000", "0"),
    ],
)
def test_what_it_returns(number, digit):
    assert check_digit(number) == digit


@pytest.mark.edge_case
@pytest.mark.parametrize(
    "number",
    [
        "",
        " - ",
        "12a",
        "１２",
    ],
)
def test_what_it_refuses(number):
    with pytest.raises(ValueError):
        check_digit(number)
