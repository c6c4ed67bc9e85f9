"""Hidden tests of lm/modules.py: random shapes, random gradients from above, and the far ends of what is promised."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# Right code is exact to 1e-14; differences of one's own forward are not, whatever their step.
EXACT = 1e-12
# How many rows (() is one row, without an axis for it), and how long each is.
ROWS = [((), 5), ((1,), 4), ((6,), 3), ((4,), 4), ((3,), 1)]
ROW_IDS = ["one-row", "array-of-one-row", "rows", "square", "rows-of-one"]


def distributions(rng, shape):
    """Random rows that sum to 1."""
    e = np.exp(rng.normal(size=shape))
    return e / e.sum(axis=-1, keepdims=True)


def one_hot(ids, classes):
    """The rows of the identity matrix with these numbers."""
    return np.eye(classes)[ids]


def check_unchanged(student, check, module, *arguments):
    """``module.backward`` leaves its arguments as they are, and a second call has the same result."""
    given = [student.put(value) for value in arguments]
    first = check.array(module.backward(*given), "the result of backward")
    for handle, value, name in zip(given, arguments, ("a", "b", "g_b"), strict=True):
        check.close(student.get(handle), value, f"{name} after the call", rtol=0, atol=0)
    check.close(module.backward(*given), first, "the result of the same call once more")


def check_direction(rng, check, got, function, at, upstream):
    """Along one random direction the gradient says how fast ``sum(upstream * function)`` grows."""
    way, step = rng.normal(size=at.shape), 1e-6
    above, below = (np.sum(upstream * function(at + sign * step * way)) for sign in (1, -1))
    slope = float(np.sum(check.array(got, "the gradient", at.shape) * way))
    check.close(slope, float(above - below) / (2 * step), "the slope along a random direction", rtol=1e-6, atol=1e-7)


# --- linear


LAYERS = [((), 3, 4), ((1,), 4, 2), ((5,), 3, 4), ((4,), 4, 4), ((6,), 1, 3), ((3,), 5, 1), ((), 1, 1)]
LAYER_IDS = ["one-row", "array-of-one-row", "rows", "square", "one-input", "one-output", "one-number"]


def linear(reference, rng, rows, n_in, n_out, scale=1.0):
    """A random layer and a pass through it: weight, bias, a, b, g_b."""
    weight, bias, a = rng.normal(size=(n_out, n_in)), scale * rng.normal(size=n_out), rng.normal(size=(*rows, n_in))
    return weight, bias, a, reference.modules.Linear(weight, bias).forward(a), rng.normal(size=(*rows, n_out))


def linear_gradients(reference, weight, bias, a, b, g_b):
    """The right gradients by the input, the weight and the bias."""
    layer = reference.modules.Linear(weight, bias)
    g_a = layer.backward(a, b, g_b)
    return g_a, layer.weight.grad, layer.bias.grad


@item("linear")
@weight(1.5)
@pytest.mark.parametrize(("rows", "n_in", "n_out"), LAYERS, ids=LAYER_IDS)
def test_linear_forward_of_random_layers(student, reference, rng, check, rows, n_in, n_out):
    """Each row of the output is the weight times the row of the input, plus the bias."""
    weight, bias, a, b, _ = linear(reference, rng, rows, n_in, n_out)
    check.close(student.modules.Linear(weight, bias).forward(a), b, "the output")


@item("linear")
@weight(2)
@pytest.mark.parametrize(("rows", "n_in", "n_out"), LAYERS, ids=LAYER_IDS)
def test_linear_gradient_by_the_input(student, reference, rng, check, rows, n_in, n_out):
    """backward returns the gradient by a, in the shape of a."""
    weight, bias, a, b, g_b = linear(reference, rng, rows, n_in, n_out)
    g_a, _, _ = linear_gradients(reference, weight, bias, a, b, g_b)
    check.close(student.modules.Linear(weight, bias).backward(a, b, g_b), g_a, "the gradient by a", rtol=EXACT)


@item("linear")
@weight(2)
@pytest.mark.parametrize(("rows", "n_in", "n_out"), LAYERS, ids=LAYER_IDS)
def test_linear_gradients_by_the_parameters(student, reference, rng, check, rows, n_in, n_out):
    """After backward weight.grad and bias.grad hold the gradients, summed over the rows."""
    weight, bias, a, b, g_b = linear(reference, rng, rows, n_in, n_out)
    _, g_weight, g_bias = linear_gradients(reference, weight, bias, a, b, g_b)
    layer = student.modules.Linear(weight, bias)
    layer.backward(a, b, g_b)
    check.close(layer.weight.grad, g_weight, "weight.grad", rtol=EXACT)
    check.close(layer.bias.grad, g_bias, "bias.grad", rtol=EXACT)


@item("linear")
@pytest.mark.parametrize("rows", [(), (4,)], ids=["one-row", "rows"])
def test_linear_without_a_bias(student, reference, rng, check, rows):
    """A layer without a bias multiplies by its weight, forwards and backwards."""
    weight, _, a, _, g_b = linear(reference, rng, rows, 3, 2)
    layer, right = student.modules.Linear(weight), reference.modules.Linear(weight)
    b = right.forward(a)
    check.close(layer.forward(a), b, "the output")
    check.close(layer.backward(a, b, g_b), right.backward(a, b, g_b), "the gradient by a", rtol=EXACT)
    check.close(layer.weight.grad, right.weight.grad, "weight.grad", rtol=EXACT)


@item("linear")
@pytest.mark.parametrize("rows", [(), (3,)], ids=["one-row", "rows"])
def test_linear_adds_to_the_gradients_that_are_there(student, reference, rng, check, rows):
    """A backward adds to grad: what stood there before stays, and a second backward adds once more."""
    weight, bias, a, b, g_b = linear(reference, rng, rows, 4, 3)
    _, g_weight, g_bias = linear_gradients(reference, weight, bias, a, b, g_b)
    layer, before = student.modules.Linear(weight, bias), (rng.normal(size=weight.shape), rng.normal(size=bias.shape))
    layer.weight.grad, layer.bias.grad = before
    for times in (1, 2):
        layer.backward(a, b, g_b)
        check.close(layer.weight.grad, before[0] + times * g_weight, "weight.grad", rtol=EXACT)
        check.close(layer.bias.grad, before[1] + times * g_bias, "bias.grad", rtol=EXACT)


@item("linear")
@weight(0.5)
def test_linear_gradients_of_any_size(student, reference, rng, check):
    """Outputs in the thousands and gradients in the millions are passed on as they are."""
    weight, bias, a, b, g_b = linear(reference, rng, (6,), 5, 3, scale=1e4)
    for size in (1.0, 1e6):
        g_a, g_weight, g_bias = linear_gradients(reference, weight, bias, a, b, size * g_b)
        layer = student.modules.Linear(weight, bias)
        check.close(layer.backward(a, b, size * g_b), g_a, "the gradient by a")
        check.close(layer.weight.grad, g_weight, "weight.grad")
        check.close(layer.bias.grad, g_bias, "bias.grad")


@item("linear")
@weight(0.5)
def test_linear_of_many_rows_along_a_direction(student, reference, rng, check):
    """A layer of 40 inputs and 30 outputs, for 50 rows: the gradients tell how the loss grows."""
    weight, bias, a, b, g_b = linear(reference, rng, (50,), 40, 30)
    layer = student.modules.Linear(weight, bias)
    g_a = layer.backward(a, b, g_b)
    check_direction(rng, check, g_a, lambda at: at @ weight.T + bias, a, g_b)
    check_direction(rng, check, layer.weight.grad, lambda at: a @ at.T + bias, weight, g_b)
    check_direction(rng, check, layer.bias.grad, lambda at: b - bias + at, bias, g_b)


@item("linear")
@weight(0.5)
def test_linear_looks_only_at_what_it_is_given(student, reference, rng, check):
    """Between forward and backward there may be other inputs and other layers: nothing is remembered."""
    passes = [linear(reference, rng, (3,), 2, 4), linear(reference, rng, (3,), 2, 4)]
    layers = [student.modules.Linear(weight, bias) for weight, bias, *_ in passes]
    for layer, (_, _, a, b, _) in zip(layers, passes, strict=True):
        check.close(layer.forward(a), b, "the output")
    layers[0].forward(passes[1][2])
    for layer, one in zip(layers, passes, strict=True):
        g_a, g_weight, g_bias = linear_gradients(reference, *one)
        check.close(layer.backward(*one[2:]), g_a, "the gradient by a", rtol=EXACT)
        check.close(layer.weight.grad, g_weight, "weight.grad", rtol=EXACT)
        check.close(layer.bias.grad, g_bias, "bias.grad", rtol=EXACT)


@item("linear")
@weight(0.5)
def test_linear_changes_nothing_but_the_gradients(student, reference, rng, check):
    """Input, output, the gradient from above, weight and bias are afterwards what they were before."""
    weight, bias, a, b, g_b = linear(reference, rng, (3,), 4, 2)
    layer = student.modules.Linear(weight, bias)
    given = student.put(a)
    check.close(layer.forward(given), b, "the output")
    check.close(student.get(given), a, "a after forward", rtol=0, atol=0)
    check_unchanged(student, check, layer, a, b, g_b)
    check.close(layer.weight.data, weight, "weight.data afterwards", rtol=0, atol=0)
    check.close(layer.bias.data, bias, "bias.data afterwards", rtol=0, atol=0)


# --- activations


both = pytest.mark.parametrize("name", ["Sigmoid", "Tanh"], ids=["sigmoid", "tanh"])


@item("activations")
@weight(4)
@both
@pytest.mark.parametrize(("rows", "n"), ROWS, ids=ROW_IDS)
def test_activation_gradients(student, reference, rng, check, name, rows, n):
    """backward returns the gradient by a, for any gradient from above."""
    module, a, g_b = getattr(reference.modules, name)(), rng.normal(size=(*rows, n)), rng.normal(size=(*rows, n))
    b = module.forward(a)
    got = getattr(student.modules, name)().backward(a, b, g_b)
    check.close(got, module.backward(a, b, g_b), "the gradient by a", rtol=EXACT)


@item("activations")
@weight(2)
@both
def test_activation_gradients_where_the_curve_is_flat(student, reference, rng, check, name):
    """Where the slope is about a ten-thousandth, on both sides of 0, the gradient is exact all the same."""
    a = rng.uniform(5, 6, size=(5, 4)) * rng.choice([-1.0, 1.0], size=(5, 4)) * (2 if name == "Sigmoid" else 1)
    module, g_b = getattr(reference.modules, name)(), rng.normal(size=a.shape)
    b = module.forward(a)
    got = getattr(student.modules, name)().backward(a, b, g_b)
    check.close(got, module.backward(a, b, g_b), "the gradient by a", atol=0)


@item("activations")
@both
def test_activation_gradients_far_out(student, rng, check, name):
    """At +-1000 the curve is level: the gradient is 0."""
    a = np.array([[1000.0, -1000.0], [-800.0, 300.0]])
    b = np.where(a > 0, 1.0, 0.0 if name == "Sigmoid" else -1.0)
    got = getattr(student.modules, name)().backward(a, b, rng.normal(size=a.shape))
    check.close(got, np.zeros_like(a), "the gradient by a")


@item("activations")
@both
def test_large_gradients_pass_through_activations(student, reference, rng, check, name):
    """A gradient in the millions comes through at its size; one of 0 stays 0."""
    module, a = getattr(reference.modules, name)(), rng.normal(size=(4, 3))
    b, g_b = module.forward(a), 1e7 * rng.normal(size=a.shape) * (rng.random(size=a.shape) < 0.7)
    got = getattr(student.modules, name)().backward(a, b, g_b)
    check.close(got, module.backward(a, b, g_b), "the gradient by a", rtol=EXACT)


@item("activations")
@both
def test_activations_leave_their_arguments_alone(student, reference, rng, check, name):
    """backward changes none of its arguments, and remembers none."""
    a, other = rng.normal(size=(3, 4)), rng.normal(size=(2, 5))
    b = getattr(reference.modules, name)().forward(a)
    module = getattr(student.modules, name)()
    module.forward(other)
    check_unchanged(student, check, module, a, b, rng.normal(size=a.shape))


# --- softmax


def softmax_pass(reference, rng, shape):
    """Logits, their softmax, and a gradient from above."""
    a = 2 * rng.normal(size=shape)
    return a, reference.modules.Softmax().forward(a), rng.normal(size=shape)


@item("softmax")
@weight(4)
@pytest.mark.parametrize(("rows", "n"), ROWS, ids=ROW_IDS)
def test_softmax_gradients(student, reference, rng, check, rows, n):
    """backward returns the gradient by the logits, for any gradient from above."""
    a, b, g_b = softmax_pass(reference, rng, (*rows, n))
    expected = reference.modules.Softmax().backward(a, b, g_b)
    check.close(student.modules.Softmax().backward(a, b, g_b), expected, "the gradient by a", rtol=EXACT)


@item("softmax")
def test_softmax_jacobian_row_by_row(student, reference, rng, check):
    """From a gradient from above that is 1 at entry i and 0 elsewhere comes b_i (1 - b_i) there, and -b_i b_j at j."""
    a, b, _ = softmax_pass(reference, rng, 6)
    module, jacobian = student.modules.Softmax(), np.diag(b) - np.outer(b, b)
    for i in range(6):
        check.close(module.backward(a, b, one_hot(i, 6)), jacobian[i], "the gradient by a", rtol=EXACT)


@item("softmax")
def test_softmax_ignores_a_constant_gradient(student, reference, rng, check):
    """To add the same number to the whole gradient from above, another one for each row, changes nothing."""
    a, b, g_b = softmax_pass(reference, rng, (4, 5))
    shift = 100 * rng.normal(size=(4, 1))
    expected = reference.modules.Softmax().backward(a, b, g_b)
    check.close(student.modules.Softmax().backward(a, b, g_b + shift), expected, "the gradient by a")


@item("softmax")
def test_softmax_of_logits_far_apart(student, reference, rng, check):
    """Probabilities of exactly 0 and 1, from logits of +-1000, have the gradient 0; other rows have theirs."""
    a = np.array([[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, 1000.0], [0.0, 1.0, 2.0], [1000.0, 1001.0, 999.0]])
    b, g_b = reference.modules.Softmax().forward(a), rng.normal(size=a.shape)
    expected = reference.modules.Softmax().backward(a, b, g_b)
    check.close(student.modules.Softmax().backward(a, b, g_b), expected, "the gradient by a")


@item("softmax")
def test_softmax_that_is_nearly_certain(student, reference, rng, check):
    """Where one class has nearly all of the probability the gradient is small, and exact all the same."""
    a = rng.normal(size=(5, 4)) + 11 * one_hot(rng.integers(0, 4, size=5), 4)
    b, g_b = reference.modules.Softmax().forward(a), rng.normal(size=a.shape)
    expected = reference.modules.Softmax().backward(a, b, g_b)
    check.close(student.modules.Softmax().backward(a, b, g_b), expected, "the gradient by a")


@item("softmax")
@weight(0.5)
def test_softmax_of_many_classes_along_a_direction(student, reference, rng, check):
    """Thirty rows of 40 classes: the gradient tells how the loss grows."""
    a, b, g_b = softmax_pass(reference, rng, (30, 40))
    got = student.modules.Softmax().backward(a, b, g_b)
    check_direction(rng, check, got, reference.modules.Softmax().forward, a, g_b)


@item("softmax")
@weight(0.5)
def test_softmax_leaves_its_arguments_alone(student, reference, rng, check):
    """backward changes none of its arguments, and remembers none."""
    module = student.modules.Softmax()
    module.forward(rng.normal(size=(2, 5)))
    check_unchanged(student, check, module, *softmax_pass(reference, rng, (3, 4)))


# --- cross_entropy_module


@item("cross_entropy_module")
@weight(4)
@pytest.mark.parametrize(("rows", "n"), ROWS[:4], ids=ROW_IDS[:4])
def test_cross_entropy_gradients(student, reference, rng, check, rows, n):
    """backward returns the gradient by the probabilities, times the gradient from above."""
    a, y = distributions(rng, (*rows, n)), one_hot(rng.integers(0, n, size=rows), n)
    right, g_b = reference.modules.CrossEntropy(y), float(rng.normal())
    b = right.forward(a)
    got = student.modules.CrossEntropy(y).backward(a, b, g_b)
    check.close(got, right.backward(a, b, g_b), "the gradient by a", rtol=EXACT)


@item("cross_entropy_module")
@weight(2)
def test_cross_entropy_of_small_probabilities(student, rng, check):
    """A true class of probability 1e-9 has the gradient that it should: nothing is cut off or filled up."""
    y, small = one_hot([2, 0], 3), 1e-9 * (1 + rng.random())
    a = np.array([[0.5, 0.5 - small, small], [small, 0.75, 0.25 - small]])
    b = float(-np.log(small))
    got = student.modules.CrossEntropy(y).backward(a, b, 3.0)
    check.close(got, -1.5 * y / small, "the gradient by a")


@item("cross_entropy_module")
@weight(2)
def test_cross_entropy_with_probabilities_of_zero(student, rng, check):
    """A class that is not the true one may have probability 0: its gradient is 0."""
    y, p = one_hot([0, 1, 3], 4), float(rng.uniform(0.2, 0.8))
    a = np.array([[p, 0.0, 1 - p, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, p, 1 - p]])
    b = float(-np.log([p, 1.0, 1 - p]).mean())
    got = student.modules.CrossEntropy(y).backward(a, b, 1.0)
    check.close(got, -y / np.array([[p], [1.0], [1 - p]]) / 3, "the gradient by a")


@item("cross_entropy_module")
def test_cross_entropy_leaves_its_arguments_alone(student, reference, rng, check):
    """backward changes neither its arguments nor the targets, and another loss in between changes nothing."""
    a, y = distributions(rng, (3, 4)), student.put(one_hot([1, 1, 3], 4))
    a[0] = 0.0, 0.75, 0.25, 0.0
    module = student.modules.CrossEntropy(y)
    student.modules.CrossEntropy(one_hot([0, 2], 3)).forward(distributions(rng, (2, 3)))
    b = reference.modules.CrossEntropy(one_hot([1, 1, 3], 4)).forward(a)
    check_unchanged(student, check, module, a, b, float(rng.normal()))
    check.close(student.get(y), one_hot([1, 1, 3], 4), "the targets afterwards", rtol=0, atol=0)


# --- softmax_cross_entropy


def classes(rng, rows, n):
    """The true classes of the rows: an int for one row, an array for several."""
    ids = rng.integers(0, n, size=rows)
    return ids if rows else int(ids)


@item("softmax_cross_entropy")
@weight(2)
@pytest.mark.parametrize(("rows", "n"), ROWS, ids=ROW_IDS)
def test_softmax_cross_entropy_of_random_logits(student, reference, rng, check, rows, n):
    """forward is the mean over the rows of -log softmax(a)[target]."""
    a, targets = 3 * rng.normal(size=(*rows, n)), classes(rng, rows, n)
    expected = reference.modules.SoftmaxCrossEntropy(targets).forward(a)
    check.close(student.modules.SoftmaxCrossEntropy(targets).forward(a), expected, "the loss")


@item("softmax_cross_entropy")
@weight(3)
@pytest.mark.parametrize(("rows", "n"), ROWS, ids=ROW_IDS)
def test_softmax_cross_entropy_gradients(student, reference, rng, check, rows, n):
    """backward returns the gradient by the logits, in their shape, times the gradient from above."""
    a, targets, g_b = 3 * rng.normal(size=(*rows, n)), classes(rng, rows, n), float(rng.normal())
    right = reference.modules.SoftmaxCrossEntropy(targets)
    b = right.forward(a)
    got = student.modules.SoftmaxCrossEntropy(targets).backward(a, b, g_b)
    check.close(got, right.backward(a, b, g_b), "the gradient by a", rtol=EXACT)


FAR = {
    "true-class-wins": ([[1000.0, -1000.0, 0.0], [0.0, -1000.0, 1000.0]], [0, 2]),
    "true-class-loses": ([[1000.0, -1000.0, 0.0], [0.0, -1000.0, 1000.0]], [1, 0]),
    "all-alike": ([[1000.0, 1000.0, 1000.0], [-1000.0, -1000.0, -1000.0]], [2, 1]),
    "rows-far-apart": ([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -1002.0]], [0, 2]),
    "nearly-certain": ([[30.0, 0.0, -5.0], [0.0, 0.0, 25.0]], [1, 1]),
}


@item("softmax_cross_entropy")
@weight(2)
@pytest.mark.parametrize("case", FAR, ids=list(FAR))
def test_softmax_cross_entropy_of_logits_of_any_size(student, reference, rng, check, case):
    """Logits of +-1000 give the exact loss and finite gradients, whether the true class wins or loses."""
    logits, ids = FAR[case]
    a, targets = np.array(logits) + rng.normal(size=(2, 3)), np.array(ids)
    right, module = reference.modules.SoftmaxCrossEntropy(targets), student.modules.SoftmaxCrossEntropy(targets)
    b = right.forward(a)
    check.close(module.forward(a), b, "the loss")
    check.close(module.backward(a, b, 1.0), right.backward(a, b, 1.0), "the gradient by a")


@item("softmax_cross_entropy")
@weight(0.5)
def test_softmax_cross_entropy_is_exact_on_long_rows(student, reference, rng, check):
    """Twenty rows of 50 classes, some of them a thousand nats wrong: loss and gradient are exact."""
    a, targets = rng.normal(size=(20, 50)), rng.integers(0, 50, size=20)
    a[::3] *= 300
    right, module = reference.modules.SoftmaxCrossEntropy(targets), student.modules.SoftmaxCrossEntropy(targets)
    b = right.forward(a)
    check.close(module.forward(a), b, "the loss")
    check.close(module.backward(a, b, 2.0), right.backward(a, b, 2.0), "the gradient by a")


@item("softmax_cross_entropy")
@weight(0.5)
def test_softmax_cross_entropy_along_a_direction(student, reference, rng, check):
    """Thirty rows of 40 classes: the gradient tells how the loss grows."""
    a, targets = rng.normal(size=(30, 40)), rng.integers(0, 40, size=30)
    right = reference.modules.SoftmaxCrossEntropy(targets)
    got = student.modules.SoftmaxCrossEntropy(targets).backward(a, right.forward(a), 10.0)
    check_direction(rng, check, got, right.forward, a, 10.0)


@item("softmax_cross_entropy")
def test_the_best_logits_are_the_logarithms_of_the_frequencies(student, rng, check):
    """Where all rows have the logits log(count / total), the rows' gradients sum to 0 and the loss is the entropy."""
    counts = rng.permutation([1, 2, 3, 5, 9])
    p, targets = counts / counts.sum(), rng.permutation(np.repeat(np.arange(5), counts))
    a = np.log(p) + rng.normal(size=(len(targets), 1))
    module, entropy = student.modules.SoftmaxCrossEntropy(targets), -float(np.sum(p * np.log(p)))
    check.close(module.forward(a), entropy, "the loss")
    g_a = check.array(module.backward(a, entropy, 1.0), "the gradient by a", a.shape)
    check.close(g_a.sum(axis=0), np.zeros(5), "the sum of the gradients of all rows", atol=1e-13)
    check.close(np.abs(g_a).sum(), float(2 * (1 - p[targets]).mean()), "the sum of the sizes of all its entries")


