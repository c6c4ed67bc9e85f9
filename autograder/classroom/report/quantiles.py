"""Quantiles of Fisher's F, for which numpy has nothing: the regularised incomplete beta function, inverted by halving.

The continued fraction is that of Abramowitz and Stegun 26.5.8, evaluated by Lentz's method (Numerical Recipes 6.4).
"""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p

_TINY = 1e-300
_STEPS = 20_000  # it takes about the square root of the larger parameter


def incomplete_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b), the distribution function of Beta(a, b), for a, b > 0."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast on one side only
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _fraction(x, a, b) / a


def f_distribution(value: float, above: float, below: float) -> float:
    """P(F <= value) with that many degrees of freedom above and below the bar."""
    return incomplete_beta(above * value / (above * value + below), above / 2.0, below / 2.0) if value > 0 else 0.0


def f_quantile(share: float, above: float, below: float) -> float:
    """The value below which F falls with probability ``share``, 0 < share < 1, to about twelve digits."""
    low, high = 0.0, 1.0
    while f_distribution(high, above, below) < share:
        low, high = high, high * 2.0
        if high == inf:
            return inf
    for _ in range(200):
        middle = (low + high) / 2.0
        if not low < middle < high or high - low < 1e-13 * high:
            break
        if f_distribution(middle, above, below) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _safe(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _safe(1.0 + term * d)
            c = _safe(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


def _safe(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
