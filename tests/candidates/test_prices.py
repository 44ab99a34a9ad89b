import subprocess
import sys
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codegate.candidates import CandidateSpec, Prices, Usage, cost, list_entry, worst_case_call_cost
from codegate.candidates.prices import UNSEEN_TOKENS, LongPromptPrices

PRICES = Prices(input=Decimal("1.25"), output=Decimal(10), cache_read=Decimal("0.125"))
amounts = st.decimals(0, 1000, places=4)
counts = st.integers(0, 10_000_000)


def test_cost_is_exact() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=3, cached_tokens=400_000)
    assert cost(usage, PRICES) == Decimal("0.75") + Decimal("0.05") + Decimal("0.00003")


def test_cached_tokens_without_a_price_of_their_own_cost_what_input_does() -> None:
    prices = Prices(input=Decimal(2), output=Decimal(0))
    assert cost(Usage(input_tokens=1_000_000, output_tokens=5, cached_tokens=900_000), prices) == 2
    assert cost(Usage(input_tokens=1_000_000, output_tokens=5), prices) == 2


@pytest.mark.parametrize(
    ("usage", "prices"),
    [
        (Usage(input_tokens=1, output_tokens=1, cached_tokens=0), None),
        (Usage(output_tokens=1, cached_tokens=0), PRICES),
        (Usage(input_tokens=1, cached_tokens=0), PRICES),
        (Usage(input_tokens=1, output_tokens=1, cached_tokens=2), PRICES),
        (Usage(), PRICES),
    ],
)
def test_the_unknown_is_unknown_and_never_free(usage: Usage, prices: Prices | None) -> None:
    assert cost(usage, prices) is None


def test_without_a_count_of_cached_tokens_the_cost_is_an_upper_bound() -> None:
    dear = PRICES.model_copy(update={"cache_read": Decimal(2)})
    silent = Usage(input_tokens=1_000_000, output_tokens=0)
    assert cost(silent, PRICES) == Decimal("1.25")
    assert cost(silent, dear) is None
    hit = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=800_000)
    assert cost(silent + hit + silent, PRICES) == Decimal("2.75") + Decimal("0.1"), "of a loop only the second call hit"


@given(st.text(max_size=200), counts, amounts, amounts, st.none() | amounts, st.none() | amounts, st.data())
def test_no_call_costs_more_than_its_worst_case(
    text: str,
    limit: int,
    dollars: Decimal,
    out: Decimal,
    read: Decimal | None,
    write: Decimal | None,
    data: st.DataObject,
) -> None:
    prices = Prices(input=dollars, output=out, cache_read=read, cache_write=write)
    size = len(text.encode())
    tokens = data.draw(st.integers(0, size + UNSEEN_TOKENS))
    usage = Usage(
        input_tokens=tokens,
        output_tokens=data.draw(st.integers(0, limit)),
        cached_tokens=data.draw(st.integers(0, tokens)),
    )
    worst, paid = worst_case_call_cost(size, limit, prices), cost(usage, prices)
    assert worst is not None
    assert paid is not None
    assert paid <= worst
    if write is not None:
        assert tokens * write / 1_000_000 <= worst
    assert worst_case_call_cost(size, limit, None) is None


@pytest.mark.parametrize("value", [-0.01, float("nan"), float("inf"), "a lot", 2_000_000])
def test_a_price_is_a_number_of_dollars(value: object) -> None:
    with pytest.raises(ValidationError):
        Prices.model_validate({"input": value, "output": 1})


def test_tokens_written_to_a_cache_have_their_own_price() -> None:
    prices = Prices(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=500_000, written_tokens=400_000)
    assert cost(usage, prices) == Decimal("0.15") + Decimal("1.5") + Decimal("0.3")
    assert cost(usage.model_copy(update={"written_tokens": None}), prices) is None
    assert cost(usage, prices.model_copy(update={"cache_write": None})) is None, "a price of its own is not guessed"


def list_prices(name: str, **changes: str) -> Prices | None:
    provider, _, model = name.partition(":")
    return list_entry(CandidateSpec(provider=provider, model=model, **changes)).prices


