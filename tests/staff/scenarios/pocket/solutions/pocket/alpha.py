"""Numbers."""

from __future__ import annotations

from .given import total


def double(x):
    """Twice a number or an array."""
    # BEGIN SOLUTION double
    return 2 * x
    # END SOLUTION


def mean(values):
    """The mean of a list of numbers; ValueError for an empty one."""
    # BEGIN SOLUTION mean
    if not values:
        raise ValueError("the mean of nothing")
    return total(values) / len(values)
    # END SOLUTION


def span(values):
    """The largest of a list of numbers minus the smallest."""
    # BEGIN SOLUTION span
    ordered = sorted(values)
    return ordered[-1] - ordered[0]
    # END SOLUTION
