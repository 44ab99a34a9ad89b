"""A queue that gives out a limited number of items in a span of time."""

import heapq
from collections import deque
from itertools import count


class RateLimitedQueue:
    """Gives out at most ``limit`` items within any ``per`` milliseconds."""

    def __init__(self, limit: int, per: int) -> None:
        if limit < 1 or per < 1:
            raise ValueError("limit and per must be at least 1")
        self._limit = limit
        self._per = per
        self._number = count()
        self._waiting: list[tuple[int, int, int, object]] = []  # by the time that they wait for
        self._ready: list[tuple[int, int, object]] = []  # by priority, highest first
        self._given: deque[int] = deque()  # when the latest items were given out

    def put(self, item: object, priority: int = 0, not_before: int = 0) -> None:
        """Add ``item``, which is not given out before the time ``not_before``."""
        if item is None:
            raise ValueError("None cannot be put")
        heapq.heappush(self._waiting, (not_before, next(self._number), -priority, item))

    def take(self, now: int) -> object:
        """Remove and return the next item, or return None when there is none for now."""
        self._update(now)
        if not self._ready or len(self._given) >= self._limit:
            return None
        self._given.append(now)
        return heapq.heappop(self._ready)[-1]

    def next_time(self, now: int) -> int | None:
        """Return the earliest time at which ``take`` gives out an item."""
        self._update(now)
        if not self._ready and not self._waiting:
            return None
        there = now if self._ready else self._waiting[0][0]
        allowed = self._given[0] + self._per if len(self._given) >= self._limit else now
        return max(there, allowed)

    def _update(self, now: int) -> None:
        while self._given and self._given[0] + self._per <= now:
            self._given.popleft()
        while self._waiting and self._waiting[0][0] <= now:
            _, number, rank, item = heapq.heappop(self._waiting)
            heapq.heappush(self._ready, (rank, number, item))
