"""Hidden tests of lm/gradcheck.py: polynomials of any shape, functions that watch, and modules that are wrong."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

SHAPES = pytest.mark.parametrize(
    "shape",
    [(4,), (2, 3), (3, 1), (2, 1, 2), ()],
    ids=["vector", "matrix", "column", "three-axes", "number"],
)


def terms(rng, entries, count=6):
    """A random polynomial in which the entries are multiplied with each other."""
    return [
        (float(rng.integers(1, 5)), [int(power) for power in rng.integers(0, 4, size=entries)]) for _ in range(count)
    ]


def slopes(polynomial, x):
    """The gradient of a polynomial, term by term."""
    flat, gradient = x.ravel(), np.zeros(x.size)
    for factor, powers in polynomial:
        for i, power in enumerate(powers):
            others = np.prod([flat[j] ** p for j, p in enumerate(powers) if j != i])
            gradient[i] += factor * others * power * flat[i] ** max(power - 1, 0)
    return gradient.reshape(x.shape)


def uneven(rng, shape):
    """Numbers that a float cannot hold exactly, of either sign, none near 0."""
    return np.array(rng.uniform(0.5, 1.5, size=shape) * rng.choice([-1.0, 1.0], size=shape))


# --- numerical_gradient


@item("numerical_gradient")
@weight(3)
@SHAPES
def test_differences_are_the_gradient(student, rng, check, shape):
    """The result has the shape of x and is, nearly, the gradient; f may return a float or a 0-d array."""
    x = uneven(rng, shape)
    polynomial = [*terms(rng, x.size), (8.0, [1] * x.size)]
    f = student.testing.Polynomial(polynomial)
    for function in (f, student.testing.ZeroD(f)):
        got = student.gradcheck.numerical_gradient(function, x)
        check.close(got, slopes(polynomial, x), "the gradient", rtol=2e-8, atol=2e-8)


@item("numerical_gradient")
@weight(3)
@pytest.mark.parametrize("eps", [0.5, 0.125, 2.0], ids=["half", "eighth", "two"])
def test_differences_are_central(student, reference, rng, check, eps):
    """(f(x + eps) - f(x - eps)) / (2 eps), with the eps that is given, for each entry by itself."""
    x = rng.integers(1, 5, size=(2, 2)) * rng.choice([-1.0, 1.0], size=(2, 2))
    polynomial = [*terms(rng, 4), (1.0, [3, 2, 0, 1]), (1.0, [0, 1, 3, 3])]
    expected = reference.gradcheck.numerical_gradient(reference.testing.Polynomial(polynomial), x.copy(), eps)
    got = student.gradcheck.numerical_gradient(student.testing.Polynomial(polynomial), x, eps)
    check.close(got, expected, "the central differences")


@item("numerical_gradient")
@weight(2)
@SHAPES
def test_f_is_given_x_itself(student, rng, check, shape):
    """f is given x, not a copy, with one entry moved and all others as they were."""
    values = uneven(rng, shape)
    polynomial = [(3.0, [2] * values.size), (1.0, [1] * values.size)]
    x = student.put(values)
    f = student.testing.Watch(student.testing.Polynomial(polynomial), x)
    got = student.gradcheck.numerical_gradient(f, x)
    check.close(got, slopes(polynomial, values), "the gradient", rtol=2e-8, atol=2e-8)
    check.equal(f.strangers, 0, "how often f was given another array than x")
    check.equal(f.most_moved, 1, "how many entries of x were moved at a time")


@item("numerical_gradient")
@weight(2)
@pytest.mark.parametrize("eps", [1e-6, 0.3], ids=["small", "large"])
def test_x_is_put_back_exactly(student, rng, check, eps):
    """Afterwards every entry of x is what it was, to the last bit."""
    values = uneven(rng, (3, 5)) * 10.0 ** rng.integers(-9, 9, size=(3, 5))
    x = student.put(values)
    got = student.gradcheck.numerical_gradient(student.testing.Polynomial([(1.0, [1] * 15)]), x, eps)
    check.array(got, "the gradient", shape=(3, 5))
    check.equal(student.get(x).tolist(), values.tolist(), "x afterwards")


@item("numerical_gradient")
@weight(2)
@pytest.mark.parametrize("patience", [0, 3, 6], ids=["first", "fourth", "seventh"])
def test_x_is_put_back_when_f_raises(student, rng, check, patience):
    """When f raises an exception it is passed on, and x is what it was."""
    values = uneven(rng, (2, 3))
    x = student.put(values)
    f = student.testing.Watch(student.testing.Polynomial([(1.0, [1] * 6)]), x, patience)
    with pytest.raises(ZeroDivisionError):
        student.gradcheck.numerical_gradient(f, x)
    check.equal(student.get(x).tolist(), values.tolist(), "x afterwards")


@item("numerical_gradient")
def test_differences_at_a_view(student, rng, check):
    """x may be a view, a transpose say: its entries do not lie one after the other in memory."""
    values = uneven(rng, (2, 3))
    polynomial = [*terms(rng, 6), (8.0, [1] * 6)]
    x, f = student.put(values), student.testing.Polynomial(polynomial)
    got = student.testing.at_transpose(student.gradcheck.numerical_gradient, f, x)
    check.close(got, slopes(polynomial, values.T), "the gradient", rtol=2e-8, atol=2e-8)
    check.equal(student.get(x).tolist(), values.tolist(), "x afterwards")


# --- check_module

TINY = 1e-4  # right gradients have errors of 1e-9 or so, wrong ones of 0.1 and more


def checked(check, errors, gradients):
    """The errors as numbers, after a look at their names."""
    check.equal(
        sorted(errors) if type(errors) is dict else errors, sorted(gradients), "the gradients that were checked"
    )
    return {name: check.number(errors[name], f"the error of {name!r}") for name in gradients}


def stretch(rng, shape=(2, 3)):
    """An input, a scale and a shift."""
    return uneven(rng, shape), uneven(rng, shape), uneven(rng, shape)


@item("check_module")
@weight(2)
@pytest.mark.parametrize(
    ("name", "arguments", "shape", "gradients"),
    [
        ("Square", [], (2, 3), ["a"]),
        ("Square", [], (5,), ["a"]),
        ("HalfSquares", [], (3, 2), ["a"]),
        ("Steps", [], (2, 4), ["a"]),
        ("Reverse", [], (1, 4), ["a"]),
        ("Stretch", [(2, 2), (2, 2)], (2, 2), ["a", "scale", "shift"]),
    ],
    ids=["square", "square-of-a-vector", "loss", "steps", "reverse", "stretch"],
)
def test_right_modules_have_no_errors(student, rng, check, name, arguments, shape, gradients):
    """For a right module each error is tiny: that of the input and those of the parameters, by their names."""
    module = getattr(student.testing, name)(*(uneven(rng, argument) for argument in arguments))
    errors = student.gradcheck.check_module(module, uneven(rng, shape), student.testing.random_numbers(3))
    for gradient, error in checked(check, errors, gradients).items():
        check.close(error, 0.0, f"the error of {gradient!r}", atol=TINY)


@item("check_module")
@pytest.mark.parametrize("ids", ["array", "int"], ids=["array", "int"])
def test_integers_have_no_gradient(student, rng, check, ids):
    """Where the input is integers there is no error under "a", and those of the parameters are there."""
    given = {"array": rng.integers(1, 4, size=(2, 3)), "int": 3}[ids]
    for wrong, expected in ((1.0, 0.0), (2.0, 0.5)):
        module = student.testing.Powers(1.5, wrong)
        errors = student.gradcheck.check_module(module, given, student.testing.random_numbers(4))
        error = checked(check, errors, ["base"])["base"]
        check.close(error, expected, "the error of 'base'", rtol=1e-4, atol=TINY)


@item("check_module")
@weight(3)
@pytest.mark.parametrize("name", ["a", "scale", "shift"], ids=["a", "scale", "shift"])
def test_the_error_is_relative(student, rng, check, name):
    """max|got - numeric| / max(max|got|, max|numeric|) for the gradient that is wrong; the others' stay tiny."""
    a, scale, shift = stretch(rng)
    for factor, expected in ((2.0, 0.5), (0.25, 0.75), (0.0, 1.0), (-1.0, 2.0), (-4.0, 1.25)):
        module = student.testing.Stretch(scale, shift, {name: factor})
        errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(5))
        for gradient, error in checked(check, errors, ["a", "scale", "shift"]).items():
            want = expected if gradient == name else 0.0
            check.close(error, want, f"the error of {gradient!r}", rtol=1e-4, atol=TINY)


