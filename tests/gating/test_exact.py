"""Every exact test and interval against scipy, to 1e-9."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from codegate.gating.statistics import (
    beta_binomial_cdf,
    exact_interval,
    holm,
    newcombe,
    stratified_test,
    wilson,
)

Z = 1.959963984540054


@given(st.integers(1, 500), st.data())
def test_wilson_is_scipys(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    low, high = wilson(passed, n, Z)
    oracle = stats.binomtest(passed, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)
    assert low <= passed / n <= high


@given(st.integers(1, 500), st.sampled_from([0.05, 0.0167, 0.001]), st.data())
def test_the_exact_interval_is_scipys(n: int, level: float, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    oracle = stats.binomtest(passed, n).proportion_ci(1 - 2 * level, method="exact")
    assert exact_interval(passed, n, level) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


@pytest.mark.parametrize(("passed", "n"), [(1, 0), (-1, 3), (4, 3)])
def test_a_rate_needs_counts(passed: int, n: int) -> None:
    with pytest.raises(ValueError, match="0 <= passed <= n"):
        wilson(passed, n, Z)


@pytest.mark.parametrize(
    ("counts", "interval"),
    [  # Newcombe 1998, table II, method 10
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((6, 7, 2, 7), (0.0582, 0.8062)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((10, 10, 0, 20), (0.6791, 1.0)),
        ((10, 10, 0, 10), (0.6075, 1.0)),
    ],
)
def test_newcombe_is_the_published_table(counts: tuple[int, int, int, int], interval: tuple[float, float]) -> None:
    assert newcombe(*counts, Z) == pytest.approx(interval, abs=5e-5)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=4))
def test_strata_are_enumerated(counts: list[tuple[int, int]]) -> None:
    tables = [(x, 3, y, 2) for x, y in counts]
    options = []
    for x, _, y, _ in tables:
        law = stats.hypergeom(5, x + y, 3)
        options.append([(value, float(law.pmf(value))) for value in range(4)])
    observed = sum(x for x, *_ in tables)
    below = above = 0.0
    for choice in itertools.product(*options):
        p = math.prod(weight for _, weight in choice)
        total = sum(value for value, _ in choice)
        below += p * (total <= observed)
        above += p * (total >= observed)
    assert stratified_test(tables) == pytest.approx(min(2 * min(below, above), 1.0), abs=1e-9)


@given(st.integers(1, 12), st.floats(0.5, 20), st.floats(0.5, 20), st.data())
def test_the_predictive_distribution_is_scipys(n: int, a: float, b: float, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n))
    assert beta_binomial_cdf(x, n, a, b) == pytest.approx(float(stats.betabinom.cdf(x, n, a, b)), abs=1e-9)


def test_holm_by_hand() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"d": 0.02, "a": 0.03, "c": 0.06, "b": 0.06}
    )
    assert holm({}) == {}
