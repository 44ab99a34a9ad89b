"""Compute the cost of model calls from their prices.

Sums are exact decimals in US dollars. Unknown prices and token counts stay unknown; none is guessed.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Final

from pydantic import Field

from codegate.candidates.conversation import Usage
from codegate.strict import Strict

UNSEEN_TOKENS: Final = 2_000
"""Most input tokens that a provider adds to a request, such as its own prompt for tools."""

_MILLION: Final = Decimal(1_000_000)

Price = Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
"""US dollars, not negative."""


class _Amounts(Strict):
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

    @property
    def highest_input(self) -> Decimal:
        """Return the highest price of input tokens, cached or not."""
        return max(price for price in (self.input, self.cache_read, self.cache_write) if price is not None)


class LongPromptPrices(_Amounts):
    """Prices for requests with more than ``above`` input tokens."""

    above: int = Field(ge=1, description="Input tokens of a request above which these prices are for all its tokens.")


class Prices(_Amounts):
    """US dollars per million tokens of one model.

    ``input`` is the price of uncached input tokens. ``cache_read`` is the price of cached ones, by default the same.
    """

    long_prompts: LongPromptPrices | None = Field(
        default=None, description="Prices of requests with long prompts; default: the same as of short ones."
    )
    source: str | None = Field(
        default=None, max_length=200, description="Where the prices are from, for people; default: as declared."
    )
    helpers: Mapping[str, "Prices"] = Field(
        default={},
        exclude_if=lambda helpers: not helpers,
        description="Prices of the harness's other models by name; default: as of any candidate.",
    )

    @property
    def origin(self) -> str:
        """Return where the prices come from, for people."""
        return self.source or "as declared"

    def of_request(self, most_tokens: int) -> _Amounts:
        """Return the prices for up to ``most_tokens`` input tokens.

        Long prompts can have higher prices.
        """
        return self.long_prompts if self.long_prompts and most_tokens > self.long_prompts.above else self


def cost(usage: Usage, prices: Prices | None) -> Decimal | None:
    """Return the cost of ``usage`` in US dollars, if known.

    (input - cached - written) * input price + cached * cache_read + written * cache_write + output * output price.

    The cost is None if a price or a token count is unknown. It is an upper bound in two cases: cached tokens without a
    count cost what other input does, if that is more; several calls that together have as many tokens as one long
    request get the prices of long prompts. Tokens of helpers have the helpers' prices.
    """
    if prices is not None and usage.helpers:
        each_model = [(usage.own, prices), *((part, prices.helpers.get(name)) for name, part in usage.helpers.items())]
        sums = [cost(part, known) for part, known in each_model]
        return None if None in sums else sum(filter(None, sums), Decimal(0))
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    each = prices.of_request(usage.input_tokens)
    total = usage.input_tokens * each.input + usage.output_tokens * each.output
    if usage.written_tokens and each.cache_write is None:
        return None
    for tokens, price in ((usage.cached_tokens, each.cache_read), (usage.written_tokens, each.cache_write)):
        if price is not None and price != each.input:
            if tokens is None and price < each.input:
                continue
            if tokens is None or tokens > usage.input_tokens:
                return None
            total += tokens * (price - each.input)
    return total / _MILLION


def worst_case_call_cost(request_bytes: int, max_output_tokens: int, prices: Prices | None) -> Decimal | None:
    """Return the highest cost of one call in US dollars.

    None without prices. A token has at least one byte, so the input has at most ``request_bytes`` (of the request's
    JSON) plus ``UNSEEN_TOKENS`` tokens. Each token counts at the highest input price. The prices of helper models are
    considered as well.
    """
    if prices is None:
        return None
    tokens = request_bytes + UNSEEN_TOKENS
    each = prices.of_request(tokens)
    own = (tokens * max(each.highest_input, prices.highest_input)
           + max_output_tokens * max(each.output, prices.output)) / _MILLION  # fmt: skip
    helpers = [worst_case_call_cost(request_bytes, max_output_tokens, helper) for helper in prices.helpers.values()]
    return max([own, *filter(None, helpers)])
