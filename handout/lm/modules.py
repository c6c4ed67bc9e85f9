# Handout version 2026.11
"""Layers and losses as modules: each knows its function and its own derivative, and nothing of the net around it.

Every module takes one row, an array of shape (n,), or N rows at once, (N, n), and answers in the same form: a row of
its own is not an array of one row. In ``backward(a, b, g_b)`` a is the input, b the output and g_b the gradient of the
loss by b; returned is the gradient of the loss by a. No call changes what it is given, or remembers it: ``backward``
looks only at its arguments and at the parameters. Gradients of parameters are added to their ``grad``: what was there
before stays. All numbers are float64.
"""

from __future__ import annotations

import numpy as np

from .base import Module, Parameter


class Linear(Module):
    """The linear layer b = W a + bias.

    Args:
        weight: W, shape (out, in).
        bias: shape (out,); None for a layer without one.

    Attributes:
        weight: a Parameter.
        bias: a Parameter, or None.
    """

    def __init__(self, weight: np.ndarray, bias: np.ndarray | None = None) -> None:
        self.weight = Parameter(weight)
        self.bias = None if bias is None else Parameter(bias)

    def forward(self, a: np.ndarray) -> np.ndarray:
        """W a + bias for each row a of the input.

        Args:
            a: (in,) or (N, in).

        Returns:
            (out,) or (N, out), a new array.

        >>> layer = Linear(np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), np.array([10.0, 20.0]))
        >>> layer.forward(np.array([1.0, 0.0, 2.0])).tolist()
        [17.0, 20.0]

        Common trap: the weight is (out, in). For N rows, which side of the product do they stand on?
        """
        raise NotImplementedError("linear: Linear.forward")

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        """The gradient by the input is returned, those by the parameters are added to their ``grad``.

        Args:
            a: the input, (in,) or (N, in).
            b: the output, ``forward(a)``.
            g_b: the gradient of the loss by b, (out,) or (N, out).

        Returns:
            The gradient by a, of its shape. What is added to ``weight.grad``, (out, in), and to ``bias.grad``, (out,),
            is the sum over all rows.

        >>> layer = Linear(np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), np.array([10.0, 20.0]))
        >>> a = np.array([1.0, 0.0, 2.0])
        >>> layer.backward(a, layer.forward(a), np.array([1.0, -1.0])).tolist()
        [1.0, 1.0, 3.0]
        >>> layer.weight.grad.tolist(), layer.bias.grad.tolist()
        ([[1.0, 0.0, 2.0], [-1.0, 0.0, -2.0]], [1.0, -1.0])

        Common trap: gradients are added up over the rows, never averaged. If the loss is a mean, g_b knows it already.
        """
        raise NotImplementedError("linear: Linear.backward")


