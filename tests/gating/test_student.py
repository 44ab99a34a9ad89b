import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from codegate.gating import statistics as student

points = st.floats(-1e6, 1e6) | st.floats(-8, 8)
freedoms = st.integers(1, 20_000) | st.integers(1, 100)


@given(points, freedoms)
@example(0.0, 1)
@example(1e-9, 59)
@example(-1e6, 1)
@example(1e6, 20_000)
def test_cdf_and_sf_are_scipys(t: float, df: int) -> None:
    assert student.student_cdf(t, df) == pytest.approx(float(stats.t.cdf(t, df)), abs=1e-9, rel=1e-9)
    assert student.student_sf(t, df) == pytest.approx(float(stats.t.sf(t, df)), abs=1e-9, rel=1e-9)


@given(st.floats(2, 40), st.integers(1, 500))
def test_small_tails_keep_their_digits(t: float, df: int) -> None:
    assert student.student_sf(t, df) == pytest.approx(float(stats.t.sf(t, df)), abs=0, rel=1e-9)


@given(st.floats(1e-6, 1 - 1e-6), freedoms)
@example(0.5, 3)
@example(0.95, 1)
@example(0.95, 59)
def test_quantile_is_scipys(p: float, df: int) -> None:
    assert student.student_quantile(p, df) == pytest.approx(float(stats.t.ppf(p, df)), abs=1e-9, rel=1e-9)


def test_infinities_are_certain() -> None:
    assert student.student_sf(math.inf, 5) == 0.0
    assert student.student_sf(-math.inf, 5) == 1.0
    assert student.student_cdf(math.inf, 5) == 1.0
    assert student.student_sf(1e200, 5) == 0.0


@pytest.mark.parametrize(("t", "df"), [(0.0, 0), (0.0, -1), (math.nan, 3), (0.0, math.nan)])
def test_nonsense_is_refused(t: float, df: float) -> None:
    with pytest.raises(ValueError, match="df > 0"):
        student.student_sf(t, df)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_quantile_of_certainty_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="strictly between"):
        student.student_quantile(p, 3)
