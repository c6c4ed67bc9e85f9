"""Tests of lm/rnn.py, second half: truncated backpropagation, and how gradients fade through time."""

import math
from functools import partial

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# A network of one unit, with embeddings of one number and three words: everything is a plain number.
TINY = {
    "E": np.array([[0.5], [-1.0], [2.0]]),
    "W_xh": np.array([[0.75]]),
    "b_h": np.array([0.25]),
    "W_hh": np.array([[-0.5]]),
    "W_hy": np.array([[1.0], [-2.0], [0.5]]),
    "b_y": np.array([0.0, 0.5, -0.5]),
}


def there(student, arrays):
    """``RNNParams`` on the student's side, and a handle for each of its arrays."""
    handles = {name: student.put(array) for name, array in arrays.items()}
    return student.types.RNNParams(**handles), handles


def one_unit(words, targets, state, recurrent, arrays=TINY):
    """The mean loss of a text, word by word in plain numbers, and the last state."""
    total = 0.0
    for word, target in zip(words, targets, strict=True):
        drive = arrays["W_xh"][0, 0] * arrays["E"][word, 0] + arrays["b_h"][0]
        state = math.tanh(drive + recurrent * state)
        scores = [math.exp(w * state + b) for w, b in zip(arrays["W_hy"][:, 0], arrays["b_y"], strict=True)]
        total -= math.log(scores[target] / sum(scores))
    return total / len(words), state


def loss_of(words, targets, state, recurrent):
    """The mean loss of a text, state and recurrent weight being numbers or arrays of one."""
    return one_unit(words, targets, float(np.sum(state)), float(np.sum(recurrent)))[0]


def next_chunk(student, check, chunks):
    """The loss and the gradients of the next chunk."""
    done, chunk = check.unpack(student.testing.advance(chunks), 2, "a step of the iterator")
    check.that(done is False, "there are too few chunks")
    return check.unpack(chunk, 2, "a chunk")


# --- tbptt

WORDS, TARGETS = [0, 2, 1, 1, 0], [2, 1, 1, 0, 2]


@item("tbptt")
@weight(3)
@pytest.mark.parametrize("k", [2, 5, 9], ids=["chunks-of-2", "one-chunk", "longer-than-the-text"])
def test_tbptt_of_one_unit(student, check, k):
    """Each chunk starts from the last state of the one before, and its gradient goes back no further than that."""
    params, _ = there(student, TINY)
    inputs, targets = np.array([WORDS]), np.array([TARGETS])
    chunks = student.rnn.tbptt(inputs, targets, np.ones((1, 5), dtype=bool), params, k, np.array([[0.5]]))
    state, recurrent = 0.5, TINY["W_hh"]
    for start in range(0, 5, k):
        words, following = WORDS[start : start + k], TARGETS[start : start + k]
        loss, gradients = next_chunk(student, check, chunks)
        expected, last = one_unit(words, following, state, recurrent[0, 0])
        check.close(loss, expected, "the loss of the chunk")
        got = check.fields(gradients, ["W_hh", "h0"], "the gradients")
        loss_by_recurrent = partial(loss_of, words, following, state)
        check.gradient(got["W_hh"], loss_by_recurrent, recurrent, what="the gradient by W_hh")
        loss_by_state = partial(loss_of, words, following, recurrent=recurrent)
        check.gradient(got["h0"], loss_by_state, np.array([[state]]), what="the gradient by the chunk's first state")
        state = last
    done, _ = check.unpack(student.testing.advance(chunks), 2, "a step of the iterator")
    check.that(done is True, "there are too many chunks")


@item("tbptt")
@weight(1.5)
def test_tbptt_while_the_parameters_change(student, check):
    """The caller changes W_hh in place between two chunks: the second chunk uses the new one, and the old state."""
    params, handles = there(student, TINY)
    inputs, targets = np.array([WORDS]), np.array([TARGETS])
    chunks = student.rnn.tbptt(inputs, targets, np.ones((1, 5), dtype=bool), params, 3)
    expected, state = one_unit(WORDS[:3], TARGETS[:3], 0.0, -0.5)
    loss, _ = next_chunk(student, check, chunks)
    check.close(loss, expected, "the loss of the first chunk")
    handles["W_hh"][...] = np.array([[1.5]])
    loss, _ = next_chunk(student, check, chunks)
    check.close(loss, one_unit(WORDS[3:], TARGETS[3:], state, 1.5)[0], "the loss of the second chunk")


# --- gradient_through_time


@item("gradient_through_time")
@weight(1.5)
def test_gradient_norms_of_one_unit(student, check):
    """How much log p(target) changes with the state d steps back: entry 0 with the last one, and so on."""
    params, _ = there(student, TINY)
    inputs, target = np.array([[0, 2, 1], [1, 1, 0]]), np.array([2, 1])
    expected = np.zeros((2, 3))
    for row in range(2):
        state = 0.0
        for t, word in enumerate(inputs[row]):
            _, state = one_unit([word], [0], state, -0.5)
            above, below = (log_probability(inputs[row, t + 1 :], target[row], state + e) for e in (1e-6, -1e-6))
            expected[row, 2 - t] = abs(above - below) / 2e-6
    check.close(student.rnn.gradient_norms(inputs, target, params), expected, "the norms", rtol=1e-6)


def log_probability(words, target, state):
    """log p(target) after these words, read from this state."""
    for word in words:
        _, state = one_unit([word], [0], state, -0.5)
    scores = [w * state + b for w, b in zip(TINY["W_hy"][:, 0], TINY["b_y"], strict=True)]
    return scores[target] - math.log(sum(map(math.exp, scores)))


@item("gradient_through_time")
@pytest.mark.parametrize("rho", [0.9, 1.1], ids=["fades", "grows"])
def test_gradient_norms_shrink_or_grow_by_the_same_factor(student, check, rho):
    """States of 0 and W_hh = rho times a rotation: 30 steps back rho^30 of the gradient is left."""
    arrays = {
        "E": np.zeros((3, 1)),
        "W_xh": np.ones((2, 1)),
        "b_h": np.zeros(2),
        "W_hh": rho * np.array([[0.6, -0.8], [0.8, 0.6]]),
        "W_hy": np.array([[3.0, 0.0], [0.0, 3.0], [0.0, 0.0]]),
        "b_y": np.zeros(3),
    }
    params, _ = there(student, arrays)
    norms = student.rnn.gradient_norms(np.array([[0] * 15 + [2] * 16]), np.array([2]), params)
    # each word has 1/3: the gradient by the last state is minus the mean of the rows of W_hy, of norm sqrt(2)
    expected = math.sqrt(2) * rho ** np.arange(31.0)
    check.close(norms, expected[None], "the norms")


@item("gradient_through_time")
@pytest.mark.parametrize(
    ("matrix", "radius"),
    [([[0.0, 2.0], [-2.0, 0.0]], 2.0), ([[0.0, 4.0], [-1.0, 0.0]], 2.0), ([[1.0, 7.0], [0.0, -3.0]], 3.0)],
    ids=["complex-eigenvalues", "not-symmetric", "negative-eigenvalue"],
)
def test_spectral_radius(student, check, matrix, radius):
    """The eigenvalues of the first two matrices are 2i and -2i, those of the third 1 and -3."""
    check.close(student.rnn.spectral_radius(np.array(matrix)), radius, "the spectral radius")
