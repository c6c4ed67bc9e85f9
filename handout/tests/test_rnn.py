"""Tests of lm/rnn.py: small numbers that you can check by hand, published ones, and differences of plain sentences."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")


def line(first, last, *shape):
    """Numbers at equal distances, in the order of reading."""
    return np.linspace(first, last, int(np.prod(shape))).reshape(shape)


def random_arrays(rng, words, d, hidden):
    """The six parameters, in the order of their names."""
    shapes = [(words, d), (hidden, d), (hidden,), (hidden, hidden), (words, hidden), (words,)]
    return [rng.normal(size=shape) for shape in shapes]


def plain_states(x, h0, W_xh, b_h, W_hh):
    """The states of one sentence, h0 first."""
    h = [h0]
    for row in x:
        h.append(np.tanh(W_xh @ row + W_hh @ h[-1] + b_h))
    return np.stack(h)


def step_params(student, W_xh, b_h, W_hh):
    """Parameters of which only those of a step matter; V is 2."""
    W_xh, b_h, W_hh = (np.array(array, dtype=float) for array in (W_xh, b_h, W_hh))
    hidden, d = W_xh.shape
    return student.types.RNNParams(np.ones((2, d)), W_xh, b_h, W_hh, np.ones((2, hidden)), np.ones(2))


def check_untouched(student, check, handles, arrays, names):
    """What was given is afterwards what it was before."""
    for handle, array, name in zip(handles, arrays, names.split(), strict=True):
        check.close(student.get(handle), array, f"your argument {name} after the call", rtol=0, atol=0)


def check_params_untouched(check, params, arrays):
    """The parameters are afterwards what they were before."""
    for name, array in zip(NAMES, arrays, strict=True):
        check.close(getattr(params, name), array, f"{name} after the call", rtol=0, atol=0)


# --- rnn_step


@item("rnn_step")
def test_one_step_by_hand(student, check):
    """tanh of W_xh x + W_hh h_prev + b_h, row by row."""
    params = step_params(student, [[1.0, 2.0], [0.0, -1.0], [1.0, 1.0]], [0.5, 0.0, -0.5], 0.5 * np.eye(3)[::-1])
    got = student.rnn.rnn_step_forward(np.array([[1.0, -1.0], [0.0, 0.5]]), np.array([[1.0, 2, 3], [0, 0, -1]]), params)
    # 1 - 2 + 3/2 + 1/2 = 1; 1 + 1 = 2; 0 + 1/2 - 1/2 = 0; and the second row
    check.close(got, np.tanh([[1.0, 2.0, 0.0], [1.0, -0.5, 0.0]]), "the states")


@item("rnn_step")
def test_one_step_of_cs231n(student, check):
    """The numbers of CS231n's third assignment; its weights are (in, out), ours (out, in)."""
    W_xh, W_hh = line(-0.1, 0.9, 10, 4).T, line(-0.3, 0.7, 4, 4).T
    params = step_params(student, W_xh, line(-0.2, 0.4, 4), W_hh)
    got = student.rnn.rnn_step_forward(line(-0.4, 0.7, 3, 10), line(-0.2, 0.5, 3, 4), params)
    expected = [
        [-0.58172089, -0.50182032, -0.41232771, -0.31410098],
        [0.66854692, 0.79562378, 0.87755553, 0.92795967],
        [0.97934501, 0.99144213, 0.99646691, 0.99854353],
    ]
    check.close(got, np.array(expected), "the states", rtol=0, atol=1e-7)


@item("rnn_step")
def test_one_step_keeps_its_arguments(student, check):
    """What goes into tanh may be in the thousands; nothing that was given is changed."""
    params = step_params(student, [[1000.0], [-1000.0]], [0.0, 0.0], np.eye(2))
    arrays = np.array([[2.0], [0.0]]), np.array([[0.5, 0.5], [0.5, -0.25]])
    given = [student.put(array) for array in arrays]
    for _ in range(2):
        got = student.rnn.rnn_step_forward(*given, params)
        check.close(got, np.array([[1.0, -1.0], np.tanh([0.5, -0.25])]), "the states")
    check_untouched(student, check, given, arrays, "x h_prev")


# --- rnn_forward


