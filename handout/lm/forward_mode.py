# Handout version 2026.11
"""Forward mode: every number carries its derivative along (lecture B, 5.4).

A dual number is a pair (value, tangent): the value, and its derivative by one input of the program. Whoever computes
with such pairs instead of plain numbers gets the derivative together with the result, exact and in one pass, but for
one input only: a gradient of n numbers takes n passes. That is why networks are trained with the reverse mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np


class Dual:
    """A number and its derivative by the input that a pass is about.

    ``+``, ``-``, ``*`` and ``/`` work between two Duals, and between a Dual and a plain number on either side, which
    is a constant. What they return is a new Dual; none is ever changed.

    Args:
        value: the number.
        tangent: its derivative: 1 for the input itself, 0 for every other input and for a constant.

    Attributes:
        value, tangent: the same.
    """

    __array_ufunc__ = None  # numpy's scalars leave their operators to this class

    def __init__(self, value: float, tangent: float = 0.0) -> None:
        self.value = value
        self.tangent = tangent

    def __repr__(self) -> str:
        return f"Dual({self.value}, {self.tangent})"

    def __add__(self, other: Dual | float) -> Dual:
        """The sum, with its derivative: (2, 3) + (5, 7) is (7, 10), and (2, 3) + 5 is (7, 3)."""
        raise NotImplementedError("dual_numbers: Dual.__add__")

    def __neg__(self) -> Dual:
        """The negative, with its derivative: -(2, 3) is (-2, -3)."""
        raise NotImplementedError("dual_numbers: Dual.__neg__")

    def __mul__(self, other: Dual | float) -> Dual:
        """The product, with its derivative: (2, 3) * (5, 7) is (10, 29), and (2, 3) * 5 is (10, 15)."""
        raise NotImplementedError("dual_numbers: Dual.__mul__")

    def __truediv__(self, other: Dual | float) -> Dual:
        """The quotient, with its derivative: (6, 1) / (2, 3) is (3, -4), and (6, 1) / 2 is (3, 0.5)."""
        raise NotImplementedError("dual_numbers: Dual.__truediv__")

    # Given: the rest of the operators, made of those above.

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other: Dual | float) -> Dual:
        return self + -lift(other)

    def __rsub__(self, other: float) -> Dual:
        return -self + other

    def __rtruediv__(self, other: float) -> Dual:
        return Dual(other) / self


def lift(x: Dual | float) -> Dual:
    """A plain number as a constant; a Dual as it is. Given."""
    return x if isinstance(x, Dual) else Dual(x)


def sin(x: Dual | float) -> Dual:
    """The sine of a Dual or of a plain number, as a Dual: sin of (0, 3) is (0, 3).

    Common trap: the chain rule. The tangent of x is not always 1.
    """
    raise NotImplementedError("dual_numbers: sin")


def exp(x: Dual | float) -> Dual:
    """The exponential of a Dual or of a plain number, as a Dual: exp of (0, 3) is (1, 3)."""
    raise NotImplementedError("dual_numbers: exp")


def log(x: Dual | float) -> Dual:
    """The natural logarithm of a Dual or of a plain number above 0, as a Dual: log of (1, 3) is (0, 3)."""
    raise NotImplementedError("dual_numbers: log")


def tanh(x: Dual | float) -> Dual:
    """The hyperbolic tangent of a Dual or of a plain number, as a Dual: tanh of (0, 3) is (0, 3).

    For numbers as large as 1000 as well: it is 1 there, and flat.
    """
    raise NotImplementedError("dual_numbers: tanh")


def sigmoid(x: Dual | float) -> Dual:
    """1 / (1 + exp(-x)) of a Dual or of a plain number, as a Dual: the sigmoid of (0, 4) is (0.5, 1).

    For numbers as large as 1000 and as small as -1000 as well: it is 1 or 0 there, and flat, without an overflow.
    """
    raise NotImplementedError("dual_numbers: sigmoid")


def derivative(f: Callable[[Dual], Dual | float], x: float) -> float:
    """The derivative of a function of one number, in one pass.

    Args:
        f: takes a Dual and returns a Dual, or a plain number where it is constant. It is called once.
        x: where.

    Returns:
        A float: for f(x) = x * x at 3 it is 6.0.

    Common trap: a constant function has a derivative, too.
    """
    raise NotImplementedError("dual_numbers: derivative")


def gradient(f: Callable[[list[Dual]], Dual | float], x: Sequence[float] | np.ndarray) -> np.ndarray:
    """The gradient of a function of n numbers, in n passes, one for each of them.

    Args:
        f: takes a list of n Duals and returns a Dual, or a plain number where it is constant. It is called n times.
        x: n numbers, a list or an array (n,). It is not changed.

    Returns:
        (n,), float64: for f(x) = x[0] * x[1] at [3, 4] it is [4, 3].

    Common trap: in each pass exactly one of the inputs has the tangent 1.
    """
    raise NotImplementedError("dual_numbers: gradient")
