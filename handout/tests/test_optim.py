"""Tests of lm/optim.py: gradients whose norm you can see."""

import numpy as np
import pytest

from autograder.feedback import item


def clip(student, check, arrays, max_norm):
    """``clip_by_global_norm`` of copies of the arrays (None stays None): the norm, and what the copies are now."""
    given = [None if array is None else student.put(array) for array in arrays]
    norm = check.number(student.optim.clip_by_global_norm(given, max_norm), "the norm")
    return norm, [None if handle is None else student.get(handle) for handle in given]


@item("clipping")
@pytest.mark.parametrize("max_norm", [1.0, 12.9], ids=["to-1", "a-little"])
def test_clipping_scales_all_arrays_by_the_same_factor(student, check, max_norm):
    """[3, 4] and [12] have the norm 13 together; above max_norm, everything is multiplied by max_norm / 13."""
    norm, after = clip(student, check, [np.array([3.0, 4.0]), np.array([[12.0]])], max_norm)
    check.close(norm, 13.0, "the norm before")
    same = check.array(after[0], "the first array", (2,)).tolist() == [3.0, 4.0]
    check.that(not same, "the array that was given is as before: did you make a new one?")
    check.close(after[0], np.array([3.0, 4.0]) * max_norm / 13, "the first array")
    check.close(after[1], np.array([[12.0]]) * max_norm / 13, "the second array")


@item("clipping")
def test_clipping_leaves_short_gradients_alone(student, check):
    """Where the norm is at most max_norm nothing changes; the norm is returned all the same."""
    norm, after = clip(student, check, [np.array([3.0, -4.0]), np.array([12.0])], 13.5)
    check.close(norm, 13.0, "the norm")
    check.close(after[0], np.array([3.0, -4.0]), "the first array", rtol=0, atol=0)
    check.close(after[1], np.array([12.0]), "the second array", rtol=0, atol=0)


@item("clipping")
def test_clipping_passes_over_none_and_zeros(student, check):
    """None is a parameter without a gradient, and zeros have the norm 0: no error, and nothing divided by it."""
    norm, after = clip(student, check, [None, np.zeros((2, 3)), None], 1.0)
    check.close(norm, 0.0, "the norm of zeros")
    check.close(after[1], np.zeros((2, 3)), "the zeros afterwards", rtol=0, atol=0)
    norm, after = clip(student, check, [np.array([6.0]), None, np.array([8.0])], 5.0)
    check.close(norm, 10.0, "the norm of [6] and [8]")
    check.close(after[0], np.array([3.0]), "the first array")
    check.close(after[2], np.array([4.0]), "the second array")


@item("clipping")
def test_clipping_takes_a_generator(student, check):
    """Gradients may come one by one, and only once, as from a generator."""
    given = [student.put(np.array([3.0, 4.0])), student.put(np.array([12.0]))]
    norm = student.optim.clip_by_global_norm(student.testing.as_generator(given), 2.6)
    check.close(norm, 13.0, "the norm")
    check.close(student.get(given[0]), np.array([0.6, 0.8]), "the first array")
    check.close(student.get(given[1]), np.array([2.4]), "the second array")


@item("clipping")
def test_clipping_of_exploded_and_broken_gradients(student, check):
    """The squares of 3e200 and 4e200 are too large for a float, their norm is not; at infinity nothing changes."""
    norm, after = clip(student, check, [np.array([3e200]), np.array([4e200])], 1.0)
    check.close(norm, 5e200, "the norm of [3e200] and [4e200]")
    check.close(after[0], np.array([0.6]), "the first array")
    norm, after = clip(student, check, [np.array([3.0, 4.0]), np.array([float("inf")])], 1.0)
    check.close(norm, float("inf"), "the norm of infinity")
    check.close(after[0], np.array([3.0, 4.0]), "the first array", rtol=0, atol=0)
