"""Find a model's list prices in the genai-prices package.

Nothing is fetched. Only models at their provider's own address have list prices: a region or a deployment of the user's
own may have another price. Where the list has several prices for one kind of token (by time of day, or for more than
two sizes of prompts), the highest is taken, so that a budget holds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from codegate.candidates.prices import Prices
from codegate.candidates.spec import CandidateSpec

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import TieredPrices

_PACKAGE: Final = "genai-prices"
_PROVIDERS: Final = {"openai": "openai", "anthropic": "anthropic", "gemini": "google", "bedrock": "aws"}
"""The price list's name of each provider. Azure and Vertex are left out, because their prices depend on deployment or
region."""

_KINDS: Final = ("input", "output", "cache_read", "cache_write")
"""Price fields that the price list also has. Its cache prices are for five minutes, and no request asks for more."""

_STEP: Final = timedelta(minutes=15)
_STEPS: Final = 96  # steps per day: a price can depend on the time of day, and change before a run ends


@dataclass(frozen=True)
class ListEntry:
    """A model's list prices and context window; None if unknown."""

    prices: Prices | None
    context_window: int | None


def list_entry(spec: CandidateSpec) -> ListEntry:
    """Return list prices and context window of the candidate's model."""
    provider = _PROVIDERS.get(spec.provider)
    if provider is None or spec.base_url is not None:
        return ListEntry(None, None)
    return _listed(provider, spec.model)


def with_helper_prices(spec: CandidateSpec, known: Prices | None, table: Mapping[str, Prices]) -> Prices | None:
    """Return ``known`` with the prices of the helper models added.

    ``known`` are the prices of the candidate's own model. A helper's prices come from ``table``, else from ``known``,
    else from the price list. None if any price is unknown, because the total cost is then unknown too.
    """
    if known is None or not spec.helpers:
        return known
    each = {
        one.model: table.get(one.model) or known.helpers.get(one.model) or list_entry(one).prices
        for one in spec.helpers
    }
    found = {model: prices for model, prices in each.items() if prices is not None}
    return known.model_copy(update={"helpers": found}) if len(found) == len(each) else None


def price_words(spec: CandidateSpec) -> str:
    """Return a sentence about the candidate's prices, for people."""
    if spec.prices is None:
        whose = " of it or of one of its helpers" if spec.helpers else ""
        return f"{spec.label}: no price{whose} is known, so costs are unknown; declare `prices` in codegate.yml."
    each = [(spec.label, spec.prices), *spec.prices.helpers.items()]
    return "; ".join(f"{name}: ${known.input:f} in, ${known.output:f} out per million tokens ({known.origin})"
                     for name, known in each)  # fmt: skip


@cache
def table_names() -> tuple[str, ...]:
    """Return the names of all models in the price list."""
    models = (model for provider in _snapshot().providers for model in provider.models)
    return tuple(name for model in models for name in (model.id, *_words(model.match)))


def _words(clause: object) -> Iterator[str]:
    for value in vars(clause).values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for inner in value:
                yield from _words(inner)


def _snapshot() -> "DataSnapshot":
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  1.6 MB of prices and an HTTP client

    return get_snapshot()


@cache
def _listed(provider: str, model: str) -> ListEntry:
    try:
        _, found = _snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return ListEntry(None, None)
    now = datetime.now(UTC)
    every = [found.get_prices(now + step * _STEP) for step in range(_STEPS)]
    if any(entry.input_mtok is None or entry.output_mtok is None or entry.requests_kcount for entry in every):
        return ListEntry(None, found.context_window)
    each = {
        kind: [price for entry in every if (price := getattr(entry, f"{kind}_mtok")) is not None] for kind in _KINDS
    }
    starts = {tier.start for known in each.values() for price in known for tier in getattr(price, "tiers", ())}
    reached = sorted(start for start in starts if found.context_window is None or start < found.context_window)
    prices: dict[str, object] = {kind: _highest(known, 0) for kind, known in each.items()}
    prices["source"] = _source(now)
    if reached:
        long = {kind: _highest(known, reached[-1]) for kind, known in each.items()}
        prices["long_prompts"] = {**long, "above": reached[0]}
    return ListEntry(Prices.model_validate(prices), found.context_window)


def _highest(known: "Iterable[Decimal | TieredPrices]", start: int) -> Decimal | None:
    """Return the highest price; skip tiers above ``start`` tokens."""
    found: list[Decimal] = []
    for price in known:
        if isinstance(price, Decimal):
            found.append(price)
        else:
            found += [price.base, *(tier.price for tier in price.tiers if tier.start <= start)]
    return max(found, default=None)


def _source(now: datetime) -> str:
    """Return the price list's release and its newest price's date."""
    models = (model for provider in _snapshot().providers for model in provider.models)
    entries = (entry for model in models if isinstance(model.prices, list) for entry in model.prices)
    starts = (getattr(entry.constraint, "start_date", None) for entry in entries)
    newest = max((day for day in starts if day is not None and day <= now.date()), default=None)
    return f"{_PACKAGE} {version(_PACKAGE)}, newest price of {newest}"
