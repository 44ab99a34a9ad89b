"""Items in groups."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of ``size``."""
    if size < 1:
        raise ValueError("size must be at least 1")
    rest = iter(items)
    return iter(lambda: list(islice(rest, size)), [])