@item("rnn_forward")
def test_two_words_by_hand(student, check):
    """With numbers for arrays: each state is made of the word and the state before, each logit of the state after."""
    E, W_hy, b_y = line(1.0, 2.0, 2, 1), line(1.0, -3.0, 2, 1), line(0.0, 7.0, 2)
    params = student.types.RNNParams(E, np.ones((1, 1)), np.zeros(1), np.full((1, 1), 0.5), W_hy, b_y)
    for h0, before in ((None, 0.0), (np.ones((1, 1)), 1.0)):
        logits, cache = check.unpack(student.rnn.rnn_forward(np.array([[0, 1]]), params, h0), 2)
        first = np.tanh(1 + before / 2)
        second = np.tanh(2 + first / 2)
        check.close(logits, np.array([[[first, 7 - 3 * first], [second, 7 - 3 * second]]]), "the logits")
        check.close(cache.h, np.array([[[before], [first], [second]]]), "cache.h")
        check.close(cache.x, np.array([[[1.0], [2.0]]]), "cache.x")
        check.equal([int(i) for i in check.array(cache.inputs, "cache.inputs", (1, 2)).ravel()], [0, 1], "cache.inputs")


@item("rnn_forward")
def test_the_sequences_of_cs231n(student, check):
    """The states of CS231n's third assignment, which come out as logits here, and one logit that is always 0."""
    E, h0 = line(-0.1, 0.3, 6, 4), line(-0.3, 0.1, 2, 5)
    W_xh, b_h, W_hh = line(-0.2, 0.4, 4, 5).T, line(-0.7, 0.1, 5), line(-0.4, 0.1, 5, 5).T
    params = student.types.RNNParams(E, W_xh, b_h, W_hh, np.eye(6, 5), np.zeros(6))
    logits, cache = check.unpack(student.rnn.rnn_forward(np.arange(6).reshape(2, 3), params, h0), 2)
    expected = [
        [
            [-0.42070749, -0.27279261, -0.11074945, 0.05740409, 0.22236251],
            [-0.39525808, -0.22554661, -0.0409454, 0.14649412, 0.32397316],
            [-0.42305111, -0.24223728, -0.04287027, 0.15997045, 0.35014525],
        ],
        [
            [-0.55857474, -0.39065825, -0.19198182, 0.02378408, 0.23735671],
            [-0.27150199, -0.07088804, 0.13562939, 0.33099728, 0.50158768],
            [-0.51014825, -0.30524429, -0.06755202, 0.17806392, 0.40333043],
        ],
    ]
    right = np.concatenate([np.array(expected), np.zeros((2, 3, 1))], axis=-1)
    check.close(logits, right, "the logits", rtol=0, atol=1e-7)
    check.close(cache.h, np.concatenate([h0[:, None], right[..., :5]], axis=1), "cache.h", rtol=0, atol=1e-7)


@item("rnn_forward")
def test_each_sequence_as_if_it_were_alone(student, rng, check):
    """Two sentences at once have the states and logits that each has by itself; nothing that was given is changed."""
    E, W_xh, b_h, W_hh, W_hy, b_y = arrays = random_arrays(rng, 5, 3, 4)
    params, ids, h0 = student.types.RNNParams(*arrays), np.array([[3, 0, 3, 3], [4, 1, 0, 2]]), rng.normal(size=(2, 4))
    given = student.put(ids), student.put(h0)
    logits, cache = check.unpack(student.rnn.rnn_forward(given[0], params, given[1]), 2)
    h = np.stack([plain_states(E[row], start, W_xh, b_h, W_hh) for row, start in zip(ids, h0, strict=True)])
    check.close(cache.h, h, "cache.h")
    check.close(logits, np.einsum("vh,bth->btv", W_hy, h[:, 1:]) + b_y, "the logits")
    check_untouched(student, check, given, (ids, h0), "inputs h0")
    check_params_untouched(check, params, arrays)


