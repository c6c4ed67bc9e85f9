"""Hidden tests of lm/rnn.py: random shapes, words that repeat, states and gradients of any size."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")
STEP = ("x", "h_prev", "W_xh", "b_h", "W_hh")


def random_arrays(rng, words, d, hidden, scale=1.0):
    """The six parameters, in the order of their names."""
    shapes = [(words, d), (hidden, d), (hidden,), (hidden, hidden), (words, hidden), (words,)]
    return [scale * rng.normal(size=shape) for shape in shapes]


def random_params(reference, rng, words, d, hidden, scale=1.0):
    """Parameters of the reference."""
    return reference.types.RNNParams(*random_arrays(rng, words, d, hidden, scale))


def orthogonal(rng, size):
    """A random orthogonal matrix."""
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def slope_of(function, at, way, upstream, step=1e-6):
    """How fast ``sum(upstream * function)`` grows along a direction."""
    above, below = (np.sum(upstream * function(at + sign * step * way)) for sign in (1, -1))
    return float(above - below) / (2 * step)


def check_unchanged(student, check, handles, arrays):
    """What was given is afterwards what it was before."""
    for number, (handle, array) in enumerate(zip(handles, arrays, strict=True)):
        got = np.asarray(student.get(handle))
        check.that(bool(np.array_equal(got, array)), f"argument {number} should not be changed")


def check_record_unchanged(check, handle, record, what):
    """The arrays of a dataclass that was given are afterwards what they were before."""
    for name, array in vars(record).items():
        got = check.array(getattr(handle, name), f"{what}.{name}", array.shape)
        check.that(bool(np.array_equal(got, array)), f"{what}.{name} should not be changed")


def check_gradients(check, got, right, names):
    """All gradients of a dataclass are right."""
    for name, value in check.fields(got, names, "the gradients").items():
        check.close(value, getattr(right, name), f"the gradient by {name}")


# --- rnn_step

STEPS = [(5, 3, 4), (1, 4, 2), (4, 4, 4), (3, 1, 5), (6, 5, 1)]  # B, d, H
STEP_IDS = ["rows", "one-row", "square", "one-number-a-word", "one-unit"]


@item("rnn_step")
@weight(6)
@pytest.mark.parametrize(("rows", "d", "hidden"), STEPS, ids=STEP_IDS)
def test_one_step_of_random_states(student, reference, rng, check, rows, d, hidden):
    """The state after is tanh(W_xh x + W_hh h_prev + b_h), row by row."""
    params, x = random_params(reference, rng, 6, d, hidden), rng.normal(size=(rows, d))
    h_prev = np.tanh(rng.normal(size=(rows, hidden)))
    got = student.rnn.rnn_step_forward(x, h_prev, student.like(params))
    check.close(got, reference.rnn.rnn_step_forward(x, h_prev, params), "the states")


@item("rnn_step")
@weight(2)
def test_one_step_far_out(student, reference, rng, check):
    """Sums in the thousands give states of 1 and -1, and sums close to 0 exact ones."""
    params, x, h_prev = random_params(reference, rng, 6, 3, 4, 1e3), rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
    got = student.rnn.rnn_step_forward(x, h_prev, student.like(params))
    check.close(got, reference.rnn.rnn_step_forward(x, h_prev, params), "the states")
    params.b_h[:] = 0
    small = reference.rnn.rnn_step_forward(1e-9 * x, 1e-9 * h_prev, params)
    got = student.rnn.rnn_step_forward(1e-9 * x, 1e-9 * h_prev, student.like(params))
    check.close(got, small, "the states", atol=0)


@item("rnn_step")
def test_one_step_changes_nothing(student, reference, rng, check):
    """A step keeps its arguments, and remembers nothing: the same call has the same result."""
    params = random_params(reference, rng, 6, 3, 4)
    handle, arrays = student.like(params), (rng.normal(size=(5, 3)), rng.normal(size=(5, 4)))
    given = [student.put(array) for array in arrays]
    right = reference.rnn.rnn_step_forward(*arrays, params)
    for x, h_prev in (given, (-arrays[0], right), given):
        got = student.rnn.rnn_step_forward(x, h_prev, handle)
        if x is given[0]:
            check.close(got, right, "the states")
    check_unchanged(student, check, given, arrays)
    check_record_unchanged(check, handle, params, "params")


# --- rnn_forward

NETS = [  # B, T, V, d, H
    (2, 3, 6, 4, 5),
    (3, 7, 5, 2, 4),
    (4, 1, 5, 1, 2),
    (1, 7, 6, 3, 1),
    (3, 3, 3, 3, 3),
]
NET_IDS = ["three-words", "seven-words", "one-word", "one-unit", "square"]


def sentences(rng, rows, length, words):
    """Ids of random words; where there are two or more a word occurs twice."""
    ids = rng.integers(0, words, size=(rows, length))
    ids[:, -1] = ids[:, 0]
    return ids


def passed(reference, rng, net, scale=1.0):
    """A forward pass of the reference: params, inputs, h0, logits and cache."""
    rows, length, words, d, hidden = net
    params, inputs = random_params(reference, rng, words, d, hidden, scale), sentences(rng, rows, length, words)
    h0 = np.tanh(rng.normal(size=(rows, hidden)))
    return params, inputs, h0, *reference.rnn.rnn_forward(inputs, params, h0)


@item("rnn_forward")
@weight(5)
@pytest.mark.parametrize("net", NETS, ids=NET_IDS)
def test_logits_of_random_sentences(student, reference, rng, check, net):
    """The logits of each word are W_hy times the state after it, plus b_y."""
    params, inputs, h0, right, _ = passed(reference, rng, net)
    logits, _ = check.unpack(student.rnn.rnn_forward(inputs, student.like(params), h0), 2)
    check.close(logits, right, "the logits")


@item("rnn_forward")
@weight(3)
@pytest.mark.parametrize("net", NETS[1:3], ids=NET_IDS[1:3])
def test_what_the_forward_pass_keeps(student, reference, rng, check, net):
    """The cache holds the ids, their embeddings and all T + 1 states, the first of which is h0."""
    params, inputs, h0, _, right = passed(reference, rng, net)
    _, cache = check.unpack(student.rnn.rnn_forward(inputs, student.like(params), h0), 2)
    kept = check.fields(cache, ("inputs", "x", "h"), "the cache")
    check.close(kept["inputs"], inputs, "cache.inputs")
    check.close(kept["x"], right.x, "cache.x")
    check.close(kept["h"], right.h, "cache.h")


@item("rnn_forward")
def test_without_h0_the_state_begins_with_zeros(student, reference, rng, check):
    """None for h0, or nothing, means zeros: in every call anew, whatever was read before."""
    params, inputs, h0, _, _ = passed(reference, rng, (3, 4, 5, 2, 3))
    handle, (right, _) = student.like(params), reference.rnn.rnn_forward(inputs, params)
    student.rnn.rnn_forward(inputs[::-1], handle, h0)
    for more in ((), (None,), (np.zeros((3, 3)),)):
        logits, cache = check.unpack(student.rnn.rnn_forward(inputs, handle, *more), 2)
        check.close(logits, right, "the logits")
        check.close(check.array(cache.h, "cache.h", (3, 5, 3))[:, 0], np.zeros((3, 3)), "cache.h[:, 0]")


@item("rnn_forward")
def test_later_words_and_other_sentences_do_not_matter(student, reference, rng, check):
    """Other words after time t, more of them, or another sentence beside it: the logits up to t stay."""
    params, inputs, h0, right, _ = passed(reference, rng, (3, 6, 5, 3, 4))
    handle = student.like(params)
    for t in (1, 4):
        other = np.hstack([inputs[:, :t], rng.integers(0, 5, size=(3, 8))])
        other[2] = 4 - other[2]
        logits, _ = check.unpack(student.rnn.rnn_forward(other, handle, h0), 2)
        logits = check.array(logits, "the logits", (3, t + 8, 5))
        check.close(logits[:2, :t], right[:2, :t], "the logits before the change")


@item("rnn_forward")
@pytest.mark.parametrize("scale", [30.0, 0.3], ids=["saturated", "small"])
def test_logits_of_long_sentences(student, reference, rng, check, scale):
    """Fifty words, through states that are nearly all 1 or -1 and logits in the hundreds, or small ones."""
    params, inputs, h0, right, kept = passed(reference, rng, (2, 50, 9, 4, 6), scale)
    logits, cache = check.unpack(student.rnn.rnn_forward(inputs, student.like(params), h0), 2)
    check.close(logits, right, "the logits")
    check.close(cache.h, kept.h, "cache.h")


@item("rnn_forward")
def test_the_forward_pass_changes_nothing(student, reference, rng, check):
    """Ids, parameters and h0 stay as they are, and so does what an earlier call returned."""
    params, inputs, h0, right, kept = passed(reference, rng, (3, 4, 5, 2, 3))
    handle, given = student.like(params), [student.put(inputs), student.put(h0)]
    first, cache = check.unpack(student.rnn.rnn_forward(given[0], handle, given[1]), 2)
    student.rnn.rnn_forward(inputs[:, ::-1], handle, -h0)
    again, _ = check.unpack(student.rnn.rnn_forward(given[0], handle, given[1]), 2)
    student.rnn.rnn_forward(inputs[:, ::-1], handle, -h0)
    check.close(first, right, "the logits")
    check.close(again, right, "the logits of the same call once more")
    check.close(cache.h, kept.h, "cache.h of the first call, after three more")
    check.close(cache.x, kept.x, "cache.x of the first call, after three more")
    check_unchanged(student, check, given, (inputs, h0))
    check_record_unchanged(check, handle, params, "params")


# --- masked_loss

LOSSES = [(3, 5, 4), (1, 1, 3), (4, 7, 6)]  # B, T, V
LOSS_IDS = ["padded", "one-prediction", "holes"]


def predictions(rng, rows, length, words):
    """Logits, targets and a mask: sentences of several lengths, padded on the right, the first not at all."""
    logits, targets = 2 * rng.normal(size=(rows, length, words)), rng.integers(0, words, size=(rows, length))
    lengths = rng.integers(1, length + 1, size=rows)
    lengths[0] = length
    if rows > 1:
        lengths[-1] = max(length - 1, 1)
    return logits, targets, np.arange(length) < lengths[:, None]


def losses(reference, rng, sizes, name):
    """As ``predictions``; with holes the mask is any mask."""
    logits, targets, mask = predictions(rng, *sizes)
    if name == "holes":
        mask = rng.random(size=mask.shape) < 0.6
        mask[0, :2] = False, True
    return (logits, targets, mask), reference.rnn.masked_cross_entropy(logits, targets, mask)


@item("masked_loss")
@weight(3)
@pytest.mark.parametrize(("sizes", "name"), list(zip(LOSSES, LOSS_IDS, strict=True)), ids=LOSS_IDS)
def test_masked_loss_is_the_mean_over_what_counts(student, reference, rng, check, sizes, name):
    """The loss is the mean of -log softmax(logits)[target] over the predictions that count, of the whole batch."""
    given, (right, _) = losses(reference, rng, sizes, name)
    loss, _ = check.unpack(student.rnn.masked_cross_entropy(*given), 2)
    check.close(loss, right, "the loss")


@item("masked_loss")
@weight(3)
@pytest.mark.parametrize(("sizes", "name"), list(zip(LOSSES, LOSS_IDS, strict=True)), ids=LOSS_IDS)
def test_masked_loss_gradient(student, reference, rng, check, sizes, name):
    """dlogits is the gradient of that mean by each logit, 0 where the mask is False."""
    given, (_, right) = losses(reference, rng, sizes, name)
    _, dlogits = check.unpack(student.rnn.masked_cross_entropy(*given), 2)
    check.close(dlogits, right, "dlogits")


@item("masked_loss")
def test_masked_loss_along_a_direction(student, reference, rng, check):
    """Eight sentences, 30 words: dlogits tells how the loss grows."""
    logits, targets, mask = predictions(rng, 8, 12, 30)
    _, dlogits = check.unpack(student.rnn.masked_cross_entropy(logits, targets, mask), 2)
    way = rng.normal(size=logits.shape)
    slope = float(np.sum(check.array(dlogits, "dlogits", logits.shape) * way))
    right = slope_of(lambda at: reference.rnn.masked_cross_entropy(at, targets, mask)[0], logits, way, 1.0)
    check.close(slope, right, "the slope along a random direction", rtol=1e-6, atol=1e-8)


@item("masked_loss")
@weight(2)
def test_masked_loss_of_logits_in_the_thousands(student, reference, rng, check):
    """Logits of +-1000, rows that differ by as much, predictions that are certain, right or wrong: exact numbers."""
    logits, targets, mask = predictions(rng, 3, 4, 3)
    for far in (
        rng.choice([-1000.0, 1000.0], size=logits.shape),
        logits + rng.choice([-1000.0, 0.0, 1000.0], size=(3, 4, 1)),
        logits + 40 * np.eye(3)[targets],
        logits - 40 * np.eye(3)[targets],
    ):
        right, right_dlogits = reference.rnn.masked_cross_entropy(far, targets, mask)
        loss, dlogits = check.unpack(student.rnn.masked_cross_entropy(far, targets, mask), 2)
        check.close(loss, right, "the loss")
        check.close(dlogits, right_dlogits, "dlogits")


@item("masked_loss")
@weight(2)
def test_masked_loss_does_not_see_the_padding(student, rng, check):
    """The same sentences, with more padding and whatever logits and ids in it: the same loss, the same gradient."""
    logits, targets, mask = predictions(rng, 4, 5, 3)
    loss, dlogits = check.unpack(student.rnn.masked_cross_entropy(logits, targets, mask), 2)
    loss, dlogits = check.number(loss, "the loss"), check.array(dlogits, "dlogits", logits.shape)
    for size in (1.0, 1e6):
        garbage = size * rng.normal(size=(4, 9, 3))
        wide = np.where(np.pad(mask, ((0, 0), (0, 4)))[..., None], np.pad(logits, ((0, 0), (0, 4), (0, 0))), garbage)
        ids = np.where(np.pad(mask, ((0, 0), (0, 4))), np.pad(targets, ((0, 0), (0, 4))), rng.integers(0, 3, (4, 9)))
        got = student.rnn.masked_cross_entropy(wide, ids, np.pad(mask, ((0, 0), (0, 4))))
        got_loss, got_dlogits = check.unpack(got, 2)
        check.close(got_loss, loss, "the loss with more padding")
        check.close(got_dlogits, np.pad(dlogits, ((0, 0), (0, 4), (0, 0))), "dlogits with more padding")


@item("masked_loss")
@pytest.mark.parametrize(("steps", "kept"), [(1, 1), (10, 10), (10, 1)], ids=["one-step", "ten-steps", "a-tenth"])
def test_the_temporal_softmax_of_cs231n(student, rng, check, steps, kept):
    """Equal logits of ten classes: CS231n adds over time (2.3, 23 and 2.3 a sentence), ours is the mean: log 10."""
    mask = np.zeros((6, steps), dtype=bool)
    mask[:, rng.permutation(steps)[:kept]] = True
    logits, targets = np.full((6, steps, 10), rng.normal()), rng.integers(0, 10, size=(6, steps))
    loss, _ = check.unpack(student.rnn.masked_cross_entropy(logits, targets, mask), 2)
    a_sentence = check.number(loss, "the loss") * mask.sum() / len(mask)
    check.close(a_sentence, kept * float(np.log(10)), "the loss times the predictions of a sentence")


@item("masked_loss")
def test_masked_loss_of_nothing_but_padding(student, reference, rng, check):
    """Where nothing counts the loss is 0.0 and dlogits is zeros; one sentence without predictions adds nothing."""
    logits, targets, mask = predictions(rng, 3, 4, 5)
    loss, dlogits = check.unpack(student.rnn.masked_cross_entropy(logits, targets, np.zeros_like(mask)), 2)
    check.close(loss, 0.0, "the loss of padding")
    check.close(dlogits, np.zeros_like(logits), "dlogits of padding")
    mask[1] = False
    right = reference.rnn.masked_cross_entropy(logits, targets, mask)
    loss, dlogits = check.unpack(student.rnn.masked_cross_entropy(logits, targets, mask), 2)
    check.close(loss, right[0], "the loss")
    check.close(dlogits, right[1], "dlogits")


@item("masked_loss")
def test_masked_loss_changes_nothing(student, reference, rng, check):
    """Logits, targets and mask stay as they are, and so does what an earlier call returned."""
    arrays = predictions(rng, 3, 4, 5)
    given, right = [student.put(array) for array in arrays], reference.rnn.masked_cross_entropy(*arrays)
    first = check.unpack(student.rnn.masked_cross_entropy(*given), 2)
    check_unchanged(student, check, given, arrays)
    for loss, dlogits in (first, check.unpack(student.rnn.masked_cross_entropy(*given), 2)):
        check.close(loss, right[0], "the loss")
        check.close(dlogits, right[1], "dlogits")


# --- rnn_step_backward


def step_back(reference, rng, rows, d, hidden, scale=1.0):
    """A random step: params, and dh, x, h_prev, h."""
    params, x = random_params(reference, rng, 6, d, hidden, scale), rng.normal(size=(rows, d))
    h_prev = np.tanh(rng.normal(size=(rows, hidden)))
    return params, (rng.normal(size=(rows, hidden)), x, h_prev, reference.rnn.rnn_step_forward(x, h_prev, params))


@item("rnn_step_backward")
@weight(2)
@pytest.mark.parametrize(("rows", "d", "hidden"), STEPS, ids=STEP_IDS)
def test_step_gradients_by_what_went_in(student, reference, rng, check, rows, d, hidden):
    """The gradients by x and h_prev, row by row."""
    params, given = step_back(reference, rng, rows, d, hidden)
    got = student.rnn.rnn_step_backward(*given, student.like(params))
    check_gradients(check, got, reference.rnn.rnn_step_backward(*given, params), STEP[:2])


@item("rnn_step_backward")
@weight(2)
@pytest.mark.parametrize(("rows", "d", "hidden"), STEPS, ids=STEP_IDS)
def test_step_gradients_by_the_parameters(student, reference, rng, check, rows, d, hidden):
    """The gradients by W_xh, b_h and W_hh, summed over the batch."""
    params, given = step_back(reference, rng, rows, d, hidden)
    got = student.rnn.rnn_step_backward(*given, student.like(params))
    check_gradients(check, got, reference.rnn.rnn_step_backward(*given, params), STEP[2:])


@item("rnn_step_backward")
def test_step_gradients_are_those_of_the_step(student, reference, rng, check):
    """All five are what a small change of each number does to the loss; of many, along a random direction."""
    for rows, d, hidden in ((2, 2, 3), (20, 12, 15)):
        params, given = step_back(reference, rng, rows, d, hidden, 0.5)
        at = dict(zip(STEP, (*given[1:3], params.W_xh, params.b_h, params.W_hh), strict=True))

        def step(at=at):
            net = reference.types.RNNParams(None, at["W_xh"], at["b_h"], at["W_hh"], None, None)
            return reference.rnn.rnn_step_forward(at["x"], at["h_prev"], net)

        got = check.fields(student.rnn.rnn_step_backward(*given, student.like(params)), STEP, "the gradients")
        for name, value in got.items():

            def of_one(array, at=at, name=name):
                return step({**at, name: array})

            if rows == 2:
                check.gradient(value, of_one, at[name], given[0], f"the gradient by {name}")
            else:
                way = rng.normal(size=at[name].shape)
                slope = float(np.sum(check.array(value, f"the gradient by {name}", way.shape) * way))
                right = slope_of(of_one, at[name], way, given[0])
                check.close(slope, right, f"the slope of {name} along a random direction", rtol=1e-6, atol=1e-7)


@item("rnn_step_backward")
def test_step_gradients_of_any_size(student, reference, rng, check):
    """Gradients from above in the millions, and states of exactly 1 and -1, through which nothing comes back."""
    for scale, size in ((1.0, 1e7), (1.0, 1e-7), (1e3, 1.0), (3.0, 1e6)):
        params, (dh, *given) = step_back(reference, rng, 4, 3, 5, scale)
        got = student.rnn.rnn_step_backward(size * dh, *given, student.like(params))
        right = reference.rnn.rnn_step_backward(dh, *given, params)
        for name, value in check.fields(got, STEP, "the gradients").items():
            value = check.array(value, f"the gradient by {name}", getattr(right, name).shape)
            check.close(value / size, getattr(right, name), f"the gradient by {name}, made smaller")


@item("rnn_step_backward")
def test_step_gradients_through_states_near_one(student, reference, rng, check):
    """With biases of 5 and -5 a ten-thousandth comes back through tanh, and that is as exact as anywhere."""
    params, (dh, x, h_prev, _) = step_back(reference, rng, 4, 3, 5, 0.2)
    params.b_h[:] = rng.choice([-5.0, 5.0], 5)
    given = (dh, x, h_prev, reference.rnn.rnn_step_forward(x, h_prev, params))
    got = check.fields(student.rnn.rnn_step_backward(*given, student.like(params)), STEP, "the gradients")
    right = reference.rnn.rnn_step_backward(*given, params)
    for name, value in got.items():
        check.close(value, getattr(right, name), f"the small gradient by {name}", atol=0)


@item("rnn_step_backward")
def test_a_step_backwards_changes_nothing(student, reference, rng, check):
    """Arguments and parameters stay, nothing is added up from call to call, and earlier results stay as well."""
    params, arrays = step_back(reference, rng, 3, 4, 2)
    handle, given = student.like(params), [student.put(array) for array in arrays]
    right = reference.rnn.rnn_step_backward(*arrays, params)
    results = [student.rnn.rnn_step_backward(*given, handle) for _ in range(2)]
    student.rnn.rnn_step_backward(-arrays[0], *given[1:], handle)
    for got in results:
        check_gradients(check, got, right, STEP)
    check_unchanged(student, check, given, arrays)
    check_record_unchanged(check, handle, params, "params")


# --- bptt


def unrolled(reference, rng, net, scale=1.0):
    """A forward pass of the reference and a random gradient by its logits: dlogits, cache, params."""
    params, _, _, logits, cache = passed(reference, rng, net, scale)
    return rng.normal(size=logits.shape), cache, params


def check_bptt(student, reference, check, dlogits, cache, params, names=(*NAMES, "h0")):
    """The student's gradients are those of the reference."""
    got = student.rnn.rnn_backward(dlogits, student.like(cache), student.like(params))
    check_gradients(check, got, reference.rnn.rnn_backward(dlogits, cache, params), names)


