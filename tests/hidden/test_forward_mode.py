"""Hidden tests of lm/forward_mode.py: random numbers, closed forms, and how often and with what f is called."""

import math

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

FUNCTIONS = {
    "sin": (math.sin, math.cos),
    "exp": (math.exp, math.exp),
    "log": (math.log, lambda x: 1 / x),
    "tanh": (math.tanh, lambda x: 1 / math.cosh(x) ** 2),
    "sigmoid": (lambda x: 1 / (1 + math.exp(-x)), lambda x: 1 / (2 + math.exp(x) + math.exp(-x))),
}


def pair(check, got, value, tangent, what):
    """A Dual with these two fields."""
    fields = check.fields(got, ["value", "tangent"], what)
    check.close(fields["value"], value, f"the value of {what}")
    check.close(fields["tangent"], tangent, f"the tangent of {what}")


def numbers(rng, count):
    """Random numbers away from 0, of either sign."""
    return [float(number) for number in rng.uniform(0.3, 3, size=count) * rng.choice([-1, 1], size=count)]


def formula(student, text):
    """A function over there, made of the student's own functions."""
    used = {name: getattr(student.forward_mode, name) for name in FUNCTIONS if name in text}
    return student.testing.Formula(text, **used)


def slope_of_a_quotient(x):
    """The derivative of tanh(3x) / sigmoid(x)."""
    t, s = math.tanh(3 * x), 1 / (1 + math.exp(-x))
    return (3 * (1 - t * t) - t * (1 - s)) / s


@item("dual_numbers")
@weight(3)
@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide"], ids=["add", "subtract", "multiply", "divide"]
)
def test_operators_of_random_numbers(student, check, rng, name):
    """Between two Duals and with a plain number on either side; a plain number is a constant."""
    operate, value, slopes = {
        "add": (lambda a, b: a + b, lambda x, y: x + y, lambda x, y: (1, 1)),
        "subtract": (lambda a, b: a - b, lambda x, y: x - y, lambda x, y: (1, -1)),
        "multiply": (lambda a, b: a * b, lambda x, y: x * y, lambda x, y: (y, x)),
        "divide": (lambda a, b: a / b, lambda x, y: x / y, lambda x, y: (1 / y, -x / y**2)),
    }[name]
    for _ in range(3):
        x, y, s, t = numbers(rng, 4)
        by_x, by_y = slopes(x, y)
        a, b = student.forward_mode.Dual(x, s), student.forward_mode.Dual(y, t)
        pair(check, operate(a, b), value(x, y), by_x * s + by_y * t, "Dual and Dual")
        pair(check, operate(a, y), value(x, y), by_x * s, "Dual and number")
        pair(check, operate(x, b), value(x, y), by_y * t, "number and Dual")
        pair(check, operate(a, 3), value(x, 3), slopes(x, 3)[0] * s, "Dual and whole number")
        pair(check, operate(a, a), value(x, x), sum(slopes(x, x)) * s, "a Dual and itself")


@item("dual_numbers")
def test_operators_change_nothing(student, check, rng):
    """Both operands are afterwards what they were, and a negative is a new number."""
    x, y, s, t = numbers(rng, 4)
    a, b = student.forward_mode.Dual(x, s), student.forward_mode.Dual(y, t)
    pair(check, -((a + b) * (a - b) / b), -(x + y) * (x - y) / y, t + t * x * x / y**2 - 2 * s * x / y, "a program")
    pair(check, a, x, s, "the first operand")
    pair(check, b, y, t, "the second operand")


@item("dual_numbers")
@pytest.mark.parametrize(("by", "slope"), [("a", 138.83381924198252), ("b", 645.5772594752187)], ids=["by-a", "by-b"])
def test_the_expression_of_micrograds_readme(student, check, by, slope):
    """a = -4 and b = 2 give 24.7041, with the derivatives 138.8338 and 645.5773; a cube is a product here."""
    a, b = (student.forward_mode.Dual(value, float(by == name)) for name, value in (("a", -4.0), ("b", 2.0)))
    c, d = a + b, a * b + b * b * b
    c = c + (c + 1)
    c = c + (1 + c + (-a))
    d = d + d * 2  # and relu(b + a), which is 0: b + a is -2
    d = d + (3 * d + (b - a))  # relu(b - a): b - a is 6
    e = c - d
    f = e * e
    pair(check, f / 2.0 + 10.0 / f, 24.70408163265306, slope, "the expression")