@item("softmax_cross_entropy")
def test_softmax_cross_entropy_leaves_its_arguments_alone(student, reference, rng, check):
    """forward and backward change neither the logits nor the targets, and remember nothing of other calls."""
    a, ids = rng.normal(size=(4, 3)), np.array([1, 1, 2, 0])
    given, targets = student.put(a), student.put(ids)
    module = student.modules.SoftmaxCrossEntropy(targets)
    b = reference.modules.SoftmaxCrossEntropy(ids).forward(a)
    check.close(module.forward(given), b, "the loss")
    check.close(student.get(given), a, "the logits after forward", rtol=0, atol=0)
    module.forward(rng.normal(size=(4, 3)))
    g_b = float(rng.normal())
    check.close(
        module.backward(a, b, g_b), reference.modules.SoftmaxCrossEntropy(ids).backward(a, b, g_b), "the gradient by a"
    )
    check_unchanged(student, check, module, a, b, g_b)
    check.close(student.get(targets), ids, "the targets afterwards", rtol=0, atol=0)


# --- embedding


IDS = {
    "one-id": 3,
    "array-of-one": [2],
    "all-different": [4, 0, 2],
    "repeated": [1, 4, 1, 1, 0, 4],
    "all-alike": [2] * 5,
}


@item("embedding")
@weight(4)
@pytest.mark.parametrize("case", IDS, ids=list(IDS))
@pytest.mark.parametrize("width", [3, 1], ids=["width3", "width1"])
def test_embedding_gradients(student, reference, rng, check, case, width):
    """weight.grad gets each row of the gradient from above at its id; those of the same id add up, all else stays 0."""
    ids = IDS[case] if isinstance(IDS[case], int) else np.array(IDS[case])
    table = 1000 * rng.normal(size=(5, width))
    g_b = rng.normal(size=(*np.shape(ids), width))
    right, module = reference.modules.Embedding(table), student.modules.Embedding(table)
    b = right.forward(ids)
    right.backward(ids, b, g_b)
    module.backward(ids, b, g_b)
    check.close(module.weight.grad, right.weight.grad, "weight.grad")


