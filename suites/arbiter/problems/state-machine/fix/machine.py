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
        self._moves: dict[tuple[str, str], str] = {}
        for state, event, target in moves:
            if (state, event) in self._moves:
                raise ValueError(f"{event} leads to two states from {state}")
            self._moves[state, event] = target
        self._timeouts = dict(timeouts or {})
        if ANY in self._timeouts or any(after < 1 for after, _ in self._timeouts.values()):
            raise ValueError("a time-out is of one state, and at least 1")
        if ANY in self._moves.values() or ANY in (target for _, target in self._timeouts.values()):
            raise ValueError("a target is one state")
        self._now = now
        self._enter(start, now)

    def send(self, event: str, now: int) -> bool:
        """Handle an event; return whether the machine moved."""
        state = self.state(now)
        target = self._moves.get((state, event), self._moves.get((ANY, event)))
        if target is None:
            return False
        self._enter(target, now)
        return True

    def state(self, now: int) -> str:
        """Return the state that the machine is in."""
        if now < self._now:
            raise ValueError("time does not go back")
        self._now = now
        while self._state in self._timeouts:
            after, target = self._timeouts[self._state]
            if self._since + after > now:
                break
            self._enter(target, self._since + after)
        return self._state

    def _enter(self, state: str, time: int) -> None:
        self._state = state
        self._since = time
