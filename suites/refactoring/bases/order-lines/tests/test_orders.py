import pytest
from orders import total


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("", 0),
        ("2 x tea 3.50", 700),
        ("2 x tea 3.50\n1 x green tea 4.05\n", 1105),
        ("# a comment\n\n  1 x tea 1.00  ", 100),
        ("3 x tea 1.11\ndiscount 10%", 300),
        ("discount 10%\ndiscount 50%\ndiscount 20%\n1 x tea 1.00", 50),
        ("discount  100% \n1 x tea 1.00", 0),
        ("0 x tea 9.99", 0),
    ],
)
def test_totals(text, cents):
    assert total(text) == cents


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tea", "line 1: neither item nor discount"),
        ("1 x tea 1.00\n1 x 2 x tea 1.00", "line 2: neither item nor discount"),
        ("one x tea 1.00", "line 1: an amount is a number"),
        ("1 x tea", "line 1: a price is missing"),
        ("1 x tea 1", "line 1: a price has two decimal places"),
        ("1 x tea 1.0", "line 1: a price has two decimal places"),
        ("\n\ndiscount 5", "line 3: a discount is a percentage"),
        ("discount 101%", "line 1: a discount is a percentage"),
        ("discount x%", "line 1: a discount is a percentage"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(ValueError) as caught:
        total(text)
    assert str(caught.value) == message
