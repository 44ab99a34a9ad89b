"""The gate's two tests for many suites at once; tests/gating/test_goals.py holds them to the real ones."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from bench.gate.model import Floats, Ints


@dataclass(frozen=True)
class Results:
    """One value per suite, named as in ``Comparison``; ``n`` units each."""

    n: int
    baseline_rate: Floats
    difference: Floats
    p_regression: Floats
    p_noninferior: Floats
    p_gain: Floats


def suite(xb: Ints, kb: Ints, xc: Ints, kc: Ints, *, margin: float) -> Results:
    """Return ``suite_test`` of many suites; arrays are suites x problems, or broadcast to that."""
    kb, kc = np.broadcast_to(kb, xb.shape), np.broadcast_to(kc, xc.shape)
    n, difference = xb.shape[1], (xc / kc - xb / kb).mean(axis=1)
    p = (xb + 0.25) / (kb + 0.5)
    rate = p.mean(axis=1)
    stored = (p * (1 - p) / np.maximum(kb - 1, 1)).mean(axis=1)
    step = (1 / kc).mean(axis=1) / n

    def error(drop: float, prior: int) -> Floats:
        kept = np.maximum(1 - drop / rate, 0)[:, None]
        q = (xc + prior * kept * p) / (kc + prior)
        fresh = (q * (1 - q) / kc / (1 - kc / (kc + prior) ** 2)).mean(axis=1)
        return np.asarray(np.sqrt((stored + fresh) / n))

    zero, limit = error(0.0, 1), error(margin, 2)
    noninferior = np.where(rate > margin, stats.norm.sf((difference + margin - step / 4) / limit), 1.0)
    return Results(
        n,
        (xb / kb).mean(axis=1),
        difference,
        np.asarray(stats.norm.cdf((difference + step / 2) / zero)),
        np.asarray(noninferior),
        np.asarray(stats.norm.sf((difference - step / 2) / zero)),
    )


def _floor(xb: Ints, kb: Ints, xc: Ints, kc: Ints) -> Floats:
    """Return the sampling variance of each difference, suites x problems."""
    passed, n = xb + xc, kb + kc
    mean = (xb / kb + xc / kc).mean(axis=1, keepdims=True) / 2
    repeated = (kb >= 2).astype(float) + (kc >= 2)
    inside = xb * (kb - xb) / np.maximum(kb * (kb - 1), 1) + xc * (kc - xc) / np.maximum(kc * (kc - 1), 1)
    cells = repeated.sum(axis=1, keepdims=True)
    within = inside.sum(axis=1, keepdims=True) / np.maximum(cells, 1)
    total = mean * (1 - mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.where(total > within, within / (total - within), np.inf)
        a, b = mean * strength + passed, (1 - mean) * strength + n - passed
        expected = np.where(np.isinf(strength), total, a * b / ((a + b) * (a + b + 1)))
    return np.where((within > 0) & (total > 0), expected, 0.0) * (1 / kb + 1 / kc)


def _grouped(values: Floats, size: int) -> Floats:
    return np.asarray(values.reshape(values.shape[0], -1, size).mean(axis=2))


def population(xb: Ints, kb: Ints, xc: Ints, kc: Ints, *, margin: float, cluster: int = 1) -> Results:
    """Return ``population_test`` of many suites.

    Args:
        xb: passes of the baseline, suites x problems.
        kb: its samples, of the same shape or one that broadcasts.
        xc: passes of the candidate.
        kc: its samples.
        margin: as for the real function.
        cluster: size of the clusters, which are neighbours.
    """
    kb, kc = np.broadcast_to(kb, xb.shape), np.broadcast_to(kc, xc.shape)
    d = _grouped(xc / kc - xb / kb, cluster)
    floor = _grouped(_floor(xb, kb, xc, kc), cluster).mean(axis=1) / cluster
    n, mean = d.shape[1], d.mean(axis=1)
    variance = np.maximum(d.var(axis=1, ddof=1), floor)
    null = np.maximum(variance, (d * d).mean(axis=1) + np.maximum(mean + margin, 0) / 2 - margin**2)
    changed = (np.abs(d) > 1e-12).sum(axis=1)

    def falls(difference: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(
                variance > 1e-15, difference / np.sqrt(variance / n), np.where(difference < 0, -np.inf, np.inf)
            )
        p = np.where((variance <= 1e-15) & (difference == 0), 0.5, stats.t.cdf(t, n - 1))
        return np.where(difference < 0, np.minimum(np.maximum(p, 0.5**changed), 1.0), p)

    rate = _grouped(xb / kb, cluster).mean(axis=1)
    p_noninferior = stats.t.sf((mean + margin) / np.sqrt(null / (n - 1)), n - 1)
    p_noninferior = np.maximum(p_noninferior, _chance_of_no_loss(n, mean, margin, rate))
    return Results(n, rate, mean, falls(mean), np.asarray(p_noninferior), falls(-mean))


def _chance_of_no_loss(n: int, difference: Floats, margin: float, rate: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.clip(margin / rate, 0, 1)
        lost = np.minimum(n * np.maximum(-difference, 0) / rate, n)
    whole = np.floor(np.nan_to_num(lost))
    below, above = stats.binom.cdf(whole, n, chance), stats.binom.cdf(np.minimum(whole + 1, n), n, chance)
    return np.where(rate > margin, below + (np.nan_to_num(lost) - whole) * (above - below), 1.0)