@item("dual_numbers")
def test_the_logarithm_of_arena(student, check):
    """At 1, e and e^e, with a tangent of 2: 2, 2/e and 2/e^e."""
    for x in (1.0, math.e, math.e**math.e):
        pair(check, student.forward_mode.log(student.forward_mode.Dual(x, 2.0)), math.log(x), 2 / x, "log")


@item("dual_numbers")
@weight(3)
@pytest.mark.parametrize("name", list(FUNCTIONS), ids=list(FUNCTIONS))
def test_functions_follow_the_chain_rule(student, check, rng, name):
    """The slope of the function at the value, times the tangent that comes in; a plain number has the tangent 0."""
    function, slope = FUNCTIONS[name]
    for _ in range(4):
        x, t = numbers(rng, 2)
        x = abs(x) if name == "log" else x
        pair(
            check, getattr(student.forward_mode, name)(student.forward_mode.Dual(x, t)), function(x), slope(x) * t, name
        )
        pair(check, getattr(student.forward_mode, name)(x), function(x), 0, f"{name} of a number")


@item("dual_numbers")
@pytest.mark.parametrize(("name", "low"), [("tanh", -1.0), ("sigmoid", 0.0)], ids=["tanh", "sigmoid"])
def test_functions_far_out(student, check, name, low):
    """Flat at 1000 and at -1000, without an overflow."""
    function = getattr(student.forward_mode, name)
    pair(check, function(student.forward_mode.Dual(1000.0, 2.0)), 1, 0, f"{name} of a large number")
    pair(check, function(student.forward_mode.Dual(-1000.0, 2.0)), low, 0, f"{name} of a large negative number")


@item("dual_numbers")
@weight(2)
@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("x * x * x - 4 / x", lambda x: 3 * x**2 + 4 / x**2),
        ("exp(sin(2 * x))", lambda x: 2 * math.cos(2 * x) * math.exp(math.sin(2 * x))),
        ("log(1 + exp(x))", lambda x: 1 / (1 + math.exp(-x))),
        ("tanh(3 * x) / sigmoid(x)", slope_of_a_quotient),
        ("1e6 + x * x", lambda x: 2 * x),
        ("2.5", lambda x: 0.0),
    ],
    ids=["rational", "wave", "softplus", "quotient", "large-number", "constant"],
)
def test_derivative_of_a_program(student, check, rng, text, exact):
    """Exact, and in one pass; of a constant it is 0."""
    for x in numbers(rng, 3):
        f = formula(student, text)
        check.close(student.forward_mode.derivative(f, x), exact(x), "the derivative")
        (seen,) = check.unpack(f.seen, 1, "what f was called with")
        check.close(seen, 1, "the tangent that f was called with")


@item("dual_numbers")
@weight(3)
@pytest.mark.parametrize("n", [1, 2, 7], ids=["n1", "n2", "n7"])
def test_gradient_of_the_cyclic_sum(student, check, rng, n):
    """The lecture's sum of sin(x_i) x_(i+1): in n passes, each with one tangent of 1. The point stays as it is."""
    x = np.array(numbers(rng, n))
    f = formula(student, "sum([sin(a) * b for a, b in zip(x, x[1:] + x[:1])], 0 * x[0])")
    given = student.put(x)
    exact = np.cos(x) * np.roll(x, -1) + np.sin(np.roll(x, 1))
    check.close(student.forward_mode.gradient(f, given), exact, "the gradient")
    seen = []
    for row in check.unpack(f.seen, n, "what f was called with"):
        seen.append([check.number(tangent, "a tangent") for tangent in check.unpack(row, n, "the inputs")])
    check.that(sorted(seen) == np.eye(n)[::-1].tolist(), "each pass should be about one input")
    check.close(student.get(given), x, "the point afterwards")


@item("dual_numbers")
def test_gradient_of_other_functions(student, check, rng):
    """Of a small part of a large value, where an input is left out, of a constant, and at a point that is a list."""
    x = numbers(rng, 3)
    got = student.forward_mode.gradient(formula(student, "1e6 - x[0] * x[1] + x[2]"), x)
    check.close(got, np.array([-x[1], -x[0], 1.0]), "the gradient of a small part of the value")
    f = formula(student, "exp(x[0] / x[2])")
    value = math.exp(x[0] / x[2])
    exact = np.array([value / x[2], 0.0, -x[0] * value / x[2] ** 2])
    check.close(student.forward_mode.gradient(f, x), exact, "the gradient")
    check.close(student.forward_mode.gradient(formula(student, "7"), x), np.zeros(3), "the gradient of a constant")
