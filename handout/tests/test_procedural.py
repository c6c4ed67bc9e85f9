"""Tests of lm/procedural.py on a net whose every value can be written down."""

from fractions import Fraction

import numpy as np
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

LOG2, LOG3 = np.log(2.0), np.log(3.0)

# Two inputs, three hidden units, four classes, of which the third is the true one.
X = np.array([1.0, 2.0])
Y = np.array([0.0, 0.0, 1.0, 0.0])
ALPHA = np.array([[LOG3, 0.0], [LOG3, -LOG3], [2.0, -1.0]])
BETA = np.array([[8 / 3 * LOG2, 0.0, 0.0], [0.0, 4 * LOG2, 0.0], [1.0, -1.0, -1.0], [2.0, 0.0, -3.0]])
A = np.array([LOG3, -LOG3, 0.0])
Z = np.array([3 / 4, 1 / 4, 1 / 2])  # 1 / (1 + 1/3), 1 / (1 + 3), 1 / (1 + 1)
B = np.array([2 * LOG2, LOG2, 0.0, 0.0])
Y_HAT = np.array([1 / 2, 1 / 4, 1 / 8, 1 / 8])  # 4, 2, 1 and 1 of 8


def net_values(student, **values):
    """What forward returns, made by hand."""
    return student.types.NetValues(**{"a": A, "z": Z, "b": B, "y_hat": Y_HAT, "J": 3 * LOG2, **values})


# --- procedural_forward


@item("procedural_forward")
@weight(2)
def test_forward_of_a_small_net(student, check):
    """a = alpha x, z = sigmoid(a), b = beta z, y_hat = softmax(b), J = -log of the true class's y_hat."""
    got = check.fields(student.procedural.forward(X, Y, ALPHA, BETA), ["a", "z", "b", "y_hat", "J"])
    for name, expected in {"a": A, "z": Z, "b": B, "y_hat": Y_HAT, "J": 3 * LOG2}.items():
        check.close(got[name], expected, name)


@item("procedural_forward")
def test_forward_of_large_numbers(student, check):
    """Inputs and logits of +-1000 overflow nothing: y_hat is a distribution, and J is a number."""
    beta = np.array([[1000.0, 0.0], [0.0, 1000.0], [0.0, -1000.0]])
    values = student.procedural.forward(np.array([1000.0]), np.array([1.0, 0.0, 0.0]), np.array([[1.0], [-1.0]]), beta)
    got = check.fields(values, ["a", "z", "b", "y_hat", "J"])
    check.close(got["z"], np.array([1.0, 0.0]), "z")
    check.close(got["y_hat"], np.array([1.0, 0.0, 0.0]), "y_hat")
    check.close(got["J"], 0.0, "J")


# --- procedural_backward


@item("procedural_backward")
@weight(2)
def test_backward_of_a_small_net(student, check):
    """The gradients of J by alpha and by beta, each of the shape of its weight."""
    g_alpha, g_beta = check.unpack(student.procedural.backward(X, Y, ALPHA, BETA, net_values(student)), 2)
    g_b = [Fraction(1, 2), Fraction(1, 4), Fraction(-7, 8), Fraction(1, 8)]  # softmax and loss together
    check.close(g_beta, np.outer([float(g) for g in g_b], [0.75, 0.25, 0.5]), "g_beta")
    g_z = np.array([4 / 3 * LOG2 - 5 / 8, LOG2 + 7 / 8, 1 / 2])  # each class's g_b, weighted by its row of beta
    check.close(g_alpha, np.outer(g_z * [3 / 16, 3 / 16, 1 / 4], [1.0, 2.0]), "g_alpha")


@item("procedural_backward")
def test_backward_where_the_true_class_seemed_impossible(student, check):
    """A true class whose y_hat is 0 has a plain, finite gradient."""
    y_hat = np.array([1.0, 0.0, 0.0, 0.0])
    values = net_values(student, b=np.array([1000.0, 0.0, 0.0, 0.0]), y_hat=y_hat, J=1000.0)
    beta = np.array([[4000 / 3, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, -1.0, -1.0], [2.0, 0.0, -3.0]])
    g_alpha, g_beta = check.unpack(student.procedural.backward(X, Y, ALPHA, beta, values), 2)
    rows = np.array([[0.75, 0.25, 0.5], [0.0, 0.0, 0.0], [-0.75, -0.25, -0.5], [0.0, 0.0, 0.0]])
    check.close(g_beta, rows, "g_beta")
    check.close(g_alpha, np.outer([(4000 / 3 - 1) * 3 / 16, 3 / 16, 1 / 4], [1.0, 2.0]), "g_alpha")
