"""Hidden tests of alpha.py."""

from __future__ import annotations

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item


@item("double")
@weight(3)
@pytest.mark.parametrize("shape", [(), (3,), (2, 1)], ids=["number", "vector", "column"])
def test_double_of_random_numbers(student, reference, rng, check, shape):
    """Each entry is doubled."""
    x = rng.uniform(1, 9, size=shape)
    check.close(student.alpha.double(x), reference.alpha.double(x), "twice the array")


@item("mean")
@weight(2)
def test_mean_of_random_numbers(student, reference, rng, check):
    """The sum over the number of values, however many."""
    values = rng.uniform(20, 30, size=5).tolist()
    check.close(student.alpha.mean(values), reference.alpha.mean(values), "the mean")


@item("mean")
def test_mean_of_nothing(student):
    """There is no mean of nothing."""
    with pytest.raises(ValueError):  # noqa: PT011 - the message is the student's own
        student.alpha.mean([])


@item("span")
@weight(2)
def test_span_of_random_numbers(student, reference, rng, check):
    """The largest minus the smallest, in any order."""
    values = rng.uniform(40, 90, size=6).tolist()
    got = check.number(student.alpha.span(values), "the span")
    check.that(got >= 0, "a span is never negative")
    check.close(np.float64(got), reference.alpha.span(values), "the span")
