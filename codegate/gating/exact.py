"""Exact tests and intervals for counts, each in a few lines of ``math``; the tests hold them to scipy to 1e-9."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction


def beta_binomial_cdf(passed: int, n: int, a: float, b: float) -> float:
    """Return P(X <= passed) for X passes in ``n`` samples whose rate is Beta(a, b); each term by log-gamma."""

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    whole = log_beta(a, b)
    terms = (math.comb(n, x) * math.exp(log_beta(a + x, b + n - x) - whole) for x in range(passed + 1))
    return min(math.fsum(terms), 1.0)


def wilson(passed: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's score interval of a rate (Wilson 1927, JASA 22:209).

    Args:
        passed: passes; a sum of per-problem rates may be fractional.
        n: trials, > 0.
        z: standard normal quantile of the wanted one-sided level, such as 1.96.

    Raises:
        ValueError: ``n`` is not positive or ``passed`` not in 0..n.
    """
    if not n > 0 or not 0 <= passed <= n:
        message = f"a rate needs 0 <= passed <= n and n > 0, not {passed} of {n}"
        raise ValueError(message)
    rate, square = passed / n, z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    return max(centre - half, 0.0) if passed else 0.0, min(centre + half, 1.0) if passed < n else 1.0


def newcombe(passed: float, n: float, other_passed: float, other_n: float, z: float) -> tuple[float, float]:
    """Return the interval of the difference of two unpaired rates (Newcombe 1998, Stat. Med. 17:873, method 10)."""
    low, high = wilson(passed, n, z)
    other_low, other_high = wilson(other_passed, other_n, z)
    rate, other = passed / n, other_passed / other_n
    difference = rate - other
    below = math.hypot(rate - low, other_high - other)
    above = math.hypot(high - rate, other - other_low)
    return max(difference - below, -1.0), min(difference + above, 1.0)


def mcnemar(lost: int, gained: int) -> float:
    """Return the one-sided exact p of "no drop" from discordant pairs: P(X >= lost), X ~ Bin(lost + gained, 1/2).

    McNemar 1947, Psychometrika 12:153, in its exact form. 1 without discordant pairs.
    """
    n = lost + gained
    return float(Fraction(sum(math.comb(n, x) for x in range(lost, n + 1)), 2**n))


Table = tuple[int, int, int, int]
"""Passes and samples of the first side, passes and samples of the second, for one problem."""


def stratified(tables: Sequence[Table]) -> float:
    """Return the two-sided exact p of "both sides have the same rate on every problem".

    The conditional test of the sharp null p_i = q_i: given each problem's total, the first side's passes are
    hypergeometric; their sum over the problems is convolved by dynamic programming (Cochran 1954; Mantel and
    Haenszel 1959, here without the normal approximation). Two-sided as twice the smaller tail, at most 1. With one
    sample on both sides this is McNemar's exact test.
    """
    distribution: list[float] = [1.0]
    least = observed = 0
    for passed, n, other_passed, other_n in tables:
        total = passed + other_passed
        low, high = max(0, total - other_n), min(n, total)
        least += low
        observed += passed
        if low == high:
            continue
        ways = math.comb(n + other_n, total)
        terms = [math.comb(n, x) * math.comb(other_n, total - x) / ways for x in range(low, high + 1)]
        grown = [0.0] * (len(distribution) + len(terms) - 1)
        for i, p in enumerate(distribution):
            for j, q in enumerate(terms):
                grown[i + j] += p * q
        distribution = grown
    at = observed - least
    below, above = math.fsum(distribution[: at + 1]), math.fsum(distribution[at:])
    return min(2.0 * min(below, above), 1.0)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return the p-values adjusted for their number, by Holm's step-down rule (Holm 1979, Scand. J. Stat. 6:65)."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: (p_values[name], name))):
        highest = max(highest, min((len(p_values) - rank) * p_values[name], 1.0))
        adjusted[name] = highest
    return adjusted
