"""Stop calling what fails, and try again later."""

from collections import deque


class CircuitBreaker:
    """Is closed, open, or half open."""

    def __init__(self, threshold: int, window: int, cooldown: int, longest: int) -> None:
        if min(threshold, window, cooldown) < 1 or longest < cooldown:
            raise ValueError("the limits must be at least 1, and `longest` at least `cooldown`")
        self._threshold = threshold
        self._window = window
        self._first = self._cooldown = cooldown
        self._longest = longest
        self._opened: int | None = None
        self._failures: deque[int] = deque()
        self._under_way: set[int] = set()
        self._last = 0

    def state(self, now: int) -> str:
        """Return ``closed``, ``open`` or ``half_open``."""
        if self._opened is None:
            return "closed"
        return "open" if now < self._opened + self._cooldown else "half_open"

    def start(self, now: int) -> int | None:
        """Return a ticket for a call, or None when none may be made."""
        state = self.state(now)
        if state == "open" or (state == "half_open" and self._under_way):
            return None
        self._last += 1
        self._under_way.add(self._last)
        return self._last

    def finish(self, ticket: int, succeeded: bool, now: int) -> None:
        """Note how the call with that ticket ended."""
        if ticket not in self._under_way:
            return
        self._under_way.remove(ticket)
        if self._opened is not None:
            self._cooldown = self._first if succeeded else min(self._cooldown * 2, self._longest)
            self._turn(None if succeeded else now)
        elif not succeeded:
            self._failures.append(now)
            while self._failures[0] <= now - self._window:
                self._failures.popleft()
            if len(self._failures) >= self._threshold:
                self._turn(now)

    def _turn(self, opened: int | None) -> None:
        """Open at that time, or close; what is under way no longer counts."""
        self._opened = opened
        self._failures.clear()
        self._under_way.clear()
