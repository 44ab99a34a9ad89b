"""Count the calls, tokens and dollars of one attempt."""

import threading
from dataclasses import dataclass
from decimal import Decimal

from codegate.candidates.conversation import Usage
from codegate.candidates.prices import cost, worst_case_call_cost
from codegate.candidates.spec import CandidateSpec


@dataclass(frozen=True)
class AgentLimits:
    """Limits of an attempt's model calls; None limits nothing."""

    calls: int
    tokens: int | None = None
    usd: Decimal | None = None


class Meter:
    """Calls, tokens and dollars of one attempt; thread-safe.

    A call reserves its worst case in dollars, so that calls at the same time stay below the limit together. Tokens are
    counted when they are known: the call that reaches the limit is the last.
    """

    def __init__(self, candidate: CandidateSpec, limits: AgentLimits) -> None:
        self._candidate, self._limits = candidate, limits
        self._lock = threading.Lock()
        self._calls = 0
        self._tokens = 0
        self._usd = Decimal(0)
        self.reached: str | None = None

    def begin(self, request_bytes: int) -> bool:
        """Reserve a call's highest cost; return whether it is allowed."""
        limits = self._limits
        with self._lock:
            if self.reached is not None:
                return False
            if self._calls >= limits.calls:
                self.reached = "calls"
            elif limits.tokens is not None and self._tokens >= limits.tokens:
                self.reached = "tokens"
            elif limits.usd is not None and self._usd + self._worst(request_bytes) > limits.usd:
                self.reached = "usd"
            else:
                self._calls += 1
                self._usd += self._worst(request_bytes)
            return self.reached is None

    def settle(self, request_bytes: int, usage: Usage) -> None:
        """Replace a call's reserved cost by the real one.

        An unknown cost stays as reserved.
        """
        known = cost(usage, self._candidate.prices)
        most = request_bytes + self._candidate.sampling.output_limit
        whole = usage.input_tokens is not None and usage.output_tokens is not None
        with self._lock:
            self._tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0) if whole else most
            if known is not None:
                self._usd += known - self._worst(request_bytes)

    def _worst(self, request_bytes: int) -> Decimal:
        limit = self._candidate.sampling.output_limit
        return worst_case_call_cost(request_bytes, limit, self._candidate.prices) or Decimal(0)
