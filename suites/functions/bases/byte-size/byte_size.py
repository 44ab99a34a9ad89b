"""Sizes for people to read."""


def shown(size: int) -> str:
    """Return a number of bytes for people to read."""
    raise NotImplementedError
