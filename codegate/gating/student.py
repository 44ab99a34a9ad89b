"""Student's t distribution in pure Python: its distribution function, its upper tail and its quantile.

Nothing here needs more than ``math``, so the gate runs without scipy; the tests hold it to scipy's values.
"""

import functools
import math

_CONVERGED = 1e-16
_MAX_TERMS = 20_000
_TINY = 1e-300


def _beta_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, NIST DLMF 8.17.22, by Lentz's method."""
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for coefficient in (even, odd):
            d = 1.0 + coefficient * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + coefficient / c
            c = c if abs(c) > _TINY else _TINY
            change = c * d
            value *= change
        if abs(change - 1.0) < _CONVERGED:
            break
    return value


def _incomplete_beta(x: float, complement: float, a: float, b: float) -> float:
    """Return I_x(a, b), regularised (DLMF 8.17.2), for x in 0..1.

    Args:
        x: the argument.
        complement: 1 - x, given separately because the difference would lose its digits near x = 1.
        a: first parameter, > 0.
        b: second parameter, > 0.
    """
    if x <= 0.0:
        return 0.0
    if complement <= 0.0:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(complement)
    front = math.exp(log_front)
    if x <= (a + 1.0) / (a + b + 2.0):  # where the fraction converges quickly; DLMF 8.17.4 mirrors the rest
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(complement, b, a) / b


def sf(t: float, df: float) -> float:
    """Return P(T > t) for Student's t with ``df`` degrees of freedom.

    Uses P(|T| > t) = I_x(df/2, 1/2) with x = df / (df + t^2) (Abramowitz and Stegun 26.7.1 with 26.5.2).

    Args:
        t: the point; infinities are allowed.
        df: degrees of freedom, > 0.

    Raises:
        ValueError: ``df`` is not positive or ``t`` is not a number.
    """
    if not df > 0 or math.isnan(t):
        message = f"Student's t needs df > 0 and a number, not df={df}, t={t}"
        raise ValueError(message)
    square = t * t
    if math.isinf(square):
        tail = 0.0
    else:
        tail = 0.5 * _incomplete_beta(df / (df + square), square / (df + square), df / 2.0, 0.5)
    return tail if t >= 0 else 1.0 - tail


def cdf(t: float, df: float) -> float:
    """Return P(T <= t) for Student's t with ``df`` degrees of freedom.

    Raises:
        ValueError: ``df`` is not positive or ``t`` is not a number.
    """
    return sf(-t, df)


@functools.lru_cache(maxsize=256)
def quantile(p: float, df: float) -> float:
    """Return the t with P(T <= t) = p, by bisection to the last bits.

    Args:
        p: probability, strictly between 0 and 1.
        df: degrees of freedom, > 0.

    Raises:
        ValueError: ``p`` is outside (0, 1) or ``df`` is not positive.
    """
    if not 0.0 < p < 1.0:
        message = f"a quantile needs a probability strictly between 0 and 1, not {p}"
        raise ValueError(message)
    tail = min(p, 1.0 - p)
    low, high = 0.0, 1.0
    while sf(high, df) > tail:
        low, high = high, high * 2.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if sf(middle, df) > tail:
            low = middle
        else:
            high = middle
    return high if p > 0.5 else -high if p < 0.5 else 0.0