@item("bptt")
@weight(5)
@pytest.mark.parametrize("net", NETS, ids=NET_IDS)
def test_bptt_of_random_sentences(student, reference, rng, check, net):
    """The gradients by all six parameters, each summed over all steps and sentences, and by h0."""
    check_bptt(student, reference, check, *unrolled(reference, rng, net))


@item("bptt")
@weight(2)
def test_bptt_by_the_parameters_of_the_logits(student, reference, rng, check):
    """The gradients by W_hy and b_y, which do not come back through time."""
    check_bptt(student, reference, check, *unrolled(reference, rng, (3, 4, 6, 2, 5)), ("W_hy", "b_y"))


@item("bptt")
@weight(2)
@pytest.mark.parametrize("kind", ["one-word-only", "twice", "in-two-sentences"], ids=["one", "twice", "two-sentences"])
def test_bptt_of_words_that_repeat(student, reference, rng, check, kind):
    """Each time that a word is read adds to its row of E; the rows of words that are not read are zeros."""
    dlogits, _, params = unrolled(reference, rng, (3, 4, 13, 2, 3))
    inputs = {
        "one-word-only": np.full((3, 4), 2),
        "twice": np.array([[0, 1, 0, 2], [3, 4, 5, 5], [6, 7, 8, 6]]),
        "in-two-sentences": np.array([[0, 1, 2, 3], [4, 1, 5, 6], [6, 7, 8, 3]]),
    }[kind]
    _, cache = reference.rnn.rnn_forward(inputs, params, np.tanh(rng.normal(size=(3, 3))))
    check_bptt(student, reference, check, dlogits, cache, params)


