from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from codegate.candidates import CandidateSpec, Prices, ScoreWeights, Usage, cost, worst_case_call_cost
from codegate.candidates.prices import UNSEEN_TOKENS

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
        (Usage(input_tokens=1, output_tokens=1), PRICES),
        (Usage(input_tokens=1, output_tokens=1, cached_tokens=2), PRICES),
        (Usage(), PRICES),
    ],
)
def test_the_unknown_is_unknown_and_never_free(usage: Usage, prices: Prices | None) -> None:
    assert cost(usage, prices) is None


def test_a_model_that_costs_nothing_costs_nothing_because_somebody_said_so() -> None:
    assert cost(Usage(input_tokens=5, output_tokens=5), Prices(input=Decimal(0), output=Decimal(0))) == 0


@given(counts, counts, counts, amounts, amounts, amounts)
def test_costs_of_two_calls_add_up(a: int, b: int, cached: int, dollars: Decimal, out: Decimal, read: Decimal) -> None:
    prices = Prices(input=dollars, output=out, cache_read=read)
    one = Usage(input_tokens=a + cached, output_tokens=b, cached_tokens=cached)
    other = Usage(input_tokens=b, output_tokens=a, cached_tokens=0)
    total, first, second = cost(one + other, prices), cost(one, prices), cost(other, prices)
    assert first is not None
    assert second is not None
    assert total == first + second


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


@pytest.mark.parametrize(("size", "limit"), [(-1, 1), (1, -1)])
def test_a_negative_request_is_refused(size: int, limit: int) -> None:
    with pytest.raises(ValueError, match="a request has a size and a limit"):
        worst_case_call_cost(size, limit, PRICES)


@pytest.mark.parametrize("value", [-0.01, float("nan"), float("inf"), "a lot", 2_000_000])
def test_a_price_is_a_number_of_dollars(value: object) -> None:
    with pytest.raises(ValidationError):
        Prices.model_validate({"input": value, "output": 1})


def test_prices_are_no_part_of_who_a_candidate_is_and_survive_its_file() -> None:
    spec = CandidateSpec(provider="openai", model="m-2025-01-01")
    priced = spec.model_copy(update={"prices": PRICES})
    assert priced.key() == spec.key()
    assert CandidateSpec.model_validate_json(priced.model_dump_json()) == priced


def test_weights_that_count_nothing_are_refused() -> None:
    assert ScoreWeights(correctness=1, latency=0, cost=0, context=0, reliability=0).correctness == 1
    with pytest.raises(ValidationError, match="at least one weight is above 0"):
        ScoreWeights(correctness=0, latency=0, cost=0, context=0, reliability=0)


def test_tokens_written_to_a_cache_have_their_own_price() -> None:
    prices = Prices(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=500_000, written_tokens=400_000)
    assert cost(usage, prices) == Decimal("0.15") + Decimal("1.5") + Decimal("0.3")
    assert cost(usage.model_copy(update={"written_tokens": None}), prices) is None
    assert cost(usage, prices.model_copy(update={"cache_write": None})) is None, "a price of its own is not guessed"
