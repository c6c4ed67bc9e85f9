"""The solved modules against PyTorch in double precision, a published value, and the net that is written out."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from lm import modules, procedural
from lm.base import Module
from lm.types import NetValues

SHAPES = [(5,), (1, 5), (7, 5), (5, 5), (3, 1)]


def assert_close(got: Any, expected: Any) -> None:
    """Equal up to the order in which things are added."""
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)


def tensor(array: Any, grad: bool = True) -> Any:
    """The array as a leaf of double precision."""
    return torch.tensor(array, dtype=torch.float64, requires_grad=grad)


def same_gradients(
    module: Module, function: Callable[..., Any], a: Any, g_b: Any, learned: tuple[str, ...] = ()
) -> None:
    """Forward and all gradients equal those of ``function(a, *parameters)`` in PyTorch; a of ints has no gradient."""
    leaves: list[Any] = [tensor(getattr(module, name).data) for name in learned]
    ids = np.asarray(a).dtype.kind == "i"
    theirs: Any = torch.as_tensor(a) if ids else tensor(a)
    expected = function(theirs, *leaves)
    expected.backward(torch.as_tensor(g_b, dtype=torch.float64))
    b = module.forward(a)
    assert_close(b, expected.detach().numpy())
    g_a = module.backward(a, b, g_b)
    if ids:
        assert g_a is None
    else:
        assert g_a.shape == a.shape
        assert_close(g_a, theirs.grad.numpy())
    for name, leaf in zip(learned, leaves, strict=True):
        assert_close(getattr(module, name).grad, leaf.grad.numpy())


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(2)


def test_the_docstrings_examples_are_right() -> None:
    """The worked examples in the docstrings give what stands there."""
    found = doctest.testmod(modules)
    assert found.failed == 0
    assert found.attempted >= 20


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_linear_equals_pytorch(rng: np.random.Generator, shape: tuple[int, ...], bias: bool) -> None:
    """Output and gradients of a linear layer, with a bias and without."""
    weight = rng.normal(size=(4, shape[-1]))
    module = modules.Linear(weight, rng.normal(size=4) if bias else None)
    learned = ("weight", "bias") if bias else ("weight",)
    a, g_b = rng.normal(size=shape), rng.normal(size=(*shape[:-1], 4))
    same_gradients(module, torch.nn.functional.linear, a, g_b, learned)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softmax"])
def test_functions_equal_pytorch(rng: np.random.Generator, shape: tuple[int, ...], name: str) -> None:
    """Output and gradient of sigmoid, tanh and softmax, of small and of large numbers."""
    module = {"sigmoid": modules.Sigmoid, "tanh": modules.Tanh, "softmax": modules.Softmax}[name]()
    function = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "softmax": lambda at: torch.softmax(at, dim=-1)}[name]
    for size in (1.0, 10.0, 1000.0):
        same_gradients(module, function, size * rng.normal(size=shape), rng.normal(size=shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cross_entropy_equals_pytorch(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """Loss and gradient of distributions, a number from above included."""
    y = np.eye(shape[-1])[rng.integers(0, shape[-1], size=shape[:-1])]
    a = modules.Softmax().forward(rng.normal(size=shape))
    truth = tensor(y, grad=False)
    same_gradients(modules.CrossEntropy(y), lambda at: -(truth * at.log()).sum(-1).mean(), a, -2.5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("size", [1.0, 1000.0], ids=["small", "large"])
def test_softmax_cross_entropy_equals_pytorch(rng: np.random.Generator, shape: tuple[int, ...], size: float) -> None:
    """Loss and gradient of logits, also of such that a softmax turns into zeros and ones."""
    ids = rng.integers(0, shape[-1], size=shape[:-1])
    targets = ids if shape[:-1] else int(ids)
    module, theirs = modules.SoftmaxCrossEntropy(targets), torch.as_tensor(targets)
    a = size * rng.normal(size=shape)
    same_gradients(module, lambda at: torch.nn.functional.cross_entropy(at, theirs), a, 3.0)


@pytest.mark.parametrize("ids", [3, np.array([0, 3, 3, 1, 3])], ids=["one", "repeated"])
def test_embedding_equals_pytorch(rng: np.random.Generator, ids: int | np.ndarray) -> None:
    """The rows that are looked up, and the gradient of the table."""
    module = modules.Embedding(rng.normal(size=(5, 3)))
    function = torch.nn.functional.embedding
    same_gradients(module, function, ids, rng.normal(size=(*np.shape(ids), 3)), ("weight",))


def test_embedding_of_cs231n() -> None:
    """The table and the ids of its third assignment: steps of 1/14, whose printed digits are given here."""
    table = np.linspace(0, 1, num=15).reshape(5, 3)
    got = modules.Embedding(table).forward(np.array([[0, 3, 1, 2], [2, 1, 0, 3]]))
    rows = [
        [0.0, 0.07142857, 0.14285714],
        [0.21428571, 0.28571429, 0.35714286],
        [0.42857143, 0.5, 0.57142857],
        [0.64285714, 0.71428571, 0.78571429],
    ]
    expected = [[rows[0], rows[3], rows[1], rows[2]], [rows[2], rows[1], rows[0], rows[3]]]
    np.testing.assert_allclose(got, expected, rtol=0, atol=5e-9)


def test_layers_run_backwards_give_the_gradients_of_the_net_that_is_written_out(rng: np.random.Generator) -> None:
    """Linear, sigmoid, linear and the loss in reverse order: bit by bit what the formulas give for the same values."""
    for inputs, hidden, classes in ((3, 4, 2), (1, 5, 3), (6, 1, 4)):
        x, alpha, beta = (rng.normal(size=shape) for shape in (inputs, (hidden, inputs), (classes, hidden)))
        target = int(rng.integers(classes))
        y = np.eye(classes)[target]
        layers: list[Any] = [modules.Linear(alpha), modules.Sigmoid(), modules.Linear(beta)]
        loss = modules.SoftmaxCrossEntropy(target)
        value: Any = x
        for layer in [*layers, loss]:
            value = layer(value)
        gradient: Any = 1.0
        for layer in [loss, *reversed(layers)]:
            gradient = layer.backward(layer.a, layer.b, gradient)

        y_hat = modules.Softmax().forward(loss.a)
        values = NetValues(layers[0].b, layers[1].b, layers[2].b, y_hat, loss.b)
        g_alpha, g_beta = procedural.backward(x, y, alpha, beta, values)
        np.testing.assert_array_equal(layers[0].weight.grad, g_alpha)
        np.testing.assert_array_equal(layers[2].weight.grad, g_beta)
        written = procedural.forward(x, y, alpha, beta)
        for name in ("a", "z", "b", "y_hat", "J"):
            assert_close(getattr(values, name), getattr(written, name))


def test_softmax_and_cross_entropy_equal_both_in_one(rng: np.random.Generator) -> None:
    """The two modules behind each other give the loss and the gradient of the one that does both."""
    a, ids = rng.normal(size=(6, 4)), rng.integers(0, 4, size=6)
    first, second, both = modules.Softmax(), modules.CrossEntropy(np.eye(4)[ids]), modules.SoftmaxCrossEntropy(ids)
    loss = second(first(a))
    assert_close(loss, both(a))
    g_a = first.backward(a, first.b, second.backward(second.a, loss, 0.5))
    assert_close(g_a, both.backward(a, both.b, 0.5))


def test_a_certain_and_wrong_prediction_has_an_infinite_cross_entropy() -> None:
    """log 0 in the given forward is inf without a warning, and counts only where it is that of a true class."""
    a = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert modules.CrossEntropy(np.array([[0.0, 1.0], [1.0, 0.0]])).forward(a) == np.inf
    assert modules.CrossEntropy(np.array([[1.0, 0.0], [1.0, 0.0]])).forward(a) == np.log(2) / 2