@item("bptt")
@weight(2)
def test_bptt_is_the_gradient_of_the_forward_pass(student, reference, rng, check):
    """All gradients are what a small change of each number does to the loss; of many, along a random direction."""
    for net in ((2, 3, 4, 2, 3), (6, 12, 20, 7, 9)):
        dlogits, cache, params = unrolled(reference, rng, net, 0.5)
        at = vars(params) | {"h0": cache.h[:, 0]}

        def logits(ids=cache.inputs, **arrays):
            h0 = arrays.pop("h0")
            return reference.rnn.rnn_forward(ids, reference.types.RNNParams(**arrays), h0)[0]

        got = student.rnn.rnn_backward(dlogits, student.like(cache), student.like(params))
        for name, value in check.fields(got, (*NAMES, "h0"), "the gradients").items():

            def of_one(array, at=at, name=name, logits=logits):
                return logits(**{**at, name: array})

            if dlogits.size < 100:
                check.gradient(value, of_one, at[name], dlogits, f"the gradient by {name}")
            else:
                way = rng.normal(size=at[name].shape)
                slope = float(np.sum(check.array(value, f"the gradient by {name}", way.shape) * way))
                right = slope_of(of_one, at[name], way, dlogits)
                check.close(slope, right, f"the slope of {name} along a random direction", rtol=1e-6, atol=1e-7)


