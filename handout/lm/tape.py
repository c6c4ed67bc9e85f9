# Handout version 2026.11
"""A tape: a program writes down how each of its values depends on others, and its gradient is read off backwards.

A ``Var`` is an array that the tape knows: a *leaf* (a parameter) or a *recorded* value, the result of an operation on
other Vars. The tape is the list of all recorded values in the order of the program. With each stand its *edges*: a
pair ``(x, local)`` for each input x, where ``local`` turns the gradient of the loss by the result into what it adds to
the gradient of the loss by x. With y = 3 x the edge of y to x is ``(x, lambda g: 3 * g)``.

    tape = Tape()
    w = tape.leaf([1.0, 2.0])
    loss = (w * w).sum()  # two recorded values
    tape.backward(loss)  # w.grad is now [2.0, 4.0], and the tape is empty

Operators work between Vars, and between Vars and plain numbers or arrays: constants, to which no gradient flows.
All numbers are float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .types import RNNParams

#: ``(x, local)``: ``local(g)`` has the shape of ``x.data``, ``g`` that of the recorded value. It changes neither g nor
#: any data and returns the same when it is called again. What it returns may be g itself.
Edge = tuple[Any, Callable[[Any], Any]]


def unbroadcast(g: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Undo broadcasting: sum a gradient down to the shape that its variable had.

    In ``a + b`` numpy repeats the smaller array until it fits. Each of its entries is then used many times, and its
    gradient is the sum over all of them.

    Args:
        g: an array, the gradient of the loss by the result. It is not changed.
        shape: of the variable; one that numpy can broadcast to ``g.shape``. ``()`` is that of a number.

    Returns:
        An array of that shape: g, summed over the axes that the variable lacks (they are in front) and over those
        where it has length 1.

    >>> unbroadcast(np.ones((4, 3)), (3,))
    array([4., 4., 4.])
    >>> unbroadcast(np.ones((4, 3)), (4, 1))
    array([[3.],
           [3.],
           [3.],
           [3.]])

    Common trap: an axis of length 1 stays, with length 1; an axis that was not there goes.
    """
    raise NotImplementedError("unbroadcast: unbroadcast")


class Var:
    """An array on a tape. Made by ``tape.leaf`` and ``tape.record``. Given, but for three operators and ``sum``.

    Attributes:
        data: the array.
        grad: the gradient of the loss by it. Of a leaf zeros at first, and every ``backward`` adds to it; of a recorded
            value None at first.
        tape: whose it is.
        is_leaf: whether it is a leaf.
    """

    __slots__ = ("data", "grad", "is_leaf", "tape")
    __array_ufunc__ = None  # so that array * var is ours, and not an array of objects

    def __init__(self, data: Any, tape: Tape, grad: Any = None, is_leaf: bool = False) -> None:
        self.data = data
        self.tape = tape
        self.grad = grad
        self.is_leaf = is_leaf

    def __add__(self, other: Any) -> Var:
        """self + other, entry by entry, where numpy broadcasting holds. One recorded value.

        The edges lead to self and to other (``record`` leaves out the one to a constant).

        Common trap: what was broadcast must be summed back, on either side (``unbroadcast``).
        """
        a, b = self.data, value(other)
        raise NotImplementedError("tape_ops: Var.__add__")

    def __mul__(self, other: Any) -> Var:
        """self * other, entry by entry, where numpy broadcasting holds. One recorded value.

        Common trap: in ``x * x`` self and other are the same Var. Two edges lead to it, and both count.
        """
        a, b = self.data, value(other)
        raise NotImplementedError("tape_ops: Var.__mul__")

    def __matmul__(self, other: Any) -> Var:
        """The matrix product self @ other. One recorded value.

        self is (m, n), other is (n,) or (n, p); the result is (m,) or (m, p).

        Common trap: where other is a vector, the gradient of self is a matrix still: an outer product.
        """
        a, b = self.data, value(other)
        raise NotImplementedError("tape_ops: Var.__matmul__")

    def __rmatmul__(self, other: Any) -> Var:
        """other @ self, where other is a constant: a Var that nobody asks for its gradient."""
        return Var(value(other), self.tape) @ self

    def sum(self) -> Var:
        """The sum of all entries, a number. One recorded value.

        Common trap: ``local(g)`` gets a number and must return an array of the shape of ``self.data``.
        """
        a = self.data
        raise NotImplementedError("tape_ops: Var.sum")

    def __neg__(self) -> Var:
        return self * -1.0

    def __sub__(self, other: Any) -> Var:
        return self + -other

    def __rsub__(self, other: Any) -> Var:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__  # they are commutative


