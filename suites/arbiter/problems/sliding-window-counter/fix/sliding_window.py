"""Count events within a window of time that moves along."""

import heapq
import math


class SlidingWindowCounter:
    """Counts the events of the last ``window`` seconds."""

    def __init__(self, window: float) -> None:
        if window <= 0:
            raise ValueError("the window must be above 0 seconds")
        self._window = window
        self._now = -math.inf
        self._coming: list[tuple[float, int]] = []
        self._counted: list[tuple[float, int]] = []
        self._total = 0

    def add(self, time: float, count: int = 1) -> None:
        """Note ``count`` events at ``time``."""
        if count < 1:
            raise ValueError("count must be at least 1")
        heapq.heappush(self._coming, (time, count))

    def total(self, now: float) -> int:
        """Return how many events the window has that ends at ``now``."""
        if now < self._now:
            raise ValueError("time does not go back")
        self._now = now
        while self._coming and self._coming[0][0] <= now:
            event = heapq.heappop(self._coming)
            heapq.heappush(self._counted, event)
            self._total += event[1]
        while self._counted and self._counted[0][0] <= now - self._window:
            self._total -= heapq.heappop(self._counted)[1]
        return self._total
