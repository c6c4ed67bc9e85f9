"""One batch of the RNN language model, forward and backward: our two versions beside PyTorch.

    python -m benchmarks.rnn [small|big]

Random ids, fresh gradients each time, no optimiser, float32 and float64. Contestants:

- clear: ``lm/rnn.py`` as in solutions/.
- fast: the same functions with three alternatives, which lay time first and work in place.
- nn.RNN, and a loop over ``nn.Linear`` as in the lectures: embedding, states, output layer, cross-entropy, backward.
- bare products: the matrix products alone, into buffers that are there.

The gradients are compared with those of nn.RNN first. Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.side_by_side import Goal, packages, protocol, race, report

FAST = ("rnn-forward-all-steps", "masked-loss-in-place", "bptt-all-steps")
NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


@dataclass(frozen=True)
class Size:
    """Words, embedding, state, sentences a batch, steps; and the goals against nn.RNN and the bare products."""

    V: int
    d: int
    H: int
    B: int
    T: int
    clear: float
    fast: float
    products: float


SIZES = {
    "small": Size(V=56, d=32, H=64, B=64, T=20, clear=1.0, fast=0.45, products=1.65),
    "big": Size(V=10_000, d=200, H=200, B=20, T=35, clear=1.1, fast=0.50, products=1.20),
}

Run = Callable[[], list[np.ndarray]]  # forward and backward; the gradients in the order of NAMES


def parameters(size: Size, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = (size.V, size.d), (size.H, size.d), (size.H,), (size.H, size.H), (size.V, size.H), (size.V,)
    return [(0.1 * rng.normal(size=shape)).astype(dtype) for shape in shapes]


def numpy_version(package: ModuleType, arrays: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray) -> Run:
    rnn = importlib.import_module(".rnn", package.__name__)
    params = importlib.import_module(".types", package.__name__).RNNParams(*arrays)
    mask = np.ones(inputs.shape, dtype=bool)

    def run() -> list[np.ndarray]:
        logits, cache = rnn.rnn_forward(inputs, params)
        _, dlogits = rnn.masked_cross_entropy(logits, targets, mask)
        gradients = rnn.rnn_backward(dlogits, cache, params)
        return [getattr(gradients, name) for name in NAMES]

    return run


def pytorch(arrays: list[np.ndarray], inputs: np.ndarray, targets: np.ndarray, loop: bool) -> Run:
    import torch
    from torch import nn

    torch.set_num_threads(1)
    E, W_xh, b_h, W_hh, W_hy, b_y = (torch.tensor(array) for array in arrays)
    words, answers = torch.tensor(inputs), torch.tensor(targets).reshape(-1)
    embedding = nn.Embedding.from_pretrained(E.clone(), freeze=False)
    cell = nn.RNN(E.shape[1], len(b_h), batch_first=True, dtype=E.dtype)
    out = nn.Linear(len(b_h), len(b_y), dtype=E.dtype)
    with torch.no_grad():
        cell.bias_hh_l0.zero_()
        for ours, theirs in (
            (W_xh, cell.weight_ih_l0),
            (b_h, cell.bias_ih_l0),
            (W_hh, cell.weight_hh_l0),
            (W_hy, out.weight),
            (b_y, out.bias),
        ):
            theirs.copy_(ours)
    cell.bias_hh_l0.requires_grad_(False)
    trained = [embedding.weight, cell.weight_ih_l0, cell.bias_ih_l0, cell.weight_hh_l0, out.weight, out.bias]

    def states() -> Any:
        x = embedding(words)
        if not loop:
            return cell(x)[0]
        h = torch.zeros(len(words), len(b_h), dtype=E.dtype)
        steps = []
        for t in range(words.shape[1]):
            from_x = nn.functional.linear(x[:, t], cell.weight_ih_l0, cell.bias_ih_l0)
            h = torch.tanh(from_x + nn.functional.linear(h, cell.weight_hh_l0))
            steps.append(h)
        return torch.stack(steps, dim=1)

    def run() -> list[np.ndarray]:
        for parameter in trained:
            parameter.grad = None
        logits = out(states())
        nn.functional.cross_entropy(logits.reshape(len(answers), -1), answers).backward()
        return [parameter.grad.numpy() for parameter in trained]

    return run


def bare_products(size: Size, dtype: str) -> Run:
    """What no version can do without, and nothing else."""
    rng = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(dtype)

    N = size.T * size.B
    x, h, g, a = array(N, size.d), array(N, size.H), array(N, size.V), array(N, size.H)
    W_xh, W_hh, W_hy, step = array(size.H, size.d), array(size.H, size.H), array(size.V, size.H), array(size.B, size.H)
    pairs = [(x, W_xh.T), (h, W_hy.T), (g, W_hy), (g.T, h), (a.T, h), (a.T, x), (a, W_xh)]
    pairs += [(step, W_hh.T.copy()), (step, W_hh)] * size.T
    work = [(left, right, np.empty((len(left), right.shape[1]), dtype)) for left, right in pairs]

    def run() -> list[np.ndarray]:
        for left, right, result in work:
            np.matmul(left, right, out=result)
        return []

    return run


def main(arguments: Sequence[str] | None = None) -> int:
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rnn", description=about)
    parser.add_argument("size", nargs="?", choices=SIZES, help="default: both")
    chosen = parser.parse_args(arguments).size
    code = 0
    with packages([], FAST) as (clear, fast):
        for name in [chosen] if chosen else SIZES:
            for dtype in ("float32", "float64"):
                code |= race_of(name, SIZES[name], dtype, clear, fast)
    return code


def race_of(name: str, size: Size, dtype: str, clear: ModuleType, fast: ModuleType) -> int:
    rng = np.random.default_rng(1)
    inputs, targets = rng.integers(0, size.V, (2, size.B, size.T))
    arrays = parameters(size, dtype)
    contestants = {
        "nn.RNN": pytorch(arrays, inputs, targets, loop=False),
        "PyTorch loop": pytorch(arrays, inputs, targets, loop=True),
        "clear": numpy_version(clear, arrays, inputs, targets),
        "fast": numpy_version(fast, arrays, inputs, targets),
    }
    expected = [gradient.copy() for gradient in contestants["nn.RNN"]()]
    for contestant, run in contestants.items():
        for parameter, got, want in zip(NAMES, run(), expected, strict=True):
            if got.dtype != dtype or not np.abs(got - want).max() <= TOLERANCE[dtype] * np.abs(want).max():
                raise SystemExit(f"{contestant}: the gradient of {parameter} is another one")
    contestants["bare products"] = bare_products(size, dtype)
    goals = (
        Goal("clear", "nn.RNN", size.clear),
        Goal("fast", "nn.RNN", size.fast),
        Goal("fast", "bare products", size.products),
    )
    title = f"{name}, {dtype}: V = {size.V}, d = {size.d}, H = {size.H}, B = {size.B}, T = {size.T}"
    return report(title, race(contestants), "nn.RNN", goals, "µs")


if __name__ == "__main__":
    protocol("benchmarks.rnn")
    sys.exit(main())
