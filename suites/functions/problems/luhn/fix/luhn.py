"""A digit that finds mistakes in numbers."""

import re


def check_digit(number: str) -> str:
    """Return the digit that makes ``number`` pass the Luhn check."""
    digits = number.replace(" ", "").replace("-", "")
    if not re.fullmatch("[0-9]+", digits):
        raise ValueError(f"{number!r} is no number")
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)
