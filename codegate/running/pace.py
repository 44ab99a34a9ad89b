"""Pace: how many calls of one candidate may be under way at once, by what its provider says."""

import time
from dataclasses import dataclass
from typing import Final

from codegate.candidates import ProviderError, ProviderFault

_TOO_FAST: Final[frozenset[ProviderFault]] = frozenset({"rate_limit", "overloaded"})


@dataclass
class Pace:
    """Additive increase, multiplicative decrease, as TCP avoids congestion (RFC 5681, section 3.1).

    A call that the provider has no room for halves ``width``; as many answers as are under way at once widen it by one.
    While a Retry-After lasts, or a rate limit has nothing left, no call begins at all.
    """

    most: int
    width: float
    under_way: int = 0
    _waits_until: float = 0.0
    _slowed: float = 0.0

    def may_begin(self) -> bool:
        """Return whether one more call may begin now."""
        return self.under_way < int(self.width) and not self.pause

    @property
    def pause(self) -> float:
        """Return the seconds for which no call may begin."""
        return max(0.0, self._waits_until - time.monotonic())

    def answered(self, pause: float) -> None:
        """Take note of an answer, after which no call may begin for ``pause`` seconds."""
        self._waits_until = max(self._waits_until, time.monotonic() + pause)
        self.width = min(self.width + 1 / self.width, self.most)

    def failed(self, error: ProviderError, began: float) -> None:
        """Take note of a failure of a call that began then (``time.monotonic``); calls sent together count once."""
        now = time.monotonic()
        if error.fault not in _TOO_FAST:
            return
        self._waits_until = max(self._waits_until, now + (error.retry_after or 0.0))
        if began >= self._slowed:
            self.width, self._slowed = max(1.0, self.under_way / 2), now
