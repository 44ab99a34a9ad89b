"""Put tasks in an order in which each comes after all that it needs."""

from collections.abc import Iterable, Mapping


class CycleError(ValueError):
    """Tasks need each other: ``cycle`` has them, each of which needs the next, and the last the first."""

    def __init__(self, cycle: list[str]) -> None:
        super().__init__(" -> ".join([*cycle, cycle[0]]))
        self.cycle = cycle


def order(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return all tasks, each after all that it needs."""
    raise NotImplementedError


def starts(needs: Mapping[str, Iterable[str]], seconds: Mapping[str, int]) -> dict[str, int]:
    """Return when each task starts, if each starts as soon as it can."""
    raise NotImplementedError
