"""Hidden tests of lm/lstm.py: steps and gradients against the equations in numpy, and the model around the cell."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

SHAPES = [(3, 4, 5), (1, 6, 2), (4, 1, 3), (2, 3, 1)]  # (B, d, H)
NAMES = ("x", "h", "c", "W_xh", "W_hh", "b")


def sigmoid(a):
    """1 / (1 + e^-a), for any a."""
    return 0.5 + np.tanh(a / 2) / 2


def arguments(rng, B, d, H, spread=1.0):
    """Random x, h, c, W_xh, W_hh and b."""
    shapes = ((B, d), (B, H), (B, H), (4 * H, d), (4 * H, H), (4 * H,))
    return [spread * rng.normal(size=shape) for shape in shapes]


def gates(x, h, W_xh, W_hh, b):
    """i, f, g and o."""
    i, f, g, o = np.split(x @ W_xh.T + h @ W_hh.T + b, 4, axis=1)
    return sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)


def cell(x, h, c, W_xh, W_hh, b):
    """One step."""
    i, f, g, o = gates(x, h, W_xh, W_hh, b)
    c = f * c + i * g
    return o * np.tanh(c), c


def gradients(arrays, dh, dc):
    """The gradients of sum(dh * h') + sum(dc * c') by the arguments."""
    x, h, c, W_xh, W_hh, b = arrays
    i, f, g, o = gates(x, h, W_xh, W_hh, b)
    tanh_c = np.tanh(f * c + i * g)
    dc = dc + dh * o * (1 - tanh_c**2)
    parts = (dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g**2), dh * tanh_c * o * (1 - o))
    da = np.concatenate(parts, axis=1)
    return da @ W_xh, da @ W_hh, dc * f, da.T @ x, da.T @ h, da.sum(axis=0)


def step(student, check, arrays):
    """(h, c) of the student's step."""
    got = student.lstm.lstm_cell(*map(student.tensor, arrays))
    return check.unpack(got, 2, "(h, c)")


@item("lstm_cell")
@weight(3)
@pytest.mark.parametrize(("B", "d", "H"), SHAPES, ids=["plain", "one-row", "one-input", "one-cell"])
def test_one_step(student, rng, check, B, d, H):
    """The hidden states and the cells after one step, for random weights and any sizes."""
    arrays = arguments(rng, B, d, H)
    h, c = cell(*arrays)
    got_h, got_c = step(student, check, arrays)
    check.close(got_c, c, "the cells", rtol=1e-12)
    check.close(got_h, h, "the hidden states", rtol=1e-12)


@item("lstm_cell")
@weight(3)
@pytest.mark.parametrize("through", ["h", "c", "both"], ids=["by-h", "by-c", "by-both"])
def test_gradients_of_one_step(student, rng, check, through):
    """Gradients flow from the new hidden state and from the new cell to every argument."""
    arrays = arguments(rng, 3, 4, 5)
    dh, dc = rng.normal(size=(3, 5)) * (through != "c"), rng.normal(size=(3, 5)) * (through != "h")
    tensors = tuple(map(student.tensor, arrays))
    upstream = (student.tensor(dh), student.tensor(dc))
    got = student.torch.autograd.functional.vjp(student.lstm.lstm_cell, tensors, upstream)
    _, got = check.unpack(got, 2, "values and gradients")
    got = check.unpack(got, 6, "the gradients")
    for name, mine, right in zip(NAMES, got, gradients(arrays, dh, dc), strict=True):
        check.close(mine, right, f"the gradient by {name}", rtol=1e-11)


@item("lstm_cell")
@weight(2)
def test_each_gate_does_its_work(student, rng, check):
    """A gate that is shut lets nothing through, one that is open everything, at biases of +-1000 too."""
    x, h, c, W_xh, W_hh, _ = arguments(rng, 2, 3, 4, spread=0.5)
    for i, f, g, o in ((0, 1, 1, 1), (1, 0, 1, 1), (1, 1, -1, 1), (1, 1, 1, 0), (0, 1, -1, 0), (0, 0, 1, 1)):
        size = 1000.0
        b = np.repeat([size * (2 * i - 1), size * (2 * f - 1), size * g, size * (2 * o - 1)], 4)
        got_h, got_c = step(student, check, [x, h, c, W_xh, W_hh, b])
        expected = f * c + i * g
        check.close(got_c, expected, "the cells", rtol=1e-12)
        check.close(got_h, o * np.tanh(expected), "the hidden states", rtol=1e-12)


@item("lstm_cell")
def test_arguments_and_types_stay(student, rng, check):
    """The arguments are afterwards what they were; float32 in gives float32 out."""
    arrays = [array.astype(np.float32) for array in arguments(rng, 2, 3, 4)]
    tensors = [student.tensor(array) for array in arrays]
    got_h, got_c = check.unpack(student.lstm.lstm_cell(*tensors), 2, "(h, c)")
    h, c = cell(*(array.astype(float) for array in arrays))
    for got, right, what in ((got_h, h, "the hidden states"), (got_c, c, "the cells")):
        got = check.array(got, what)
        check.that(got.dtype == np.float32, f"{what} of float32 arguments are not float32")
        check.close(got.astype(float), right, what, rtol=1e-5)
    for tensor, array, name in zip(tensors, arrays, NAMES, strict=True):
        check.close(student.get(tensor), array, f"{name} afterwards", rtol=0, atol=0)


@item("lstm_cell")
@weight(2)
@pytest.mark.parametrize("layers", [1, 3], ids=["one-layer", "three-layers"])
def test_model_around_the_cell(student, rng, check, layers):
    """LSTMLM with your cell: logits and states over many words, also when a text is read in two halves."""
    B, T, H = 2, 14, 4
    model = student.lstm.LSTMLM(6, 3, H, layers).double()
    E, W_y, b_y = (check.array(part, "weights") for part in (model.E.weight, model.W_hy.weight, model.W_hy.bias))
    ids = rng.integers(0, 6, size=(B, T))
    x, h_last, c_last = E[ids], [], []
    for layer in range(layers):
        weights = [check.array(part[layer], "weights") for part in (model.W_xh, model.W_hh, model.b)]
        h, c, states = np.zeros((B, H)), np.zeros((B, H)), []
        for t in range(T):
            h, c = cell(x[:, t], h, c, *weights)
            states.append(h)
        x = np.stack(states, axis=1)
        h_last.append(h)
        c_last.append(c)
    state, logits = None, []
    for half in (ids[:, :5], ids[:, 5:]):
        part, state = check.unpack(model(student.tensor(half), state), 2, "(logits, state)")
        state = tuple(map(student.tensor, check.unpack(state, 2, "(h, c)")))
        logits.append(part)
    check.close(np.concatenate(logits, axis=1), x @ W_y.T + b_y, "the logits", rtol=1e-11)
    for got, right, what in zip(state, (h_last, c_last), ("the hidden states", "the cells"), strict=True):
        check.close(student.get(got), np.stack(right), f"{what} at the end", rtol=1e-11)
