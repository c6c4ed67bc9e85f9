"""What the steps of experiment 2 share: the small net, its form in modules, difference quotients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .run import Run

INPUTS, HIDDEN, CLASSES = 4, 5, 3


def small_net(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An example x, y (one-hot) and the weights alpha (H, I), beta (K, H) of the lecture's net, drawn from the seed."""
    rng = run.rng("small net")
    y = np.eye(CLASSES)[rng.integers(CLASSES)]
    alpha, beta = rng.normal(size=(HIDDEN, INPUTS)), rng.normal(size=(CLASSES, HIDDEN))
    return rng.normal(size=INPUTS), y, alpha, beta


def modular_gradients(
    sigmoid: Any, x: np.ndarray, y: np.ndarray, alpha: np.ndarray, beta: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], list[Any]]:
    """The net out of modules, run there and back.

    Returns:
        (g_alpha, g_beta), and the five modules, each with its input ``a`` and output ``b``.
    """
    from lm.modules import CrossEntropy, Linear, Softmax

    layers = [Linear(alpha), sigmoid, Linear(beta), Softmax(), CrossEntropy(y)]
    value: Any = x
    for layer in layers:
        value = layer(value)
    g: Any = 1.0
    for layer in reversed(layers):
        g = layer.backward(layer.a, layer.b, g)
    return (layers[0].weight.grad, layers[2].weight.grad), layers


def relative(got: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, as a share of the largest entry."""
    largest = max(np.abs(got).max(), np.abs(wanted).max())
    return float(np.abs(got - wanted).max() / largest) if largest else 0.0


def differences(powers: Sequence[int]) -> dict[tuple[str, str], list[float]]:
    """The errors of difference quotients of sin at 1 with the steps 10^-power, by kind and type of number.

    >>> differences([9])["central", "float32"] == [float(np.cos(1.0))]  # 1 + 1e-9 is 1
    True
    """
    found: dict[tuple[str, str], list[float]] = {}
    for dtype in (np.float64, np.float32):
        one, two = dtype(1.0), dtype(2.0)
        for power in powers:
            eps = dtype(10.0**-power)
            one_sided = (np.sin(one + eps) - np.sin(one)) / eps
            central = (np.sin(one + eps) - np.sin(one - eps)) / (two * eps)
            for kind, quotient in (("one-sided", one_sided), ("central", central)):
                error = abs(float(quotient) - float(np.cos(1.0)))
                found.setdefault((kind, dtype.__name__), []).append(error)
    return found


def examples(run: Run, n: int) -> list[float]:
    """A point with n coordinates."""
    drawn: list[float] = run.rng(f"point {n}").normal(size=n).tolist()
    return drawn
