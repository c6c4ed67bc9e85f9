# Handout version 2026.11
"""Finite differences: slow, and almost impossible to get wrong. They check what is fast and easy to get wrong.

A derivative is (f(x + eps) - f(x - eps)) / (2 eps), up to an error of the order of eps^2 (with f(x) in place of
f(x - eps) it would be of the order of eps). It takes float64: in float32 the difference of two nearly equal numbers is
noise. It measures one entry of the gradient at a time, so two calls of f each: fine for a check, hopeless for training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .base import Module


def numerical_gradient(f: Callable[[np.ndarray], float], x: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """The gradient of f at x by central differences, one entry after the other.

    Args:
        f: takes x and returns a number, a float or a 0-d array. Some functions ignore their argument and look at x
            where they know it from (a weight inside a module, say). So f is given x itself, never a copy, with one
            entry moved by eps and all others as they were.
        x: float64, of any shape: a vector, a matrix, an array with more axes, a single number of shape (). It may be a
            view of another array (a transpose, say). Afterwards it is exactly what it was, to the last bit, also when
            f has raised an exception (which is passed on).
        eps: how far an entry is moved, up and down.

    Returns:
        A new array of x's shape.

    >>> numerical_gradient(lambda x: float(x[0] ** 2 * x[1]), np.array([3.0, 5.0])).round(6).tolist()
    [30.0, 9.0]
    >>> numerical_gradient(lambda x: float(x[0] ** 3), np.array([2.0]), eps=0.5).tolist()  # 3 * 2^2 + eps^2
    [12.25]

    Common trap: x + eps - eps is not always x.
    """
    raise NotImplementedError("numerical_gradient: numerical_gradient")


def check_module(module: Module, a: Any, rng: np.random.Generator) -> dict[str, float]:
    """How far ``module.backward`` is from central differences of ``module.forward``, for each gradient of its own.

    With a random gradient g_b for the output, L = sum(g_b * forward(a)) is a number whose gradient by the input is
    what ``backward(a, b, g_b)`` must return, and whose gradient by a parameter is what it must add to its ``grad``.

    Args:
        module: any module; b = forward(a) is an array or, for a loss, a number.
        a: its input, a float64 array; or integers (ids), an array of them or an int: there is no gradient by these.
        rng: draws g_b, ``rng.normal(size=np.shape(b))``.

    Returns:
        The error of each gradient, ``{"a": .., "weight": .., ..}``: that by the input under "a" (no such entry if a
        holds integers), those by the parameters under their names in ``module.parameters()``. An error is
        max|got - numeric| / max(max|got|, max|numeric|), where each max is over all entries of an array, and 0.0 where
        both arrays are zero everywhere. It is about 1e-9 where backward is right.

    Afterwards a is what it was, and so are ``data`` and ``grad`` of each parameter. What ``grad`` held before plays no
    part in the errors.

    A backward whose gradients are all twice too large has the errors 0.5, one that returns zeros has 1.0, and one with
    the wrong sign 2.0.

    Common trap: with g_b = 1 everywhere many a wrong backward looks right.
    """
    raise NotImplementedError("check_module: check_module")
