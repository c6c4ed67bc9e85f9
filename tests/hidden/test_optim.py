"""Hidden tests of lm/optim.py: random gradients, and the far ends of what is promised."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

SHAPES = [(3, 4), (5,), (1,), (2, 1, 3), (4, 4)]
INFINITE = float("inf")


def put_all(student, arrays):
    """Copies of the arrays on the student's side; None stays None."""
    return [None if array is None else student.put(array) for array in arrays]


def check_all(student, check, handles, expected, **limits):
    """Each array is now as expected."""
    for number, (handle, value) in enumerate(zip(handles, expected, strict=True)):
        if value is not None:
            check.close(student.get(handle), value, f"array {number} afterwards", **limits)


def check_same(student, check, handles, before):
    """Each array is still what it was, to the last bit."""
    check_all(student, check, handles, before, rtol=0, atol=0)


def gradients(rng, shapes=SHAPES, size=1.0):
    """Random arrays, some of them much larger than others, and their norm."""
    arrays = [size * 10 ** rng.uniform(-1, 1) * rng.normal(size=shape) for shape in shapes]
    return arrays, float(np.sqrt(sum((array**2).sum() for array in arrays)))


@item("clipping")
@weight(2)
def test_clipping_of_random_gradients(student, rng, check):
    """Above max_norm all entries are multiplied by max_norm / norm, in place; the norm before is returned."""
    for size, share in ((1e-3, 0.3), (1.0, 0.999), (1.0, 0.02), (1e6, 1e-4)):
        arrays, norm = gradients(rng, size=size)
        given = put_all(student, arrays)
        check.close(student.optim.clip_by_global_norm(given, share * norm), norm, "the norm", rtol=1e-12)
        check_all(student, check, given, [share * array for array in arrays], rtol=1e-12, atol=0)


@item("clipping")
@weight(1.5)
def test_clipping_never_makes_gradients_longer(student, rng, check):
    """A norm below max_norm is returned, and no bit of any gradient changes."""
    arrays, norm = gradients(rng)
    given = put_all(student, arrays)
    for share in (1.001, 50.0, 1e9):
        check.close(student.optim.clip_by_global_norm(given, share * norm), norm, "the norm", rtol=1e-12)
        check_same(student, check, given, arrays)


@item("clipping")
@weight(1.5)
def test_clipping_exactly_at_the_limit(student, check):
    """A norm of exactly max_norm is not above it: no bit changes."""
    parts = ([[1.0, -1.0], [1.0, 1.0]], [-2.0, 0.0, 0.0], [[2.0]], [0.0, 2.0])  # four norms of 2: together 4
    for size in (0.25, 1.0, 2.0**40):
        arrays = [size * np.array(part) for part in parts]
        given = put_all(student, arrays)
        check.close(student.optim.clip_by_global_norm(given, 4 * size), 4 * size, "the norm", rtol=0, atol=0)
        check_same(student, check, given, arrays)


@item("clipping")
def test_clipping_at_a_limit_that_does_not_divide_evenly(student, check):
    """No bit changes at a norm of exactly max_norm, also where a division by it and a product do not cancel."""
    arrays = [np.array([32.0, 0.0]), np.array([[32.0]]), np.array([-16.0])]  # all of them together: 49
    arrays += [np.array([8.0]), np.array([0.0, 4.0]), np.array([4.0]), np.array([[1.0], [0.0]])]  # 1 / 49 * 49 < 1
    given = put_all(student, arrays)
    check.close(student.optim.clip_by_global_norm(given, 49.0), 49.0, "the norm", rtol=0, atol=0)
    check_same(student, check, given, arrays)


@item("clipping")
@pytest.mark.parametrize("kind", ["generator", "tuple"], ids=["generator", "tuple"])
def test_clipping_of_any_iterable(student, rng, check, kind):
    """Arrays may come from anything that can be gone through once."""
    arrays, norm = gradients(rng)
    given = put_all(student, arrays)
    offered = tuple(given) if kind == "tuple" else student.testing.as_generator(given)
    check.close(student.optim.clip_by_global_norm(offered, norm / 8), norm, "the norm", rtol=1e-12)
    check_all(student, check, given, [array / 8 for array in arrays], rtol=1e-12, atol=0)


