"""``codegate.gating.statistics.paired`` for many suites at once; tests/gating/test_goals.py holds the two together."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from bench.gate.model import Floats, Ints


@dataclass(frozen=True)
class Results:
    """One value per suite, named as in ``PairedResult``."""

    n: int
    baseline_rate: Floats
    difference: Floats
    variance: Floats
    p_regression: Floats
    p_noninferior: Floats


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


def paired(xb: Ints, kb: Ints, xc: Ints, kc: Ints, *, margin: float, cluster: int = 1) -> Results:
    """Compare candidates and baselines of many suites.

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
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(variance > 1e-15, mean / np.sqrt(variance / n), np.where(mean < 0, -np.inf, np.inf))
    p = stats.t.cdf(t, n - 1)
    p = np.where((variance <= 1e-15) & (mean == 0), 0.5, p)
    changed = (np.abs(d) > 1e-12).sum(axis=1)
    p = np.where(mean < 0, np.minimum(np.maximum(p, 0.5**changed), 1.0), p)
    p_noninferior = stats.t.sf((mean + margin) / np.sqrt(null / (n - 1)), n - 1)
    rate = _grouped(xb / kb, cluster).mean(axis=1)
    return Results(n, rate, mean, variance, np.asarray(p), np.asarray(p_noninferior))
