"""Tests of lm/forward_mode.py: the examples of the docstrings, and a few derivatives to work out by hand."""

import math

import numpy as np
import pytest

from autograder.feedback import item


def pair(check, got, value, tangent, what):
    """A Dual with these two fields."""
    fields = check.fields(got, ["value", "tangent"], what)
    check.close(fields["value"], value, f"the value of {what}")
    check.close(fields["tangent"], tangent, f"the tangent of {what}")


@item("dual_numbers")
def test_operators_of_two_duals(student, check):
    """Sum, difference, product and quotient, each with its derivative."""
    a, b = student.forward_mode.Dual(6.0, 1.0), student.forward_mode.Dual(2.0, 3.0)
    pair(check, a + b, 8, 4, "a sum")
    pair(check, a - b, 4, -2, "a difference")
    pair(check, a * b, 12, 20, "a product")
    pair(check, a / b, 3, -4, "a quotient")
    pair(check, -b, -2, -3, "a negative")


@item("dual_numbers")
def test_operators_with_a_plain_number(student, check):
    """A plain number is a constant, on either side."""
    b = student.forward_mode.Dual(2.0, 3.0)
    pair(check, b + 5, 7, 3, "a sum")
    pair(check, 5 - b, 3, -3, "a difference")
    pair(check, 5 * b, 10, 15, "a product")
    pair(check, b / 2, 1, 1.5, "a quotient")
    pair(check, 8 / b, 4, -6, "a quotient")


@item("dual_numbers")
@pytest.mark.parametrize(
    ("name", "at", "value", "slope"),
    [
        ("sin", 0, 0, 1),
        ("exp", 0, 1, 1),
        ("log", 1, 0, 1),
        ("tanh", 0, 0, 1),
        ("tanh", 1000, 1, 0),
        ("sigmoid", 0, 0.5, 0.25),
        ("sigmoid", -1000, 0, 0),
    ],
    ids=["sin", "exp", "log", "tanh", "tanh-far-out", "sigmoid", "sigmoid-far-out"],
)
def test_functions_where_they_are_simple(student, check, name, at, value, slope):
    """The slope there, times the tangent that comes in."""
    function = getattr(student.forward_mode, name)
    pair(check, function(student.forward_mode.Dual(float(at), 4.0)), value, 4 * slope, f"{name} of a Dual")


@item("dual_numbers")
def test_derivative_and_gradient(student, check):
    """x * x at 3, a constant, x * sin(x) at pi, and a product of two numbers."""
    formula = student.testing.Formula
    check.close(student.forward_mode.derivative(formula("x * x"), 3.0), 6, "the derivative of x * x")
    check.close(student.forward_mode.derivative(formula("5"), 3.0), 0, "the derivative of 5")
    wave = formula("x * sin(x)", sin=student.forward_mode.sin)
    check.close(student.forward_mode.derivative(wave, math.pi), -math.pi, "the derivative of x * sin(x)")
    got = student.forward_mode.gradient(formula("x[0] * x[1]"), [3.0, 4.0])
    check.close(got, np.array([4.0, 3.0]), "the gradient of a product")
