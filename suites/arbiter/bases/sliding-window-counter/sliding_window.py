"""Count events within a window of time that moves along."""


class SlidingWindowCounter:
    """Counts the events of the last ``window`` seconds."""

    def __init__(self, window: float) -> None:
        raise NotImplementedError

    def add(self, time: float, count: int = 1) -> None:
        """Note ``count`` events at ``time``."""
        raise NotImplementedError

    def total(self, now: float) -> int:
        """Return how many events the window has that ends at ``now``."""
        raise NotImplementedError
