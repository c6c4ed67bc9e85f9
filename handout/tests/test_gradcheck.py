"""Tests of lm/gradcheck.py on functions and modules whose gradients are known."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# --- numerical_gradient


@item("numerical_gradient")
@weight(2)
def test_differences_of_a_polynomial(student, check):
    """Each entry of the result is the slope along one entry of x, whatever the shape of x."""
    gradient, polynomial = student.gradcheck.numerical_gradient, student.testing.Polynomial
    f = polynomial([(2.0, [3, 0, 1]), (-1.0, [0, 2, 0])])  # 2 x0^3 x2 - x1^2
    got = gradient(f, np.array([1.0, 3.0, 0.5]))
    check.close(got, np.array([3.0, -6.0, 2.0]), "the gradient of 2 x0^3 x2 - x1^2", rtol=1e-8)
    f = polynomial([(1.0, [1, 1, 1, 0]), (1.0, [0, 0, 0, 2])])  # x00 x01 x10 + x11^2
    got = gradient(f, np.array([[2.0, 3.0], [5.0, 7.0]]))
    check.close(got, np.array([[15.0, 10.0], [6.0, 14.0]]), "the gradient of x00 x01 x10 + x11^2", rtol=1e-8)


@item("numerical_gradient")
def test_differences_are_central(student, check):
    """(f(x + eps) - f(x - eps)) / (2 eps), with the eps that is given: 3 x^2 + eps^2 for f = x^3."""
    cube = student.testing.Polynomial([(1.0, [3])])
    for eps in (0.5, 0.25):
        got = student.gradcheck.numerical_gradient(cube, np.array([2.0]), eps)
        check.close(got, np.array([12.0 + eps**2]), f"the difference of x^3 with eps = {eps}")


@item("numerical_gradient")
def test_x_is_moved_in_place_and_put_back(student, check):
    """f is given x itself, one entry moved; afterwards x is exactly what it was."""
    values = np.array([[0.1, 0.2, 0.3], [1.1, 2.2, 3.3]])
    for eps in (1e-6, 0.7):
        x = student.put(values)
        f = student.testing.Watch(student.testing.Polynomial([(1.0, [1] * 6)]), x)
        got = student.gradcheck.numerical_gradient(f, x, eps)
        check.close(got, values.prod() / values, "the gradient of a product", rtol=2e-8)
        check.equal(f.strangers, 0, "how often f was given another array than x")
        check.equal(f.most_moved, 1, "how many entries of x were moved at a time")
        check.equal(student.get(x).tolist(), values.tolist(), "x afterwards")


@item("numerical_gradient")
@weight(0.5)
@pytest.mark.parametrize("patience", [0, 1, 5], ids=["first", "second", "sixth"])
def test_x_is_put_back_after_an_exception(student, check, patience):
    """When f raises an exception it is passed on, and x is what it was."""
    values = np.array([0.1, 0.2, 0.3])
    x = student.put(values)
    f = student.testing.Watch(student.testing.Polynomial([(1.0, [1] * 3)]), x, patience)
    with pytest.raises(ZeroDivisionError):
        student.gradcheck.numerical_gradient(f, x)
    check.equal(student.get(x).tolist(), values.tolist(), "x afterwards")


@item("numerical_gradient")
@weight(0.5)
def test_differences_at_a_view(student, check):
    """x may be a view, a transpose say: its entries do not lie one after the other in memory."""
    values = np.array([[1.0, 2.0, 3.0], [5.0, 7.0, 11.0]])
    x, f = student.put(values), student.testing.Polynomial([(1.0, [1, 1, 0, 0, 0, 0]), (1.0, [0, 0, 2, 0, 0, 0])])
    got = student.testing.at_transpose(student.gradcheck.numerical_gradient, f, x)  # rows 1 5, 2 7, 3 11
    check.close(got, np.array([[5.0, 1.0], [4.0, 0.0], [0.0, 0.0]]), "the gradient of x00 x01 + x10^2", rtol=1e-8)
    check.equal(student.get(x).tolist(), values.tolist(), "x afterwards")


# --- check_module


def names(errors):
    """The keys of a dict in order; anything else as it is."""
    return sorted(errors) if type(errors) is dict else errors


@item("check_module")
@weight(2)
def test_right_modules_have_no_errors(student, check):
    """For a right module the errors are tiny: one for its input, unless that is integers, and one a parameter."""
    testing, check_module = student.testing, student.gradcheck.check_module
    a, rng = np.array([[0.5, -2.0, 1.5]]), testing.random_numbers(0)
    stretch = testing.Stretch(np.array([[3.0, -1.0, 0.5]]), np.array([[0.0, 2.0, 1.0]]))
    for module, given, gradients in (
        (testing.Square(), a, ["a"]),
        (testing.HalfSquares(), a, ["a"]),
        (stretch, a, ["a", "scale", "shift"]),
        (testing.Powers(1.5), np.array([2, 0, 3]), ["base"]),
    ):
        errors = check_module(module, given, rng)
        check.equal(names(errors), gradients, "the gradients that were checked")
        for name in gradients:
            check.close(errors[name], 0.0, f"the error of {name!r}", atol=1e-4)


@item("check_module")
def test_wrong_gradients_have_errors(student, check):
    """The relative error, of the gradient that is wrong: 0.5 where it is twice too large, 2 where its sign is wrong."""
    a, scale, shift = np.array([0.5, -2.0, 1.5]), np.array([3.0, -1.0, 0.5]), np.zeros(3)
    for name, factor, error in (("a", 2.0, 0.5), ("scale", -1.0, 2.0), ("shift", 0.0, 1.0)):
        module = student.testing.Stretch(scale, shift, {name: factor})
        errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(1))
        check.equal(names(errors), ["a", "scale", "shift"], "the gradients that were checked")
        for key in ("a", "scale", "shift"):
            check.close(errors[key], error if key == name else 0.0, f"the error of {key!r}", rtol=1e-4, atol=1e-4)


@item("check_module")
@pytest.mark.parametrize("bug", ["sigmoid", "reverse"], ids=["sigmoid", "reverse"])
def test_planted_bugs_are_found(student, check, bug):
    """The lecture's sigmoid that forgets 1 - b, and a module whose gradient is right if g_b is the same everywhere."""
    module = {
        "sigmoid": lambda: student.testing.ForgetfulSigmoid(),
        "reverse": lambda: student.testing.Reverse(forgets=True),
    }[bug]()
    a = np.array([0.5, -2.0, 1.5, 0.25, 1.0])
    errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(2))
    check.equal(names(errors), ["a"], "the gradients that were checked")
    check.that(check.number(errors["a"], "the error") > 0.1, "the error of a wrong gradient should be large")


