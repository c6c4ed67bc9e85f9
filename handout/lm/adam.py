"""The optimiser Adam (Kingma and Ba, 2015, algorithm 1). Given: there is nothing to fill in here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Adam:
    """Steps of a length that adapts to each number, from running means of its gradient and of the square of that.

    Args:
        arrays: the parameters; they are changed in place.
        lr: the learning rate.
        betas: how slowly the two means forget.
        eps: keeps the division from blowing up.
    """

    def __init__(
        self, arrays: Sequence[np.ndarray], lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        self.arrays = arrays
        self.lr, self.betas, self.eps = lr, betas, eps
        self.means = [np.zeros_like(array) for array in arrays]
        self.squares = [np.zeros_like(array) for array in arrays]
        self.steps = 0

    def step(self, gradients: Sequence[np.ndarray]) -> None:
        """One step against the gradients, which come in the order of the arrays."""
        self.steps += 1
        first, second = self.betas
        rate = self.lr * (1 - second**self.steps) ** 0.5 / (1 - first**self.steps)
        for array, mean, square, gradient in zip(self.arrays, self.means, self.squares, gradients, strict=True):
            mean += (1 - first) * (gradient - mean)
            square += (1 - second) * (gradient * gradient - square)
            array -= rate * mean / (np.sqrt(square) + self.eps * (1 - second**self.steps) ** 0.5)
