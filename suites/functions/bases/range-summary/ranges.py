"""Numbers in few characters."""

from collections.abc import Iterable


def summary(numbers: Iterable[int]) -> str:
    """Return whole numbers as a text such as ``1-3,7``."""
    raise NotImplementedError
