"""Numbers as the Romans wrote them."""

_VALUES = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
]


def to_roman(number: int) -> str:
    """Return ``number`` as a Roman numeral."""
    if not 1 <= number <= 3999:
        raise ValueError("a Roman numeral is from 1 to 3999")
    found = ""
    for value, letters in _VALUES:
        count, number = divmod(number, value)
        found += letters * count
    return found
