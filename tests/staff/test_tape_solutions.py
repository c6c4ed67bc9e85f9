"""The solved tape against PyTorch in double precision, published values of other engines, and a net that it trains."""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from lm import forward_mode, tape
from lm.tape import Tape, Var, softmax_cross_entropy, unbroadcast
from lm.types import RNNParams

SHAPES = {"E": (9, 4), "W_xh": (6, 4), "b_h": (6,), "W_hh": (6, 6), "W_hy": (9, 6), "b_y": (9,)}


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(3)


def test_the_docstrings_examples_are_right() -> None:
    """The worked examples in the docstrings give what stands there."""
    found = doctest.testmod(importlib.import_module(tape.__name__))  # public tests import the package anew
    assert found.failed == 0
    assert found.attempted >= 2


# The RNN language model.


def pytorch_gradients(
    arrays: dict[str, np.ndarray], inputs: Sequence[int], targets: Sequence[int]
) -> tuple[float, dict[str, np.ndarray]]:
    """The loss of a sentence and its gradients, by PyTorch."""
    p = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    h, logits = torch.zeros(len(arrays["b_h"]), dtype=torch.float64), []
    for word in inputs:
        h = torch.tanh(p["W_xh"] @ p["E"][word] + p["W_hh"] @ h + p["b_h"])
        logits.append(p["W_hy"] @ h + p["b_y"])
    loss = torch.nn.functional.cross_entropy(torch.stack(logits), torch.tensor(targets))
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.item(), {name: leaf.grad.numpy() for name, leaf in p.items() if leaf.grad is not None}


@pytest.mark.parametrize("length", [1, 2, 7, 15, 40], ids=str)
@pytest.mark.parametrize("scale", [0.1, 1.0], ids=["small", "large"])
def test_a_sentence_equals_pytorch(rng: np.random.Generator, length: int, scale: float) -> None:
    """The loss and all six gradients agree within 1e-12 on random sentences."""
    for _ in range(3):
        arrays = {name: scale * rng.normal(size=shape) for name, shape in SHAPES.items()}
        inputs, targets = rng.integers(0, 9, size=(2, length)).tolist()
        t = Tape()
        params = RNNParams(**{name: t.leaf(array) for name, array in arrays.items()})
        loss = tape.sentence_loss(params, inputs, targets)
        expected, gradients = pytorch_gradients(arrays, inputs, targets)
        assert loss.data == pytest.approx(expected, rel=1e-12)
        t.backward(loss)
        for name, gradient in gradients.items():
            np.testing.assert_allclose(getattr(params, name).grad, gradient, rtol=0, atol=1e-12)


def test_a_sentence_of_fifteen_steps_has_136_nodes(rng: np.random.Generator) -> None:
    """The lecture's number: 9 for each step and one mean. After backward there are none."""
    t = Tape()
    params = RNNParams(**{name: t.leaf(rng.normal(size=shape)) for name, shape in SHAPES.items()})
    inputs, targets = rng.integers(0, 9, size=(2, 15)).tolist()
    loss = tape.sentence_loss(params, inputs, targets)
    assert len(t) == 136
    t.backward(loss)
    assert len(t) == 0


# Values that other engines' tests and documents publish, with the operations that they need.


def power(x: Var, n: float) -> Var:
    """x^n, through the public interface."""
    return x.tape.record(x.data**n, (x, lambda g: g * n * x.data ** (n - 1)))


def relu(x: Var) -> Var:
    """max(x, 0)."""
    return x.tape.record(np.maximum(x.data, 0.0), (x, lambda g: g * (x.data > 0)))


def ln(x: Var) -> Var:
    """The natural logarithm."""
    return x.tape.record(np.log(x.data), (x, lambda g: g / x.data))


def divide(x: Any, y: Var) -> Var:
    """x / y."""
    return x * power(y, -1)


def test_the_expression_of_micrograds_readme() -> None:
    """a = -4 and b = 2 give g = 24.7041, with 138.8338 and 645.5773 for gradients."""
    t = Tape()
    a, b = t.leaf(-4.0), t.leaf(2.0)
    c = a + b
    d = a * b + power(b, 3)
    c = c + (c + 1)
    c = c + (1 + c + (-a))
    d = d + (d * 2 + relu(b + a))
    d = d + (3 * d + relu(b - a))
    e = c - d
    f = power(e, 2)
    g = f * 0.5
    g = g + divide(10.0, f)
    t.backward(g)
    assert g.data == pytest.approx(24.70408163265306, rel=1e-14)
    assert a.grad == pytest.approx(138.83381924198252, rel=1e-14)
    assert b.grad == pytest.approx(645.5772594752187, rel=1e-14)


