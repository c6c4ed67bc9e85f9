"""The solved LSTM against PyTorch's own and central differences; torch stays in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOLUTIONS = Path(__file__).parents[2] / "solutions"

PROGRAM = """
import json
import sys

sys.path.insert(0, sys.argv[1])

import torch
from lm.lstm import LSTMLM, lstm_cell
from lm.torch_lm import train_chunks
from lm.torch_tools import map_state
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
results = {}


def largest(pairs):
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


# nn.LSTM with the same weights: its two biases are b and 0
for layers in (1, 3):
    model = LSTMLM(9, 4, 5, layers)
    other = nn.LSTM(4, 5, layers, batch_first=True)
    pairs = []
    for n in range(layers):
        mine = (model.W_xh[n], model.W_hh[n], model.b[n])
        theirs = [getattr(other, f"{name}_l{n}") for name in ("weight_ih", "weight_hh", "bias_ih")]
        with torch.no_grad():
            for parameter, value in zip(theirs, mine):
                value += 0.3 * torch.randn_like(value)
                parameter.copy_(value)
            getattr(other, f"bias_hh_l{n}").zero_()
        pairs += zip(mine, theirs)
    ids = torch.randint(0, 9, (3, 11))
    state = (torch.randn(layers, 3, 5), torch.randn(layers, 3, 5))
    logits, (h, c) = model(ids, state)
    out, (their_h, their_c) = other(model.E(ids), state)
    values = [(logits, model.W_hy(out)), (h, their_h), (c, their_c)]
    results[f"values {layers}"] = largest(values)
    weights = [torch.randn_like(a) for a, _ in values]
    for side in (0, 1):
        sum((value[side] * weight).sum() for value, weight in zip(values, weights)).backward()
    results[f"gradients {layers}"] = largest((a.grad, b.grad) for a, b in pairs)
    results[f"sizes {layers}"] = [float(pairs[0][0].grad.abs().max()), float(logits.detach().abs().max())]

# the cell: torch's, one bias split in two, and central differences
x, h, c = torch.randn(3, 4), torch.randn(3, 5), torch.randn(3, 5)
W_xh, W_hh, b = torch.randn(20, 4), torch.randn(20, 5), torch.randn(20)
part = torch.randn(20)
theirs = torch.lstm_cell(x, (h, c), W_xh, W_hh, part, b - part)
results["cell"] = largest(zip(lstm_cell(x, h, c, W_xh, W_hh, b), theirs))
arguments = [a.requires_grad_() for a in (x, h, c, W_xh, W_hh, b)]
results["differences"] = torch.autograd.gradcheck(lstm_cell, arguments)

# how it starts: gates that forget little
model = LSTMLM(9, 4, 5, 2)
results["biases"] = [bias.tolist() for bias in model.b]
results["bound"] = [max(float(w.detach().abs().max()) for w in (*model.W_xh, *model.W_hh)), 5**-0.5]
results["parameters"] = sum(p.numel() for p in model.parameters())

# what is left of the gradient by a cell 100 steps later
for bias in (0.0, 1.0, 5.0):
    b = torch.cat([torch.zeros(1), torch.full((1,), bias), torch.zeros(2)])
    first = cell = torch.zeros(1, 1, requires_grad=True)
    for _ in range(100):
        _, cell = lstm_cell(torch.zeros(1, 1), torch.zeros(1, 1), cell, torch.zeros(4, 1), torch.zeros(4, 1), b)
    cell.backward()
    results[f"left {bias:g}"] = float(first.grad)

# train_chunks carries its state, and nothing of the graph
torch.set_default_dtype(torch.float32)
model = LSTMLM(5, 8, 16, 2)
stream = torch.arange(241).remainder(3).expand(2, -1) + torch.tensor([[0], [1]])
losses = []
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(6):
    losses += train_chunks(model, optimiser, stream[:, :-1], stream[:, 1:], 20, 1.0)
results["losses"] = [losses[0], losses[-1]]
state = map_state(torch.Tensor.detach, model(stream[:, :7])[1])
results["state"] = [[list(part.shape), part.requires_grad] for part in state]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """What the program prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(SOLUTIONS)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("layers", [1, 3], ids=["one-layer", "three-layers"])
def test_model_equals_torchs_own(results: dict[str, Any], layers: int) -> None:
    """Logits, states and gradients of nn.LSTM with the same weights, from a random state, to rounding."""
    assert results[f"values {layers}"] < 1e-12
    assert results[f"gradients {layers}"] < 1e-12
    assert min(results[f"sizes {layers}"]) > 0.1  # there was something to compare


def test_one_bias_is_the_sum_of_two(results: dict[str, Any]) -> None:
    """The cell equals torch's when its two biases add up to ours."""
    assert results["cell"] < 1e-12


def test_cell_passes_the_gradient_check(results: dict[str, Any]) -> None:
    """By all six arguments, through both results."""
    assert results["differences"] is True


def test_cells_start_out_remembering(results: dict[str, Any]) -> None:
    """The biases of the forget gates are 1, all others 0; weights are within 1/sqrt(H); nothing is left out."""
    assert results["biases"] == [[0.0] * 5 + [1.0] * 5 + [0.0] * 10] * 2
    most, bound = results["bound"]
    assert 0.9 * bound < most <= bound
    assert results["parameters"] == 9 * 4 + 20 * (4 + 5 + 1) + 20 * (5 + 5 + 1) + 5 * 9 + 9


@pytest.mark.parametrize(
    ("bias", "expected"),
    [("0", 0.5**100), ("1", 0.7310585786300049**100), ("5", 0.9933071490757153**100)],
    ids=["no-bias", "bias-one", "bias-five"],
)
def test_gradient_of_a_cell_is_a_power_of_the_forget_gate(results: dict[str, Any], bias: str, expected: float) -> None:
    """After 100 steps: 7.9e-31, 2.5e-14, 0.51, as the writeup says."""
    assert results[f"left {bias}"] == pytest.approx(expected, rel=1e-9)


def test_model_learns_chunk_by_chunk(results: dict[str, Any]) -> None:
    """It trains with the given loop, whose state is a pair of tensors, and learns a text that repeats itself."""
    first, last = results["losses"]
    assert first > 1.3
    assert last < 0.3
    assert results["state"] == [[[2, 2, 16], False]] * 2
