"""A queue that gives out a limited number of items in a span of time."""


class RateLimitedQueue:
    """Gives out at most ``limit`` items within any ``per`` milliseconds."""

    def __init__(self, limit: int, per: int) -> None:
        raise NotImplementedError

    def put(self, item: object, priority: int = 0, not_before: int = 0) -> None:
        """Add ``item``, which is not given out before the time ``not_before``."""
        raise NotImplementedError

    def take(self, now: int) -> object:
        """Remove and return the next item, or return None when there is none for now."""
        raise NotImplementedError

    def next_time(self, now: int) -> int | None:
        """Return the earliest time at which ``take`` gives out an item."""
        raise NotImplementedError
