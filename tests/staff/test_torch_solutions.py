"""The solved models of lm/torch_lm.py against PyTorch's own modules, the arrays of part 4 and the lectures' counts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from lm import rnn
from lm.torch_lm import BOS_ID, FixedWindowLM, VanillaRNNLM
from lm.torch_tools import grads, load, run_backward
from lm.types import RNNParams
from lm.weights import init_params

# Part 4's names under those of the module.
NAMES = {
    "E.weight": "E",
    "W_xh.weight": "W_xh",
    "W_xh.bias": "b_h",
    "W_hh.weight": "W_hh",
    "W_hy.weight": "W_hy",
    "W_hy.bias": "b_y",
}
SHAPES = [(2, 3, 6, 4, 5), (3, 7, 5, 2, 4), (1, 1, 4, 3, 2), (2, 5, 4, 1, 1), (4, 20, 56, 32, 64)]  # B, T, V, d, H
PRECISIONS = [(torch.float64, 1e-12), (torch.float32, 1e-6)]


@pytest.fixture
def rng() -> np.random.Generator:
    """The same numbers every time."""
    return np.random.default_rng(5)


def count(model: torch.nn.Module, ending: str = "") -> int:
    """How many numbers the parameters with this ending hold together."""
    return sum(parameter.numel() for name, parameter in model.named_parameters() if name.endswith(ending))


def assert_close(got: Any, expected: Any, rtol: float) -> None:
    """Of the same shape, and equal up to ``rtol`` times the largest number."""
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=rtol * max(1.0, float(np.abs(expected).max())))


def copied(params: RNNParams, dtype: torch.dtype = torch.float64) -> VanillaRNNLM:
    """The module with the weights of part 4."""
    V, d = params.E.shape
    model = VanillaRNNLM(V, d, len(params.b_h)).to(dtype)
    load(model, {name: getattr(params, field) for name, field in NAMES.items()})
    return model


# --- VanillaRNNLM


@pytest.mark.parametrize(("dtype", "rtol"), PRECISIONS, ids=["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_module_equals_the_arrays(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, rtol: float) -> None:
    """Logits, states and the gradients of a mean loss, from a state that is not zeros."""
    B, T, V, d, H = shape
    params, inputs, h0 = init_params(rng, V, d, H), rng.integers(0, V, size=(B, T)), np.tanh(rng.normal(size=(B, H)))
    logits, cache = rnn.rnn_forward(inputs, params, h0)
    _, dlogits = rnn.masked_cross_entropy(logits, rng.integers(0, V, size=(B, T)), np.ones((B, T), dtype=bool))
    expected = rnn.rnn_backward(dlogits, cache, params)

    state, by_logits = (torch.from_numpy(array).to(dtype) for array in (h0, dlogits))
    got: Any = run_backward(copied(params, dtype), torch.from_numpy(inputs), state, by_logits)
    assert {array.dtype for array in got.values()} == {np.dtype(str(dtype).removeprefix("torch."))}
    assert_close(got["logits"], logits, rtol)
    assert_close(got["state"], cache.h[:, -1], rtol)
    assert_close(got["state before"], expected.h0, rtol)
    assert set(NAMES.values()) == {field.name for field in fields(RNNParams)}
    for name, field in NAMES.items():
        assert_close(got[name], getattr(expected, field), rtol)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_module_equals_pytorchs_rnn(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    """nn.RNN with the same weights and a second bias of zeros, gradients by both outputs."""
    B, T, V, d, H = shape
    model = copied(init_params(rng, V, d, H))
    theirs: Any = torch.nn.RNN(d, H, batch_first=True, dtype=torch.float64)
    ours = {"weight_ih_l0": model.W_xh.weight, "bias_ih_l0": model.W_xh.bias, "weight_hh_l0": model.W_hh.weight}
    load(theirs, {"bias_hh_l0": np.zeros(H)} | {name: weight.detach().numpy() for name, weight in ours.items()})
    inputs, state = torch.from_numpy(rng.integers(0, V, size=(B, T))), torch.from_numpy(rng.normal(size=(B, H)))
    by_logits, by_state = torch.from_numpy(rng.normal(size=(B, T, V))), torch.from_numpy(rng.normal(size=(B, H)))

    states, last = theirs(model.E(inputs), state[None])
    logits = model.W_hy(states)
    torch.autograd.backward([logits, last], [by_logits, by_state[None]])
    right = grads(model) | {"recurrent": theirs.weight_hh_l0.grad.numpy()}
    got: Any = run_backward(model, inputs, state, by_logits, by_state)
    assert_close(got["logits"], logits.detach().numpy(), 1e-12)
    assert_close(got["state"], last[0].detach().numpy(), 1e-12)
    assert_close(got["W_hh.weight"], right["recurrent"], 1e-12)
    for name in ("E.weight", "W_hy.weight", "W_hy.bias"):
        assert_close(got[name], right[name], 1e-12)


def test_gradients_go_through_two_calls(rng: np.random.Generator) -> None:
    """The state is part of the graph: a text in two calls has the gradients that it has in one."""
    model = copied(init_params(rng, 7, 3, 4))
    inputs, weights = torch.from_numpy(rng.integers(0, 7, size=(2, 6))), torch.from_numpy(rng.normal(size=(2, 6, 7)))
    first, state = model(inputs[:, :2])
    second, after = model(inputs[:, 2:], state)
    (torch.cat([first, second], dim=1) * weights).sum().backward()
    pieces = grads(model)
    whole: Any = run_backward(model, inputs, None, weights)
    assert_close(after.detach().numpy(), whole["state"], 1e-12)
    for name, gradient in pieces.items():
        assert_close(gradient, whole[name], 1e-12)


def test_parameters_of_the_lecture() -> None:
    """V = 56, d = 32, H = 64: 11,640, as ``init_params`` has; large: 104,548,176."""
    assert count(VanillaRNNLM(56, 32, 64)) == 11_640
    with torch.device("meta"):
        assert count(VanillaRNNLM(50_000, 1024, 1024)) == 104_548_176


# --- FixedWindowLM


def test_window_of_one_word_is_a_table() -> None:
    """n = 1, E the identity and large weights: each word has its own row of logits, and the state holds nothing."""
    model = FixedWindowLM(3, 3, 3, 1).double()
    table = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    layers = {"E.weight": np.eye(3), "W_h.weight": 80 * np.eye(3), "W_h.bias": np.full(3, -40.0)}
    load(model, layers | {"W_hy.weight": table.T / 2, "W_hy.bias": table.sum(axis=0) / 2})  # h is 1 once, else -1
    logits, state = model(torch.tensor([[2, 0], [1, 1]]))
    rows = table[np.array([[2, 0], [1, 1]])]
    assert_close(logits.detach().numpy(), rows, 1e-12)
    assert state.shape == (2, 0)


@pytest.mark.parametrize("window", [1, 2, 4])
def test_window_equals_a_loop(rng: np.random.Generator, window: int) -> None:
    """Each prediction is a small net on its own words, which a copy of the layers in Sequential computes."""
    model = FixedWindowLM(6, 3, 5, window).double()
    net = torch.nn.Sequential(model.E, torch.nn.Flatten(), model.W_h, torch.nn.Tanh(), model.W_hy)
    inputs = torch.from_numpy(rng.integers(0, 6, size=(2, 7)))
    logits, state = model(inputs)
    padded = [[BOS_ID] * (window - 1) + row for row in inputs.tolist()]
    for t in range(7):
        words = torch.tensor([row[t : t + window] for row in padded])
        assert_close(logits[:, t].detach().numpy(), net(words).detach().numpy(), 1e-12)
    assert state.tolist() == [row[7:] for row in padded]


def test_window_carries_its_state_over_any_pieces(rng: np.random.Generator) -> None:
    """One word at a time, from the start on, is the text in one call."""
    model = FixedWindowLM(6, 3, 5).double()
    inputs = torch.from_numpy(rng.integers(0, 6, size=(2, 7)))
    whole, last = model(inputs)
    state: Any = None
    parts = []
    for t in range(7):
        logits, state = model(inputs[:, t : t + 1], state)
        parts.append(logits)
    assert_close(torch.cat(parts, dim=1).detach().numpy(), whole.detach().numpy(), 1e-12)
    assert torch.equal(state, last)


def test_window_parameters_of_the_lecture() -> None:
    """V d + 4 d H + H V weights, 3,080,000 of them for 10,000 words, d = 100 and H = 200; H + V biases beside them."""
    with torch.device("meta"):
        model = FixedWindowLM(10_000, 100, 200)
    assert count(model, "weight") == 3_080_000
    assert count(model, "bias") == 10_200
    assert count(FixedWindowLM(56, 32, 64)) == 13_568 + 120


# --- the tools


def test_start_of_a_text_is_the_vocabularys() -> None:
    """What fills the window is <s>, id 1, not the padding."""
    assert BOS_ID == 1


def test_load_refuses_what_does_not_fit() -> None:
    """An unknown name and a wrong shape are one line each, and nothing is broadcast."""
    model = FixedWindowLM(6, 3, 5)
    with pytest.raises(ValueError, match=r"the model has no parameter W_o\.weight, it has E\.weight, W_h\.weight"):
        load(model, {"W_o.weight": np.ones((6, 5))})
    with pytest.raises(ValueError, match=r"W_h\.bias has the shape \(5,\), the array \(1,\)"):
        load(model, {"W_h.bias": np.ones(1)})


def test_load_copies() -> None:
    """In the parameter's own type, and later changes of the array do not reach it."""
    model, bias = FixedWindowLM(6, 3, 5), np.arange(5.0)
    load(model, {"W_h.bias": bias})
    bias[:] = 9
    assert model.W_h.bias.dtype == torch.float32
    assert model.W_h.bias.tolist() == [0, 1, 2, 3, 4]


class Detached(VanillaRNNLM):
    """Returns numbers that lead nowhere."""

    def forward(self, inputs: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        logits, state = super().forward(inputs, state)
        return logits, state.detach()


def test_run_backward_says_what_leads_nowhere() -> None:
    """A detached state is one line; what no gradient reaches is None; old gradients do not count."""
    model, inputs = Detached(3, 2, 2), torch.tensor([[1, 2]])
    with pytest.raises(RuntimeError, match="the state that the model returned does not lead back"):
        run_backward(model, inputs, by_state=torch.ones(1, 2))
    first = run_backward(model, inputs, by_logits=torch.ones(1, 2, 3))
    second = run_backward(model, inputs, torch.zeros(1, 2), by_logits=torch.ones(1, 2, 3))
    for name in NAMES:
        np.testing.assert_array_equal(first[name], second[name])  # type: ignore[arg-type]
    assert "state before" not in first
    assert run_backward(model, inputs)["W_hy.bias"] is None
