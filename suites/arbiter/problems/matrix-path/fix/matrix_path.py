"""Find the fastest way through a grid."""

import heapq
from collections.abc import Mapping, Sequence

Cell = tuple[int, int]
_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def earliest(grid: Sequence[Sequence[int | None]], gates: Mapping[Cell, int] | None = None) -> int | None:
    """Return when the bottom right cell can be reached, or None if it cannot."""
    minutes = _minutes(grid)
    gates = gates or {}
    last = (len(grid) - 1, len(grid[0]) - 1)
    best = {(0, 0): 0} if (0, 0) in minutes else {}
    queue = [(0, cell) for cell in best]
    while queue:
        now, cell = heapq.heappop(queue)
        if now > best[cell]:
            continue
        for down, right in _STEPS:
            near = (cell[0] + down, cell[1] + right)
            if near not in minutes:
                continue
            arrival = max(now + minutes[near], gates.get(near, 0))
            if near not in best or arrival < best[near]:
                best[near] = arrival
                heapq.heappush(queue, (arrival, near))
    return best.get(last)


def _minutes(grid: Sequence[Sequence[int | None]]) -> dict[Cell, int]:
    """Return the cells that are no walls, each with the time that a move into it takes."""
    if not grid or not grid[0] or any(len(row) != len(grid[0]) for row in grid):
        raise ValueError("a grid has rows of one length")
    cells = {(y, x): number for y, row in enumerate(grid) for x, number in enumerate(row) if number is not None}
    if any(number < 0 for number in cells.values()):
        raise ValueError("no move takes negative time")
    return cells
