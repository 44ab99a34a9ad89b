"""Estimates against brute force, scipy, and what an interval promises."""

import itertools
import math
import random
import statistics

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from codegate.gating import estimates


def ends(found: estimates.Estimate | estimates.Difference) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


rates = st.floats(0, 1)
times = st.floats(0, 1e6)


@given(st.integers(1, 9), st.data())
def test_pass_at_k_and_pass_hat_k_are_what_all_draws_give(n: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(itertools.combinations([True] * passed + [False] * (n - passed), k))
    assert estimates.pass_at_k(n, passed, k) == pytest.approx(statistics.fmean(map(any, draws)))
    assert estimates.pass_hat_k(n, passed, k) == pytest.approx(statistics.fmean(map(all, draws)))


@given(st.integers(1, 60), st.data())
def test_one_draw_is_the_rate_and_more_draws_only_help_one_and_hurt_the_other(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    some = [estimates.pass_at_k(n, passed, k) for k in range(1, n + 1)]
    every = [estimates.pass_hat_k(n, passed, k) for k in range(1, n + 1)]
    assert some[0] == pytest.approx(passed / n)
    assert every[0] == pytest.approx(passed / n)
    assert some == sorted(some)
    assert every == sorted(every, reverse=True)


@given(st.integers(1, 400), st.data())
def test_the_share_of_equal_problems_is_wilsons(n: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, n))
    oracle = stats.binomtest(passed, n).proportion_ci(0.95, method="wilson")
    found = estimates.mean_rate([1.0] * passed + [0.0] * (n - passed))
    assert found.n == n
    assert ends(found) == pytest.approx((oracle.low, oracle.high), abs=1e-9)
    assert found.value == pytest.approx(passed / n)


@given(st.lists(st.tuples(rates, st.integers(0, 50)), max_size=30), st.integers(2, 5))
def test_a_share_lies_in_its_interval_and_repetition_does_not_narrow_it(
    parts: list[tuple[float, int]], times_over: int
) -> None:
    once = estimates.pooled_share([(rate * whole, whole) for rate, whole in parts], of="tests")
    if not any(whole for _, whole in parts):
        assert once == estimates.Estimate(of="tests")
        return
    again = estimates.pooled_share(
        [(rate * whole * times_over, whole * times_over) for rate, whole in parts], of="tests"
    )
    for found in (once, again):
        assert found.low is not None
        assert found.value is not None
        assert found.high is not None
        assert 0 <= found.low <= found.value <= found.high <= 1
    assert again.n == once.n * times_over
    assert ends(again) == pytest.approx(ends(once))


def test_one_heavy_problem_among_many_gives_the_interval_of_about_one() -> None:
    heavy = estimates.pooled_share([(900, 900), *([(0.0, 1)] * 50)], of="tests")
    assert heavy.low is not None
    assert heavy.low < 0.25


@given(st.lists(st.tuples(rates, rates), min_size=1, max_size=60))
def test_differences_of_shares_lie_in_their_interval_and_turn_with_the_sides(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    found, turned = estimates.share_difference(ours, theirs), estimates.share_difference(theirs, ours)
    assert found.value == pytest.approx(statistics.fmean(ours) - statistics.fmean(theirs), abs=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert ends(found) == pytest.approx(tuple(-end for end in reversed(ends(turned))), abs=1e-12)


def test_a_difference_needs_both_sides() -> None:
    assert estimates.share_difference([], []) == estimates.Difference()
    assert estimates.share_difference([1.0], [1.0, 0.0]) == estimates.Difference()


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=50))
@example([40.0, 210.0])
def test_the_mean_of_single_values_has_students_interval_above_zero(values: list[float]) -> None:
    found = estimates.mean_of_problems([[value] for value in values], of="attempts")
    spread = statistics.stdev(values) / math.sqrt(len(values))
    low, high = (statistics.fmean(values) + sign * spread * stats.t.ppf(0.975, len(values) - 1) for sign in (-1, 1))
    assert found.n == len(values)
    assert ends(found) == pytest.approx((max(low, 0.0), high), abs=1e-3)


def test_the_mean_of_one_problem_has_no_interval_and_of_none_no_value() -> None:
    assert estimates.mean_of_problems([[1.0, 3.0], []], of="attempts") == estimates.Estimate(2, 2.0, of="attempts")
    assert estimates.mean_of_problems([[]], of="attempts") == estimates.Estimate(of="attempts")


@pytest.mark.parametrize("level", [0.5, 0.95, 0.05])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 20, 71, 72, 100, 340, 5000])
def test_ranks_of_a_quantile_are_those_of_the_binomial_distribution(n: int, level: float) -> None:
    ranks = range(1, n + 1)
    below = [rank for rank, p in zip(ranks, stats.binom.cdf(range(n), n, level), strict=True) if p <= 0.025]
    above = [rank for rank, p in zip(ranks, stats.binom.sf(range(n), n, level), strict=True) if p <= 0.025]
    assert estimates.quantile_ranks(n, level) == (max(below, default=None), min(above, default=None))


