"""Count the calls, tokens and dollars of one attempt."""

import threading
from dataclasses import dataclass
from decimal import Decimal

from codegate.candidates.conversation import ProviderFault, Usage
from codegate.candidates.gateway.paid import PaidAnswers
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
    """A request would exceed a limit of the attempt."""


class DollarsLost(InfrastructureError):
    """Failed or interrupted requests used up an attempt's dollars."""


def check_dollars_left(candidate: CandidateSpec, paid: PaidAnswers) -> None:
    """Raise DollarsLost if no dollars are left for any request.

    ``paid`` has no answers: the dollars of the attempt's earlier starts are lost.
    """
    usd = candidate.agent.usd if candidate.agent is not None else None
    least = worst_case_call_cost(0, candidate.sampling.output_limit, candidate.prices)
    if usd is not None and least is not None and paid.spent and paid.spent + least > usd:
        raise DollarsLost(*_lost_words(paid.spent, usd, least))


def _lost_words(lost: Decimal, usd: Decimal, worst: Decimal) -> tuple[str, str]:
    return (
        f"requests that failed or were interrupted may have cost ${lost:.2f} of the attempt's ${usd}, and the next may "
        f"cost ${worst:.2f}.",
        "Resuming cannot complete this attempt: raise `usd` of the candidate in codegate.yml and start a new run.",
    )


class Meter:
    """Calls, tokens and dollars of one attempt; thread-safe.

    Each try of a request reserves its highest possible cost, so that concurrent requests together stay below the limit
    of dollars. Tokens are counted when the answer arrives. After the call that reaches the token limit, only calls in
    progress are finished. Dollars that earlier starts recorded in ``ledger`` count too.
    """

    def __init__(self, candidate: CandidateSpec, limits: AgentLimits, ledger: PaidAnswers) -> None:
        if limits.usd is not None and candidate.prices is None:
            raise ValueError("a limit of dollars needs prices")
        self._candidate, self._limits, self._ledger = candidate, limits, ledger
        self._lock = threading.Lock()
        self._calls = 0
        self._tokens = 0
        self._usd = ledger.spent
        self._lost = ledger.spent  # dollars of failed or interrupted requests
        self._declined = False
        self.reached: str | None = None

    def admit(self) -> bool:
        """Count a call; return whether it is allowed."""
        with self._lock:
            if self.reached is None and self._calls >= self._limits.calls:
                self.reached = "calls"
            self._calls += self.reached is None
            return self.reached is None

    def begin(self, request_bytes: int) -> None:
        """Reserve a request's highest possible cost before it is sent.

        Raises:
            LimitReached: a limit is reached.
            InfrastructureError: no dollars are left, because of failed or interrupted requests; ``DollarsLost`` if the
                agent caused none of the failures.
        """
        tokens, usd, worst = self._limits.tokens, self._limits.usd, self._worst(request_bytes)
        with self._lock:
            if self.reached is None and tokens is not None and self._tokens >= tokens:
                self.reached = "tokens"
            elif self.reached is None and usd is not None and self._usd + worst > usd:
                if self._usd - self._lost + worst <= usd:
                    kind = InfrastructureError if self._declined else DollarsLost
                    raise kind(*_lost_words(self._lost, usd, worst))
                self.reached = "usd"
            if self.reached is not None:
                raise LimitReached
            self._spend(worst)

    def settle(self, request_bytes: int, usage: Usage, failed: ProviderFault | None = None) -> None:
        """Replace a request's reserved cost by the real one.

        If the real cost is unknown, the reserved cost stays. Tokens of a request that ``failed`` do not count.
        """
        paid = self._cost(request_bytes, usage)
        with self._lock:
            self._spend(paid - self._worst(request_bytes))
            if failed is not None:
                self._lost += paid
                # The agent wrote the request, so the fault counts as one that the answer may have caused.
                self._declined = self._declined or failed == "bad_request"
            else:
                self._tokens += self._most_tokens(request_bytes, usage)

    def take(self, request_bytes: int, usage: Usage) -> None:
        """Count an answer that an earlier start paid for.

        The ledger has the answer's cost already. This cost no longer counts as lost.
        """
        with self._lock:
            self._lost = max(self._lost - self._cost(request_bytes, usage), Decimal(0))
            self._tokens += self._most_tokens(request_bytes, usage)

    def _spend(self, usd: Decimal) -> None:
        self._usd += usd
        if usd and self._limits.usd is not None:
            self._ledger.spend(usd)

    def _most_tokens(self, request_bytes: int, usage: Usage) -> int:
        if usage.input_tokens is None or usage.output_tokens is None:
            return request_bytes + self._candidate.sampling.output_limit
        return usage.input_tokens + usage.output_tokens

    def _cost(self, request_bytes: int, usage: Usage) -> Decimal:
        known = cost(usage, self._candidate.prices)
        return self._worst(request_bytes) if known is None else known

    def _worst(self, request_bytes: int) -> Decimal:
        limit = self._candidate.sampling.output_limit
        worst = worst_case_call_cost(request_bytes, limit, self._candidate.prices)
        return Decimal(0) if worst is None else worst  # without prices there is no limit of dollars
