"""One sentence of the RNN language model, forward and backward: our tapes beside PyTorch and its peers.

    python -m benchmarks.tape_sentence

15 steps, 56 words, embeddings of 32, a state of 64, float64, batch size 1, six gradients from zero each time. All
gradients are compared with PyTorch's first. Contestants:

- PyTorch eager: the same loop, an operation a line.
- reference: ``lm/tape.py`` as in solutions/, 136 nodes.
- deferred: the same 136 nodes, where the outer products of a parameter become one product at the end of the sweep.
- coarse: few larger nodes on the reference's tape.
- straight line: the numpy calls of the reference, step by step, without a tape.
- HIPS autograd and micrograd, where they are installed (not in requirements.txt; micrograd runs three steps only).

Exit code 1 when a goal is missed.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.side_by_side import Goal, packages, protocol, race, report

V, D, H, T = 56, 32, 64, 15
NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")
SHAPES = ((V, D), (H, D), (H,), (H, H), (V, H), (V,))
GOALS = (
    Goal("reference", "PyTorch eager", 0.40),
    Goal("deferred", "PyTorch eager", 0.27),
    Goal("deferred", "straight line", 1.10),
    Goal("coarse", "PyTorch eager", 0.15),
)
MICROGRAD_STEPS = 3

Arrays = list[np.ndarray]
Sentence = Callable[[], Arrays]  # forward and backward; the gradients in the order of NAMES


def pytorch(arrays: Arrays, inputs: list[int], targets: list[int]) -> Sentence:
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    words = [torch.tensor(word) for word in inputs]
    answers = [torch.tensor([word]) for word in targets]
    E, W_xh, b_h, W_hh, W_hy, b_y = leaves

    def run() -> Arrays:
        for leaf in leaves:
            leaf.grad = None
        h = torch.zeros(H, dtype=torch.float64)
        losses = []
        for word, answer in zip(words, answers, strict=True):
            h = torch.tanh(W_xh @ E[word] + W_hh @ h + b_h)
            losses.append(cross_entropy((W_hy @ h + b_y)[None], answer))
        torch.stack(losses).mean().backward()
        return [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]

    return run


def taped(package: ModuleType, arrays: Arrays, inputs: list[int], targets: list[int]) -> Sentence:
    tape_module = importlib.import_module(".tape", package.__name__)
    types = importlib.import_module(".types", package.__name__)
    tape = tape_module.Tape()
    leaves = [tape.leaf(array.copy()) for array in arrays]
    params = types.RNNParams(*leaves)

    def run() -> Arrays:
        for leaf in leaves:
            leaf.grad[...] = 0
        tape.backward(tape_module.sentence_loss(params, inputs, targets))
        return [leaf.grad for leaf in leaves]

    return run


def coarse(package: ModuleType, arrays: Arrays, inputs: list[int], targets: list[int]) -> Sentence:
    """20 nodes: all embeddings, one product for the input, a cell a step, all states, one product, the loss."""
    tape = importlib.import_module(".tape", package.__name__).Tape()
    leaves = [tape.leaf(array.copy()) for array in arrays]
    E, W_xh, b_h, W_hh, W_hy, b_y = leaves
    words, answers, rows = np.array(inputs), np.array(targets), np.arange(T)

    def embed(g: np.ndarray) -> np.ndarray:
        grad = np.zeros((V, D))
        np.add.at(grad, words, g)
        return grad

    def linear(x: Any, weight: Any, bias: Any) -> Any:
        a, w = x.data, weight.data
        edges = (x, lambda g: g.dot(w)), (weight, lambda g: g.T.dot(a)), (bias, lambda g: np.add.reduce(g))
        return tape.record(a.dot(w.T) + bias.data, *edges)

    def states(pre: Any) -> Any:
        """h_t = tanh(pre_t + W_hh h_(t-1)), a node a step, then all of them as one matrix."""
        h, d = np.zeros((T + 1, H)), np.empty((T, H))  # d: the gradients by pre_t + W_hh h_(t-1)
        w = W_hh.data

        def to_cell(t: int) -> Callable[[np.ndarray], np.ndarray]:
            def local(g: np.ndarray) -> np.ndarray:
                np.multiply(h[t + 1], h[t + 1], out=d[t])
                np.subtract(1.0, d[t], out=d[t])
                d[t] *= g
                return d[t].dot(w)

            return local

        def to_first(g: np.ndarray) -> np.ndarray:
            to_cell(0)(g)
            return d  # the first step is the last of the sweep: all rows are there

        cells = []
        for t in range(T):
            np.tanh(pre.data[t] + w.dot(h[t]), out=h[t + 1])
            edges = [(cells[-1], to_cell(t))] if t else [(pre, to_first), (W_hh, lambda g: d.T.dot(h[:-1]))]
            cells.append(tape.record(h[t + 1], *edges))

        def to_row(t: int) -> Callable[[np.ndarray], np.ndarray]:
            return lambda g: g[t]

        return tape.record(h[1:], *[(cell, to_row(t)) for t, cell in enumerate(cells)])

    def cross_entropy(logits: Any) -> Any:
        p = logits.data - np.maximum.reduce(logits.data, axis=1, keepdims=True)
        chosen = p[rows, answers]
        np.exp(p, out=p)
        total = np.add.reduce(p, axis=1, keepdims=True)
        p /= total

        def local(g: np.ndarray) -> np.ndarray:
            p[rows, answers] -= 1.0
            return p * (g / T)

        return tape.record((np.log(total[:, 0]) - chosen).mean(), (logits, local))

    def run() -> Arrays:
        for leaf in leaves:
            leaf.grad[...] = 0
        x = tape.record(E.data[words], (E, embed))
        tape.backward(cross_entropy(linear(states(linear(x, W_xh, b_h)), W_hy, b_y)))
        return [leaf.grad for leaf in leaves]

    return run


def straight_line(arrays: Arrays, inputs: list[int], targets: list[int]) -> Sentence:
    """The numpy calls of the reference, in its order: no Var, no tape, no closure."""
    E, W_xh, b_h, W_hh, W_hy, b_y = arrays

    def run() -> Arrays:
        gE, gW_xh, gb_h, gW_hh, gW_hy, gb_y = grads = [np.zeros(shape) for shape in SHAPES]
        h = np.zeros(H)
        steps = []
        losses = 0.0
        for word, target in zip(inputs, targets, strict=True):
            x, before = E[word], h
            h = np.tanh(W_xh.dot(x) + W_hh.dot(before) + b_h)
            logits = W_hy.dot(h) + b_y
            shifted = logits - logits.max()
            p = np.exp(shifted)
            total = p.sum()
            p /= total
            losses += np.log(total) - shifted[target]
            steps.append((word, target, x, before, h, p))
        upstream, later = 1.0 / len(steps), None
        for word, target, x, before, h, p in reversed(steps):
            g = upstream * p
            g[target] -= upstream
            gb_y += g
            gW_hy += g[:, None].dot(h[None])
            back = g.dot(W_hy)
            g = back if later is None else back + later
            g = g - g * h * h
            gb_h += g
            gW_hh += g[:, None].dot(before[None])
            later = g.dot(W_hh)
            gW_xh += g[:, None].dot(x[None])
            gE[word] += g.dot(W_xh)
        return grads

    return run


def hips(arrays: Arrays, inputs: list[int], targets: list[int]) -> Sentence:
    import autograd
    import autograd.numpy as anp

    def loss(params: Arrays) -> Any:
        E, W_xh, b_h, W_hh, W_hy, b_y = params
        h, total = anp.zeros(H), 0.0
        for word, target in zip(inputs, targets, strict=True):
            h = anp.tanh(anp.dot(W_xh, E[word]) + anp.dot(W_hh, h) + b_h)
            logits = anp.dot(W_hy, h) + b_y
            shifted = logits - anp.max(logits)
            total = total + anp.log(anp.sum(anp.exp(shifted))) - shifted[target]
        return total / len(inputs)

    gradient: Sentence = autograd.grad(loss)
    return lambda: gradient(arrays)  # type: ignore[call-arg]


def micrograd(arrays: Arrays, inputs: list[int], targets: list[int]) -> Sentence:
    """A node a number. tanh, exp and log are further operations of its own kind."""
    from micrograd.engine import Value

    def values(array: np.ndarray) -> Any:
        return [values(row) for row in array] if array.ndim else Value(float(array))

    def dot(matrix: Any, vector: Any) -> list[Any]:
        return [sum((w * x for w, x in zip(row, vector, strict=True)), Value(0.0)) for row in matrix]

    def elementary(x: Any, result: float, derivative: float) -> Any:
        out = Value(result, (x,))

        def backward() -> None:
            x.grad += derivative * out.grad

        out._backward = backward
        return out

    def tanh(x: Any) -> Any:
        return elementary(x, math.tanh(x.data), 1 - math.tanh(x.data) ** 2)

    def run() -> Arrays:
        E, W_xh, b_h, W_hh, W_hy, b_y = leaves = [values(array) for array in arrays]
        h = [Value(0.0)] * H
        total = Value(0.0)
        for word, target in zip(inputs, targets, strict=True):
            h = [tanh(a + b + c) for a, b, c in zip(dot(W_xh, E[word]), dot(W_hh, h), b_h, strict=True)]
            logits = [a + b for a, b in zip(dot(W_hy, h), b_y, strict=True)]
            sum_exp = sum((elementary(x, math.exp(x.data), math.exp(x.data)) for x in logits), Value(0.0))
            total = total + elementary(sum_exp, math.log(sum_exp.data), 1 / sum_exp.data) - logits[target]
        (total * (1 / len(inputs))).backward()
        return [np.vectorize(lambda leaf: float(leaf.grad))(np.array(leaf, dtype=object)) for leaf in leaves]

    return run


def same_gradients(got: Arrays, expected: Arrays, name: str) -> None:
    """Nobody races with wrong gradients."""
    for parameter, a, b in zip(NAMES, got, expected, strict=True):
        error = float(np.abs(a - b).max())
        if not error <= 1e-12:
            raise SystemExit(f"{name}: the gradient of {parameter} is off by {error:.1e}")


def main() -> int:
    rng = np.random.default_rng(0)
    arrays = [0.1 * rng.normal(size=shape) for shape in SHAPES]
    inputs, targets = rng.integers(0, V, T).tolist(), rng.integers(0, V, T).tolist()
    task = arrays, inputs, targets
    with packages([], ["tape-deferred-outer-products"]) as (solved, deferred):
        contestants = {
            "PyTorch eager": pytorch(*task),
            "reference": taped(solved, *task),
            "deferred": taped(deferred, *task),
            "coarse": coarse(solved, *task),
            "straight line": straight_line(*task),
        }
        if importlib.util.find_spec("autograd"):
            contestants["HIPS autograd"] = hips(*task)
        expected = [gradient.copy() for gradient in contestants["PyTorch eager"]()]
        for name, contestant in contestants.items():
            same_gradients(contestant(), expected, name)
        if importlib.util.find_spec("micrograd"):
            short = arrays, inputs[:MICROGRAD_STEPS], targets[:MICROGRAD_STEPS]
            name = f"micrograd, {MICROGRAD_STEPS} steps"
            contestants[name] = micrograd(*short)
            sys.setrecursionlimit(100_000)  # its topological sort is recursive
            same_gradients(contestants[name](), taped(solved, *short)(), name)
        times = race(contestants)
    return report("A sentence of 15 words, forward and backward", times, "PyTorch eager", GOALS, "µs")


if __name__ == "__main__":
    protocol("benchmarks.tape_sentence")
    sys.exit(main())
