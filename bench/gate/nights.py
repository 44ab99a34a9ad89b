"""The nightly watch on simulated months of one model: how often it pages, and how soon after a drop."""

from dataclasses import dataclass

import numpy as np

from bench.gate.model import World, true_rates
from codegate.gating.drift import change_between
from codegate.gating.trend import PAGE_LEVEL, WINDOW


@dataclass(frozen=True)
class Month:
    """Of ``months``: the share with a page, and the median and the 90th percentile of the first one's night."""

    months: int
    paged: float
    median: float | None
    late: float | None


def simulate_months(
    *, months: int, nights: int, drop: float = 0.0, n: int = 40, stored: int = 10, seed: int = 1
) -> Month:
    """Run months of one sample per problem and night; the model is worse by ``drop`` from the first night on."""
    rng = np.random.default_rng([seed, months, nights, round(drop * 1000)])
    p, (q,) = true_rates(rng, months, World(n=n, relation="same weights", drop=drop))
    first: list[int] = []
    for month in range(months):
        before = {str(i): (int(x), stored) for i, x in enumerate(rng.binomial(stored, p[month]))}
        made = rng.random((nights, n)) < q[month]
        for night in range(1, nights + 1):
            since = max(night - WINDOW, 0)
            window = {str(i): (int(x), night - since) for i, x in enumerate(made[since:night].sum(axis=0))}
            change = change_between(before, window)
            if change is not None and change.p_drop < PAGE_LEVEL:
                first.append(night)
                break
    return Month(
        months,
        len(first) / months,
        float(np.median(first)) if first else None,
        float(np.quantile(first, 0.9)) if first else None,
    )
