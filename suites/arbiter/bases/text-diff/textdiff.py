"""Compare texts line by line."""

from collections.abc import Sequence

Change = tuple[str, str]


def diff(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return how ``new`` is made from ``old`` with the fewest changes."""
    raise NotImplementedError


def apply(old: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """Return what ``changes`` make of ``old``."""
    raise NotImplementedError


def blame(revisions: Sequence[Sequence[str]]) -> list[int]:
    """Return for each line of the last revision the number of the one that it is from."""
    raise NotImplementedError