@item("check_module")
@weight(2)
@pytest.mark.parametrize("name", ["a", "scale"], ids=["a", "scale"])
def test_one_wrong_entry_counts(student, reference, rng, check, name):
    """One entry that is wrong is enough: each max is over all entries."""
    a, scale, shift = stretch(rng, (3, 4))
    for place, factor in (((0, 0), 1.5), ((1, 2), -1.0), ((2, 3), 40.0)):
        wrong = np.ones((3, 4))
        wrong[place] = factor
        trusted = reference.testing.Stretch(scale, shift, {name: wrong})
        expected = reference.gradcheck.check_module(trusted, a.copy(), np.random.default_rng(6))
        module = student.testing.Stretch(scale, shift, {name: wrong})
        errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(6))
        for gradient, error in checked(check, errors, ["a", "scale", "shift"]).items():
            check.close(error, expected[gradient], f"the error of {gradient!r}", rtol=1e-4, atol=TINY)


@item("check_module")
@weight(2)
@pytest.mark.parametrize("bug", ["sigmoid", "reverse"], ids=["sigmoid", "reverse"])
def test_planted_bugs_are_found(student, rng, check, bug):
    """The lecture's sigmoid that forgets 1 - b, and a module whose gradient is right if g_b is the same everywhere."""
    for seed in range(7, 10):
        testing = student.testing
        module = testing.ForgetfulSigmoid() if bug == "sigmoid" else testing.Reverse(forgets=True)
        errors = student.gradcheck.check_module(module, uneven(rng, (2, 4)), testing.random_numbers(seed))
        error = checked(check, errors, ["a"])["a"]
        check.that(error > 0.1, "the error of a wrong gradient should be large")


