"""Tests of lm/torch_lm.py: a training step, training chunk by chunk, evaluation. All values are found by hand."""

from math import exp, log

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

ZEROS, TABLE = np.zeros(4), np.zeros((4, 4))  # of a Table over four words: each has probability 1/4
NO_LIMIT = 1e9  # of the norm: nothing is ever scaled


def tensors(student, *arrays):
    return [student.tensor(np.array(array)) for array in arrays]


# --- train_step


@item("train_step")
@weight(2)
def test_train_step_on_two_predictions(student, check):
    """The loss is a mean over the predictions that count, and each call steps with the gradient of its own batch."""
    model = student.torch_testing.Table(TABLE, ZEROS)
    optimiser = student.torch_testing.NotingSGD(model, 0.0)  # no step leads anywhere, so that all are alike
    batch = tensors(
        student, [[1, 3, 2], [1, 1, 1]], [[2, 0, 0], [2, 3, 3]], [[True, False, False], [True, False, False]]
    )
    for call in range(1, 4):
        loss = student.torch_lm.train_step(model, optimiser, *batch, NO_LIMIT)
        check.close(loss, log(4), f"the loss of call {call}")
        check.that(len(optimiser.gradients) == call, "each call should take one step of the optimiser")
        # of each of the two predictions: p - onehot(2), divided by 2; both stand in row 1
        row = [1 / 4, 1 / 4, -3 / 4, 1 / 4]
        gradients = optimiser.gradients[-1]
        check.close(gradients["bias"], np.array(row), f"the gradient by bias in call {call}")
        check.close(gradients["table"], np.array([[0] * 4, row, [0] * 4, [0] * 4]), f"that by table in call {call}")


@item("train_step")
@weight(1)
@pytest.mark.parametrize(("max_norm", "factor"), [(1.5, 0.75), (2.5, 1.0)], ids=["too-long", "short-enough"])
def test_train_step_clips(student, check, max_norm, factor):
    """A gradient of norm 2, sqrt(2) for each of the two parameters, is scaled if max_norm is less than 2."""
    table = TABLE.copy()
    table[3] = [0, 50, 0, 0]  # after word 3 the model is sure of word 1
    model = student.torch_testing.Table(table, ZEROS)
    batch = tensors(student, [[3]], [[2]], [[True]])
    arguments = model, student.torch_testing.NotingSGD(model, 1.0), *batch, max_norm
    loss, on_a_graph = student.torch_testing.returned(student.torch_lm.train_step, *arguments)
    check.close(loss, 50.0, "the loss before the step")
    check.that(not on_a_graph, "the loss should be a float: the whole graph hangs on a tensor")
    # exactly max/norm and max/(norm + 1e-6) are both right
    check.close(model.bias, factor * np.array([0.0, -1.0, 1.0, 0.0]), "bias after a step with lr 1", rtol=1e-5)


# --- train_chunks


@item("train_chunks")
@weight(1.5)
@pytest.mark.parametrize("as_tuple", [False, True], ids=["a-tensor", "a-tuple"])
def test_train_chunks_carries_the_state(student, check, as_tuple):
    """The second chunk starts with the state that the first one ended with; the last one is shorter."""
    model = student.torch_testing.Echo(np.eye(2), [0.5], as_tuple)
    optimiser = student.torch_testing.NotingSGD(model, 0.0)
    words = tensors(student, [[0, 1, 1]], [[1, 1, 0]])
    losses = student.torch_lm.train_chunks(model, optimiser, *words, 2, NO_LIMIT)
    first, second = check.unpack(losses, 2, "the losses, one for each chunk,")
    # logits: (1, 0), (0.5, 1) and, from the state (0.5, 1), (0.25, 1.5)
    check.close(first, (log(exp(1) + 1) + log(exp(0.5) + exp(1)) - 1) / 2, "the loss of chunk 1")
    check.close(second, log(exp(0.25) + exp(1.5)) - 0.25, "the loss of chunk 2")