@item("rnn_forward")
@weight(0.5)
def test_the_next_call_begins_anew(student, rng, check):
    """Without h0 every call begins with zeros, and what a call returned stays as it is."""
    params, ids = student.types.RNNParams(*random_arrays(rng, 5, 3, 4)), np.array([[3, 0, 2], [1, 4, 4]])
    logits, cache = check.unpack(student.rnn.rnn_forward(ids, params), 2)
    logits, h = check.array(logits, "the logits", (2, 3, 5)).copy(), check.array(cache.h, "cache.h", (2, 4, 4)).copy()
    student.rnn.rnn_forward(4 - ids, params, np.ones((2, 4)))
    again, _ = check.unpack(student.rnn.rnn_forward(ids, params), 2)
    check.close(again, logits, "the logits of the same call once more")
    student.rnn.rnn_forward(4 - ids, params)
    check.close(cache.h, h, "cache.h of the first call, after three more", rtol=0, atol=0)


@item("rnn_forward")
def test_no_look_ahead(student, rng, check):
    """Whatever words come later, the logits of the time before them stay as they are."""
    params, ids = student.types.RNNParams(*random_arrays(rng, 5, 3, 4)), np.array([[3, 0, 2, 4], [1, 1, 4, 0]])
    logits, _ = check.unpack(student.rnn.rnn_forward(ids, params), 2)
    other, _ = check.unpack(student.rnn.rnn_forward(np.hstack([ids[:, :2], 4 - ids[:, 2:], ids]), params), 2)
    logits = check.array(logits, "the logits", (2, 4, 5))
    check.close(check.array(other, "the logits", (2, 8, 5))[:, :2], logits[:, :2], "the logits of the first two words")


# --- masked_loss


@item("masked_loss")
@pytest.mark.parametrize(
    ("logits", "targets", "mask", "loss", "dlogits"),
    [
        (
            np.log([[[0.25, 0.75], [0.5, 0.5]], [[0.125, 0.875], [0.3, 0.7]]]),
            [[0, 1], [0, 1]],
            [[1, 1], [1, 0]],
            np.log(4 * 2 * 8) / 3,
            np.array([[[-0.75, 0.75], [0.5, -0.5]], [[-0.875, 0.875], [0, 0]]]) / 3,
        ),
        (
            np.array([[[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, 1000.0], [-1000.0, -1000.0, -2000.0]]]),
            [[1, 2, 0]],
            [[1, 1, 1]],
            (2000 + np.log(2)) / 3,
            np.array([[[1.0, -1.0, 0.0], [0.0, 0.0, 0.0], [-0.5, 0.5, 0.0]]]) / 3,
        ),
        (np.ones((2, 2, 3)), [[0, 1], [2, 2]], [[0, 0], [0, 0]], 0.0, np.zeros((2, 2, 3))),
    ],
    ids=["two-sentences", "thousands", "all-padding"],
)
def test_masked_loss_by_hand(student, check, logits, targets, mask, loss, dlogits):
    """The mean of minus the logarithm of the softmax at the targets that count, and its gradient."""
    got = student.rnn.masked_cross_entropy(logits, np.array(targets), np.array(mask, dtype=bool))
    got_loss, got_dlogits = check.unpack(got, 2)
    check.close(got_loss, float(loss), "the loss")
    check.close(got_dlogits, np.array(dlogits), "dlogits")


@item("masked_loss")
def test_masked_loss_agrees_with_differences(student, rng, check):
    """dlogits is what a small change of each logit does to the loss; nothing that was given is changed."""
    logits, targets = rng.normal(size=(2, 3, 4)), np.array([[3, 0, 3], [1, 3, 2]])
    mask = np.array([[True, True, True], [True, False, False]])

    def loss(at):
        chosen = np.take_along_axis(at, targets[..., None], axis=-1)[..., 0]
        return np.mean((np.log(np.exp(at).sum(axis=-1)) - chosen)[mask])

    arrays = logits, targets, mask
    given = [student.put(array) for array in arrays]
    got_loss, dlogits = check.unpack(student.rnn.masked_cross_entropy(*given), 2)
    check.close(got_loss, float(loss(logits)), "the loss")
    check.gradient(dlogits, loss, logits, what="dlogits")
    check_untouched(student, check, given[:2], arrays[:2], "logits targets")