@item("check_module")
@pytest.mark.parametrize("size", [1e-9, 1e9], ids=["tiny", "huge"])
def test_the_size_of_the_gradients_plays_no_part(student, rng, check, size):
    """The error is relative: gradients of 1e-9 or 1e9 have the same errors as others."""
    a, scale, _ = stretch(rng)
    for factor, expected in ((1.0, 0.0), (2.0, 0.5)):
        module = student.testing.Stretch(size * scale, np.zeros((2, 3)), {"a": factor})
        errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(10))
        error = checked(check, errors, ["a", "scale", "shift"])["a"]
        check.close(error, expected, "the error of 'a'", rtol=1e-4, atol=TINY)


@item("check_module")
def test_gradients_that_are_zero(student, rng, check):
    """Where a gradient and its differences are zero everywhere the error is 0.0."""
    a, _, shift = stretch(rng)
    zeros = np.zeros((2, 3))
    for module, given, gradients, zero in (
        (student.testing.Stretch(zeros, shift), a, ["a", "scale", "shift"], "a"),
        (student.testing.Stretch(shift, zeros), zeros, ["a", "scale", "shift"], "scale"),
    ):
        errors = student.gradcheck.check_module(module, given, student.testing.random_numbers(11))
        check.close(checked(check, errors, gradients)[zero], 0.0, f"the error of {zero!r}")


@item("check_module")
@weight(2)
def test_earlier_gradients_play_no_part_and_stay(student, rng, check):
    """What .grad held before is in no error, and it is there again afterwards."""
    a, scale, shift = stretch(rng)
    upstream = 100 * uneven(rng, (2, 3))
    module = student.testing.Stretch(scale, shift)
    module.backward(a, a, upstream)
    for seed in (12, 13):
        errors = student.gradcheck.check_module(module, a, student.testing.random_numbers(seed))
        for gradient, error in checked(check, errors, ["a", "scale", "shift"]).items():
            check.close(error, 0.0, f"the error of {gradient!r}", atol=TINY)
        check.close(module.scale.grad, upstream * a, "scale.grad afterwards")
        check.close(module.shift.grad, upstream, "shift.grad afterwards")


@item("check_module")
def test_input_and_parameters_stay(student, rng, check):
    """The input and the data of the parameters are what they were."""
    a, scale, shift = stretch(rng)
    module, given = student.testing.Stretch(scale, shift), student.put(a)
    errors = student.gradcheck.check_module(module, given, student.testing.random_numbers(14))
    check.equal(sorted(errors), ["a", "scale", "shift"], "the names of the errors")
    for got, want, name in (
        (student.get(given), a, "the input"),
        (module.scale.data, scale, "scale.data"),
        (module.shift.data, shift, "shift.data"),
    ):
        check.close(got, want, f"{name} afterwards")
