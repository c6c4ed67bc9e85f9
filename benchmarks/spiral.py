"""A small net on three spiral arms, one sample at a time: our tapes beside PyTorch and its peers.

    python -m benchmarks.spiral [--epochs 100]

Three arms of 100 points, (x, y, 1) -> 32 sigmoids -> 3 logits with biases -> softmax cross-entropy, float64, plain SGD;
a step is forward, backward and update. With ``--epochs`` whole trainings are timed too, with their losses. Contestants
are those of ``tape_sentence``; the gradients of one step are compared with PyTorch's first. Exit code 1 when a goal is
missed.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.side_by_side import Goal, packages, protocol, race, report

ARMS, POINTS, HIDDEN, RATE = 3, 100, 32, 0.1
STEPS = 100  # in one call
GOALS = (Goal("reference", "PyTorch eager", 0.35), Goal("deferred", "PyTorch eager", 0.28))

Arrays = list[np.ndarray]
Train = Callable[[Sequence[int]], float]  # SGD on these samples, in this order; the sum of their losses


class Net:
    """A contestant: ``train`` and what it trains, three arrays W (HIDDEN, 3), U (ARMS, HIDDEN), c (ARMS,)."""

    def __init__(self, train: Train, parameters: Callable[[], Arrays]) -> None:
        self.train, self.parameters = train, parameters


def spiral(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(points, arms): (N, 3) with a last column of ones, (N,)."""
    arms = np.repeat(np.arange(ARMS), POINTS)
    radius = np.tile(np.linspace(0.1, 1, POINTS), ARMS)
    angle = 2 * np.pi * (arms / ARMS + 0.58 * radius) + 0.1 * rng.normal(size=arms.size)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(arms.size)], axis=1), arms


def pytorch(arrays: Arrays, points: np.ndarray, arms: np.ndarray) -> Net:
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    W, U, c = leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    xs, ys = list(torch.tensor(points)), [torch.tensor([arm]) for arm in arms.tolist()]

    def train(order: Sequence[int]) -> float:
        total = 0.0
        for i in order:
            loss = cross_entropy((U @ torch.sigmoid(W @ xs[i]) + c)[None], ys[i])
            loss.backward()
            with torch.no_grad():
                for leaf in leaves:
                    leaf -= RATE * leaf.grad
                    leaf.grad = None
            total += loss.detach().item()
        return total

    return Net(train, lambda: [leaf.detach().numpy() for leaf in leaves])


def taped(package: ModuleType, arrays: Arrays, points: np.ndarray, arms: np.ndarray) -> Net:
    module = importlib.import_module(".tape", package.__name__)
    tape = module.Tape()
    W, U, c = leaves = [tape.leaf(array.copy()) for array in arrays]
    xs, ys = list(points), arms.tolist()
    sigmoid, loss_of = module.sigmoid, module.softmax_cross_entropy

    def train(order: Sequence[int]) -> float:
        total = 0.0
        for i in order:
            loss = loss_of(U @ sigmoid(W @ xs[i]) + c, ys[i])
            tape.backward(loss)
            for leaf in leaves:
                leaf.data -= RATE * leaf.grad
                leaf.grad[...] = 0
            total += loss.data
        return total

    return Net(train, lambda: [leaf.data for leaf in leaves])


def straight_line(arrays: Arrays, points: np.ndarray, arms: np.ndarray) -> Net:
    """The numpy calls of the reference without a tape."""
    W, U, c = parameters = [array.copy() for array in arrays]
    xs, ys = list(points), arms.tolist()

    def train(order: Sequence[int]) -> float:
        total = 0.0
        for i in order:
            x, target = xs[i], ys[i]
            z = 0.5 + 0.5 * np.tanh(0.5 * W.dot(x))
            logits = U.dot(z) + c
            shifted = logits - logits.max()
            p = np.exp(shifted)
            norm = p.sum()
            p /= norm
            total += np.log(norm) - shifted[target]
            p[target] -= 1.0
            g = p.dot(U)
            g = g * z * (1 - z)
            for parameter, grad in ((c, p), (U, p[:, None].dot(z[None])), (W, g[:, None].dot(x[None]))):
                parameter -= RATE * grad
        return total

    return Net(train, lambda: parameters)