@item("train_chunks")
@weight(1.5)
def test_train_chunks_cuts_the_gradient(student, check):
    """With a step that leads nowhere three equal chunks have the same gradient: nothing of earlier ones is in it."""
    model = student.torch_testing.Clock(np.zeros(2), np.zeros((2, 2)))
    optimiser = student.torch_testing.NotingSGD(model, 0.0)
    words = tensors(student, [[0] * 6], [[1] * 6])
    losses = student.torch_lm.train_chunks(model, optimiser, *words, 2, NO_LIMIT)
    for number, loss in enumerate(check.unpack(losses, 3, "the losses, one for each chunk,"), start=1):
        check.close(loss, log(2), f"the loss of chunk {number}")
    check.that(len(optimiser.gradients) == 3, "there should be one step of the optimiser for each chunk")
    for number, gradients in enumerate(optimiser.gradients, start=1):
        # p - onehot(1) is (1/2, -1/2); the rate is in the first state once, in the second one twice
        right = np.array([0.5, -0.5]) * (1 + 2) / 2
        check.close(gradients["rate"], right, f"the gradient by rate in chunk {number}")


@item("train_chunks")
def test_train_chunks_clips(student, check):
    """A gradient of norm 2 is scaled to 1.5 in each chunk; the state of this model is None."""
    table = TABLE.copy()
    table[3] = [0, 50, 0, 0]  # as above
    model = student.torch_testing.Table(table, ZEROS)
    optimiser = student.torch_testing.NotingSGD(model, 0.0)
    student.torch_lm.train_chunks(model, optimiser, *tensors(student, [[3, 3]], [[2, 2]]), 1, 1.5)
    check.that(len(optimiser.gradients) == 2, "there should be one step of the optimiser for each chunk")
    for number, gradients in enumerate(optimiser.gradients, start=1):
        right = np.array([0.0, 0.75, -0.75, 0.0])
        check.close(gradients["bias"], right, f"the gradient by bias in chunk {number}", rtol=1e-5)


# --- evaluate


def batches(student):
    """Five predictions that count, in two batches: four times word 1, once word 0."""
    return [
        tuple(tensors(student, [[0, 0, 1], [1, 1, 1]], [[1, 1, 1], [1, 0, 0]], [[True] * 3, [True, False, False]])),
        tuple(tensors(student, [[1]], [[0]], [[True]])),
    ]


@item("evaluate")
@weight(1.5)
def test_evaluate_counts_each_prediction_once(student, check):
    """The mean over all predictions that count: not over padding, and not the mean of the batches' means."""
    model = student.torch_testing.Table(np.zeros((2, 2)), [0.0, log(3)])  # probabilities 1/4 and 3/4
    got = student.torch_lm.evaluate(model, batches(student))
    check.close(got, (4 * log(4 / 3) + log(4)) / 5, "the mean cross-entropy")


@item("evaluate")
@weight(1.5)
@pytest.mark.parametrize("mode", [True, False], ids=["in-training", "not-in-training"])
def test_evaluate_and_the_mode(student, check, mode):
    """Dropout is off meanwhile, nothing is recorded, and afterwards the model is in the mode in which it came."""
    model = student.torch_testing.Table(np.zeros((2, 2)), [0.0, log(3)], dropout=1.0)
    model.train(mode)
    got = student.torch_lm.evaluate(model, student.testing.as_generator(batches(student)))
    check.close(got, (4 * log(4 / 3) + log(4)) / 5, "the mean cross-entropy without dropout")
    check.that(not any(call["recorded"] for call in model.calls), "a graph was recorded during evaluation")
    check.equal(model.training, mode, "model.training afterwards")
    still = student.torch.is_grad_enabled()
    student.torch.set_grad_enabled(True)  # for the tests that follow
    check.equal(still, True, "torch.is_grad_enabled() afterwards")
