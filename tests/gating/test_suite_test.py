"""The gate's test: fixed problems, sampling is the only noise.

What it has in common with the other one is in ``test_population_test.py``.
"""

import math

import pytest
from scipy import stats

from codegate.gating.drop_tests import suite_test
from codegate.gating.statistics import Pair


def test_the_statistic_by_hand() -> None:
    """20 problems, 9 of 10 against 4 of 5 each: every term of the formula, written out."""
    found = suite_test([Pair(9, 10, 4, 5)] * 20, margin=0.1)
    p = 9.25 / 10.5
    step = 1 / 5 / 20

    def error(drop: float, prior: int) -> float:
        q = (4 + prior * (1 - drop / p) * p) / (5 + prior)
        fresh = q * (1 - q) / 5 / (1 - 5 / (5 + prior) ** 2)
        return math.sqrt((p * (1 - p) / 9 + fresh) / 20)

    assert found.difference == pytest.approx(-0.1)
    assert found.p_regression == pytest.approx(float(stats.norm.cdf((-0.1 + step / 2) / error(0, 1))), abs=1e-12)
    assert found.p_noninferior == pytest.approx(float(stats.norm.sf((0.0 - step / 4) / error(0.1, 2))), abs=1e-12)
    assert found.p_gain == pytest.approx(float(stats.norm.sf((-0.1 - step / 2) / error(0, 1))), abs=1e-12)


def test_equal_counts_are_no_proof_of_equal_rates() -> None:
    """Everything solved on both sides: what is shown grows with samples and problems, and is never certain."""
    shown = [suite_test([Pair(10, 10, k, k)] * 30, margin=0.1).p_noninferior or 0.0 for k in (1, 2, 5, 10)]
    assert shown == sorted(shown, reverse=True)
    assert 0.0 < shown[-1] < shown[0]
    assert shown[0] > 0.9**30 / 2, "one sample each shows no more than the chance of it"


def test_a_baseline_without_room_for_the_margin_rules_nothing_out() -> None:
    assert suite_test([Pair(0, 10, 0, 10)] * 20 + [Pair(10, 10, 10, 10)], margin=0.1).p_noninferior == 1.0


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(ValueError, match="needs problems"):
        suite_test([], margin=0.1)
