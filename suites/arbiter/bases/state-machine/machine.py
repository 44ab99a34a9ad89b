"""A machine with states, events and time-outs."""

from collections.abc import Iterable, Mapping

ANY = "*"


class Machine:
    """Is in one state at each time."""

    def __init__(
        self,
        start: str,
        moves: Iterable[tuple[str, str, str]],
        timeouts: Mapping[str, tuple[int, str]] | None = None,
        now: int = 0,
    ) -> None:
        raise NotImplementedError

    def send(self, event: str, now: int) -> bool:
        """Handle an event; return whether the machine moved."""
        raise NotImplementedError

    def state(self, now: int) -> str:
        """Return the state that the machine is in."""
        raise NotImplementedError
