"""Compare texts line by line."""

from collections.abc import Sequence

Change = tuple[str, str]


def diff(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Return how ``new`` is made from ``old`` with the fewest changes."""
    changes: list[Change] = []
    x = y = 0
    for common_x, common_y in [*_common(old, new), (len(old), len(new))]:
        changes += [("-", line) for line in old[x:common_x]]
        changes += [("+", line) for line in new[y:common_y]]
        changes += [(" ", line) for line in old[common_x : common_x + 1]]
        x, y = common_x + 1, common_y + 1
    return changes


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the lines that stay are in both texts: the greedy algorithm of Myers."""
    reached = {1: 0}  # by diagonal (x - y), how far with the changes so far
    history = []
    for changes in range(len(old) + len(new) + 1):
        history.append(dict(reached))
        for diagonal in range(-changes, changes + 1, 2):
            x = _step(reached, diagonal, changes)
            while x < len(old) and x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            reached[diagonal] = x
            if x >= len(old) and x - diagonal >= len(new):
                return _walk_back(history, x, diagonal)
    return []


def _step(reached: dict[int, int], diagonal: int, changes: int) -> int:
    """Return the x at which one more change comes to ``diagonal``."""
    down = diagonal == -changes or (diagonal != changes and reached[diagonal - 1] < reached[diagonal + 1])
    return reached[diagonal + 1] if down else reached[diagonal - 1] + 1


def _walk_back(history: list[dict[int, int]], x: int, diagonal: int) -> list[tuple[int, int]]:
    found = []
    for changes in range(len(history) - 1, -1, -1):
        start = _step(history[changes], diagonal, changes)
        while x > start:
            x -= 1
            found.append((x, x - diagonal))
        if changes:
            down = start == history[changes].get(diagonal + 1) and diagonal != changes
            diagonal, x = (diagonal + 1, start) if down else (diagonal - 1, start - 1)
    return found[::-1]


def apply(old: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """Return what ``changes`` make of ``old``."""
    if any(kind not in {" ", "-", "+"} for kind, _ in changes):
        raise ValueError("a change is one of ' ', '-' and '+'")
    if [line for kind, line in changes if kind != "+"] != list(old):
        raise ValueError("the changes are of another text")
    return [line for kind, line in changes if kind != "-"]


def blame(revisions: Sequence[Sequence[str]]) -> list[int]:
    """Return for each line of the last revision the number of the one that it is from."""
    origins: list[int] = []
    before: Sequence[str] = []
    for number, lines in enumerate(revisions):
        left = iter(origins)
        now = []
        for kind, _ in diff(before, lines):
            if kind != "+":
                origin = next(left)
            if kind != "-":
                now.append(origin if kind == " " else number)
        origins, before = now, lines
    return origins
