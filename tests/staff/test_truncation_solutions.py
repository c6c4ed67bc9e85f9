"""Truncated backpropagation, gradients through time and clipping as solved, against PyTorch in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from lm import rnn
from lm.optim import clip_by_global_norm
from lm.types import RNNParams

NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")


def assert_close(got: Any, expected: Any) -> None:
    """Equal up to the order in which things are added."""
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-13)


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(5)


def parameters(rng: np.random.Generator, words: int = 7, embedding: int = 3, hidden: int = 5) -> RNNParams:
    """Random parameters."""
    shapes = ((words, embedding), (hidden, embedding), (hidden,), (hidden, hidden), (words, hidden), (words,))
    return RNNParams(*(0.6 * rng.normal(size=shape) for shape in shapes))


def batch(rng: np.random.Generator, steps: int, padded: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three sentences: inputs, targets, mask."""
    ids = rng.integers(0, 7, size=(3, steps + 1))
    lengths = np.array([steps, max(steps // 2, 1), 1]) if padded else np.full(3, steps)
    return ids[:, :-1], ids[:, 1:], np.arange(steps) < lengths[:, None]


def leaves(params: RNNParams) -> dict[str, Any]:
    """The parameters as leaves of PyTorch, in double precision."""
    return {name: torch.tensor(getattr(params, name), requires_grad=True) for name in NAMES}


def read(p: dict[str, Any], ids: Any, h: Any) -> tuple[Any, list[Any]]:
    """PyTorch's own pass: logits (B, T, V) and the states after each word."""
    states = []
    for t in range(ids.shape[1]):
        h = torch.tanh(p["E"][ids[:, t]] @ p["W_xh"].T + h @ p["W_hh"].T + p["b_h"])
        states.append(h)
    return torch.stack(states, dim=1) @ p["W_hy"].T + p["b_y"], states


def chunks_of_pytorch(
    inputs: np.ndarray, targets: np.ndarray, mask: np.ndarray, params: RNNParams, k: int, h0: np.ndarray
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Truncated backpropagation as PyTorch's users write it: ``detach`` between the chunks."""
    h = torch.tensor(h0)
    for start in range(0, inputs.shape[1], k):
        p = leaves(params)  # what the caller has made of the arrays since
        first: Any = h.detach().requires_grad_()
        ids = torch.as_tensor(inputs[:, start : start + k])
        logits, states = read(p, ids, first)
        counted = torch.as_tensor(mask[:, start : start + k])
        right = torch.as_tensor(targets[:, start : start + k])
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), right, reduction="none")
        loss = (losses * counted).sum() / counted.sum().clamp(min=1)
        loss.backward()
        h = states[-1]
        p["h0"] = first
        yield loss.item(), {name: leaf.grad.numpy() for name, leaf in p.items()}


@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize(("steps", "k"), [(7, 3), (6, 2), (4, 1), (5, 5), (1, 4)], ids=str)
def test_tbptt_equals_pytorch_with_detach(rng: np.random.Generator, steps: int, k: int, padded: bool) -> None:
    """Losses and all gradients of all chunks, while the parameters are updated in place after each."""
    params, words = parameters(rng), batch(rng, steps, padded)
    h0 = np.tanh(rng.normal(size=(3, 5)))
    count = 0
    mine = rnn.tbptt(*words, params, k, h0)
    theirs = chunks_of_pytorch(*words, params, k, h0)
    for (loss, gradients), (expected, right) in zip(mine, theirs, strict=True):
        assert_close(loss, expected)
        for name, gradient in right.items():
            assert_close(getattr(gradients, name), gradient)
        for name in NAMES:
            array = getattr(params, name)
            array -= 0.5 * getattr(gradients, name)
        count += 1
    assert count == math.ceil(steps / k)


@pytest.mark.parametrize("k", [5, 6, 100])
def test_tbptt_of_one_chunk_equals_full_bptt(rng: np.random.Generator, k: int) -> None:
    """With k of T or more nothing is truncated: one chunk, to the last bit what the whole sequence gives."""
    params, (inputs, targets, mask) = parameters(rng), batch(rng, 5)
    logits, cache = rnn.rnn_forward(inputs, params)
    loss, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
    expected = rnn.rnn_backward(dlogits, cache, params)
    ((got, gradients),) = rnn.tbptt(inputs, targets, mask, params, k)
    assert got == loss
    for name in (*NAMES, "h0"):
        np.testing.assert_array_equal(getattr(gradients, name), getattr(expected, name))


def test_tbptt_truncates(rng: np.random.Generator) -> None:
    """The mean of the chunks' losses is that of the whole; their mean gradient by W_hh is another one."""
    params, words = parameters(rng), batch(rng, 8)
    ((whole, full),) = rnn.tbptt(*words, params, 8)
    losses, gradients = zip(*rnn.tbptt(*words, params, 2), strict=True)
    assert_close(np.mean(losses), whole)
    truncated = np.mean([g.W_hh for g in gradients], axis=0)
    assert np.abs(truncated - full.W_hh).max() > 1e-3
    assert_close(np.mean([g.W_hy for g in gradients], axis=0), full.W_hy)  # nothing of it comes from far away


@pytest.mark.parametrize("steps", [1, 3, 9])
def test_gradient_norms_equal_pytorch(rng: np.random.Generator, steps: int) -> None:
    """The norms of the gradients by all states."""
    params, target = parameters(rng), np.array([4, 0, 6])
    inputs = rng.integers(0, 7, size=(3, steps))
    logits, states = read(leaves(params), torch.as_tensor(inputs), torch.zeros(3, 5, dtype=torch.float64))
    logp = torch.log_softmax(logits[:, -1], dim=-1)[torch.arange(3), torch.as_tensor(target)].sum()
    gradients = torch.autograd.grad(logp, states)
    expected = torch.stack([g.norm(dim=-1) for g in reversed(gradients)], dim=1)
    assert_close(rnn.gradient_norms(inputs, target, params), expected.numpy())


@pytest.mark.parametrize("rho", [0.9, 1.0, 1.1])
def test_gradient_norms_through_an_orthogonal_matrix(rng: np.random.Generator, rho: float) -> None:
    """With states of 0 exactly rho^d is left: 0.9^50 = 0.0051538, 1.1^50 = 117.39."""
    params = parameters(rng)
    params.E[:], params.b_h[:] = 0.0, 0.0
    params.W_hh[:] = rho * np.linalg.qr(params.W_hh)[0]
    norms = rnn.gradient_norms(np.zeros((1, 51), dtype=int), np.array([3]), params)[0]
    assert_close(norms / norms[0], rho ** np.arange(51.0))
    np.testing.assert_allclose(norms[50] / norms[0], {0.9: 0.0051538, 1.0: 1.0, 1.1: 117.39}[rho], rtol=1e-5)
    assert_close(rnn.spectral_radius(params.W_hh), rho)


def test_spectral_radius(rng: np.random.Generator) -> None:
    """As PyTorch finds it; for the docstring's example 2."""
    assert_close(rnn.spectral_radius(np.array([[0.0, 2.0], [-2.0, 0.0]])), 2.0)
    for size in (1, 2, 5, 30):
        W = rng.normal(size=(size, size))
        assert_close(rnn.spectral_radius(W), torch.linalg.eigvals(torch.tensor(W)).abs().max().item())


# --- clipping


def with_gradients(arrays: list[np.ndarray]) -> list[Any]:
    """PyTorch parameters with copies of these arrays for gradients."""
    parameters = [torch.nn.Parameter(torch.zeros(array.shape, dtype=torch.float64)) for array in arrays]
    for parameter, array in zip(parameters, arrays, strict=True):
        parameter.grad = torch.tensor(array)
    return parameters


@pytest.mark.parametrize("max_norm", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("size", [0.1, 1.0, 1e5])
def test_clipping_equals_pytorch_up_to_its_millionth(rng: np.random.Generator, size: float, max_norm: float) -> None:
    """PyTorch multiplies by max_norm / (norm + 1e-6): a relative difference of 1e-6 / norm, and no more."""
    arrays = [size * rng.normal(size=shape) for shape in ((4, 3), (5,), (2, 2))]
    theirs = with_gradients(arrays)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm).item()
    norm = clip_by_global_norm(arrays, max_norm)
    assert isinstance(norm, float)
    np.testing.assert_allclose(norm, expected, rtol=1e-14)
    for array, parameter in zip(arrays, theirs, strict=True):
        assert parameter.grad is not None
        exact = parameter.grad.numpy() * (norm + 1e-6) / norm if norm > max_norm else parameter.grad.numpy()
        np.testing.assert_allclose(array, exact, rtol=1e-13)


def test_clipping_example() -> None:
    """[3, 4] and [12] have the norm 13; exactly at the limit no bit changes."""
    first, second = np.array([3.0, 4.0]), np.array([12.0])
    assert clip_by_global_norm([first, second], 13.0) == 13.0
    assert (first.tolist(), second.tolist()) == ([3.0, 4.0], [12.0])
    assert clip_by_global_norm(iter([first, None, second]), 1.0) == 13.0
    np.testing.assert_allclose([*first, *second], np.array([3, 4, 12]) / 13, rtol=1e-15)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_clipping_of_the_largest_and_the_smallest(size: float) -> None:
    """Neither the squares of very large nor those of very small entries are lost."""
    array = np.array([size, 0.0])
    assert clip_by_global_norm([array], math.inf) == size
    clip_by_global_norm([array], size / 2)
    np.testing.assert_allclose(array[0], size / 2, rtol=1e-15)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_clipping_says_when_the_norm_is_lost(bad: float) -> None:
    """With an infinite or NaN norm nothing changes."""
    arrays = [np.array([1e300, -1.0]), np.array([bad, 1.0]), np.array([2.0])]
    before = [array.copy() for array in arrays]
    assert not math.isfinite(clip_by_global_norm(arrays, 1.0))
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
