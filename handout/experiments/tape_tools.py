"""For the experiments on autodiff: three spiral arms, a net on a tape, a wrong way to go back, one sentence. Given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from lm.corpus import vocabulary
from lm.types import RNNParams
from lm.vocab import BOS, EOS

from .run import Run

ARMS, POINTS, HIDDEN, RATE, EPOCHS = 3, 80, 16, 0.3, 100
SENTENCE = "the fox near the cows behind the hens chases mice in the yard ."
NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")

Arrays = dict[str, np.ndarray]
Leaves = dict[str, Any]  # leaves of a tape by name
Logits = Callable[[Leaves, np.ndarray], Any]


def spiral(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three arms of 80 points that wind around each other.

    Returns:
        (points, arms): (240, 3), x, y and a constant 1; (240,), 0 to 2.
    """
    arms = np.repeat(np.arange(ARMS), POINTS)
    radius = np.tile(np.linspace(0.1, 1, POINTS), ARMS)
    angle = 2 * np.pi * (arms / ARMS + 0.58 * radius) + 0.1 * rng.normal(size=arms.size)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.ones(arms.size)], axis=1), arms


def first_weights(rng: np.random.Generator) -> Arrays:
    """Weights of the net with one hidden layer: W (16, 3) evenly from +-1, U (3, 16) and c (3,) evenly from +-0.3."""
    W = rng.uniform(-1, 1, size=(HIDDEN, 3))
    beta = rng.uniform(-0.3, 0.3, size=(ARMS, HIDDEN + 1))
    return {"W": W, "U": beta[:, :HIDDEN].copy(), "c": beta[:, HIDDEN].copy()}


def train(
    tape: Any,
    leaves: Leaves,
    logits: Logits,
    points: np.ndarray,
    arms: np.ndarray,
    rng: np.random.Generator,
    rate: float = RATE,
    epochs: int = EPOCHS,
) -> Iterator[tuple[float, float]]:
    """SGD, one point at a time, in a new order each epoch.

    Yields:
        After each epoch (loss, accuracy) of its points, each as it was just before its step.
    """
    from lm.tape import softmax_cross_entropy

    xs, ys = list(points), arms.tolist()
    for _ in range(epochs):
        total, right = 0.0, 0
        for i in rng.permutation(len(xs)).tolist():
            out = logits(leaves, xs[i])
            loss = softmax_cross_entropy(out, ys[i])
            total += float(loss.data)
            right += int(np.argmax(out.data)) == ys[i]
            tape.backward(loss)
            for leaf in leaves.values():
                leaf.data -= rate * leaf.grad
                leaf.grad[...] = 0
        yield total / len(xs), right / len(xs)


def predictions(leaves: Leaves, points: np.ndarray) -> np.ndarray:
    """The arm that the net with one hidden layer, or the linear one, sees in each point: (N,). No tape is needed."""
    W = leaves["W"].data
    if "U" not in leaves:
        return (points @ W.T).argmax(axis=1)
    hidden = 0.5 + 0.5 * np.tanh(0.5 * points @ W.T)
    return (hidden @ leaves["U"].data.T + leaves["c"].data).argmax(axis=1)


def regions(run: Run, points: np.ndarray, arms: np.ndarray, net: Leaves, linear: Leaves) -> None:
    """A picture of what the two nets see where: greys for the regions, three markers for the points."""
    with run.picture("spiral-regions", 9.0, 4.6) as drawn:
        if drawn is None:
            return
        side = np.linspace(-1.15, 1.15, 240)
        x, y = np.meshgrid(side, side)
        grid = np.stack([x.ravel(), y.ravel(), np.ones(x.size)], axis=1)
        titles = run.say("no hidden layer", "没有隐藏层"), run.say(f"{HIDDEN} hidden sigmoids", f"{HIDDEN} 个隐藏单元")
        for axes, leaves, title in zip(drawn.subplots(1, 2), (linear, net), titles, strict=True):
            seen = predictions(leaves, grid).reshape(x.shape)
            axes.contourf(x, y, seen, levels=[-0.5, 0.5, 1.5, 2.5], colors=["white", "0.85", "0.65"])
            for arm in range(ARMS):
                axes.contour(x, y, (seen == arm).astype(float), levels=[0.5], colors="black", linewidths=0.8)
                here = points[arms == arm]
                axes.plot(
                    here[:, 0], here[:, 1], "o^s"[arm], color="black", linestyle="", markersize=4,
                    markerfacecolor=["white", "black", "0.5"][arm], markeredgewidth=0.7,
                    label=run.say(f"arm {arm + 1}", f"旋臂 {arm + 1}"),
                )  # fmt: skip
            right = (predictions(leaves, points) == arms).mean()
            axes.set(title=f"{title}: {100 * right:.1f} %", aspect="equal", xticks=[], yticks=[])
        drawn.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    run.look(
        "on the left three straight cuts; on the right the hidden layer has bent space until the arms come apart",
        "左边只有三条直线；右边，隐藏层把空间弯到三条旋臂能分开为止",
    )


