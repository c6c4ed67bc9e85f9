"""The pure numbers: nothing of students, items or pages. What cannot be computed is None, never a warning or NaN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .population import Hundredths
from .quantiles import f_quantile

FEWEST = 3  # pairs for a correlation: with two it is 1 or -1, whatever they are
LEVEL = 0.95  # of the interval of alpha


@dataclass(frozen=True)
class Summary:
    """Of a list of scores, in points. All are None when there is none, ``sd`` also when there is one."""

    n: int
    mean: float | None = None
    median: float | None = None
    sd: float | None = None
    lowest: float | None = None
    lower: float | None = None
    upper: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class Alpha:
    """Cronbach's alpha.

    Attributes:
        value: None where it cannot be computed.
        low, high: Feldt's interval at ``LEVEL``.
        error: the standard error of measurement, in points: sd of the total times the root of 1 - alpha.
        n, items: how many submissions and items it stands on.
        reason: why there is no value: "few" (under 2 submissions), "items" (under 2 items), "constant" (equal totals).
    """

    value: float | None
    n: int
    items: int
    low: float | None = None
    high: float | None = None
    error: float | None = None
    reason: str = ""


def summarise(values: Sequence[int]) -> Summary:
    """Mean, median, sample standard deviation (n - 1) and quartiles (linear interpolation) of hundredths."""
    if not values:
        return Summary(0)
    array = np.asarray(values, dtype=np.int64)
    lowest, lower, median, upper, highest = (float(q) / 100 for q in np.quantile(array, (0, 0.25, 0.5, 0.75, 1)))
    sd = float(np.std(array, ddof=1)) / 100 if len(values) > 1 else None
    return Summary(len(values), float(np.mean(array)) / 100, median, sd, lowest, lower, upper, highest)


def correlation(one: Hundredths, other: Hundredths) -> tuple[float | None, str]:
    """Pearson's r, or None with the reason: "few" (under ``FEWEST`` pairs), "constant", "constant rest"."""
    if len(one) < FEWEST:
        return None, "few"
    if np.ptp(one) == 0:
        return None, "constant"
    if np.ptp(other) == 0:
        return None, "constant rest"
    x, y = one - np.mean(one), other - np.mean(other)
    return float(np.clip(np.dot(x, y) / sqrt(np.dot(x, x) * np.dot(y, y)), -1.0, 1.0)), ""


def cronbach(points: Hundredths) -> Alpha:
    """Alpha of a complete table, submission x item, with Feldt's interval.

    (1 - alpha) / (1 - estimate) follows F with n - 1 and (n - 1)(k - 1) degrees of freedom when the items are
    essentially tau-equivalent and normal (Feldt 1965).
    """
    n, items = points.shape
    if items < 2:
        return Alpha(None, n, items, reason="items")
    if n < 2:
        return Alpha(None, n, items, reason="few")
    totals = points.sum(axis=1)
    if np.ptp(totals) == 0:
        return Alpha(None, n, items, reason="constant")
    whole = float(np.var(totals, ddof=1))
    value = items / (items - 1) * (1.0 - float(np.var(points, axis=0, ddof=1).sum()) / whole)
    above, below = n - 1, (n - 1) * (items - 1)
    low = 1.0 - (1.0 - value) * f_quantile((1 + LEVEL) / 2, above, below)
    high = 1.0 - (1.0 - value) * f_quantile((1 - LEVEL) / 2, above, below)
    return Alpha(value, n, items, low, high, sqrt(whole * max(0.0, 1.0 - value)) / 100)