def test_the_first_test_of_micrograd() -> None:
    """x = -4 gives y = -20 with the slope 46."""
    t = Tape()
    x = t.leaf(-4.0)
    z = 2 * x + 2 + x
    q = relu(z) + z * x
    h = relu(z * z)
    y = h + q + q * x
    t.backward(y)
    assert y.data == -20
    assert x.grad == 46


def f1(x: Any, y: Any) -> Any:
    """minitorch's first test function."""
    return x + y + 10.0


def f2(x: Any, y: Any) -> Any:
    """minitorch's second test function."""
    return x * y + x


def test_the_chain_rule_of_minitorch() -> None:
    """Gradients of nested functions with 5 for a gradient from above."""
    for layers in (1, 2):
        t = Tape()
        x = t.leaf(0.0)
        v = x if layers == 1 else f1(0.0, x)
        t.backward(5.0 * f1(f1(0.0, v), f1(0.0, v)))
        assert x.grad == 10
    t = Tape()
    x, y = t.leaf(5.0), t.leaf(10.0)
    t.backward(5.0 * f2(x, y))
    assert (x.grad, y.grad) == (55, 25)
    x, y = t.leaf(10.0), t.leaf(5.0)
    t.backward(5.0 * f2(10.0, y))
    assert y.grad == 50
    assert x.grad == 0


def test_the_polynomial_of_needle() -> None:
    """y = x2^2 + x2 x3 at (6, 0): 36, with the gradients 12 and 6."""
    t = Tape()
    x2, x3 = t.leaf([6.0]), t.leaf([0.0])
    y = x2 * x2 + x2 * x3
    t.backward(y.sum())
    np.testing.assert_array_equal(y.data, [36.0])
    np.testing.assert_array_equal(x2.grad, [12.0])
    np.testing.assert_array_equal(x3.grad, [6.0])


def test_a_sum_of_a_sum() -> None:
    """b = a + a, c = b + b: 4, where a recursion without an order gives more."""
    t = Tape()
    a = t.leaf(1.0)
    b = a + a
    t.backward(b + b)
    assert a.grad == 4


@pytest.mark.parametrize(
    ("shape", "entry"), [((2, 1, 3), 20.0), ((5, 1, 2, 1, 3), 4.0), ((2, 4, 3), 5.0)], ids=["both", "inside", "front"]
)
def test_unbroadcast_of_ones_as_in_arena(shape: tuple[int, ...], entry: float) -> None:
    """How often each entry was repeated."""
    np.testing.assert_array_equal(unbroadcast(np.ones((5, 1, 2, 4, 3)), shape), np.full(shape, entry))


def test_the_logarithm_of_arena() -> None:
    """At 1, e and e^e, with 2 from above: 2, 2/e and 2/e^e."""
    t = Tape()
    x = t.leaf([1.0, np.e, np.e**np.e])
    t.backward((ln(x) * 2.0).sum())
    np.testing.assert_allclose(x.grad, [2.0, 2 / np.e, 2 / np.e**np.e], rtol=1e-15)


# How it works on the inside.


def test_five_thousand_operations_in_a_row() -> None:
    """No recursion: a program may be long."""
    t = Tape()
    x, small = t.leaf(1.0), t.leaf(1e-4)
    y = x
    for _ in range(2500):
        y = y * small + y
    assert len(t) == 5000
    t.backward(y)
    assert x.grad == pytest.approx((1 + 1e-4) ** 2500, rel=1e-12)
    assert small.grad == pytest.approx(2500 * (1 + 1e-4) ** 2499, rel=1e-12)


def test_a_second_backward_needs_a_second_forward() -> None:
    """The tape is empty then; after another forward the gradients add up."""
    t = Tape()
    x = t.leaf(3.0)
    loss = x * x
    t.backward(loss)
    with pytest.raises(RuntimeError, match="empty"):
        t.backward(loss)
    t.backward(x * x)
    assert x.grad == 12


def test_constants_on_either_side() -> None:
    """Arrays and numbers, before and after a Var, with every operator: the same as numpy, and no array of objects."""
    t, row, matrix = Tape(), np.array([1.0, -2.0, 3.0]), np.arange(6.0).reshape(2, 3)
    v = np.array([0.5, 1.5, -1.0])
    x = t.leaf(v)
    for got, expected in (
        (row + x, row + v),
        (x + row, row + v),
        (row - x, row - v),
        (x - row, v - row),
        (2 - x, 2 - v),
        (row * x, row * v),
        (np.float64(2) * x, 2 * v),
        (matrix + x, matrix + v),
        (matrix @ x, matrix @ v),
        (-x, -v),
    ):
        assert isinstance(got, Var)
        np.testing.assert_array_equal(got.data, expected)