@item("bptt")
@weight(2)
def test_bptt_of_gradients_of_any_size(student, reference, rng, check):
    """Gradients by the logits that are a million times as large, or as small, give gradients that are so, too."""
    dlogits, cache, params = unrolled(reference, rng, (3, 5, 6, 2, 4))
    right = reference.rnn.rnn_backward(dlogits, cache, params)
    for size in (1e6, 1e-6):
        got = student.rnn.rnn_backward(size * dlogits, student.like(cache), student.like(params))
        for name, value in check.fields(got, (*NAMES, "h0"), "the gradients").items():
            value = check.array(value, f"the gradient by {name}", getattr(right, name).shape)
            check.close(value / size, getattr(right, name), f"the gradient by {name}, put back to size")


@item("bptt")
@weight(2)
def test_bptt_over_sixty_steps(student, rng, reference, check):
    """All states 0, W_hh rho times an orthogonal matrix: of the last prediction's gradient rho^60 is left at h0."""
    for rho in (0.9, 1.1):
        arrays = random_arrays(rng, 3, 2, 4)
        arrays[0][:], arrays[2][:], arrays[3] = 0, 0, rho * orthogonal(rng, 4)
        params = reference.types.RNNParams(*arrays)
        _, cache = reference.rnn.rnn_forward(rng.integers(0, 3, size=(2, 60)), params)
        dlogits = np.zeros((2, 60, 3))
        dlogits[:, -1] = rng.normal(size=(2, 3))
        got = student.rnn.rnn_backward(dlogits, student.like(cache), student.like(params))
        h0 = check.array(got.h0, "the gradient by h0", (2, 4))
        at_the_end = np.linalg.norm(dlogits[:, -1] @ params.W_hy, axis=-1)
        check.close(np.linalg.norm(h0, axis=-1) / at_the_end, np.full(2, rho**60), "the share that is left", rtol=1e-9)
        check_gradients(check, got, reference.rnn.rnn_backward(dlogits, cache, params), (*NAMES, "h0"))


@item("bptt")
def test_bptt_changes_nothing(student, reference, rng, check):
    """dlogits, cache and parameters stay, nothing is added up from call to call, and earlier results stay as well."""
    dlogits, cache, params = unrolled(reference, rng, (3, 4, 5, 2, 3))
    given, handles = student.put(dlogits), (student.like(cache), student.like(params))
    results = [student.rnn.rnn_backward(given, *handles) for _ in range(2)]
    student.rnn.rnn_backward(-dlogits, *handles)
    for got in results:
        check_gradients(check, got, reference.rnn.rnn_backward(dlogits, cache, params), (*NAMES, "h0"))
    check_unchanged(student, check, [given], [dlogits])
    check_record_unchanged(check, handles[0], cache, "cache")
    check_record_unchanged(check, handles[1], params, "params")
