"""Lengths of time as people write them."""


def seconds(text: str) -> int:
    """Return how many seconds a duration such as ``1h30m`` has."""
    raise NotImplementedError
