"""A cache that forgets what is old and what nobody uses."""

from collections import OrderedDict
from collections.abc import Hashable


class LRUCache:
    """Holds at most ``capacity`` entries, each for ``ttl`` seconds."""

    def __init__(self, capacity: int, ttl: float) -> None:
        if capacity < 1 or ttl <= 0:
            raise ValueError("capacity must be at least 1, ttl above 0")
        self._capacity = capacity
        self._ttl = ttl
        self._values: OrderedDict[Hashable, object] = OrderedDict()  # least recently used first
        self._ends: OrderedDict[Hashable, float] = OrderedDict()  # soonest first

    def put(self, key: Hashable, value: object, now: float) -> None:
        """Store ``value`` under ``key``."""
        self._expire(now)
        self._values[key] = value
        self._values.move_to_end(key)
        self._ends[key] = now + self._ttl
        self._ends.move_to_end(key)
        if len(self._values) > self._capacity:
            unused, _ = self._values.popitem(last=False)
            del self._ends[unused]

    def get(self, key: Hashable, now: float, default: object = None) -> object:
        """Return the value that is stored under ``key``, else ``default``."""
        self._expire(now)
        if key not in self._values:
            return default
        self._values.move_to_end(key)
        return self._values[key]

    def size(self, now: float) -> int:
        """Return how many entries are alive."""
        self._expire(now)
        return len(self._values)

    def _expire(self, now: float) -> None:
        while self._ends and next(iter(self._ends.values())) <= now:
            key, _ = self._ends.popitem(last=False)
            del self._values[key]