@given(st.lists(st.lists(times, max_size=4), max_size=40), st.sampled_from([0.5, 0.95]))
def test_a_quantile_lies_in_its_interval_and_is_a_value_of_the_right_rank(
    groups: list[list[float]], level: float
) -> None:
    found = estimates.empirical_quantile(groups, level, of="attempts")
    values = sorted(value for group in groups for value in group)
    assert found.n == len(values)
    if not values:
        assert found.value is None
        return
    assert found.value is not None
    assert sum(value <= found.value for value in values) >= level * len(values)
    if level != 0.5:
        assert found.value in values
    assert found.low is None or found.low <= found.value
    assert found.high is None or found.high >= found.value


def test_the_upper_end_of_a_p95_takes_72_problems() -> None:
    ends = [estimates.empirical_quantile([[float(i)] for i in range(n)], 0.95, of="x").high for n in (71, 72)]
    assert ends == [None, 71.0]


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_quantiles_cover_as_they_promise(level: float) -> None:
    chance = random.Random(20250601)
    truth = -math.log(1 - level)
    missed = 0
    for _ in range(400):
        found = estimates.empirical_quantile([[chance.expovariate(1)] for _ in range(80)], level, of="x")
        low, high = ends(found)
        missed += not low <= truth <= high
    assert missed / 400 <= 0.06


def test_repeating_every_sample_does_not_narrow_the_interval_of_a_quantile() -> None:
    once = [[math.sin(i) + 1] for i in range(90)]
    plain, again = (estimates.empirical_quantile(groups, 0.95, of="x") for groups in (once, [g * 5 for g in once]))
    assert (plain.low, plain.high) == (again.low, again.high)


@given(st.lists(st.tuples(times, st.integers(0, 5)), max_size=40))
def test_a_ratio_lies_in_its_interval(pairs: list[tuple[float, int]]) -> None:
    found = estimates.ratio(pairs, len(pairs), of="attempts")
    if not sum(b for _, b in pairs):
        assert found.value is None
        return
    assert found.value == pytest.approx(math.fsum(a for a, _ in pairs) / sum(b for _, b in pairs))
    if found.low is not None:
        assert 0 <= ends(found)[0] <= (found.value or 0) <= ends(found)[1]


def test_a_ratio_with_fixed_denominators_has_the_interval_of_a_mean() -> None:
    values = [1.0, 2.5, 2.0, 4.0, 3.0]
    found, plain = (
        estimates.ratio([(v, 1.0) for v in values], 5, of="x"),
        estimates.mean_of_problems([[v] for v in values], of="x"),
    )
    assert ends(found) == pytest.approx(ends(plain))


def test_a_ratio_over_next_to_nothing_has_no_interval() -> None:
    assert estimates.ratio([(1.0, 0), (1.0, 0), (1.0, 1)], 3, of="x") == estimates.Estimate(3, 3.0, of="x")


def test_intervals_of_ratios_cover_as_they_promise() -> None:
    chance = random.Random(20250602)
    missed = 0
    for _ in range(400):
        pairs = [(chance.expovariate(1), float(chance.random() < 0.6)) for _ in range(40)]
        found = estimates.ratio(pairs, 40, of="x")
        low, high = ends(found)
        missed += not low <= 1 / 0.6 <= high
    assert missed / 400 <= 0.075
