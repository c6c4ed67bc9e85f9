"""Public tests of alpha.py."""

from __future__ import annotations

import pytest

from autograder.feedback import item


@item("double")
def test_double_of_a_number(student, rng, check):
    """Twice a number."""
    x = float(rng.uniform(1, 9))
    check.close(student.alpha.double(x), 2 * x, "twice a number")


@item("mean")
@pytest.mark.parametrize("values", [[1, 2, 6], [0.5]], ids=["three", "one"])
def test_mean_of_a_few(student, check, values):
    """The sum over the number of values."""
    check.close(student.alpha.mean(values), sum(values) / len(values), "the mean")


@item("span")
def test_span_of_a_few(student, check):
    """The largest minus the smallest."""
    check.close(student.alpha.span([3, -2, 8]), 10.0, "the span")
