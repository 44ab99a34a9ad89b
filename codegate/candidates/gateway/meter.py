"""Count the calls, tokens and dollars of one attempt."""

import threading
from dataclasses import dataclass
from decimal import Decimal

from codegate.candidates.conversation import Usage
from codegate.candidates.prices import cost, worst_case_call_cost
from codegate.candidates.spec import CandidateSpec
from codegate.errors import InfrastructureError


@dataclass(frozen=True)
class AgentLimits:
    """Limits of an attempt's model calls; None limits nothing."""

    calls: int
    tokens: int | None = None
    usd: Decimal | None = None


class LimitReached(Exception):
    """A limit of the attempt refuses a request."""


class Meter:
    """Calls, tokens and dollars of one attempt; thread-safe.

    A request reserves its worst case in dollars, a repeated one again, so that requests at the same time stay below the
    limit together. Tokens are counted when they are known: the call that reaches the limit is the last, except those
    under way.
    """

    def __init__(self, candidate: CandidateSpec, limits: AgentLimits) -> None:
        self._candidate, self._limits = candidate, limits
        self._lock = threading.Lock()
        self._calls = 0
        self._tokens = 0
        self._usd = Decimal(0)
        self._lost = Decimal(0)  # the part of failed requests
        self.reached: str | None = None

    def admit(self) -> bool:
        """Count a call, before it waits; return whether it is allowed."""
        with self._lock:
            if self.reached is None and self._calls >= self._limits.calls:
                self.reached = "calls"
            self._calls += self.reached is None
            return self.reached is None

    def begin(self, request_bytes: int) -> None:
        """Reserve a request's highest cost, when it is about to be sent.

        Raises:
            LimitReached: a limit is reached.
            InfrastructureError: no dollars are left, because of failed requests.
        """
        tokens, usd, worst = self._limits.tokens, self._limits.usd, self._worst(request_bytes)
        with self._lock:
            if self.reached is None and tokens is not None and self._tokens >= tokens:
                self.reached = "tokens"
            elif self.reached is None and usd is not None and self._usd + worst > usd:
                if self._usd - self._lost + worst <= usd:
                    raise InfrastructureError(
                        f"requests that failed may have cost ${self._lost:.2f} of the attempt's ${usd}, and the next "
                        f"may cost ${worst:.2f}.",
                        "Raise `usd` of the candidate in codegate.yml.",
                    )
                self.reached = "usd"
            if self.reached is not None:
                raise LimitReached
            self._usd += worst

    def settle(self, request_bytes: int, usage: Usage, *, failed: bool = False) -> None:
        """Replace a request's reserved cost by the real one.

        An unknown cost stays as reserved. Tokens of a ``failed`` request do not count.
        """
        paid = self._cost(request_bytes, usage)
        with self._lock:
            self._usd += paid - self._worst(request_bytes)
            if failed:
                self._lost += paid
            else:
                self._tokens += self._most_tokens(request_bytes, usage)

    def take(self, request_bytes: int, usage: Usage) -> None:
        """Count an answer that an earlier start of the attempt paid for."""
        with self._lock:
            self._usd += self._cost(request_bytes, usage)
            self._tokens += self._most_tokens(request_bytes, usage)

    def _most_tokens(self, request_bytes: int, usage: Usage) -> int:
        if usage.input_tokens is None or usage.output_tokens is None:
            return request_bytes + self._candidate.sampling.output_limit
        return usage.input_tokens + usage.output_tokens

    def _cost(self, request_bytes: int, usage: Usage) -> Decimal:
        known = cost(usage, self._candidate.prices)
        return self._worst(request_bytes) if known is None else known

    def _worst(self, request_bytes: int) -> Decimal:
        limit = self._candidate.sampling.output_limit
        return worst_case_call_cost(request_bytes, limit, self._candidate.prices) or Decimal(0)
