"""Compute the cost of model calls from prices that the user declares.

Sums are exact decimals in US dollars. Unknown prices and token counts stay unknown; none is built in or guessed.
"""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from codegate.candidates.chat import Usage

UNSEEN_TOKENS: Final = 2_000
"""Input tokens beyond the request: the provider's own prompt where tools are offered."""

_MILLION: Final = Decimal(1_000_000)

Price = Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""US dollars, not negative."""


class Prices(BaseModel):
    """US dollars per million tokens of one model, as its user declares them.

    ``input`` is for uncached input tokens, ``cache_read`` for cached ones; without it these cost as ``input``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Price = Field(description="US dollars per million input tokens.")
    output: Price = Field(description="US dollars per million output tokens, those of reasoning included.")
    cache_read: Price | None = Field(
        default=None, description="US dollars per million input tokens read from a cache; default: as `input`."
    )
    cache_write: Price | None = Field(
        default=None,
        description="US dollars per million input tokens written to a cache; without it the cost of an agent's call "
        "that writes any is unknown.",
    )


def cost(usage: Usage, prices: Prices | None) -> Decimal | None:
    """Return what ``usage`` costs in US dollars; None when a price or a needed token count is unknown.

    (input - cached - written) * input price + cached * cache_read + written * cache_write + output * output price.
    Tokens that a cache has read or written must be known only where they have a price of their own.
    """
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    total = usage.input_tokens * prices.input + usage.output_tokens * prices.output
    if usage.written_tokens and prices.cache_write is None:
        return None
    for tokens, price in ((usage.cached_tokens, prices.cache_read), (usage.written_tokens, prices.cache_write)):
        if price is not None and price != prices.input:
            if tokens is None or tokens > usage.input_tokens:
                return None
            total += tokens * (price - prices.input)
    return total / _MILLION


def worst_case_call_cost(request_bytes: int, max_output_tokens: int, prices: Prices | None) -> Decimal | None:
    """Return the most US dollars that one call can cost, which a budget reserves before it; None without prices.

    A token stands for at least one byte, and the marks around messages are shorter than their JSON, so the input is at
    most the bytes of the request and ``UNSEEN_TOKENS``, each at the highest input price.

    Args:
        request_bytes: size of the whole request's JSON in UTF-8.
        max_output_tokens: the limit that the request sets.
        prices: the model's.

    Raises:
        ValueError: a negative size or limit.
    """
    if request_bytes < 0 or max_output_tokens < 0:
        message = f"a request has a size and a limit, not {request_bytes} bytes and {max_output_tokens} tokens"
        raise ValueError(message)
    if prices is None:
        return None
    highest = max(price for price in (prices.input, prices.cache_read, prices.cache_write) if price is not None)
    return ((request_bytes + UNSEEN_TOKENS) * highest + max_output_tokens * prices.output) / _MILLION
