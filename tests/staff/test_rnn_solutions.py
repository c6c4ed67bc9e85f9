"""The solved RNN against PyTorch in double precision and against the tape, the clear version and the fast one."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from lm import rnn as clear
from lm.gradcheck import numerical_gradient
from lm.modules import Embedding, Linear
from lm.tape import Tape, sentence_loss
from lm.types import RNNGradients, RNNParams
from lm.weights import init_params

from autograder.feedback.assignment import load_assignment
from autograder.proof.catalogue import apply, load_alternatives

ROOT = Path(__file__).resolve().parents[2]
NAMES = tuple(field.name for field in fields(RNNParams))
SHAPES = [(2, 3, 6, 4, 5), (4, 7, 5, 2, 3), (1, 1, 4, 3, 2), (3, 4, 300, 3, 4), (2, 5, 4, 1, 1)]  # B, T, V, d, H
FAST = ("rnn-forward-all-steps", "masked-loss-in-place", "bptt-all-steps")


def fast_version() -> ModuleType:
    """The three alternatives over all steps together, as a module beside lm.rnn."""
    alternatives = load_alternatives(ROOT / "tests" / "alternatives", load_assignment(ROOT / "assignment.toml"))
    package = {"lm/rnn.py": (ROOT / "solutions" / "lm" / "rnn.py").read_bytes()}
    for name in FAST:
        package = apply(next(entry for entry in alternatives if entry.id == name), package, alternatives)
    module = ModuleType("lm.rnn_fast")
    module.__package__ = "lm"
    exec(compile(package["lm/rnn.py"], "rnn_fast.py", "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module", params=["clear", "fast"])
def rnn(request: pytest.FixtureRequest) -> Any:
    """lm.rnn, and what the fast version makes of it."""
    return clear if request.param == "clear" else fast_version()


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(4)


class Theirs(torch.nn.Module):
    """Embedding, nn.RNN and Linear with our parameters. nn.RNN has two biases; the second one is zeros."""

    def __init__(self, params: RNNParams) -> None:
        super().__init__()
        (V, d), H = params.E.shape, len(params.b_h)
        self.embedding = torch.nn.Embedding(V, d, dtype=torch.float64)
        self.rnn = torch.nn.RNN(d, H, batch_first=True, dtype=torch.float64)
        self.linear = torch.nn.Linear(H, V, dtype=torch.float64)
        self.recurrent: list[Any] = [getattr(self.rnn, f"{name}_l0") for name in ("weight_ih", "bias_ih", "weight_hh")]
        torch.nn.init.zeros_(dict(self.rnn.named_parameters())["bias_hh_l0"])
        with torch.no_grad():
            for name, theirs in self.ours().items():
                theirs.copy_(torch.from_numpy(getattr(params, name)))

    def ours(self) -> dict[str, torch.nn.Parameter]:
        """Their parameters, under our names."""
        theirs = (self.embedding.weight, *self.recurrent, self.linear.weight, self.linear.bias)
        return dict(zip(NAMES, theirs, strict=True))

    def forward(self, inputs: torch.Tensor, h0: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and states."""
        states, _ = self.rnn(self.embedding(inputs), h0[None])
        return self.linear(states), states


