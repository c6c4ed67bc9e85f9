"""Hidden tests of lm/torch_lm.py: a training step, training chunk by chunk, evaluation."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

WORDS = 5
NO_LIMIT = 1e9  # of the norm: nothing is ever scaled
# The factors max/norm and max/(norm + 1e-6) differ by a millionth at a norm of 1, and all norms here are larger.
EITHER_RULE = 1e-5


def mean_loss(logits, targets, mask):
    """The mean cross-entropy where the mask is True, and its gradient by the logits."""
    top = logits.max(axis=-1, keepdims=True)
    log_p = logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
    onehot = np.eye(logits.shape[-1])[targets]
    loss = -(log_p * onehot).sum(axis=-1)[mask].sum() / mask.sum()
    return float(loss), (np.exp(log_p) - onehot) * mask[..., None] / mask.sum()


# The doubles in numbers: loss, gradients and next state of a call, from parameters and state.


def table_call(arrays, inputs, targets, mask, state):
    """Of ``Table``: a row for each word, and a bias."""
    loss, dlogits = mean_loss(arrays["table"][inputs] + arrays["bias"], targets, mask)
    rows = np.zeros_like(arrays["table"])
    np.add.at(rows, inputs, dlogits)
    return loss, {"table": rows, "bias": dlogits.sum(axis=(0, 1))}, None


def echo_call(arrays, inputs, targets, mask, state):
    """Of ``Echo``: derivatives by the decays are taken along from 0 on, since the state that came in is a constant."""
    weights, decays = arrays["weight"], arrays["decays"][:, None]
    s = np.zeros((len(inputs), len(decays), len(weights))) if state is None else state
    ds, sums, slopes = np.zeros_like(s), [], []
    for words in inputs.T:
        s, ds = decays * s + np.eye(len(weights))[words][:, None], s + decays * ds
        sums.append(s.sum(axis=1))
        slopes.append(ds)
    read, moved = np.stack(sums, axis=1), np.stack(slopes, axis=1)
    loss, dlogits = mean_loss(read @ weights, targets, mask)
    by_decay = np.einsum("btv,btkv->k", dlogits @ weights.T, moved)
    return loss, {"weight": np.einsum("btv,btw->vw", read, dlogits), "decays": by_decay}, s


def clock_call(arrays, inputs, targets, mask, state):
    """Of ``Clock``: a step t of a chunk holds the rate t times, and what the state had before."""
    steps = np.arange(1, inputs.shape[1] + 1)[:, None]
    h = np.zeros((len(inputs), 1, len(arrays["rate"]))) if state is None else state
    states = h + steps * arrays["rate"]
    loss, dlogits = mean_loss(states + arrays["table"][inputs], targets, mask)
    rows = np.zeros_like(arrays["table"])
    np.add.at(rows, inputs, dlogits)
    return loss, {"rate": (dlogits * steps).sum(axis=(0, 1)), "table": rows}, states[:, -1:]


def length(gradients):
    """The norm of all gradients together."""
    return float(np.sqrt(sum((gradient**2).sum() for gradient in gradients.values())))


def stepped(arrays, gradients, lr, max_norm=NO_LIMIT):
    """The gradients, clipped, and the parameters after a step with them."""
    factor = min(1.0, max_norm / length(gradients))
    clipped = {name: factor * gradient for name, gradient in gradients.items()}
    return clipped, {name: arrays[name] - lr * clipped[name] for name in arrays}


def table_arrays(rng, size=1.0):
    return {"table": size * rng.normal(size=(WORDS, WORDS)), "bias": size * rng.normal(size=WORDS)}


def echo_arrays(rng):
    return {"weight": 2 * rng.normal(size=(WORDS, WORDS)), "decays": rng.uniform(0.5, 0.9, size=2)}


def padded(rng, lengths, longest=None):
    """A batch of rows of these lengths; what stands at padding are words too, so that only the mask tells."""
    longest = max(lengths) if longest is None else longest
    ids = rng.integers(0, WORDS, size=(len(lengths), longest + 1))
    return ids[:, :-1].copy(), ids[:, 1:].copy(), np.arange(longest) < np.array(lengths)[:, None]


def stream(rng, rows, steps):
    """Rows of words, and the next words."""
    ids = rng.integers(0, WORDS, size=(rows, steps + 1))
    return ids[:, :-1].copy(), ids[:, 1:].copy()


def tensors(student, arrays):
    return [student.tensor(array) for array in arrays]


def check_steps(check, optimiser, expected, rtol):
    """The optimiser took these steps: as many, and with these gradients."""
    steps = optimiser.gradients
    check.that(len(steps) == len(expected), "the optimiser took another number of steps than it should")
    for number, (gradients, right) in enumerate(zip(steps, expected, strict=True), start=1):
        for name, value in right.items():
            check.close(gradients[name], value, f"the gradient by {name} at step {number}", rtol=rtol)


def check_parameters(student, check, model, arrays, rtol):
    for name, array in arrays.items():
        check.close(student.get(getattr(model, name)), array, f"{name} afterwards", rtol=rtol)


# --- train_step


def check_train_step(student, check, arrays, batches, max_norm=NO_LIMIT, rtol=1e-10):
    """Steps of a Table on one batch after the other."""
    model = student.torch_testing.Table(arrays["table"], arrays["bias"])
    optimiser, expected = student.torch_testing.NotingSGD(model, 0.7), []
    for batch in batches:
        loss, gradients, _ = table_call(arrays, *batch, None)
        clipped, arrays = stepped(arrays, gradients, 0.7, max_norm)
        expected.append(clipped)
        got = student.torch_lm.train_step(model, optimiser, *tensors(student, batch), max_norm)
        check.close(got, loss, "the loss before the step", rtol=rtol)
        check_steps(check, optimiser, expected, rtol)
        check_parameters(student, check, model, arrays, rtol)


@item("train_step")
@weight(3)
@pytest.mark.parametrize("lengths", [(4, 1, 6), (3, 3), (1,)], ids=["padding", "no-padding", "one-prediction"])
def test_train_step_of_a_batch(student, rng, check, lengths):
    """One step: the loss is the mean over all predictions that count, and the optimiser steps with its gradient."""
    check_train_step(student, check, table_arrays(rng), [padded(rng, lengths, max(lengths) + len(lengths) - 1)])


@item("train_step")
@weight(2)
def test_train_step_call_after_call(student, rng, check):
    """Each call steps with the gradient of its own batch, whatever there was before."""
    batches = [padded(rng, lengths) for lengths in ((2, 5), (3, 1, 1), (4, 4), (2,))]
    check_train_step(student, check, table_arrays(rng), batches)


def long_gradients(rng):
    """A batch on which the model is sure and wrong: both gradients have norm sqrt(2), together they have 2."""
    arrays, batch = table_arrays(rng), padded(rng, (1, 1))
    inputs, targets, _ = batch
    inputs[:], targets[:] = 3, 1
    arrays["table"][3] = [0, -30, 0, 30, 0]
    return arrays, batch


@item("train_step")
@weight(3)
@pytest.mark.parametrize(("share", "calls"), [(0.85, 1), (0.25, 3)], ids=["only-together-too-long", "far-too-long"])
def test_train_step_clips_the_gradient(student, rng, check, share, calls):
    """If the norm of all gradients together is above max_norm, all of them are scaled by one factor before the step."""
    arrays, batch = long_gradients(rng)
    norms = [length(table_call(arrays, *batch, None)[1])]
    check_train_step(student, check, arrays, [batch] * calls, share * norms[0], EITHER_RULE)


@item("train_step")
@weight(1.5)
@pytest.mark.parametrize("share", [1.01, 40.0], ids=["just-below", "far-below"])
def test_train_step_leaves_short_gradients_alone(student, rng, check, share):
    """If the norm is below max_norm, nothing is scaled."""
    arrays, batch = table_arrays(rng), padded(rng, (3, 1, 2))
    check_train_step(student, check, arrays, [batch], share * length(table_call(arrays, *batch, None)[1]))


@item("train_step")
def test_train_step_returns_a_number(student, rng, check):
    """The loss that is returned is a number, on which no graph hangs."""
    arrays, batch = table_arrays(rng), padded(rng, (3, 2))
    model = student.torch_testing.Table(arrays["table"], arrays["bias"])
    arguments = model, student.torch_testing.NotingSGD(model, 0.7), *tensors(student, batch), NO_LIMIT
    loss, attached = student.torch_testing.returned(student.torch_lm.train_step, *arguments)
    check.that(not attached, "the loss that is returned still holds the graph of the step")
    check.close(loss, table_call(arrays, *batch, None)[0], "the loss")


@item("train_step")
def test_train_step_of_a_model_with_a_state(student, rng, check):
    """Each batch starts at the beginning of a text: no state is carried from step to step."""
    arrays = echo_arrays(rng)
    model = student.torch_testing.Echo(arrays["weight"], arrays["decays"])
    optimiser, expected = student.torch_testing.NotingSGD(model, 0.1), []
    for lengths in ((4, 2), (1, 3), (3, 3)):
        batch = padded(rng, lengths)
        loss, gradients, _ = echo_call(arrays, *batch, None)
        clipped, arrays = stepped(arrays, gradients, 0.1)
        expected.append(clipped)
        got = student.torch_lm.train_step(model, optimiser, *tensors(student, batch), NO_LIMIT)
        check.close(got, loss, "the loss before the step")
    check_steps(check, optimiser, expected, 1e-10)


# --- train_chunks


def check_chunks(student, check, model, call, arrays, words, k, lr=0.1, max_norm=NO_LIMIT, rtol=1e-10):
    """A run of ``train_chunks``: losses, gradients of each step, parameters in the end."""
    inputs, targets = words
    losses, expected, state = [], [], None
    for start in range(0, inputs.shape[1], k):
        x, y = inputs[:, start : start + k], targets[:, start : start + k]
        loss, gradients, state = call(arrays, x, y, np.ones(x.shape, dtype=bool), state)
        clipped, arrays = stepped(arrays, gradients, lr, max_norm)
        losses.append(loss)
        expected.append(clipped)
    optimiser = student.torch_testing.NotingSGD(model, lr)
    got = student.torch_lm.train_chunks(model, optimiser, *tensors(student, words), k, max_norm)
    got = check.unpack(got, len(losses), "the losses, one for each chunk,")
    for number, (loss, right) in enumerate(zip(got, losses, strict=True), start=1):
        check.close(loss, right, f"the loss of chunk {number}", rtol=rtol)
    check_steps(check, optimiser, expected, rtol)
    check_parameters(student, check, model, arrays, rtol)


@item("train_chunks")
@weight(4)
@pytest.mark.parametrize(
    ("rows", "steps", "k"),
    [(2, 9, 3), (3, 8, 3), (1, 4, 1), (3, 2, 5)],
    ids=["whole-chunks", "short-last-chunk", "chunks-of-one-word", "one-chunk"],
)
def test_train_chunks_carries_the_state_and_cuts_the_gradient(student, rng, check, rows, steps, k):
    """Each chunk starts with the state that the one before it ended with; its gradient goes back to its start."""
    arrays = echo_arrays(rng)
    model = student.torch_testing.Echo(arrays["weight"], arrays["decays"])
    check_chunks(student, check, model, echo_call, arrays, stream(rng, rows, steps), k)


@item("train_chunks")
@weight(2)
def test_train_chunks_with_a_tuple_for_a_state(student, rng, check):
    """A state of several tensors, as an LSTM has it, is carried and cut as a whole."""
    arrays = echo_arrays(rng)
    model = student.torch_testing.Echo(arrays["weight"], arrays["decays"], as_tuple=True)
    check_chunks(student, check, model, echo_call, arrays, stream(rng, 2, 7), 2)


@item("train_chunks")
@weight(2)
def test_train_chunks_cuts_a_graph_that_could_be_gone_through_twice(student, rng, check):
    """The gradient of a chunk has no share from earlier chunks, even where a second pass would raise no error."""
    arrays = {"rate": rng.normal(size=WORDS), "table": rng.normal(size=(WORDS, WORDS))}
    model = student.torch_testing.Clock(arrays["rate"], arrays["table"])
    check_chunks(student, check, model, clock_call, arrays, stream(rng, 3, 8), 3)


@item("train_chunks")
def test_train_chunks_of_a_model_without_a_state(student, rng, check):
    """A model whose state is None is trained chunk by chunk as any other."""
    arrays = table_arrays(rng)
    model = student.torch_testing.Table(arrays["table"], arrays["bias"])
    check_chunks(student, check, model, table_call, arrays, stream(rng, 2, 5), 2)


@item("train_chunks")
@weight(1.5)
def test_train_chunks_clips_each_chunk(student, rng, check):
    """The gradient of a chunk whose norm is above max_norm is scaled to it before its step; a shorter one is not."""
    rate, table = np.zeros(WORDS), np.zeros((WORDS, WORDS))
    table[:, 0], table[:, 4] = 20, -20
    arrays = {"rate": rate, "table": table}
    inputs, targets = stream(rng, 2, 9)
    targets[:, :6], targets[:, 6:] = 4, 0  # sure and wrong in two chunks, right in the last one
    model = student.torch_testing.Clock(rate, table)
    words = inputs, targets
    check_chunks(student, check, model, clock_call, arrays, words, 3, 0.1, 1.2, EITHER_RULE)


@item("train_chunks")
def test_train_chunks_returns_numbers(student, rng, check):
    """The losses that are returned are numbers, on which no graph hangs."""
    arrays = echo_arrays(rng)
    model = student.torch_testing.Echo(arrays["weight"], arrays["decays"])
    arguments = model, student.torch_testing.NotingSGD(model, 0.1), *tensors(student, stream(rng, 2, 5)), 2, NO_LIMIT
    losses, attached = student.torch_testing.returned(student.torch_lm.train_chunks, *arguments)
    check.unpack(losses, 3, "the losses, one for each chunk,")
    check.that(not attached, "a loss that is returned still holds the graph of its chunk")


# --- evaluate


def overall(call, arrays, batches):
    """The mean over all predictions of all batches."""
    sums = [call(arrays, *batch, None)[0] * batch[2].sum() for batch in batches]
    return float(sum(sums) / sum(batch[2].sum() for batch in batches))


def put(student, batches):
    """The batches as tuples of tensors."""
    return [tuple(tensors(student, batch)) for batch in batches]


@item("evaluate")
@weight(3)
@pytest.mark.parametrize(
    "lengths",
    [[(4, 4, 4), (4,), (4, 4)], [(7, 1, 2), (1, 1, 3), (2, 6, 6)], [(5, 1, 3)]],
    ids=["sizes-differ", "lengths-differ", "one-batch"],
)
def test_evaluate_is_the_mean_over_all_predictions(student, rng, check, lengths):
    """The mean over all predictions that count, of all batches together: each weighs the same."""
    arrays, batches = table_arrays(rng, 2.0), [padded(rng, each) for each in lengths]
    model = student.torch_testing.Table(arrays["table"], arrays["bias"])
    got = student.torch_lm.evaluate(model, put(student, batches))
    check.close(got, overall(table_call, arrays, batches), "the mean cross-entropy")


@item("evaluate")
def test_evaluate_of_a_generator(student, rng, check):
    """The batches may come from a generator, which can be gone through once."""
    arrays, batches = table_arrays(rng, 2.0), [padded(rng, each) for each in ((3, 2), (1, 1, 1), (6,))]
    model = student.torch_testing.Table(arrays["table"], arrays["bias"])
    got = student.torch_lm.evaluate(model, student.testing.as_generator(put(student, batches)))
    check.close(got, overall(table_call, arrays, batches), "the mean cross-entropy")


@item("evaluate")
@weight(2.5)
@pytest.mark.parametrize("training", [True, False], ids=["in-training", "not-in-training"])
def test_evaluate_switches_dropout_off_and_the_mode_back(student, rng, check, training):
    """Dropout is off during evaluation; afterwards the model is in the mode in which it came."""
    arrays, batches = table_arrays(rng, 2.0), [padded(rng, each) for each in ((3, 2), (4, 1))]
    model = student.torch_testing.Table(arrays["table"], arrays["bias"], dropout=1.0)
    model.train(training)
    got = student.torch_lm.evaluate(model, put(student, batches))
    check.close(got, overall(table_call, arrays, batches), "the mean cross-entropy without dropout")
    check.equal(model.training, training, "model.training afterwards")
    check.equal(model.dropout.training, training, "the mode of the dropout afterwards")


@item("evaluate")
@weight(2)
def test_evaluate_records_nothing(student, rng, check):
    """No graph is built during evaluation, and afterwards graphs are built as before."""
    arrays, batches = table_arrays(rng), [padded(rng, each) for each in ((3, 2), (4, 1))]
    model = student.torch_testing.Table(arrays["table"], arrays["bias"])
    student.torch_lm.evaluate(model, put(student, batches))
    enabled = student.torch.is_grad_enabled()
    student.torch.set_grad_enabled(True)
    calls = model.calls
    check.that(len(calls) > 0, "the model was not called")
    check.that(not any(call["recorded"] for call in calls), "a graph was recorded during evaluation")
    check.equal(enabled, True, "whether gradients are recorded afterwards")


@item("evaluate")
def test_evaluate_starts_each_batch_afresh(student, rng, check):
    """No state is carried from batch to batch: each starts at the beginning of its texts."""
    arrays, batches = echo_arrays(rng), [padded(rng, each) for each in ((3, 2), (4, 1), (2, 2))]
    model = student.torch_testing.Echo(arrays["weight"], arrays["decays"])
    got = student.torch_lm.evaluate(model, put(student, batches))
    check.close(got, overall(echo_call, arrays, batches), "the mean cross-entropy")