@item("check_module")
@weight(0.5)
def test_the_error_is_that_of_the_whole_gradient(student, check):
    """The largest difference over the largest entry: an entry that is wrong counts by its size beside all others."""
    a, scale, shift = np.array([0.5, -2.0, 1.5]), np.array([3.0, -1.0, 0.5]), np.zeros(3)
    g_b = np.random.default_rng(3).normal(size=3)
    for wrong in ([1.0, 1.0, -1.0], [2.0, 1.0, 0.0]):
        right = g_b * scale
        got = right * wrong
        error = np.abs(got - right).max() / max(np.abs(got).max(), np.abs(right).max())
        module = student.testing.Stretch(scale, shift, {"a": np.array(wrong)})
        errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(3))
        check.equal(names(errors), ["a", "scale", "shift"], "the gradients that were checked")
        check.close(errors["a"], float(error), "the error of 'a'", rtol=1e-4)


@item("check_module")
@weight(0.5)
def test_a_gradient_that_is_zero_has_no_error(student, check):
    """Where a gradient and its differences are both zero everywhere, the error is 0.0."""
    module = student.testing.Stretch(np.zeros(2), np.ones(2))
    errors = student.gradcheck.check_module(module, np.array([0.5, -2.0]), student.testing.random_numbers(4))
    check.equal(names(errors), ["a", "scale", "shift"], "the gradients that were checked")
    check.close(errors["a"], 0.0, "the error of 'a'")


@item("check_module")
@weight(0.5)
def test_what_grad_held_before(student, check):
    """It plays no part in the errors, and afterwards it is there again."""
    a, scale, upstream = np.array([0.5, -2.0]), np.array([3.0, -1.0]), np.array([100.0, 200.0])
    module = student.testing.Stretch(scale, np.zeros(2))
    module.backward(a, scale * a, upstream)
    errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(5))
    check.equal(names(errors), ["a", "scale", "shift"], "the gradients that were checked")
    for name in ("scale", "shift"):
        check.close(errors[name], 0.0, f"the error of {name!r}", atol=1e-4)
    check.close(module.scale.grad, upstream * a, "scale.grad afterwards")
    check.close(module.shift.grad, upstream, "shift.grad afterwards")