def batch(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[RNNParams, np.ndarray, np.ndarray, Any, Any]:
    """Random params, inputs, targets, mask and h0; the first sentence is full, the others are padded."""
    B, T, V, d, H = shape
    inputs, targets = rng.integers(0, V, size=(2, B, T))
    mask = np.arange(T) < np.r_[T, rng.integers(1, T + 1, size=B - 1)][:, None]
    return init_params(rng, V, d, H), inputs, targets, mask, np.tanh(rng.normal(size=(B, H)))


def assert_close(got: Any, expected: Any) -> None:
    """Equal up to the order in which things are added."""
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_loss_and_bptt_equal_pytorch(rnn: Any, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """Logits, states, the loss of what is not padding, and the gradients by all parameters and h0."""
    params, inputs, targets, mask, h0 = batch(rng, shape)
    theirs, their_h0 = Theirs(params), torch.from_numpy(h0).requires_grad_()
    their_logits, their_states = theirs(torch.from_numpy(inputs), their_h0)
    their_targets = torch.from_numpy(np.where(mask, targets, -100))
    expected = torch.nn.functional.cross_entropy(their_logits.flatten(0, 1), their_targets.flatten())
    expected.backward()

    logits, cache = rnn.rnn_forward(inputs, params, h0)
    assert_close(logits, their_logits.detach().numpy())
    assert_close(cache.h[:, 1:], their_states.detach().numpy())
    assert_close(cache.h[:, 0], h0)
    loss, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    gradients = rnn.rnn_backward(dlogits, cache, params)
    for name, parameter in theirs.ours().items():
        assert parameter.grad is not None
        assert_close(getattr(gradients, name), parameter.grad.numpy())
    assert their_h0.grad is not None
    assert_close(gradients.h0, their_h0.grad.numpy())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_step_equals_pytorch(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """A step forwards and backwards is one of nn.RNNCell."""
    params, _, _, _, h_prev = batch(rng, shape)
    x, dh = rng.normal(size=(len(h_prev), params.E.shape[1])), rng.normal(size=h_prev.shape)
    cell = torch.nn.RNNCell(x.shape[1], h_prev.shape[1], dtype=torch.float64)
    torch.nn.init.zeros_(cell.bias_hh)
    with torch.no_grad():
        for theirs, ours in ((cell.weight_ih, params.W_xh), (cell.bias_ih, params.b_h), (cell.weight_hh, params.W_hh)):
            theirs.copy_(torch.from_numpy(ours))
    leaves = [torch.from_numpy(array).requires_grad_() for array in (x, h_prev)]
    expected = cell(*leaves)
    expected.backward(torch.from_numpy(dh))
    h = clear.rnn_step_forward(x, h_prev, params)
    assert_close(h, expected.detach().numpy())
    got = clear.rnn_step_backward(dh, x, h_prev, h, params)
    for name, leaf in zip(
        ("x", "h_prev", "W_xh", "b_h", "W_hh"),
        (*leaves, cell.weight_ih, cell.bias_ih, cell.weight_hh),
        strict=True,
    ):
        assert leaf.grad is not None
        assert_close(getattr(got, name), leaf.grad.numpy())


@pytest.mark.parametrize("length", [1, 3, 7, 40])
def test_bptt_is_the_reverse_sweep_over_the_unrolled_graph(rnn: Any, rng: np.random.Generator, length: int) -> None:
    """The tape, which knows nothing of time, finds the same loss and the same gradients to 1e-12."""
    params, inputs, targets, mask, _ = batch(rng, (1, length, 6, 3, 4))
    tape = Tape()
    leaves = RNNParams(*[tape.leaf(getattr(params, name)) for name in NAMES])
    expected = sentence_loss(leaves, [int(i) for i in inputs[0]], [int(i) for i in targets[0]])
    tape.backward(expected)
    logits, cache = rnn.rnn_forward(inputs, params)
    loss, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
    gradients = rnn.rnn_backward(dlogits, cache, params)
    assert loss == pytest.approx(float(expected.data), rel=1e-12)
    for name in NAMES:
        np.testing.assert_allclose(getattr(gradients, name), getattr(leaves, name).grad, rtol=1e-12, atol=1e-12)


def test_the_lectures_model_has_11640_parameters(rng: np.random.Generator) -> None:
    """Of 56 words, embeddings of 32 and 64 units; its gradients have the same shapes, and h0's is one more."""
    params = init_params(rng)
    assert sum(array.size for array in vars(params).values()) == 11_640
    logits, cache = clear.rnn_forward(rng.integers(0, 56, size=(2, 5)), params)
    gradients = clear.rnn_backward(np.ones_like(logits), cache, params)
    assert {name: getattr(gradients, name).shape for name in NAMES} == {
        name: array.shape for name, array in vars(params).items()
    }
    assert gradients.h0.shape == (2, 64)
    assert [field.name for field in fields(RNNGradients)] == [*NAMES, "h0"]


def test_the_loss_of_logits_far_apart_equals_pytorch(rnn: Any, rng: np.random.Generator) -> None:
    """Logits of any size: a whole batch, one row, or one entry in the thousands or below any float's exponential."""
    _, _, targets, mask, _ = batch(rng, (3, 4, 5, 2, 2))
    for size in (1.0, 30.0, 1e3, 1e6):
        for offset in (0.0, size * rng.choice([-1.0, 0.0, 1.0], size=(3, 4, 1)), -size, size):
            logits = size * rng.choice([-1.0, 1.0, 0.1], size=(3, 4, 5)) + offset
            leaf = torch.from_numpy(logits).requires_grad_()
            their_targets = torch.from_numpy(np.where(mask, targets, -100)).flatten()
            expected = torch.nn.functional.cross_entropy(leaf.flatten(0, 1), their_targets)
            expected.backward()
            before = logits.copy()
            loss, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
            assert np.array_equal(logits, before)
            assert loss == pytest.approx(expected.item(), rel=1e-12, abs=1e-12)
            assert leaf.grad is not None
            assert_close(dlogits, leaf.grad.numpy())


def test_the_docstrings_worked_numbers(rnn: Any) -> None:
    """tanh(1.5), and a loss of log 2 with gradients of -1/6; nothing that counts is a loss of 0."""
    one = np.ones((1, 1))
    params = RNNParams(one, one, np.zeros(1), 0.5 * one, one, np.zeros(1))
    assert clear.rnn_step_forward(one, one, params) == pytest.approx(0.9051, abs=5e-5)
    mask = np.array([[True, True], [True, False]])
    loss, dlogits = rnn.masked_cross_entropy(np.zeros((2, 2, 2)), np.ones((2, 2), dtype=int), mask)
    assert loss == pytest.approx(np.log(2))
    assert_close(dlogits[..., 1], np.where(mask, -1 / 6, 0))
    loss, dlogits = rnn.masked_cross_entropy(np.ones((2, 2, 2)), np.ones((2, 2), dtype=int), mask & False)
    assert loss == 0.0
    assert not dlogits.any()


def test_the_fast_version_keeps_single_precision(rng: np.random.Generator) -> None:
    """Parameters of float32 give logits, states and gradients of float32, close to those of float64."""
    rnn = fast_version()
    params, inputs, targets, mask, h0 = batch(rng, (5, 6, 7, 3, 4))
    single = RNNParams(*[array.astype(np.float32) for array in vars(params).values()])
    results = []
    for net, start in ((params, h0), (single, h0.astype(np.float32))):
        logits, cache = rnn.rnn_forward(inputs, net, start)
        loss, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
        gradients = rnn.rnn_backward(dlogits, cache, net)
        results.append([logits, cache.x, cache.h, np.array(loss), dlogits, *vars(gradients).values()])
    for exact, rounded in zip(*results, strict=True):
        assert rounded.dtype == np.float32 or rounded.shape == ()
        np.testing.assert_allclose(rounded, exact, rtol=0, atol=1e-5)


def error_of_cs231n(got: Any, numeric: Any) -> float:
    """The largest error of an entry, relative to the sum of the sizes of both."""
    return float((np.abs(got - numeric) / np.maximum(1e-8, np.abs(got) + np.abs(numeric))).max())


def table_error_of_cs231n(module: Any, a: Any, rng: np.random.Generator) -> float:
    """That of the gradient by the module's weight."""
    b = module.forward(a)
    g_b = rng.normal(size=b.shape)
    module.backward(a, b, g_b)
    numeric = numerical_gradient(lambda _: np.sum(g_b * (module.forward(a) - b)), module.weight.data, 1e-5)
    return error_of_cs231n(module.weight.grad, numeric)


def test_gradient_errors_are_those_that_cs231n_expects(rng: np.random.Generator) -> None:
    """On the sizes of its third assignment, with its step of 1e-5, errors of the order that it gives.

    That is 1e-8 for a step, 1e-6 for a sequence, 1e-11 for an embedding and 1e-9 for a linear layer. What does not
    change is subtracted before the sum, as CS231n does it: a large loss has fewer digits behind the point.
    """
    W_xh, b_h, W_hh = rng.normal(size=(6, 5)), rng.normal(size=6), rng.normal(size=(6, 6))
    params = RNNParams(np.zeros((2, 5)), W_xh, b_h, W_hh, np.zeros((2, 6)), np.zeros(2))
    x, h_prev, dh = rng.normal(size=(4, 5)), rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    h = clear.rnn_step_forward(x, h_prev, params)
    got = clear.rnn_step_backward(dh, x, h_prev, h, params)
    for name, array in (("x", x), ("h_prev", h_prev), ("W_xh", W_xh), ("b_h", b_h), ("W_hh", W_hh)):
        numeric = numerical_gradient(
            lambda _: np.sum(dh * (clear.rnn_step_forward(x, h_prev, params) - h)), array, 1e-5
        )
        assert error_of_cs231n(getattr(got, name), numeric) < 1e-7, name

    arrays = [rng.normal(size=shape) for shape in ((6, 3), (5, 3), (5,), (5, 5), (4, 5), (4,))]
    params, inputs, h0 = RNNParams(*arrays), rng.integers(0, 6, size=(2, 10)), rng.normal(size=(2, 5))
    logits, cache = clear.rnn_forward(inputs, params, h0)
    dlogits = rng.normal(size=logits.shape)
    gradients = clear.rnn_backward(dlogits, cache, params)
    for name, array in (*zip(NAMES, arrays, strict=True), ("h0", h0)):
        numeric = numerical_gradient(
            lambda _: np.sum(dlogits * (clear.rnn_forward(inputs, params, h0)[0] - logits)), array, 1e-5
        )
        assert error_of_cs231n(getattr(gradients, name), numeric) < 1e-5, name

    ids, rows = rng.integers(0, 5, size=50), rng.normal(size=(10, 6))
    assert table_error_of_cs231n(Embedding(rng.normal(size=(5, 6))), ids, rng) < 1e-10
    assert table_error_of_cs231n(Linear(rng.normal(size=(5, 6)), rng.normal(size=5)), rows, rng) < 1e-8