@item("masked_loss")
def test_more_padding_changes_nothing(student, rng, check):
    """The same sentences with three more columns of padding have the same loss, whatever stands in the padding."""
    logits, targets = rng.normal(size=(2, 3, 4)), np.array([[3, 0, 0], [1, 2, 0]])
    mask = np.array([[True, True, False], [True, True, True]])
    loss, dlogits = check.unpack(student.rnn.masked_cross_entropy(logits, targets, mask), 2)
    wider = np.concatenate([logits, 100 * rng.normal(size=(2, 3, 4))], axis=1)
    more, none = np.full((2, 3), 2), np.zeros((2, 3), dtype=bool)
    got = student.rnn.masked_cross_entropy(wider, np.hstack([targets, more]), np.hstack([mask, none]))
    got_loss, got_dlogits = check.unpack(got, 2)
    dlogits = check.array(dlogits, "dlogits", (2, 3, 4))
    check.close(got_loss, check.number(loss, "the loss"), "the loss with more padding")
    check.close(got_dlogits, np.concatenate([dlogits, np.zeros((2, 3, 4))], axis=1), "dlogits with more padding")


# --- rnn_step_backward

STEP = ("x", "h_prev", "W_xh", "b_h", "W_hh")


@item("rnn_step_backward")
def test_one_step_backwards_by_hand(student, check):
    """Two rows, through states of 0.5, 0, 0.6 and -0.8, whose tanh has the slopes 0.75, 1, 0.64 and 0.36."""
    W_xh, b_h, W_hh = np.diag([2.0, 1.0]), np.array([0.25, 0.0]), np.array([[0.0, 1.0], [-0.5, 0.0]])
    h, h_prev = np.array([[0.5, 0.0], [0.6, -0.8]]), np.array([[0.0, 1.0], [-1.0, 2.0]])
    x = (np.arctanh(h) - h_prev @ W_hh.T - b_h) / np.array([2.0, 1.0])
    params = step_params(student, W_xh, b_h, W_hh)
    got = student.rnn.rnn_step_backward(np.array([[4.0, 1.0], [100.0, -100.0]]), x, h_prev, h, params)
    da = np.array([[3.0, 1.0], [64.0, -36.0]])
    expected = {
        "x": np.array([[6.0, 1.0], [128.0, -36.0]]),
        "h_prev": np.array([[-0.5, 3.0], [18.0, 64.0]]),
        "W_xh": np.array([3 * x[0] + 64 * x[1], 1 * x[0] - 36 * x[1]]),
        "b_h": da.sum(axis=0),
        "W_hh": np.array([[-64.0, 131.0], [36.0, -71.0]]),
    }
    for name, value in check.fields(got, STEP).items():
        check.close(value, expected[name], f"the gradient by {name}")


@item("rnn_step_backward")
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 4, 2)], ids=["two-rows", "one-row"])
def test_one_step_backwards_agrees_with_differences(student, rng, check, shape):
    """All five gradients are what a small change of each number does to the loss; nothing that was given is changed."""
    rows, d, hidden = shape
    at = {"x": rng.normal(size=(rows, d)), "h_prev": rng.normal(size=(rows, hidden))}
    at |= {"W_xh": rng.normal(size=(hidden, d)), "b_h": rng.normal(size=hidden)}
    at |= {"W_hh": rng.normal(size=(hidden, hidden))}

    def step(x, h_prev, W_xh, b_h, W_hh):
        return np.stack([plain_states([row], start, W_xh, b_h, W_hh)[1] for row, start in zip(x, h_prev, strict=True)])

    arrays = rng.normal(size=(rows, hidden)), at["x"], at["h_prev"], step(**at)
    given = [student.put(array) for array in arrays]
    got = student.rnn.rnn_step_backward(*given, step_params(student, at["W_xh"], at["b_h"], at["W_hh"]))
    for name, value in check.fields(got, STEP).items():

        def of_one(array, name=name):
            return step(**{**at, name: array})

        check.gradient(value, of_one, at[name], arrays[0], f"the gradient by {name}")
    check_untouched(student, check, given, arrays, "dh x h_prev h")


# --- bptt


