"""A digit that finds mistakes in numbers."""


def check_digit(number: str) -> str:
    """Return the digit that makes ``number`` pass the Luhn check."""
    raise NotImplementedError