@item("clipping")
@weight(1.5)
def test_clipping_passes_over_parameters_without_a_gradient(student, rng, check):
    """None among the gradients is no error, and counts nothing."""
    arrays, norm = gradients(rng, [(2, 3), (4,)])
    for mixed in ([None, arrays[0], None, arrays[1]], [arrays[0], arrays[1], None]):
        given = put_all(student, mixed)
        check.close(student.optim.clip_by_global_norm(given, norm / 2), norm, "the norm", rtol=1e-12)
        halves = [None if array is None else array / 2 for array in mixed]
        check_all(student, check, given, halves, rtol=1e-12, atol=0)


@item("clipping")
def test_clipping_where_there_is_nothing_to_clip(student, check):
    """Zeros, no arrays at all and only None have the norm 0, and zeros stay zeros."""
    for arrays in ([np.zeros(3), np.zeros((2, 2))], [], [None, None]):
        given = put_all(student, arrays)
        check.close(student.optim.clip_by_global_norm(given, 0.5), 0.0, "the norm")
        check_same(student, check, given, arrays)


@item("clipping")
@weight(1.5)
def test_clipping_of_a_shared_array(student, rng, check):
    """An array that occurs several times is one array: it counts once and is scaled once."""
    (shared, other), norm = gradients(rng, [(3, 2), (3, 2)])
    for order in ([0, 1, 0], [0, 0, 0, 1]):
        given = put_all(student, [shared, other])
        offered = [given[index] for index in order]
        check.close(student.optim.clip_by_global_norm(offered, norm / 4), norm, "the norm", rtol=1e-12)
        check_all(student, check, given, [shared / 4, other / 4], rtol=1e-12, atol=0)


@item("clipping")
def test_clipping_of_equal_arrays(student, check):
    """Two arrays that merely hold the same numbers are two."""
    given = put_all(student, [np.array([3.0, 4.0]), np.array([3.0, 4.0])])
    check.close(student.optim.clip_by_global_norm(given, 5.0), np.sqrt(50.0), "the norm")
    check_all(student, check, given, 2 * [np.array([3.0, 4.0]) / np.sqrt(2.0)])


@item("clipping")
def test_clipping_in_single_precision(student, rng, check):
    """Arrays of float32 are clipped in place too, and stay float32."""
    arrays, _ = gradients(rng, [(3, 4), (6,)])
    single = [array.astype(np.float32) for array in arrays]
    norm = float(np.sqrt(sum((array.astype(float) ** 2).sum() for array in single)))
    given = put_all(student, single)
    check.close(student.optim.clip_by_global_norm(given, norm / 3), norm, "the norm", rtol=1e-5)
    check_all(student, check, given, [(array / 3).astype(np.float32) for array in single], rtol=1e-5, atol=0)


@item("clipping")
@pytest.mark.parametrize(("kind", "size"), [("float64", 1e200), ("float32", 1e30)], ids=["double", "single"])
def test_clipping_of_exploded_gradients(student, check, kind, size):
    """Entries whose squares are too large for a float are clipped like all others, whatever else there is."""
    for parts in ([[3.0, -4.0], [12.0, 0.0]], [[-12.0, -3.0], [0.0, -4.0]]):
        arrays = [*(size * np.array(part, dtype=kind) for part in parts), np.array([1.0, -2.0], dtype=kind)]
        given = put_all(student, arrays)
        check.close(student.optim.clip_by_global_norm(given, 1.0), 13.0 * size, "the norm", rtol=1e-5)
        expected = [np.array(part, dtype=kind) / 13 for part in parts]
        check_all(student, check, given[:2], expected, rtol=1e-5, atol=0)
        check.close(student.get(given[2]), np.zeros(2, dtype=kind), "the short array afterwards", atol=1e-20)


@item("clipping")
@pytest.mark.parametrize("bad", [INFINITE, float("nan")], ids=["infinite", "nan"])
def test_clipping_of_what_is_no_number_any_more(student, check, bad):
    """If the norm is infinite or NaN nothing changes, and the caller sees it in the result."""
    given = put_all(student, [np.array([3.0, 4.0]), np.array([bad]), np.array([[0.0, 1.0]])])
    norm = student.optim.clip_by_global_norm(given, 1.0)
    is_number = isinstance(norm, (float, np.floating, np.ndarray)) and np.shape(norm) == ()
    check.that(is_number and not bool(np.isfinite(norm)), "the norm should be infinite or NaN")
    check_same(student, check, [given[0], given[2]], [np.array([3.0, 4.0]), np.array([[0.0, 1.0]])])