@item("embedding")
@weight(2)
@pytest.mark.parametrize("case", ["one-id", "repeated"], ids=["one-id", "repeated"])
def test_embedding_adds_to_the_gradient_that_is_there(student, reference, rng, check, case):
    """What stood in weight.grad stays, and a second backward adds once more."""
    ids = IDS[case] if isinstance(IDS[case], int) else np.array(IDS[case])
    table, before, g_b = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(*np.shape(ids), 2))
    right, module = reference.modules.Embedding(table), student.modules.Embedding(table)
    b = right.forward(ids)
    right.backward(ids, b, g_b)
    module.weight.grad = before
    for times in (1, 2):
        module.backward(ids, b, g_b)
        check.close(module.weight.grad, before + times * right.weight.grad, "weight.grad", rtol=EXACT)


@item("embedding")
@weight(2)
def test_embedding_of_a_long_text(student, reference, rng, check):
    """Three hundred ids of a table of 20 words, most of them often: every occurrence counts."""
    ids, table = rng.integers(0, 20, size=300), rng.normal(size=(20, 4))
    right, module, g_b = reference.modules.Embedding(table), student.modules.Embedding(table), rng.normal(size=(300, 4))
    right.backward(ids, right.forward(ids), g_b)
    module.backward(ids, right.forward(ids), g_b)
    check.close(module.weight.grad, right.weight.grad, "weight.grad")


@item("embedding")
def test_embedding_changes_nothing_but_its_gradient(student, reference, rng, check):
    """The table, the ids and the gradient from above stay as they are, and nothing is returned."""
    ids, table, g_b = np.array([0, 3, 3]), rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    module, given = student.modules.Embedding(table), [student.put(ids), student.put(g_b)]
    check.equal(module.backward(given[0], table[ids], given[1]), None, "the result of backward")
    check.close(student.get(given[0]), ids, "the ids afterwards", rtol=0, atol=0)
    check.close(student.get(given[1]), g_b, "g_b afterwards", rtol=0, atol=0)
    check.close(module.weight.data, table, "weight.data afterwards", rtol=0, atol=0)