def in_modules(x: Any, *modules: Any) -> Any:
    """Your modules on a tape: each is recorded as one value, with its own ``backward`` on the edge."""
    for module in modules:
        x = x.tape.record(module(x.data), (x, partial(module.backward, module.a, module.b)))
    return x


def overwrite(tape: Any, loss: Any) -> None:
    """``tape.backward`` with one mistake: what comes back from a use replaces what came back before. ``=``, not ``+=``.

    Where nothing is used twice, nobody notices. It is your own ``backward`` that runs: each edge hands on its part less
    what is there already, and so the sum is this part alone.
    """

    def alone(x: Any, local: Callable[[Any], Any]) -> tuple[Any, Callable[[Any], Any]]:
        return x, lambda g: local(g) - (0 if x.grad is None else x.grad)

    tape.nodes[:] = [(out, [alone(*edge) for edge in edges]) for out, edges in tape.nodes]
    tape.backward(loss)


# One sentence for the RNN language model.


def sentence() -> tuple[list[int], list[int]]:
    """(inputs, targets), the ids of 15 words each: ``<s>`` and the sentence, the sentence and ``</s>``."""
    words = SENTENCE.split()
    vocab = vocabulary()
    return vocab.encode([BOS, *words]), vocab.encode([*words, EOS])


def small_params(rng: np.random.Generator, embedding: int = 32, hidden: int = 64) -> Arrays:
    """The six arrays of an RNN language model by name, drawn from a normal distribution of width 0.1."""
    V = len(vocabulary())
    shapes = (V, embedding), (hidden, embedding), (hidden,), (hidden, hidden), (V, hidden), (V,)
    return {name: 0.1 * rng.normal(size=shape) for name, shape in zip(NAMES, shapes, strict=True)}


def recorded(arrays: Arrays, inputs: Sequence[int], targets: Sequence[int]) -> tuple[Any, RNNParams, Any]:
    """(tape, its leaves, loss) of a sentence, ready to go back."""
    from lm.tape import Tape, sentence_loss

    tape = Tape()
    params = RNNParams(**{name: tape.leaf(array) for name, array in arrays.items()})
    return tape, params, sentence_loss(params, inputs, targets)


class LeafForEachUse:
    """A matrix that is another leaf of the tape each time it is used, so that each use has a gradient of its own."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.tape: Any = None
        self.leaves: list[Any] = []

    def __matmul__(self, other: Any) -> Any:
        self.leaves.append(self.tape.leaf(self.array))
        return self.leaves[-1] @ other

    def parts(self, arrays: Arrays, inputs: Sequence[int], targets: Sequence[int]) -> list[np.ndarray]:
        """The gradient of a sentence's loss by each use of W_hh, the first word's first."""
        from lm.tape import Tape, sentence_loss

        self.tape = Tape()
        leaves = {name: self.tape.leaf(array) for name, array in arrays.items() if name != "W_hh"}
        self.tape.backward(sentence_loss(RNNParams(**leaves, W_hh=self), inputs, targets))  # type: ignore[arg-type]
        return [leaf.grad for leaf in self.leaves]


def gradients(arrays: Arrays, wrong: bool = False) -> tuple[float, Arrays]:
    """(loss, gradients by name) of the sentence; ``wrong`` goes back with ``overwrite``."""
    tape, params, loss = recorded(arrays, *sentence())
    if wrong:
        overwrite(tape, loss)
    else:
        tape.backward(loss)
    return float(loss.data), {name: getattr(params, name).grad for name in NAMES}


def relative_error(got: np.ndarray, right: np.ndarray) -> float:
    """|got - right| / |right|, in the norm of all entries."""
    return float(np.linalg.norm(got - right) / np.linalg.norm(right))
