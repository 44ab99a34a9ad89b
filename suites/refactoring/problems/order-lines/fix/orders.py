"""Read orders from text."""

import re

_PRICE = re.compile(r"(\d+)\.(\d\d)")
_DISCOUNT = re.compile(r"(\d+)%")


def total(text):
    """Return what an order costs, in cents; a ValueError names the line that cannot be read."""
    cents, discount = 0, 0
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            added, percent = _read(line.strip())
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
        cents += added
        discount = max(discount, percent)
    return cents - cents * discount // 100


def _read(line):
    """Return the cents and the discount of a line."""
    if not line or line.startswith("#"):
        return 0, 0
    if line.startswith("discount "):
        return 0, _percent(line.removeprefix("discount ").strip())
    return _cents(line), 0


def _percent(text):
    match = _DISCOUNT.fullmatch(text)
    if not match or int(match[1]) > 100:
        raise ValueError("a discount is a percentage")
    return int(match[1])


def _cents(line):
    amount, found, item = line.partition(" x ")
    if not found or " x " in item:
        raise ValueError("neither item nor discount")
    if not amount.isdigit():
        raise ValueError("an amount is a number")
    return int(amount) * _price(item.split())


def _price(words):
    if len(words) < 2:
        raise ValueError("a price is missing")
    match = _PRICE.fullmatch(words[-1])
    if not match:
        raise ValueError("a price has two decimal places")
    return int(match[1]) * 100 + int(match[2])
