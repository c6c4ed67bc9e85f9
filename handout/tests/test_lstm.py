"""Tests of lm/lstm.py: one step by hand, and the numbers that Stanford's CS231n prints for its own."""

import numpy as np
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# assignment3 of CS231n (2020), LSTM: step forward. The arrays are made by linspace there, as here.
CS231N_H = [
    [0.24635157, 0.28610883, 0.32240467, 0.35525807, 0.38474904],
    [0.49223563, 0.55611431, 0.61507696, 0.66844003, 0.7159181],
    [0.56735664, 0.66310127, 0.74419266, 0.80889665, 0.858299],
]
CS231N_C = [
    [0.32986176, 0.39145139, 0.451556, 0.51014116, 0.56717407],
    [0.66382255, 0.76674007, 0.87195994, 0.97902709, 1.08751345],
    [0.74192008, 0.90592151, 1.07717006, 1.25120233, 1.42395676],
]


def even(low, high, *shape):
    """An array of this shape whose entries go from low to high in equal steps, row by row."""
    return np.linspace(low, high, int(np.prod(shape))).reshape(shape)


def from_cs231n(weights, size):
    """The weights (in, 4H) of the gates i, f, o, g as weights (4H, in) of the gates i, f, g, o."""
    i, f, o, g = (weights[..., n * size : (n + 1) * size] for n in range(4))
    return np.ascontiguousarray(np.concatenate([i, f, g, o], axis=-1).T)


@item("lstm_cell")
def test_one_number(student, check):
    """The example of the docstring: i = 1/2, f = 3/4, g = tanh 1/2, o = 1/2."""
    arrays = ([[1.0]], [[0.0]], [[1.0]], [[0.0], [np.log(3)], [0.5], [0.0]], [[7.0]] * 4, [0.0] * 4)
    got = student.lstm.lstm_cell(*(student.tensor(np.array(array)) for array in arrays))
    h, c = check.unpack(got, 2, "(h, c)")
    cell = 0.75 + 0.5 * np.tanh(0.5)
    check.close(c, np.array([[cell]]), "the cell", rtol=1e-12)
    check.close(h, np.array([[0.5 * np.tanh(cell)]]), "the hidden state", rtol=1e-12)


@item("lstm_cell")
def test_the_cell_is_the_way_back(student, check):
    """The same example: the gradient of c' by c is f = 3/4, by h nothing comes back; c is still 1 afterwards."""
    x, h, c, W_xh, W_hh, b = ([[1.0]], [[0.0]], [[1.0]], [[0.0], [np.log(3)], [0.5], [0.0]], [[0.0]] * 4, [0.0] * 4)
    given = tuple(student.tensor(np.array(array)) for array in (x, h, c, W_xh, W_hh, b))
    student.lstm.lstm_cell(*given)
    check.close(student.get(given[2]), np.array(c), "c after a call")
    by_h, by_c = student.tensor(np.array([[0.0]])), student.tensor(np.array([[1.0]]))
    _, got = check.unpack(student.torch.autograd.functional.vjp(student.lstm.lstm_cell, given, (by_h, by_c)), 2)
    got = check.unpack(got, 6, "the gradients by the six arguments")
    check.close(got[2], np.array([[0.75]]), "the gradient by c")
    check.close(got[1], np.array([[0.0]]), "the gradient by h")


@item("lstm_cell")
@weight(2)
def test_numbers_of_cs231n(student, check):
    """Three rows, d = 4, H = 5: the states and cells that CS231n prints; its gates are in another order."""
    x, h, c = even(-0.4, 1.2, 3, 4), even(-0.3, 0.7, 3, 5), even(-0.4, 0.9, 3, 5)
    W_xh, W_hh, b = even(-2.1, 1.3, 4, 20), even(-0.7, 2.2, 5, 20), even(0.3, 0.7, 20)
    arrays = (x, h, c, *(from_cs231n(weights, 5) for weights in (W_xh, W_hh, b)))
    got = student.lstm.lstm_cell(*map(student.tensor, arrays))
    h, c = check.unpack(got, 2, "(h, c)")
    check.close(h, np.array(CS231N_H), "the hidden states", rtol=0, atol=1e-7)
    check.close(c, np.array(CS231N_C), "the cells", rtol=0, atol=1e-7)
