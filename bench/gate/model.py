"""Simulated suites: problems of U-shaped difficulty, and candidates that are related to the baseline's model.

The rate of the baseline's model on a problem is Beta(m s, (1-m) s): m is the suite's pass rate, and s = .4 makes most
problems nearly always or nearly never solved. The candidate's rates have the same shape and mean m - drop. A Gaussian
copula links the two, as strongly as it takes for the true differences of equally good models to have the variance
("churn") that published per-problem results of model pairs show: 0 for the same weights, .018 within a family, .062
across vendors.
"""

import functools
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Relation = Literal["same weights", "same family", "other vendor"]
CHURN: dict[Relation, float] = {"same weights": 0.0, "same family": 0.018, "other vendor": 0.062}
_GRID = np.linspace(-7.0, 7.0, 4001)


@dataclass(frozen=True)
class World:
    """One kind of suite and candidate.

    Attributes:
        n: problems.
        relation: of the candidate to the baseline's model.
        mean: pass rate of the baseline's model.
        drop: how much lower the candidate's is.
        shape: s of the Beta distribution; larger is less U-shaped.
    """

    n: int = 60
    relation: Relation = "same family"
    mean: float = 0.6
    drop: float = 0.0
    shape: float = 0.4


LossKind = Literal["share", "shift", "dead", "mixed", "noisier"]
"""How a candidate loses an exact share of a suite: every problem the same share or the same points, some problems
outright, half of each; or all of its rates are middling, which a single sample cannot show."""


@functools.lru_cache(maxsize=256)
def _rates(mean: float, shape: float) -> Floats:
    """Return the Beta quantiles at the normal scores of the grid."""
    return np.asarray(stats.beta.ppf(stats.norm.cdf(_GRID), mean * shape, (1 - mean) * shape), dtype=np.float64)


def _rate_of(score: Floats, mean: float, shape: float) -> Floats:
    return np.asarray(np.interp(score, _GRID, _rates(mean, shape)))


@functools.lru_cache(maxsize=64)
def correlation(churn: float, mean: float, shape: float) -> float:
    """Return the copula's correlation at which equally good models have this variance of true differences."""
    if churn == 0.0:
        return 1.0
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()

    def variance(rho: float) -> float:
        other = rho * nodes[:, None] + np.sqrt(1 - rho * rho) * nodes[None, :]
        change = _rate_of(other, mean, shape) - _rate_of(nodes, mean, shape)[:, None]
        return float((weights[:, None] * weights[None, :] * change**2).sum())

    low, high = 0.0, 1.0
    if variance(low) <= churn:  # a suite of nearly equal problems cannot churn so much
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle) > churn else (low, middle)
    return high


def true_rates(
    rng: np.random.Generator, suites: int, world: World, candidates: int = 1
) -> tuple[Floats, tuple[Floats, ...]]:
    """Return the rates of the baseline and of each candidate, all suites x problems."""
    rho = correlation(CHURN[world.relation], world.mean, world.shape)
    score = rng.standard_normal((suites, world.n))

    def candidate() -> Floats:
        other = rho * score + np.sqrt(1 - rho * rho) * rng.standard_normal(score.shape) if rho < 1.0 else score
        return _rate_of(other, world.mean - world.drop, world.shape)

    return _rate_of(score, world.mean, world.shape), tuple(candidate() for _ in range(candidates))


def suite_rates(rng: np.random.Generator, suites: int, world: World, kind: LossKind = "share") -> tuple[Floats, Floats]:
    """Return the rates of baseline and candidate, suites x problems, whose means differ by exactly ``world.drop``.

    A suite that is too weak for the drop loses all it has.
    """
    if world.mean >= 1.0:
        p = np.ones((suites, world.n))
    elif np.isinf(world.shape):
        p = np.full((suites, world.n), world.mean)
    else:
        p = _rate_of(rng.standard_normal((suites, world.n)), world.mean, world.shape)
    rate = p.mean(axis=1, keepdims=True)
    drop = np.minimum(world.drop, rate)
    if kind == "noisier":
        return p, np.broadcast_to(rate - drop, p.shape).copy()
    if kind == "share":
        return p, p * (1 - drop / rate)
    if kind == "shift":
        return p, _shifted(p, drop)
    killed = _killed(rng, p, drop / 2 if kind == "mixed" else drop)
    return p, killed if kind == "dead" else _shifted(killed, drop / 2)


def _shifted(p: Floats, drop: Floats) -> Floats:
    """Return the rates less the same amount each, as far as they go, so that their mean is lower by ``drop``."""
    low, high = np.zeros_like(drop), np.ones_like(drop)
    for _ in range(40):
        middle = (low + high) / 2
        enough = (p - np.maximum(p - middle, 0)).mean(axis=1, keepdims=True) >= drop
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.maximum(p - high, 0))


def _killed(rng: np.random.Generator, p: Floats, drop: Floats) -> Floats:
    """Return the rates with problems killed in random order until their mean is lower by ``drop``, the last in part."""
    order = rng.random(p.shape).argsort(axis=1)
    shuffled = np.take_along_axis(p, order, axis=1)
    left = drop * p.shape[1] - (np.cumsum(shuffled, axis=1) - shuffled)
    kept = shuffled - np.clip(left, 0, shuffled)
    out = np.empty_like(p)
    np.put_along_axis(out, order, kept, axis=1)
    return out
