"""Hidden tests of lm/procedural.py: random nets, nets of one unit, and numbers that overflow."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

NAMES = ("a", "z", "b", "y_hat", "J")
SHAPES = pytest.mark.parametrize(
    ("inputs", "hidden", "classes"),
    [(3, 4, 5), (5, 1, 3), (1, 4, 2), (3, 3, 3), (4, 2, 1)],
    ids=["plain", "one-unit", "one-input", "square", "one-class"],
)


def net(rng, inputs, hidden, classes, scale=1.0):
    """Random x, y, alpha and beta."""
    y = np.zeros(classes)
    y[rng.integers(classes)] = 1.0
    return rng.normal(size=inputs), y, rng.normal(size=(hidden, inputs)), scale * rng.normal(size=(classes, hidden))


def loud_net(true_class):
    """Hidden units that are 1 and 0, and logits of 1000, 0, -1000 and 999."""
    x, y = np.array([250.0, -1.0]), np.zeros(4)
    y[true_class] = 1.0
    alpha = np.array([[4.0, 0.0], [-4.0, 1.0], [4.0, -3.0]])
    beta = np.array([[600.0, 1.0, 400.0], [5.0, 2.0, -5.0], [-1000.0, 3.0, 0.0], [0.0, -4.0, 999.0]])
    return x, y, alpha, beta


def check_values(check, got, expected, names=NAMES):
    """Every field of NetValues."""
    fields = check.fields(got, NAMES)
    for name in names:
        check.close(fields[name], getattr(expected, name), name)


# --- procedural_forward


@item("procedural_forward")
@weight(4)
@SHAPES
def test_forward_of_a_random_net(student, reference, rng, check, inputs, hidden, classes):
    """a = alpha x, z = sigmoid(a), b = beta z, y_hat = softmax(b), J = -log of the true class's y_hat."""
    given = net(rng, inputs, hidden, classes)
    check_values(check, student.procedural.forward(*given), reference.procedural.forward(*given))


@item("procedural_forward")
@weight(3)
@pytest.mark.parametrize("true_class", [0, 1, 2, 3], ids=["likely", "impossible", "less-than-that", "second"])
def test_forward_of_large_numbers(student, reference, check, true_class):
    """With inputs and logits of +-1000 z and y_hat are right, and J is never nan."""
    given = loud_net(true_class)
    got, expected = student.procedural.forward(*given), reference.procedural.forward(*given)
    check_values(check, got, expected, NAMES[:-1])
    J = check.number(check.fields(got, NAMES)["J"], "J")
    if true_class in (0, 3):
        check.close(J, expected.J, "J")
    else:  # either inf or exact: 1000 and 2000
        check.that(J > 700, "J should be very large where the true class has almost no probability")


@item("procedural_forward")
@weight(2)
def test_forward_changes_nothing(student, reference, rng, check):
    """What forward is given stays as it is, and a second call gives the same."""
    arrays = net(rng, 3, 4, 5)
    given = [student.put(array) for array in arrays]
    for _ in range(2):
        check_values(check, student.procedural.forward(*given), reference.procedural.forward(*arrays))
    for handle, array, name in zip(given, arrays, ("x", "y", "alpha", "beta"), strict=True):
        check.close(student.get(handle), array, f"{name} afterwards", rtol=0, atol=0)


# --- procedural_backward


def gradients(check, student, given, values):
    """g_alpha and g_beta of the student's."""
    return check.unpack(student.procedural.backward(*given, student.like(values)), 2, "the gradients")


@item("procedural_backward")
@weight(4)
@SHAPES
def test_backward_of_a_random_net(student, reference, rng, check, inputs, hidden, classes):
    """The gradients of J by alpha and by beta, up to rounding: formulas, no differences."""
    given = net(rng, inputs, hidden, classes)
    values = reference.procedural.forward(*given)
    expected = reference.procedural.backward(*given, values)
    for got, want, name in zip(gradients(check, student, given, values), expected, ("g_alpha", "g_beta"), strict=True):
        check.close(got, want, name)


