"""The gate's test for many suites at once; tests/gating/test_goals.py holds it to the real one."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from bench.gate.model import Floats, Ints


@dataclass(frozen=True)
class Results:
    """One value per suite, named as in ``Comparison``."""

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
        (xb / kb).mean(axis=1),
        difference,
        np.asarray(stats.norm.cdf((difference + step / 2) / zero)),
        np.asarray(noninferior),
        np.asarray(stats.norm.sf((difference - step / 2) / zero)),
    )
