"""Find a model's list prices in the genai-prices package.

Nothing is fetched. Only models at their provider's own address have list prices: a region or a deployment of the user's
own may have another price. Where the list has several prices for one kind of token (by time of day, or for more than
two sizes of prompts), the highest is taken, so that a budget holds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from codegate.candidates.prices import Prices
from codegate.candidates.spec import CandidateSpec

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

_PACKAGE: Final = "genai-prices"
_PROVIDERS: Final = {"openai": "openai", "anthropic": "anthropic", "gemini": "google", "bedrock": "aws"}
"""The list's name of a provider, by ours; Azure and Vertex have prices by deployment and region."""

_STEP: Final = timedelta(minutes=15)
_STEPS: Final = 96  # of a day: a price may depend on the time of day, and may change before a run ends


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
    """Return the prices ``known``, with those of the helper models.

    ``known`` holds the prices of the candidate's own model. A helper's prices come from ``table``, else from ``known``,
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
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  as below

    models = (model for provider in get_snapshot().providers for model in provider.models)
    return tuple(name for model in models for name in (model.id, *_words(model.match)))


def _words(clause: object) -> Iterator[str]:
    """Yield the model names in one price list rule."""
    for value in vars(clause).values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            for inner in value:
                yield from _words(inner)


@cache
def _listed(provider: str, model: str) -> ListEntry:
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  1.6 MB of prices and an HTTP client

    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return ListEntry(None, None)
    now = datetime.now(UTC)
    every = [found.get_prices(now + step * _STEP) for step in range(_STEPS)]
    if any(entry.input_mtok is None or entry.output_mtok is None or entry.requests_kcount for entry in every):
        return ListEntry(None, found.context_window)
    short = {field: _highest(every, names, 0) for field, names in _NAMES.items()}
    starts = {tier.start for entry in every for names in _NAMES.values() for name in names
              for tier in getattr(getattr(entry, name), "tiers", ())}  # fmt: skip
    reached = sorted(start for start in starts if found.context_window is None or start < found.context_window)
    prices: dict[str, object] = {**short, "source": _source(now)}
    if reached:
        long = {field: _highest(every, names, reached[-1]) for field, names in _NAMES.items()}
        prices["long_prompts"] = {**long, "above": reached[0]}
    return ListEntry(Prices.model_validate(prices), found.context_window)


_NAMES: Final = {
    "input": ("input_mtok",),
    "output": ("output_mtok",),
    "cache_read": ("cache_read_mtok",),
    "cache_write": ("cache_write_mtok",),
}
"""Names that the list has for what `Prices` has. Caches live five minutes: no request asks for more."""


def _highest(every: "Iterable[ModelPrice]", names: Iterable[str], start: int) -> Decimal | None:
    """Return the highest price in some fields of price entries.

    None if there is no price. Tiers that begin above ``start`` tokens are left out.
    """
    found: list[Decimal] = []
    for entry in every:
        for price in (getattr(entry, name) for name in names):
            if isinstance(price, Decimal):
                found.append(price)
            elif price is not None:
                found += [price.base, *(tier.price for tier in price.tiers if tier.start <= start)]
    return max(found, default=None)


def _source(now: datetime) -> str:
    """Return the price list's release and its newest price's date."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415  as above

    starts = (day for provider in get_snapshot().providers for model in provider.models for day in _starts(model))
    newest = max((day for day in starts if day <= now.date()), default=None)
    return f"{_PACKAGE} {version(_PACKAGE)}, newest price of {newest}"


def _starts(model: "ModelInfo") -> Iterable[date]:
    from genai_prices.types import StartDateConstraint  # noqa: PLC0415  as above

    entries = model.prices if isinstance(model.prices, list) else ()
    return (entry.constraint.start_date for entry in entries if isinstance(entry.constraint, StartDateConstraint))