@item("procedural_backward")
@weight(2)
def test_backward_agrees_with_differences(student, reference, rng, check):
    """Each entry of the gradients agrees with central differences of the loss."""
    x, y, alpha, beta = net(rng, 3, 2, 4)
    forward = reference.procedural.forward
    g_alpha, g_beta = gradients(check, student, (x, y, alpha, beta), forward(x, y, alpha, beta))
    check.gradient(g_alpha, lambda weights: forward(x, y, weights, beta).J, alpha, what="g_alpha")
    check.gradient(g_beta, lambda weights: forward(x, y, alpha, weights).J, beta, what="g_beta")


@item("procedural_backward")
def test_backward_along_a_direction(student, reference, rng, check):
    """In a larger net the gradients say how J changes along any direction."""
    x, y, alpha, beta = net(rng, 40, 30, 20, scale=0.5)
    alpha /= 5
    forward, step = reference.procedural.forward, 1e-5
    g_alpha, g_beta = gradients(check, student, (x, y, alpha, beta), forward(x, y, alpha, beta))
    check.array(g_alpha, "g_alpha", alpha.shape)
    check.array(g_beta, "g_beta", beta.shape)
    v, w = rng.normal(size=alpha.shape), rng.normal(size=beta.shape)
    above = forward(x, y, alpha + step * v, beta + step * w).J
    below = forward(x, y, alpha - step * v, beta - step * w).J
    slope = float((g_alpha * v).sum() + (g_beta * w).sum())
    check.close(slope, (above - below) / (2 * step), "the slope of J along a direction", rtol=1e-6, atol=1e-6)


@item("procedural_backward")
@weight(2)
@pytest.mark.parametrize("true_class", [0, 1, 2, 3], ids=["likely", "impossible", "less-than-that", "second"])
def test_backward_of_large_numbers(student, reference, check, true_class):
    """Where entries of y_hat are 0, that of the true class too, the gradients are right and finite."""
    given = loud_net(true_class)
    alpha = given[2] / 500  # units that are not 0 or 1, so that something arrives at alpha
    given = (given[0], given[1], alpha, given[3])
    values = reference.procedural.forward(*given)
    expected = reference.procedural.backward(*given, values)
    for got, want, name in zip(gradients(check, student, given, values), expected, ("g_alpha", "g_beta"), strict=True):
        check.close(got, want, name)


@item("procedural_backward")
def test_backward_of_a_net_that_is_nearly_certain(student, reference, rng, check):
    """Where the true class has all but a ten-thousandth, the small gradients are as exact as others."""
    x, y, alpha, _ = net(rng, 3, 4, 4)
    z = 1 / (1 + np.exp(-(alpha @ x)))
    logits = np.roll([12.0, 3.0, -20.0, 1.0], np.argmax(y))
    given = x, y, alpha, np.outer(logits, z) / (z @ z)  # beta z are these logits
    values = reference.procedural.forward(*given)
    expected = reference.procedural.backward(*given, values)
    for got, want, name in zip(gradients(check, student, given, values), expected, ("g_alpha", "g_beta"), strict=True):
        check.close(got, want, f"the small {name}", atol=0)


@item("procedural_backward")
@weight(2)
def test_backward_changes_nothing(student, reference, rng, check):
    """Weights and values stay as they are, and a second call gives the same."""
    arrays = net(rng, 3, 4, 5)
    values = reference.procedural.forward(*arrays)
    expected = reference.procedural.backward(*arrays, values)
    given, record = [student.put(array) for array in arrays], student.like(values)
    for _ in range(2):
        got = check.unpack(student.procedural.backward(*given, record), 2, "the gradients")
        check.close(got[0], expected[0], "g_alpha")
        check.close(got[1], expected[1], "g_beta")
    for handle, array, name in zip(given, arrays, ("x", "y", "alpha", "beta"), strict=True):
        check.close(student.get(handle), array, f"{name} afterwards", rtol=0, atol=0)
    for name, value in check.fields(record, NAMES).items():
        check.close(value, getattr(values, name), f"values.{name} afterwards", rtol=0, atol=0)
