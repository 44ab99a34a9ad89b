"""How often the gate is wrong and how often it finds what is there, on simulated suites with a fixed seed.

Problems have U-shaped difficulty, pass rate ~ Beta(.24, .16): mean .6, most problems nearly always or nearly never
solved. The baseline has ``kb`` samples per problem. A drop is either spread (every rate is scaled down) or
concentrated (a random share of problems is lost outright). With 2,000 suites per cell the standard error of a 5 %
rate is 0.5 points, so the limits of 5.6 % and 5.5 % are the true 5 % and one standard error.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from codegate.gating.statistics import Pair, paired

ALPHA, MARGIN, SUITES = 0.05, 0.10, 2000


def _rates(
    rng: np.random.Generator, n: int, drop: float, *, lost_outright: bool, churn: float
) -> tuple[np.ndarray, np.ndarray]:
    base = rng.beta(0.24, 0.16, size=(SUITES, n))
    other = np.where(rng.random((SUITES, n)) < churn, rng.beta(0.24, 0.16, size=(SUITES, n)), base)
    if lost_outright:
        return base, np.where(rng.random((SUITES, n)) < drop / 0.6, 0.0, other)
    return base, other * (1 - drop / 0.6)


def _suites(
    n: int, k: int, kb: int, drop: float, *, lost_outright: bool = False, churn: float = 0.04, seed: int = 7
) -> Iterator[list[Pair]]:
    rng = np.random.default_rng([seed, n, k, kb, int(drop * 1000), lost_outright])
    base, other = _rates(rng, n, drop, lost_outright=lost_outright, churn=churn)
    xb, xc = rng.binomial(kb, base), rng.binomial(k, other)
    for left, right in zip(xb.tolist(), xc.tolist(), strict=True):
        yield [Pair(b, kb, c, k) for b, c in zip(left, right, strict=True)]


def _shares(suites: Iterator[list[Pair]]) -> tuple[float, float]:
    """Return (share that alarms, share that passes)."""
    alarms = passes = 0
    for pairs in suites:
        result = paired(pairs, alpha=ALPHA, margin=MARGIN)
        assert result.p_regression is not None
        assert result.p_noninferior is not None
        passed = result.p_noninferior < ALPHA
        passes += passed
        alarms += result.p_regression < ALPHA and not passed
    return alarms / SUITES, passes / SUITES


@pytest.mark.parametrize("n", [24, 60])
@pytest.mark.parametrize(("k", "kb"), [(1, 1), (2, 5), (3, 10)])
def test_an_equal_candidate_is_seldom_called_regressed(n: int, k: int, kb: int) -> None:
    alarms, _ = _shares(_suites(n, k, kb, 0.0))
    assert alarms <= 0.056


@pytest.mark.parametrize("n", [24, 60])
@pytest.mark.parametrize(("k", "kb"), [(1, 1), (2, 5), (3, 10)])
@pytest.mark.parametrize("lost_outright", [False, True])
def test_a_drop_of_the_margin_seldom_passes(n: int, k: int, kb: int, lost_outright: bool) -> None:
    _, passes = _shares(_suites(n, k, kb, MARGIN, lost_outright=lost_outright))
    assert passes <= 0.055


def test_power() -> None:
    alarms, _ = _shares(_suites(60, 3, 10, MARGIN))
    assert alarms >= 0.85
    _, passes = _shares(_suites(60, 3, 10, 0.0))
    assert passes >= 0.80
    alarms, passes = _shares(_suites(24, 3, 10, 0.30, lost_outright=True))
    assert alarms >= 0.90
    assert passes == 0.0
