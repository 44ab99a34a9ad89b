import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from codegate.gating.drop_tests import population_test, sampling_variances, suite_test
from codegate.gating.statistics import Comparison, Pair


def sampling_floor(pairs: list[Pair]) -> float:
    return sum(sampling_variances(pairs)) / len(pairs)


@st.composite
def pair_lists(draw: st.DrawFn, most: int = 40) -> list[Pair]:
    widths = st.integers(1, 10)

    def one() -> Pair:
        kb, kc = draw(widths), draw(widths)
        return Pair(draw(st.integers(0, kb)), kb, draw(st.integers(0, kc)), kc)

    return [one() for _ in range(draw(st.integers(1, most)))]


levels = st.sampled_from([0.01, 0.028, 0.05, 0.1])
margins = st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.25])


@pytest.mark.parametrize("test", [population_test, suite_test])
@given(pair_lists(), levels, margins)
def test_interval_and_p_values_never_contradict_each_other(
    test: Callable[..., Comparison], pairs: list[Pair], alpha: float, margin: float
) -> None:
    result = test(pairs, level=alpha, level_regressed=alpha, margin=margin)
    if result.interval is None:
        assert result.n == 1
        return
    assert result.p_regression is not None
    assert result.p_noninferior is not None
    low, high = result.interval
    assert 0.0 <= result.p_regression <= 1.0
    assert 0.0 <= result.p_noninferior <= 1.0
    assert -1.0 <= low <= high <= 1.0
    assert low <= result.difference <= high
    assert (high < 0.0) == (result.p_regression < alpha)
    assert (low > -margin) == (result.p_noninferior < alpha) or result.baseline_rate <= margin


@pytest.mark.parametrize("test", [population_test, suite_test])
@given(pair_lists(), st.randoms(use_true_random=False))
def test_order_changes_no_bit(test: Callable[..., Comparison], pairs: list[Pair], shuffler: random.Random) -> None:
    mixed = list(pairs)
    shuffler.shuffle(mixed)
    assert test(mixed, margin=0.1) == test(pairs, margin=0.1)


@given(pair_lists())
def test_swapping_the_sides_turns_the_difference_round(pairs: list[Pair]) -> None:
    swapped = [Pair(p.candidate_passed, p.candidate_n, p.baseline_passed, p.baseline_n) for p in pairs]
    here = population_test(pairs, margin=0.1)
    there = population_test(swapped, margin=0.1)
    assert there.difference == -here.difference
    assert there.p_gain == here.p_regression


def test_without_repeats_the_p_value_is_the_paired_t_test() -> None:
    pairs = [Pair(1, 1, 1, 1)] * 30 + [Pair(1, 1, 0, 1)] * 9 + [Pair(0, 1, 1, 1)] * 3 + [Pair(0, 1, 0, 1)] * 8
    before, after = [p.baseline_rate for p in pairs], [p.candidate_rate for p in pairs]
    oracle = stats.ttest_rel(after, before, alternative="less")
    assert population_test(pairs, margin=0.1).p_regression == pytest.approx(float(oracle.pvalue), abs=1e-9)


def test_noninferiority_by_hand() -> None:
    # 60 problems, half of them solved, no change at all: v0 = .1/2 - .01 = .04, t = .1 / sqrt(.04/59)
    result = population_test([Pair(1, 1, 1, 1)] * 30 + [Pair(0, 1, 0, 1)] * 30, margin=0.1)
    assert result.p_noninferior == pytest.approx(float(stats.t.sf(0.1 / (0.04 / 59) ** 0.5, 59)), abs=1e-12)
    assert result.p_regression == 0.5
    low, high = result.interval or (0, 0)
    assert low == pytest.approx(-high)


@pytest.mark.parametrize("samples", [1, 10])
def test_no_loss_at_all_proves_no_more_than_the_chance_of_it(samples: int) -> None:
    """A drop that kills a tenth of all problems shows no loss on 20 of them with the chance .9^20."""
    for n in (16, 20, 28, 29, 60):
        result = population_test([Pair(10, 10, samples, samples)] * n, margin=0.1)
        assert result.p_noninferior is not None
        assert result.p_noninferior >= 0.9**n * (1 - 1e-12)
    assert population_test([Pair(10, 10, 1, 1)] * 20, margin=0.1).p_noninferior == pytest.approx(0.9**20)


def test_a_net_loss_of_two_problems_counts_as_two() -> None:
    pairs = [Pair(1, 1, 1, 1)] * 58 + [Pair(1, 1, 0, 1)] * 2
    least = float(stats.binom.cdf(2, 60, 0.1))
    assert population_test(pairs, margin=0.1).p_noninferior == pytest.approx(max(least, 0.0), rel=0.5)
    assert (population_test(pairs, margin=0.1).p_noninferior or 0) >= least * (1 - 1e-9)


def test_floor_is_the_sampling_variance() -> None:
    # every problem has the same p = .8; then v = p(1-p)(1/kb + 1/kc)
    rng = random.Random(5)

    def passes(k: int) -> int:
        return sum(rng.random() < 0.8 for _ in range(k))

    pairs = [Pair(passes(10), 10, passes(3), 3) for _ in range(600)]
    assert sampling_floor(pairs) == pytest.approx(0.16 * (1 / 10 + 1 / 3), rel=0.15)


def test_floor_holds_up_the_variance_when_all_differences_agree() -> None:
    pairs = [Pair(4, 5, 4, 5)] * 20  # no difference varies, yet the samples plainly do
    assert sampling_floor(pairs) > 0.04
    assert population_test(pairs, margin=0.25).p_noninferior == pytest.approx(
        float(stats.t.sf(0.25 / (0.25 / 2 - 0.25**2) ** 0.5 * 19**0.5, 19)), abs=0.05
    )


def test_few_lost_problems_prove_no_more_than_an_exact_test() -> None:
    for lost, n in itertools.product(range(1, 8), (20, 60)):
        pairs = [Pair(1, 1, 0, 1)] * lost + [Pair(1, 1, 1, 1)] * (n - lost)
        exact = stats.binomtest(0, lost, 0.5, alternative="less").pvalue
        result = population_test(pairs, margin=0.1)
        assert result.p_regression is not None
        assert result.p_regression >= exact * (1 - 1e-12)
        assert result.interval is not None
        assert (result.interval[1] < 0) == (result.p_regression < 0.05)


@pytest.mark.parametrize("n", range(1, 25))
@pytest.mark.parametrize(
    "pair",
    [Pair(1, 1, 1, 1), Pair(0, 1, 0, 1), Pair(1, 1, 0, 1), Pair(0, 1, 1, 1), Pair(5, 5, 0, 3), Pair(9, 10, 8, 10)],
)
def test_constant_data_never_crashes_and_never_certifies_a_drop(pair: Pair, n: int) -> None:
    for margin in (0.01, 0.1, 0.25):
        result = population_test([pair] * n, margin=margin)
        if result.p_noninferior is not None and result.difference <= -margin:
            assert result.p_noninferior > 0.5


@pytest.mark.parametrize(
    ("pairs", "alpha", "margin"),
    [([], 0.05, 0.1), ([Pair(1, 1, 1, 1)], 0.5, 0.1), ([Pair(1, 1, 1, 1)], 0.05, 0.0), ([Pair(1, 1, 1, 1)], 0.05, 0.3)],
)
def test_nonsense_is_refused(pairs: list[Pair], alpha: float, margin: float) -> None:
    with pytest.raises(ValueError, match="comparison needs pairs"):
        population_test(pairs, level=alpha, level_regressed=alpha, margin=margin)
