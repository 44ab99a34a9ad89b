"""Stop calling what fails, and try again later."""


class CircuitBreaker:
    """Is closed, open, or half open."""

    def __init__(self, threshold: int, window: int, cooldown: int, longest: int) -> None:
        raise NotImplementedError

    def state(self, now: int) -> str:
        """Return ``closed``, ``open`` or ``half_open``."""
        raise NotImplementedError

    def start(self, now: int) -> int | None:
        """Return a ticket for a call, or None when none may be made."""
        raise NotImplementedError

    def finish(self, ticket: int, succeeded: bool, now: int) -> None:
        """Note how the call with that ticket ended."""
        raise NotImplementedError
