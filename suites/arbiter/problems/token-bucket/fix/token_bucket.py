"""Limit a rate, and allow for bursts."""


class TokenBucket:
    """Holds at most ``capacity`` tokens and gains one every ``interval`` milliseconds."""

    def __init__(self, capacity: int, interval: int) -> None:
        if capacity < 1 or interval < 1:
            raise ValueError("capacity and interval must be at least 1")
        self._capacity = capacity
        self._interval = interval
        self._tokens = capacity
        self._now = 0
        self._since = 0  # when the latest token came, or the bucket was last seen full

    def take(self, now: int, tokens: int = 1) -> bool:
        """Take ``tokens`` if there are that many; return whether there were."""
        self._refill(now, tokens)
        if tokens > self._tokens:
            return False
        self._tokens -= tokens
        return True

    def wait(self, now: int, tokens: int = 1) -> int:
        """Return in how many milliseconds ``tokens`` could be taken."""
        if tokens > self._capacity:
            raise ValueError("the bucket never holds so many")
        self._refill(now, tokens)
        missing = tokens - self._tokens
        return self._since + missing * self._interval - self._now if missing > 0 else 0

    def _refill(self, now: int, tokens: int) -> None:
        if tokens < 1:
            raise ValueError("tokens must be at least 1")
        self._now = max(self._now, now)
        gained = (self._now - self._since) // self._interval
        self._tokens = min(self._capacity, self._tokens + gained)
        full = self._tokens == self._capacity
        self._since = self._now if full else self._since + gained * self._interval
