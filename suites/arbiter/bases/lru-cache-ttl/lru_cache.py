"""A cache that forgets what is old and what nobody uses."""

from collections.abc import Hashable


class LRUCache:
    """Holds at most ``capacity`` entries, each for ``ttl`` seconds."""

    def __init__(self, capacity: int, ttl: float) -> None:
        raise NotImplementedError

    def put(self, key: Hashable, value: object, now: float) -> None:
        """Store ``value`` under ``key``."""
        raise NotImplementedError

    def get(self, key: Hashable, now: float, default: object = None) -> object:
        """Return the value that is stored under ``key``, else ``default``."""
        raise NotImplementedError

    def size(self, now: float) -> int:
        """Return how many entries are alive."""
        raise NotImplementedError