def test_dual_numbers_give_the_same_gradients(rng: np.random.Generator) -> None:
    """A function of scalars with every operator that both engines have: reverse mode equals forward mode."""

    def f(engine: Any, x: Sequence[Any]) -> Any:
        a, b, c = x
        d = engine.tanh(a * b - 2 * c) + a
        e = engine.sigmoid(d * d + (1 - b))
        return (d + e) * (c * e - d) + (-a) * d * 0.5

    for _ in range(5):
        at = rng.normal(size=3)
        t = Tape()
        leaves = [t.leaf(value) for value in at]
        t.backward(f(tape, leaves))
        forward = forward_mode.gradient(lambda x: f(forward_mode, x), at)
        np.testing.assert_allclose([leaf.grad for leaf in leaves], forward, rtol=1e-12, atol=1e-14)


# Three arms of a spiral, 80 points each.

ARMS, POINTS, HIDDEN = 3, 80, 16


def spiral(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points with a constant 1 behind their coordinates, and their arms."""
    arm = np.repeat(np.arange(ARMS), POINTS)
    r = np.tile(np.linspace(0.1, 1, POINTS), ARMS)
    angle = 2 * np.pi * (arm / ARMS + 0.58 * r) + 0.1 * rng.normal(size=len(arm))
    return np.stack([r * np.cos(angle), r * np.sin(angle), np.ones(len(arm))], axis=1), arm


def train(rng: np.random.Generator, hidden: int, epochs: int, rate: float) -> tuple[list[float], list[float]]:
    """Loss and accuracy of each epoch, while it runs; the last accuracy is that of the net at the end.

    Args:
        rng: draws the points, the weights and the order.
        hidden: units; 0 for a linear classifier.
        epochs: how often each point is seen.
        rate: of the steps.
    """
    x, arm = spiral(rng)
    t = Tape()
    alpha, beta = t.leaf(rng.uniform(-1, 1, size=(hidden, 3))), t.leaf(rng.uniform(-0.3, 0.3, size=(ARMS, hidden)))
    bias = t.leaf(rng.uniform(-0.3, 0.3, size=ARMS))
    if not hidden:
        beta = t.leaf(rng.uniform(-0.3, 0.3, size=(ARMS, 3)))
    leaves = [alpha, beta, bias] if hidden else [beta]

    def logits(point: np.ndarray) -> Var:
        return beta @ tape.sigmoid(alpha @ point) + bias if hidden else beta @ point

    losses, accuracies = [], []
    for _ in range(epochs):
        total, right = 0.0, 0
        for i in rng.permutation(len(x)):
            z = logits(x[i])
            loss = softmax_cross_entropy(z, int(arm[i]))
            total, right = total + float(loss.data), right + int(z.data.argmax() == arm[i])
            t.backward(loss)
            for leaf in leaves:
                leaf.data -= rate * leaf.grad
                leaf.grad[:] = 0
        losses.append(total / len(x))
        accuracies.append(right / len(x))
    accuracies.append(sum(int(logits(point).data.argmax() == a) for point, a in zip(x, arm, strict=True)) / len(x))
    return losses, accuracies


@pytest.mark.parametrize("seed", [0, 1], ids=str)
def test_the_tape_trains_the_net_of_the_spiral(seed: int) -> None:
    """Sample by sample, 100 epochs: the loss falls from about 1 to 0.015 at most, and the arms are told apart."""
    losses, accuracies = train(np.random.default_rng(seed), HIDDEN, 100, rate=0.3)
    assert 0.90 <= losses[0] <= 1.12
    assert 0.42 <= accuracies[0] <= 0.72
    assert losses[-1] <= 0.015
    assert accuracies[-1] >= 0.995


@pytest.mark.parametrize("seed", range(4), ids=str)
def test_a_linear_classifier_fails_on_the_spiral(seed: int) -> None:
    """Without a hidden layer less than 0.70 of the points are right.

    Its loss is convex, so a small rate leads to the best such classifier; 0.3 would leave it where the last samples
    pushed it.
    """
    _, accuracies = train(np.random.default_rng(seed), 0, 30, rate=0.05)
    assert 0.56 <= accuracies[-1] < 0.70
