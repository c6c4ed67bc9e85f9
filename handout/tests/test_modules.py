"""Tests of lm/modules.py: small numbers that you can check by hand, and differences of the textbook's formulas."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def softmax(a):
    return np.exp(a) / np.exp(a).sum(axis=-1, keepdims=True)


def check_untouched(student, check, module, *arguments):
    """``module.backward`` leaves its arguments as they are, and a second call has the same result."""
    given = [student.put(value) for value in arguments]
    first = check.array(module.backward(*given), "the result of backward")
    for handle, value, name in zip(given, arguments, ("a", "b", "g_b"), strict=True):
        check.close(student.get(handle), value, f"{name} after the call", rtol=0, atol=0)
    check.close(module.backward(*given), first, "the result of the same call once more")


# --- linear

W = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 4.0]])
BIAS = np.array([10.0, 20.0])
TWO_ROWS = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])


@item("linear")
@pytest.mark.parametrize(
    ("a", "bias", "expected"),
    [
        (TWO_ROWS[0], BIAS, [17.0, 28.0]),
        (TWO_ROWS, BIAS, [[17.0, 28.0], [15.0, 23.0]]),
        (TWO_ROWS[:1], BIAS, [[17.0, 28.0]]),
        (TWO_ROWS, None, [[7.0, 8.0], [5.0, 3.0]]),
    ],
    ids=["one-row", "two-rows", "array-of-one-row", "no-bias"],
)
def test_linear_forward(student, check, a, bias, expected):
    """Each row of the output is the weight times the row of the input, plus the bias if there is one."""
    check.close(student.modules.Linear(W, bias).forward(a), np.array(expected), "the output")


@item("linear")
@pytest.mark.parametrize(
    ("a", "g_b", "g_a", "g_weight", "g_bias"),
    [
        (TWO_ROWS[0], [1.0, -1.0], [1.0, 3.0, -1.0], [[1.0, 0.0, 2.0], [-1.0, 0.0, -2.0]], [1.0, -1.0]),
        (
            TWO_ROWS,
            [[1.0, -1.0], [2.0, 3.0]],
            [[1.0, 3.0, -1.0], [2.0, 1.0, 18.0]],
            [[1.0, 2.0, 4.0], [-1.0, 3.0, 1.0]],
            [3.0, 2.0],
        ),
    ],
    ids=["one-row", "two-rows"],
)
def test_linear_backward(student, check, a, g_b, g_a, g_weight, g_bias):
    """The gradient by the input is returned; those by the weight and the bias are added to grad."""
    layer, b = student.modules.Linear(W, BIAS), a @ W.T + BIAS
    for times in (1, 2):
        check.close(layer.backward(a, b, np.array(g_b)), np.array(g_a), "the gradient by a")
        check.close(layer.weight.grad, times * np.array(g_weight), "weight.grad")
        check.close(layer.bias.grad, times * np.array(g_bias), "bias.grad")


@item("linear")
@pytest.mark.parametrize("shape", [(4, 3, 2), (3, 3, 3), (1, 2, 5)], ids=["rows", "square", "array-of-one-row"])
def test_linear_agrees_with_differences(student, rng, check, shape):
    """All three gradients are what a small change of each number does to the loss; and nothing else changes."""
    rows, n_in, n_out = shape
    w, bias, a = rng.normal(size=(n_out, n_in)), rng.normal(size=n_out), rng.normal(size=(rows, n_in))
    layer, g_b = student.modules.Linear(w, bias), rng.normal(size=(rows, n_out))
    layer.forward(-a)
    check.gradient(layer.backward(a, a @ w.T + bias, g_b), lambda at: at @ w.T + bias, a, g_b, "the gradient by a")
    check.gradient(layer.weight.grad, lambda at: a @ at.T + bias, w, g_b, "weight.grad")
    check.gradient(layer.bias.grad, lambda at: a @ w.T + at, bias, g_b, "bias.grad")
    check_untouched(student, check, layer, a, a @ w.T + bias, g_b)
    check.close(layer.weight.data, w, "weight.data afterwards", rtol=0, atol=0)


# --- activations


@item("activations")
@pytest.mark.parametrize(
    ("name", "b", "expected"),
    [
        ("Sigmoid", [0.5, 0.75, 0.2], [0.25, -0.375, 1.6]),
        ("Tanh", [0.0, 0.5, -0.6], [1.0, -1.5, 6.4]),
    ],
    ids=["sigmoid", "tanh"],
)
def test_activation_backward(student, check, name, b, expected):
    """The slope at each entry, times the gradient from above: here 1, -2 and 10."""
    b = np.array(b)
    a = np.log(b / (1 - b)) if name == "Sigmoid" else np.arctanh(b)
    got = getattr(student.modules, name)().backward(a, b, np.array([1.0, -2.0, 10.0]))
    check.close(got, np.array(expected), "the gradient by a")


@item("activations")
@pytest.mark.parametrize(("name", "function"), [("Sigmoid", sigmoid), ("Tanh", np.tanh)], ids=["sigmoid", "tanh"])
def test_activations_agree_with_differences(student, rng, check, name, function):
    """The gradient is what a small change of each entry does to the loss."""
    module = getattr(student.modules, name)()
    check.module_gradient(module, function, rng.normal(size=4))
    check.module_gradient(module, function, 3 * rng.normal(size=(3, 2)))


@item("activations")
@pytest.mark.parametrize("name", ["Sigmoid", "Tanh"], ids=["sigmoid", "tanh"])
def test_activations_at_a_thousand(student, check, name):
    """At +-1000 the curve is level: the gradient is 0. The arguments stay as they are."""
    module, a = getattr(student.modules, name)(), np.array([1000.0, -1000.0])
    b, g_b = np.array([1.0, 0.0 if name == "Sigmoid" else -1.0]), np.array([3.0, -5.0])
    check.close(module.backward(a, b, g_b), np.zeros(2), "the gradient by a")
    check_untouched(student, check, module, np.array([0.0]), np.array([0.5 if name == "Sigmoid" else 0.0]), g_b[:1])


# --- softmax


@item("softmax")
def test_softmax_backward(student, check):
    """For the distribution 1/4, 1/4, 1/2: the gradient of its first entry, and of eight times its last."""
    b = np.array([0.25, 0.25, 0.5])
    module, a = student.modules.Softmax(), np.log(b)
    check.close(module.backward(a, b, np.array([1.0, 0.0, 0.0])), np.array([3, -1, -2]) / 16, "the gradient by a")
    check.close(module.backward(a, b, np.array([0.0, 0.0, 8.0])), np.array([-1.0, -1.0, 2.0]), "the gradient by a")
    rows, g_b = np.stack([b, b[::-1]]), np.array([[1.0, 0.0, 0.0], [8.0, 0.0, 0.0]])
    expected = np.array([[3 / 16, -1 / 16, -2 / 16], [2.0, -1.0, -1.0]])
    check.close(module.backward(np.log(rows), rows, g_b), expected, "the gradient by a of two rows")


@item("softmax")
def test_softmax_agrees_with_differences(student, rng, check):
    """The gradient is what a small change of each logit does to the loss; the arguments stay as they are."""
    module, a = student.modules.Softmax(), rng.normal(size=(3, 4))
    check.module_gradient(module, softmax, rng.normal(size=5))
    check.module_gradient(module, softmax, a)
    check_untouched(student, check, module, a, softmax(a), rng.normal(size=a.shape))


@item("softmax")
def test_softmax_then_cross_entropy(student, rng, check):
    """From the gradient of -log b[2], which is -1 / b[2] at its place, comes the famous b - y; certainty gives 0."""
    a, y = rng.normal(size=5), np.eye(5)[2]
    b, module = softmax(a), student.modules.Softmax()
    check.close(module.backward(a, b, -y / b), b - y, "the gradient by a")
    sure = module.backward(np.array([1000.0, -1000.0]), np.array([1.0, 0.0]), np.array([3.0, -4.0]))
    check.close(sure, np.zeros(2), "the gradient by the logits 1000 and -1000")


# --- cross_entropy_module


@item("cross_entropy_module")
@weight(2)
@pytest.mark.parametrize(
    ("y", "a", "g_b", "expected"),
    [
        ([0.0, 1.0], [0.75, 0.25], 1.0, [0.0, -4.0]),
        ([[0.0, 1.0], [1.0, 0.0]], [[0.75, 0.25], [0.5, 0.5]], -3.0, [[0.0, 6.0], [3.0, 0.0]]),
        ([[0.0, 1.0, 0.0]], [[0.5, 0.5, 0.0]], 1.0, [[0.0, -2.0, 0.0]]),
    ],
    ids=["one-row", "two-rows", "probability-0"],
)
def test_cross_entropy_backward(student, check, y, a, g_b, expected):
    """Minus one over the probability of the true class, shared among the rows, times the gradient from above."""
    y, a = np.array(y), np.array(a)
    b = float(-np.log((y * a).sum(axis=-1)).mean())
    check.close(student.modules.CrossEntropy(y).backward(a, b, g_b), np.array(expected), "the gradient by a")


@item("cross_entropy_module")
def test_cross_entropy_agrees_with_differences(student, rng, check):
    """The gradient is what a small change of each probability does to the loss; the arguments stay as they are."""
    y, a = np.eye(3)[[2, 0, 2, 1]], softmax(rng.normal(size=(4, 3)))
    module = student.modules.CrossEntropy(y)
    check.module_gradient(module, lambda at: -np.log((y * at).sum(axis=-1)).mean(), a)
    check_untouched(student, check, module, a, float(-np.log((y * a).sum(axis=-1)).mean()), 2.0)


# --- softmax_cross_entropy


@item("softmax_cross_entropy")
@pytest.mark.parametrize(
    ("a", "targets", "loss"),
    [
        (np.log([0.25, 0.25, 0.5]), 2, np.log(2)),
        (np.log([[0.25, 0.75], [0.125, 0.875]]), np.array([0, 0]), np.log(32) / 2),
        (np.array([[1000.0, -1000.0, 0.0], [0.0, 0.0, 1000.0]]), np.array([1, 0]), 1500.0),
        (np.array([[1000.0, -1000.0], [-1000.0, -2000.0]]), np.array([0, 0]), 0.0),
    ],
    ids=["one-row", "two-rows", "thousands", "certain"],
)
def test_softmax_cross_entropy_forward(student, check, a, targets, loss):
    """Minus the logarithm of the softmax at the true class, the mean over the rows; logits of any size are fine."""
    check.close(student.modules.SoftmaxCrossEntropy(targets).forward(a), float(loss), "the loss")


@item("softmax_cross_entropy")
@pytest.mark.parametrize(
    ("a", "targets", "b", "g_b", "expected"),
    [
        (np.log([0.25, 0.25, 0.5]), 2, np.log(2), 1.0, [0.25, 0.25, -0.5]),
        (np.log([[0.25, 0.75], [0.125, 0.875]]), np.array([0, 0]), np.log(32) / 2, -4.0, [[1.5, -1.5], [1.75, -1.75]]),
        (np.array([[1000.0, -1000.0, 0.0]]), np.array([1]), 2000.0, 1.0, [[1.0, -1.0, 0.0]]),
    ],
    ids=["one-row", "two-rows", "thousands"],
)
def test_softmax_cross_entropy_backward(student, check, a, targets, b, g_b, expected):
    """The softmax minus the one-hot truth, shared among the rows, times the gradient from above."""
    module = student.modules.SoftmaxCrossEntropy(targets)
    check.close(module.backward(a, float(b), g_b), np.array(expected), "the gradient by a")


@item("softmax_cross_entropy")
def test_softmax_cross_entropy_agrees_with_differences(student, rng, check):
    """The gradient is what a small change of each logit does to the loss; the logits stay as they are."""
    a, targets = rng.normal(size=(4, 3)), np.array([2, 0, 2, 1])
    module, given = student.modules.SoftmaxCrossEntropy(targets), student.put(a)
    loss = float(-np.log(softmax(a)[np.arange(4), targets]).mean())
    check.close(module.forward(given), loss, "the loss")
    check.close(student.get(given), a, "the logits after forward", rtol=0, atol=0)
    check.module_gradient(module, lambda at: -np.log(softmax(at)[np.arange(4), targets]).mean(), a)
    check_untouched(student, check, module, a, loss, 2.0)


# --- embedding


@item("embedding")
@weight(2)
@pytest.mark.parametrize(
    ("ids", "g_b", "expected"),
    [
        (1, [5.0, 6.0], [[0.0, 0.0], [5.0, 6.0], [0.0, 0.0]]),
        (np.array([2, 0]), [[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]),
        (np.array([1, 2, 1]), [[1.0, 2.0], [3.0, 4.0], [10.0, 20.0]], [[0.0, 0.0], [11.0, 22.0], [3.0, 4.0]]),
    ],
    ids=["one-id", "two-ids", "repeated"],
)
def test_embedding_backward(student, check, ids, g_b, expected):
    """Each row of the gradient from above is added at its id; the rows of the same id add up."""
    table = np.arange(6.0).reshape(3, 2)
    module = student.modules.Embedding(table)
    for times in (1, 2):
        module.backward(ids, table[ids], np.array(g_b))
        check.close(module.weight.grad, times * np.array(expected), "weight.grad")


@item("embedding")
def test_embedding_leaves_the_table_alone(student, check):
    """backward returns nothing and changes nothing but weight.grad."""
    table, ids, g_b = np.arange(6.0).reshape(3, 2), np.array([0, 0]), np.ones((2, 2))
    module, given = student.modules.Embedding(table), student.put(g_b)
    check.equal(module.backward(ids, table[ids], given), None, "the result of backward")
    check.close(student.get(given), g_b, "g_b after the call", rtol=0, atol=0)
    check.close(module.weight.data, table, "weight.data after the call", rtol=0, atol=0)