def hips(arrays: Arrays, points: np.ndarray, arms: np.ndarray) -> Net:
    import autograd
    import autograd.numpy as anp

    def loss(leaves: Arrays, x: np.ndarray, target: int) -> Any:
        W, U, c = leaves
        logits = anp.dot(U, 1 / (1 + anp.exp(-anp.dot(W, x)))) + c
        shifted = logits - anp.max(logits)
        return anp.log(anp.sum(anp.exp(shifted))) - shifted[target]

    gradient = autograd.value_and_grad(loss)
    parameters = [array.copy() for array in arrays]
    xs, ys = list(points), arms.tolist()

    def train(order: Sequence[int]) -> float:
        total = 0.0
        for i in order:
            value, grads = gradient(parameters, xs[i], ys[i])
            for parameter, grad in zip(parameters, grads, strict=True):
                parameter -= RATE * grad
            total += value
        return total

    return Net(train, lambda: parameters)


def main(arguments: Sequence[str] | None = None) -> int:
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spiral", description=about)
    parser.add_argument("--epochs", type=int, default=0, help="time whole trainings of so many epochs too")
    epochs = parser.parse_args(arguments).epochs
    rng = np.random.default_rng(0)
    points, arms = spiral(rng)
    arrays = [rng.normal(size=(HIDDEN, 3)), 0.3 * rng.normal(size=(ARMS, HIDDEN)), np.zeros(ARMS)]
    order: list[int] = rng.permutation(len(points)).tolist()
    task = arrays, points, arms
    with packages([], ["tape-deferred-outer-products"]) as (solved, deferred):
        makers: dict[str, Callable[[], Net]] = {
            "PyTorch eager": lambda: pytorch(*task),
            "reference": lambda: taped(solved, *task),
            "deferred": lambda: taped(deferred, *task),
            "straight line": lambda: straight_line(*task),
        }
        if importlib.util.find_spec("autograd"):
            makers["HIPS autograd"] = lambda: hips(*task)
        same_steps({name: make() for name, make in makers.items()}, order)
        nets = {name: make() for name, make in makers.items()}
        times = race({name: lambda net=net: net.train(order[:STEPS]) for name, net in nets.items()})
        steps = {name: seconds / STEPS for name, seconds in times.items()}
        code = report("Three spiral arms: one step", steps, "PyTorch eager", GOALS, "µs")
        if epochs:
            code |= trainings(makers, order, epochs)
    return code


def same_steps(nets: dict[str, Net], order: Sequence[int]) -> None:
    """Nobody races with wrong gradients: after some steps all have the same parameters."""
    for net in nets.values():
        net.train(order[:10])
    expected = nets["PyTorch eager"].parameters()
    for name, net in nets.items():
        error = max(float(np.abs(a - b).max()) for a, b in zip(net.parameters(), expected, strict=True))
        if not error <= 1e-12:
            raise SystemExit(f"{name}: the parameters are off by {error:.1e}")


def trainings(makers: dict[str, Callable[[], Net]], order: Sequence[int], epochs: int) -> int:
    """Whole trainings, three of each in turn."""
    losses: dict[str, float] = {}

    def training(name: str) -> Callable[[], None]:
        def run() -> None:
            net = makers[name]()
            for _ in range(epochs):
                losses[name] = net.train(order) / len(order)

        return run

    chosen = [name for name in makers if name != "HIPS autograd"]
    times = race({name: training(name) for name in chosen}, rounds=3)
    goals = (Goal("deferred", "PyTorch eager", 0.30),)
    code = report(f"Three spiral arms: {epochs} epochs", times, "PyTorch eager", goals, "µs")
    for name in chosen:
        print(f"mean loss of the last epoch, {name}: {losses[name]:.6f}")
    return code


if __name__ == "__main__":
    protocol("benchmarks.spiral")
    sys.exit(main())
