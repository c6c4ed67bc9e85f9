"""Parameters and the base class of all modules. Given: there is nothing to fill in here."""

from __future__ import annotations

from typing import Any

import numpy as np


class Parameter:
    """An array that is trained, and the gradient of the loss by it.

    Attributes:
        data: the values, float64.
        grad: of the same shape; zeros at first. Every backward adds to it, nobody but ``zero_grad`` empties it.
    """

    def __init__(self, data: Any) -> None:
        self.data = np.array(data, dtype=float)
        self.grad = np.zeros_like(self.data)

    def zero_grad(self) -> None:
        """Forget the gradient."""
        self.grad[...] = 0


class Module:
    """A layer, or a loss: a function that also knows its derivative.

    A module keeps no values between calls: whatever ``backward`` needs, it is given. Only parameters have a memory,
    their ``grad``.

    Attributes:
        a, b: input and output of the last call ``module(a)``, for whoever runs the layers backwards.
    """

    a: Any
    b: Any

    def forward(self, a: Any) -> Any:
        """b = f(a). The input is not changed."""
        raise NotImplementedError

    def backward(self, a: Any, b: Any, g_b: Any) -> Any:
        """From the gradient of the loss by b, that by a; what it is by the parameters is added to their ``grad``.

        Args:
            a: the input.
            b: the output, ``forward(a)``.
            g_b: the gradient of the loss by b, of its shape.

        Returns:
            The gradient of the loss by a, of its shape.
        """
        raise NotImplementedError

    def __call__(self, a: Any) -> Any:
        """``forward(a)``, recorded."""
        self.a, self.b = a, self.forward(a)
        return self.b

    def parameters(self) -> dict[str, Parameter]:
        """The parameters by the names of their attributes."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Parameter)}