class Tape:
    """The recorded values, in the order of the program.

    Attributes:
        nodes: a list of pairs ``(out, edges)``, the oldest first: a recorded Var, and a list or tuple of its edges.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[Var, Sequence[Edge]]] = []

    def __len__(self) -> int:
        """How many values are recorded."""
        return len(self.nodes)

    def leaf(self, data: Any) -> Var:
        """A Var that is no result: a parameter. It is not recorded, and it stays when the tape is emptied. Given.

        Its ``data`` is the given array itself if that is one of float64, so that an update in place is seen.
        """
        data = np.asarray(data, dtype=float)
        return Var(data, self, np.zeros_like(data), is_leaf=True)

    def record(self, data: Any, *edges: Edge) -> Var:
        """Append a new value to the tape.

        Args:
            data: the result of an operation: an array or a number.
            edges: ``(x, local)`` for each input x: a Var, or a constant.

        Returns:
            A new Var on this tape, no leaf, with the data as given: a plain number stays one. The last node of the tape
            is ``(that Var, edges)``, with the edges in their order, but without those where x is no Var: a constant
            needs no gradient.

        Common trap: the same Var may be among the inputs twice; both edges are kept.
        """
        raise NotImplementedError("tape_record: Tape.record")

    def backward(self, loss: Var) -> None:
        """Add the gradient of the loss by each leaf to the leaf's ``grad``, and empty the tape.

        The reverse sweep, from the last node to the first: when it comes to a node, everything that uses its value
        has been passed, so the gradient by it is complete and can be handed on along its edges. It starts with the
        gradient of the loss by itself, which is 1.

        Args:
            loss: a recorded Var that is a number.

        Afterwards every leaf's ``grad`` is what it was before, plus the gradient of the loss by that leaf; nothing for
        a leaf on which the loss does not depend. What the recorded Vars' ``grad`` is then, is left open.

        Raises:
            RuntimeError: the tape is empty. So a second ``backward`` needs a second forward pass.

        With b = a + a and c = b + b, where a is a leaf, ``backward(c)`` adds 4 to ``a.grad``.

        Common trap: a value may be used many times; what comes back from all uses is summed, on leaves and on recorded
        values alike. And a value that the loss does not depend on has no gradient to hand on.
        """
        raise NotImplementedError("tape_backward: Tape.backward")


def value(x: Any) -> np.ndarray:
    """The array of a Var, or a constant as an array. Given."""
    return x.data if isinstance(x, Var) else np.asarray(x, dtype=float)


def mean(*values: Var) -> Var:
    """The mean of several numbers. One recorded value. Given, as an example of an operation."""
    n = len(values)
    total = sum(x.data for x in values)
    return values[0].tape.record(total / n, *[(x, lambda g: g / n) for x in values])


def tanh(x: Var) -> Var:
    """The hyperbolic tangent of each entry. One recorded value; the derivative is 1 - tanh(x)^2."""
    y = np.tanh(x.data)
    raise NotImplementedError("tape_ops: tanh")


def sigmoid(x: Var) -> Var:
    """1 / (1 + exp(-x)) of each entry, without overflow. One recorded value."""
    y = 0.5 + 0.5 * np.tanh(0.5 * x.data)
    raise NotImplementedError("tape_ops: sigmoid")


def lookup(table: Var, row: int) -> Var:
    """One row of a matrix, ``table[row]``. One recorded value.

    Args:
        table: (V, d).
        row: an int; a constant.

    Returns:
        A Var, (d,).

    Common trap: the gradient has the shape of the whole table.
    """
    a = table.data
    raise NotImplementedError("tape_ops: lookup")


def softmax_cross_entropy(logits: Var, target: int) -> Var:
    """-log softmax(logits)[target], a number, without overflow. One recorded value.

    Args:
        logits: (V,).
        target: an id; a constant.

    Common trap: there is a gradient for every logit, not for the target's alone.
    """
    shifted = logits.data - np.maximum.reduce(logits.data)
    exps = np.exp(shifted)
    total = np.add.reduce(exps)  # softmax(logits) = exps / total
    loss = np.log(total) - shifted[target]
    raise NotImplementedError("tape_ops: softmax_cross_entropy")


def sentence_loss(params: RNNParams, inputs: Sequence[int], targets: Sequence[int]) -> Var:
    """The loss of the RNN language model on one sentence, recorded step by step: a loop is all that BPTT needs.

    h_0 = 0; for t = 1 .. T:  h_t = tanh(W_xh E[inputs[t]] + W_hh h_(t-1) + b_h),  logits_t = W_hy h_t + b_y.

    Args:
        params: the parameters, each a leaf of one tape: E (V, d), W_xh (H, d), b_h (H,), W_hh (H, H), W_hy (V, H),
            b_y (V,).
        inputs: the ids of the words that are read, T of them, at least one.
        targets: the ids of the words to predict, as many.

    Returns:
        The mean over t of the softmax cross-entropy of logits_t and targets[t]: a Var on that tape.

    Common trap: start with h = 0 as a constant, and take the last h into the next step.
    """
    raise NotImplementedError("tape_rnn: sentence_loss")
