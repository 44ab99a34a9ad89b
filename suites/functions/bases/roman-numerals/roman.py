"""Numbers as the Romans wrote them."""


def to_roman(number: int) -> str:
    """Return ``number`` as a Roman numeral."""
    raise NotImplementedError
