"""The order of names."""

from collections.abc import Iterable


def natural_sorted(names: Iterable[str]) -> list[str]:
    """Return names in the order that people expect."""
    raise NotImplementedError