def test_a_model_at_its_providers_address_has_the_list_price_and_its_source() -> None:
    prices = list_prices("openai:gpt-4o-2024-08-06")
    assert prices is not None
    assert (prices.input, prices.output, prices.cache_read) == (Decimal("2.5"), Decimal(10), Decimal("1.25"))
    assert prices.source is not None
    assert prices.source.startswith("genai-prices 0.")
    assert "newest price of 202" in prices.source
    for elsewhere in ("https://eu.api.openai.com/v1", "https://models.example.org/v1", "http://127.0.0.1:8080/v1"):
        assert list_prices("openai:gpt-4o-2024-08-06", base_url=elsewhere) is None, "what is served there is not known"
    for name in ("openai:gpt-99-2031-01-01", "anthropic:gpt-4o-2024-08-06", "replay:answers.jsonl"):
        assert list_prices(name) is None


def test_what_a_cloud_asks_is_listed_only_where_its_region_does_not_matter() -> None:
    gemini, bedrock = (
        list_prices("gemini:gemini-2.5-pro"),
        list_prices("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    )
    assert gemini is not None
    assert bedrock is not None
    assert bedrock.input == Decimal("3.3"), "the profile's own, not Anthropic's"
    azure = "https://r.openai.azure.com/openai/v1"
    assert list_prices("azure:ours", base_url=azure, snapshot="gpt-4o-2024-08-06") is None
    assert list_prices("vertex:claude-sonnet-4-5@20250929") is None


def test_the_price_of_long_prompts_and_of_the_cache_is_listed() -> None:
    sonnet = list_prices("anthropic:claude-sonnet-4-20250514")
    assert sonnet is not None
    assert sonnet.cache_write == Decimal("3.75"), "of five minutes, which is what requests ask for"
    flat = list_prices("anthropic:claude-sonnet-4-5-20250929")
    assert flat is not None
    assert flat.input == 3, "the tier begins where the model's context ends"
    assert flat.long_prompts is None
    tiered = list_prices("openai:gpt-5.4-2026-03-05")
    assert tiered is not None
    assert tiered.long_prompts is not None
    assert (tiered.input, tiered.long_prompts.input, tiered.long_prompts.above) == (
        Decimal("2.5"), Decimal(5), 272_000,
    )  # fmt: skip


def test_what_a_helper_takes_costs_as_its_own_prices_say() -> None:
    dear = Prices(input=Decimal(30), output=Decimal(60))
    main = Prices(input=Decimal(3), output=Decimal(6), helpers={"dear": dear})
    part = Usage(input_tokens=100_000, output_tokens=10_000)
    both = Usage(input_tokens=900_000, output_tokens=90_000) + part.model_copy(update={"helpers": {"dear": part}})
    assert cost(both, main) == Decimal("2.7") + Decimal("0.54") + Decimal(3) + Decimal("0.6")
    assert cost(both, main.model_copy(update={"helpers": {}})) is None, "unknown, and not free"
    assert worst_case_call_cost(0, 1000, main) == worst_case_call_cost(0, 1000, dear), "it may be the helper's call"


def test_a_helper_that_counts_no_cached_tokens_hides_none_of_the_candidates() -> None:
    main = Prices(input=Decimal(3), output=Decimal(6), cache_read=Decimal("0.3"), helpers={"small": PRICES})
    own = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=900_000)
    part = Usage(input_tokens=1_000, output_tokens=10)
    total = own + part.model_copy(update={"helpers": {"small": part}})
    each = cost(own, main), cost(part, PRICES)
    assert cost(total, main) == sum(one for one in each if one is not None)
    assert total.own.cached_tokens == 900_000


def test_long_requests_cost_what_long_requests_do() -> None:
    tier = LongPromptPrices(above=5_000, input=Decimal(2), output=Decimal(20))
    prices = Prices(input=Decimal(1), output=Decimal(10), long_prompts=tier)
    assert cost(Usage(input_tokens=5_000, output_tokens=100), prices) == Decimal("0.006")
    assert cost(Usage(input_tokens=5_001, output_tokens=100), prices) == Decimal("0.012002")
    assert worst_case_call_cost(3_000, 100, prices) == Decimal("0.006")
    assert worst_case_call_cost(3_001, 100, prices) == Decimal("0.012002")


def test_prices_are_listed_without_a_network() -> None:
    code = (
        "import sys\n"
        "asked = []\n"
        "sys.addaudithook(lambda event, _: asked.append(event) if event.startswith('socket.') else None)\n"
        "from codegate.candidates import CandidateSpec, list_entry\n"
        "assert list_entry(CandidateSpec(provider='openai', model='gpt-4o-2024-08-06')).prices\n"
        "print(asked)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
