"""The median of the latest values of a stream."""


class StreamingMedian:
    """Knows the median of the values of the last ``window`` seconds."""

    def __init__(self, window: float) -> None:
        raise NotImplementedError

    def add(self, value: float, now: float) -> None:
        """Add a value of the time ``now``."""
        raise NotImplementedError

    def median(self, now: float) -> float | None:
        """Return the median of the values in the window that ends at ``now``."""
        raise NotImplementedError
