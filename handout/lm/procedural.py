# Handout version 2026.11
"""A small net, forwards and backwards, as one list of formulas: no layers, no graph.

    a = alpha x    z = sigmoid(a)    b = beta z    y_hat = softmax(b)    J = -sum_k y_k log y_hat_k

A hidden layer of H units reads I inputs and feeds K classes. There are no biases: whoever wants one appends a 1 to x.
x, y, a, z, b and y_hat are vectors, one example at a time. All numbers are float64.
"""

from __future__ import annotations

import numpy as np

from .types import NetValues


def forward(x: np.ndarray, y: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> NetValues:
    """The loss of one example, and every value on the way to it.

    Args:
        x: (I,), the input.
        y: (K,), the true class, one-hot: a 1 and zeros, as floats.
        alpha: (H, I), the weights of the hidden layer.
        beta: (K, H), the weights of the output layer.

    Returns:
        NetValues(a, z, b, y_hat, J), the arrays of the shapes (H,), (H,), (K,) and (K,), J a float in nats. For inputs
        and logits of +-1000 too: z and y_hat are then right, and J is never nan. Where the true class is so unlikely
        that its y_hat is 0, J may be inf instead of the exact number.

    >>> x, y = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    >>> alpha, beta = np.zeros((1, 2)), np.array([[2 * np.log(3.0)], [0.0]])
    >>> values = forward(x, y, alpha, beta)  # z = 1/2, so b = (log 3, 0)
    >>> values.z.round(6).tolist(), values.y_hat.round(6).tolist()
    ([0.5], [0.75, 0.25])
    >>> round(float(values.J), 6)  # log(4/3)
    0.287682

    Common trap: exp(1000) is inf, and inf / inf is nan; 0 * log 0 is nan as well.
    """
    raise NotImplementedError("procedural_forward: forward")


def backward(
    x: np.ndarray, y: np.ndarray, alpha: np.ndarray, beta: np.ndarray, values: NetValues
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of J by both weights, from the last formula to the first: upstream gradient times local slope.

    Args:
        x, y, alpha, beta: what ``forward`` was given.
        values: what it returned. None of these is changed.

    Returns:
        (g_alpha, g_beta), of the shapes (H, I) and (K, H). Right and finite too where entries of y_hat, that of the
        true class among them, are so small that they are 0.

    >>> x, y = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    >>> alpha, beta = np.zeros((1, 2)), np.array([[2 * np.log(3.0)], [0.0]])
    >>> values = NetValues(np.zeros(1), np.array([0.5]), np.array([np.log(3.0), 0.0]), np.array([0.75, 0.25]), 0.287682)
    >>> g_alpha, g_beta = backward(x, y, alpha, beta, values)
    >>> g_beta.tolist()
    [[-0.125], [0.125]]
    >>> g_alpha.round(6).tolist()  # -log(3) / 8 times x
    [[-0.137327, -0.274653]]

    Common trap: through the softmax every logit touches every y_hat. Softmax and logarithm together are simple.
    """
    raise NotImplementedError("procedural_backward: backward")