class Sigmoid(Module):
    """The logistic function b = 1 / (1 + exp(-a)), entry by entry."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        """1 / (1 + exp(-a)); no exponential overflows. Given."""
        small = np.exp(-np.abs(a))
        return np.where(a >= 0, 1.0, small) / (1.0 + small)

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        """From the gradient by the output that by the input, of the same shape; for any a, +-1000 too.

        >>> a = np.array([0.0, np.log(3.0)])  # so b is 1/2 and 3/4
        >>> Sigmoid().backward(a, Sigmoid().forward(a), np.array([1.0, 16.0])).round(12).tolist()
        [0.25, 3.0]

        Common trap: in the textbook's formula for the derivative, is x the input or the output?
        """
        raise NotImplementedError("activations: Sigmoid.backward")


class Tanh(Module):
    """The hyperbolic tangent b = tanh(a), entry by entry."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        """tanh(a). Given."""
        return np.tanh(a)

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        """From the gradient by the output that by the input, of the same shape; for any a, +-1000 too.

        >>> a = np.array([0.0, np.log(2.0)])  # so b is 0 and 3/5
        >>> Tanh().backward(a, Tanh().forward(a), np.array([1.0, 25.0])).round(12).tolist()
        [1.0, 16.0]

        Common trap: the derivative is only half of it; what arrives from above counts too.
        """
        raise NotImplementedError("activations: Tanh.backward")


class Softmax(Module):
    """Each row of logits becomes a distribution: b_i = exp(a_i) / sum_j exp(a_j)."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        """The softmax along the last axis: (K,) to (K,), (N, K) to (N, K). No exponential overflows. Given."""
        e = np.exp(a - a.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def backward(self, a: np.ndarray, b: np.ndarray, g_b: np.ndarray) -> np.ndarray:
        """From the gradient by the distribution that by the logits.

        Each b_j depends on every a_i of its row: db_j / da_i is b_i (1 - b_i) where i = j, and -b_i b_j elsewhere.

        Args:
            a: the logits, (K,) or (N, K).
            b: the distributions, ``forward(a)``.
            g_b: the gradient of the loss by b, of the same shape.

        Returns:
            The gradient by a, of its shape.

        >>> a = np.array([0.0, 0.0, np.log(2.0)])  # so b is 1/4, 1/4 and 1/2
        >>> Softmax().backward(a, Softmax().forward(a), np.array([8.0, 0.0, 0.0])).round(12).tolist()
        [1.5, -0.5, -1.0]

        Common trap: for g_b = (1, 1, .., 1) the gradient is 0, as the sum of b is always 1. Check yours with another.
        """
        raise NotImplementedError("softmax: Softmax.backward")


class CrossEntropy(Module):
    """The cross-entropy of distributions and the truth, the mean over the rows of -sum_k y_k log a_k.

    Args:
        targets: y, one-hot: (K,) for one row, (N, K) for N.
    """

    def __init__(self, targets: np.ndarray) -> None:
        self.targets = targets

    def forward(self, a: np.ndarray) -> float:
        """The loss for the distributions a, (K,) or (N, K), a float; inf if a true class has probability 0. Given."""
        true = (self.targets * a).sum(axis=-1)
        with np.errstate(divide="ignore"):  # a probability of 0
            return float(-np.log(true).mean())

    def backward(self, a: np.ndarray, b: float, g_b: float) -> np.ndarray:
        """The gradient by each probability.

        Args:
            a: the distributions, (K,) or (N, K). True classes have a probability above 0; others may have exactly 0.
            b: the loss, ``forward(a)``.
            g_b: the gradient of what comes after by this loss, a number, 1 as a rule.

        Returns:
            The gradient by a, of its shape; 0 for every class that is not the true one. The sum of a row being 1 plays
            no part: each probability is an input of its own.

        >>> loss = CrossEntropy(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
        >>> a = np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
        >>> (loss.backward(a, loss.forward(a), 1.0) + 0.0).tolist()
        [[0.0, -2.0, 0.0], [-1.0, 0.0, 0.0]]

        Common trap: 0 / 0 is nan, and a softmax does give probabilities that are exactly 0.
        """
        raise NotImplementedError("cross_entropy_module: CrossEntropy.backward")


class SoftmaxCrossEntropy(Module):
    """Softmax and cross-entropy in one: the mean over the rows of -log softmax(a)[target].

    Args:
        targets: the ids of the true classes: an int for one row, an array of N ints for N rows.
    """

    def __init__(self, targets: int | np.ndarray) -> None:
        self.targets = targets

    def forward(self, a: np.ndarray) -> float:
        """The loss, exact for logits of any size: neither an overflow nor the logarithm of a probability that is 0.

        Args:
            a: the logits, (K,) or (N, K).

        Returns:
            A float: the mean over the rows of log(sum_k exp(a_k)) - a[target], in nats.

        >>> round(SoftmaxCrossEntropy(2).forward(np.zeros(4)), 6)  # log 4
        1.386294
        >>> SoftmaxCrossEntropy(np.array([1, 0])).forward(np.array([[1000.0, -1000.0], [5.0, -1000.0]]))
        1000.0

        Common trap: a probability of 1e-800 is 0 to a float, its logarithm is a harmless number.
        """
        raise NotImplementedError("softmax_cross_entropy: SoftmaxCrossEntropy.forward")

    def backward(self, a: np.ndarray, b: float, g_b: float) -> np.ndarray:
        """The gradient by the logits; finite for logits of any size.

        Args:
            a: the logits, (K,) or (N, K).
            b: the loss, ``forward(a)``.
            g_b: the gradient of what comes after by this loss, a number, 1 as a rule.

        Returns:
            The gradient by a, of its shape.

        >>> SoftmaxCrossEntropy(2).backward(np.zeros(4), np.log(4), 1.0).tolist()
        [0.25, 0.25, -0.75, 0.25]
        >>> SoftmaxCrossEntropy(np.array([0, 1])).backward(np.zeros((2, 2)), np.log(2), 8.0).tolist()
        [[-2.0, 2.0], [2.0, -2.0]]

        Common trap: the loss is a mean, so each of N rows has an N-th of the gradient that it has alone.
        """
        raise NotImplementedError("softmax_cross_entropy: SoftmaxCrossEntropy.backward")


class Embedding(Module):
    """A table of vectors, one a word: ids are looked up.

    Args:
        weight: (V, d).

    Attributes:
        weight: a Parameter.
    """

    def __init__(self, weight: np.ndarray) -> None:
        self.weight = Parameter(weight)

    def forward(self, a: int | np.ndarray) -> np.ndarray:
        """The vectors of the ids: (d,) for one int, (N, d) for an array of N ints. Given."""
        return np.take(self.weight.data, a, axis=0)

    def backward(self, a: int | np.ndarray, b: np.ndarray, g_b: np.ndarray) -> None:
        """Adds to ``weight.grad`` the gradient of the vectors that were looked up.

        Args:
            a: the ids: an int, or an array of N ints, in which an id may occur several times.
            b: their vectors, ``forward(a)``.
            g_b: the gradient of the loss by b, (d,) or (N, d).

        Returns:
            None: an id is a name, nothing that can be changed a little.

        >>> table = Embedding(np.zeros((4, 2)))
        >>> ids = np.array([3, 1, 3])
        >>> table.backward(ids, table.forward(ids), np.array([[1.0, 2.0], [3.0, 4.0], [10.0, 20.0]]))
        >>> table.weight.grad.tolist()
        [[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [11.0, 22.0]]

        Common trap: ``table[ids] += rows`` does not add up the rows of an id that occurs twice.
        """
        raise NotImplementedError("embedding: Embedding.backward")
