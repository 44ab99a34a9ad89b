"""Limit a rate, and allow for bursts."""


class TokenBucket:
    """Holds at most ``capacity`` tokens and gains one every ``interval`` milliseconds."""

    def __init__(self, capacity: int, interval: int) -> None:
        raise NotImplementedError

    def take(self, now: int, tokens: int = 1) -> bool:
        """Take ``tokens`` if there are that many; return whether there were."""
        raise NotImplementedError

    def wait(self, now: int, tokens: int = 1) -> int:
        """Return in how many milliseconds ``tokens`` could be taken."""
        raise NotImplementedError
