"""The median of the latest values of a stream."""

import math
from bisect import bisect_left, insort
from collections import deque


class StreamingMedian:
    """Knows the median of the values of the last ``window`` seconds."""

    def __init__(self, window: float) -> None:
        if window <= 0:
            raise ValueError("the window must be above 0 seconds")
        self._window = window
        self._now = -math.inf
        self._values: deque[tuple[float, float]] = deque()  # the oldest first, each with its time
        self._sorted: list[float] = []

    def add(self, value: float, now: float) -> None:
        """Add a value of the time ``now``."""
        if value != value:  # as NaN alone does
            raise ValueError("the value is not a number")
        self._move(now)
        self._values.append((now, value))
        insort(self._sorted, value)

    def median(self, now: float) -> float | None:
        """Return the median of the values in the window that ends at ``now``."""
        self._move(now)
        middle, odd = divmod(len(self._sorted), 2)
        if not self._sorted:
            return None
        return self._sorted[middle] if odd else (self._sorted[middle - 1] + self._sorted[middle]) / 2

    def _move(self, now: float) -> None:
        if now < self._now:
            raise ValueError("time does not go back")
        self._now = now
        while self._values and self._values[0][0] <= now - self._window:
            _, value = self._values.popleft()
            del self._sorted[bisect_left(self._sorted, value)]
