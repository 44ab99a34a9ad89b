"""What model calls cost, by prices that the user declares: none is known to codegate, because prices change.

All sums are exact decimals in US dollars. What is unknown stays unknown: no price and no token count is guessed.
"""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from codegate.candidates.chat import Usage

UNSEEN_TOKENS: Final = 2_000
"""Input tokens of a call that its request does not show: a provider's own prompt where tools are offered."""

_MILLION: Final = Decimal(1_000_000)

Price = Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""US dollars, not negative."""


class Prices(BaseModel):
    """US dollars per million tokens of one model, as its user declares them.

    ``input`` is for input tokens that no cache was involved with, ``cache_read`` for those that came from a cache.
    Without ``cache_read`` cached tokens cost what other input does; that is never too little.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Price = Field(description="US dollars per million input tokens.")
    output: Price = Field(description="US dollars per million output tokens, those of reasoning included.")
    cache_read: Price | None = Field(
        default=None, description="US dollars per million input tokens read from a cache; default: as `input`."
    )
    cache_write: Price | None = Field(
        default=None,
        description="US dollars per million input tokens written to a cache; default: as `input`. Requests of codegate "
        "ask for no writing, so it counts only where the worst case is reckoned.",
    )


def cost(usage: Usage, prices: Prices | None) -> Decimal | None:
    """Return what ``usage`` costs in US dollars; None when a price or a needed token count is unknown.

    (input - cached) * input price + cached * cache price + output * output price. How many tokens were cached has to
    be known only where they have a price of their own.
    """
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cache_read = prices.input if prices.cache_read is None else prices.cache_read
    total = usage.input_tokens * prices.input + usage.output_tokens * prices.output
    if cache_read != prices.input:
        if usage.cached_tokens is None or usage.cached_tokens > usage.input_tokens:
            return None
        total += usage.cached_tokens * (cache_read - prices.input)
    return total / _MILLION


def worst_case_call_cost(request_bytes: int, max_output_tokens: int, prices: Prices | None) -> Decimal | None:
    """Return US dollars that one model call cannot exceed: what a hard budget reserves before the call is made.

    No tokenizer makes more tokens than the text has bytes (each token stands for one byte at least; the marks around
    messages are shorter than the JSON around them), so the input is at most the bytes of the request and what the
    request does not show. Each of these is taken at the dearest input price.

    Args:
        request_bytes: size of the request's JSON in UTF-8: messages, tools and all.
        max_output_tokens: the limit that the request sets.
        prices: the model's; None gives None.

    Raises:
        ValueError: a negative size or limit.
    """
    if request_bytes < 0 or max_output_tokens < 0:
        message = f"a request has a size and a limit, not {request_bytes} bytes and {max_output_tokens} tokens"
        raise ValueError(message)
    if prices is None:
        return None
    dearest = max(price for price in (prices.input, prices.cache_read, prices.cache_write) if price is not None)
    return ((request_bytes + UNSEEN_TOKENS) * dearest + max_output_tokens * prices.output) / _MILLION
