"""Nested data on one level."""

from collections.abc import Mapping


def flatten(data: Mapping[str, object]) -> dict[str, object]:
    """Return nested data as one level of dotted keys."""
    raise NotImplementedError
