"""Find the fastest way through a grid."""

from collections.abc import Mapping, Sequence

Cell = tuple[int, int]


def earliest(grid: Sequence[Sequence[int | None]], gates: Mapping[Cell, int] | None = None) -> int | None:
    """Return when the bottom right cell can be reached, or None if it cannot."""
    raise NotImplementedError