@item("bptt")
def test_two_words_backwards_by_hand(student, check):
    """With numbers for arrays: the states are 0.8, 0.6 and 0.5, tanh has the slopes 0.64 and 0.75 there."""
    E = np.array([[np.arctanh(0.6) - 0.4], [np.arctanh(0.5) - 0.3], [9.0]]) / 2
    W_hy = np.array([[1.0], [2.0], [0.0]])
    params = student.types.RNNParams(E, np.full((1, 1), 2.0), np.zeros(1), np.full((1, 1), 0.5), W_hy, np.zeros(3))
    cache = student.types.RNNCache(np.array([[0, 1]]), E[None, :2], np.array([[[0.8], [0.6], [0.5]]]))
    dlogits = np.array([[[2.0, -1.0, 4.0], [2.0, 1.0, -4.0]]])
    got = check.fields(student.rnn.rnn_backward(dlogits, cache, params), (*NAMES, "h0"))
    # by the last state 2 + 2, so 3 below its tanh; by the one before 2 - 2 and what comes back, 3 / 2: 0.96 below
    check.close(got["E"], np.array([[1.92], [6.0], [0.0]]), "the gradient by E")
    check.close(got["W_xh"], 3 * E[1:2] + 0.96 * E[:1], "the gradient by W_xh")
    check.close(got["b_h"], np.array([3.96]), "the gradient by b_h")
    check.close(got["W_hh"], np.array([[3 * 0.6 + 0.96 * 0.8]]), "the gradient by W_hh")
    check.close(got["W_hy"], np.array([[2.2], [-0.1], [0.4]]), "the gradient by W_hy")
    check.close(got["b_y"], np.array([4.0, 0.0, 0.0]), "the gradient by b_y")
    check.close(got["h0"], np.array([[0.48]]), "the gradient by h0")


@item("bptt")
@weight(2)
@pytest.mark.parametrize("length", [1, 3], ids=["one-word", "three-words"])
def test_bptt_agrees_with_differences(student, rng, check, length):
    """All gradients are what a small change of each number does to the loss; nothing that was given is changed."""
    at = dict(zip(NAMES, random_arrays(rng, 4, 2, 3), strict=True)) | {"h0": rng.normal(size=(2, 3))}
    ids, dlogits = np.array([[1, 3, 1], [0, 3, 3]])[:, :length], 1e3 * rng.normal(size=(2, length, 4))

    def states(E, W_xh, b_h, W_hh, W_hy, b_y, h0):
        return np.stack([plain_states(E[row], start, W_xh, b_h, W_hh) for row, start in zip(ids, h0, strict=True)])

    def logits(**arrays):
        return np.einsum("vh,bth->btv", arrays["W_hy"], states(**arrays)[:, 1:]) + arrays["b_y"]

    params = student.types.RNNParams(*[at[name] for name in NAMES])
    cache, given = student.types.RNNCache(ids, at["E"][ids], states(**at)), student.put(dlogits)
    got = check.fields(student.rnn.rnn_backward(given, cache, params), (*NAMES, "h0"))
    for name, value in got.items():

        def of_one(array, name=name):
            return logits(**{**at, name: array})

        check.gradient(value, of_one, at[name], dlogits, f"the gradient by {name}")
    check_untouched(student, check, [given], [dlogits], "dlogits")
    check.close(cache.h, states(**at), "cache.h after the call", rtol=0, atol=0)
    check_params_untouched(check, params, [at[name] for name in NAMES])


@item("bptt")
def test_what_is_left_after_fifty_steps(student, check):
    """All states are 0 and W_hh turns by a quarter and shrinks by 0.9: of a gradient of 1, 0.9^50 = 0.00515 is left."""
    W_hh = 0.9 * np.array([[0.0, -1.0], [1.0, 0.0]])
    params = student.types.RNNParams(np.zeros((2, 1)), np.ones((2, 1)), np.zeros(2), W_hh, np.eye(2), np.zeros(2))
    cache = student.types.RNNCache(np.zeros((1, 50), dtype=int), np.zeros((1, 50, 1)), np.zeros((1, 51, 2)))
    dlogits = np.zeros((1, 50, 2))
    dlogits[0, -1] = [1.0, 0.0]  # the last prediction is the only one that counts
    got = check.fields(student.rnn.rnn_backward(dlogits, cache, params), ("h0", "b_h"))
    check.close(got["h0"], np.array([[-(0.9**50), 0.0]]), "the gradient by h0", rtol=1e-10)
    places = np.array([[1, 0], [0, -1], [-1, 0], [0, 1]])
    check.close(got["b_h"], sum(0.9**t * places[t % 4] for t in range(50)), "the gradient by b_h")
