"""Which version is later."""


def compare(one: str, other: str) -> int:
    """Return -1, 0 or 1 as version ``one`` is before, equal to or after ``other``."""
    raise NotImplementedError
