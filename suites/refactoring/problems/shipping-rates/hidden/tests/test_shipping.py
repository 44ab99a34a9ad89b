import pytest
from shipping import rate


@pytest.mark.parametrize(
    ("country", "grams", "normal", "express"),
    [
        ("DE", 1, 390, 790),
        ("DE", 500, 390, 790),
        ("DE", 501, 550, 990),
        ("DE", 10000, 950, 1590),
        ("DE", 10001, None, None),
        ("FR", 500, 890, 1490),
        ("AT", 2000, 1290, 1990),
        ("NL", 9000, 1990, 2990),
        ("US", 100, 1690, 2990),
        ("US", 2000, 2690, 4990),
        ("US", 2001, None, None),
        ("XX", 1, None, None),
    ],
)
def test_prices(country, grams, normal, express):
    assert rate(country, grams, False) == normal
    assert rate(country, grams, True) == express
