"""Hidden tests of the models of lm/torch_lm.py: random weights, states and texts; gradients are part of the answer."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

BOS = 1


def texts(rng, rows, length, words):
    """Ids of random words; where there are two or more, a word occurs twice."""
    ids = rng.integers(0, words, size=(rows, length))
    ids[:, -1] = ids[:, 0]
    return ids


def ran(student, model, inputs, state=None, by_logits=None, by_state=None):
    """Forwards and backwards: what the model returned, and all gradients, by name."""
    given = [None if array is None else student.tensor(array) for array in (inputs, state, by_logits, by_state)]
    return student.torch_tools.run_backward(model, *given)


def check_all(check, got, right, **room):
    """The same names, and under each the same array."""
    check.equal(sorted(got) if type(got) is dict else got, sorted(right), "the names of what the model has")
    for name, array in right.items():
        what = f"the gradient by {name}" if "." in name or name == "state before" else f"the {name}"
        check.that(got[name] is not None, f"{what} is missing: nothing leads back there")
        check.close(got[name], array, what, **room)


# --- fixed_window

WINDOWS = [  # B, T, V, d, H, n
    (3, 7, 5, 4, 2, 3),
    (4, 1, 7, 2, 3, 4),
    (1, 7, 6, 1, 4, 2),
    (3, 3, 5, 3, 1, 1),
]
WINDOW_IDS = ["seven-words", "one-word", "one-sentence", "window-of-one"]
LAYERS = ("E.weight", "W_h.weight", "W_h.bias", "W_hy.weight", "W_hy.bias")


def window_arrays(rng, words, d, hidden, n):
    """Random parameters by name."""
    shapes = [(words, d), (hidden, n * d), (hidden,), (words, hidden), (words,)]
    return {name: rng.normal(size=shape) for name, shape in zip(LAYERS, shapes, strict=True)}


def window_model(student, arrays, n):
    """The student's model with these parameters, in float64."""
    words, d = arrays["E.weight"].shape
    model = student.torch_lm.FixedWindowLM(words, d, len(arrays["W_h.bias"]), n).double()
    student.torch_tools.load(model, arrays)
    return model


def through_window(arrays, inputs, state, by_logits):
    """Logits, state and gradients of the formula, by name."""
    E, W_h, b_h, W_hy, b_y = arrays.values()
    ids, T = np.hstack([state, inputs]), inputs.shape[1]
    words = np.stack([ids[:, t : t + state.shape[1] + 1] for t in range(T)], axis=1)
    x = E[words].reshape(*inputs.shape, -1)
    h = np.tanh(np.einsum("btx,hx->bth", x, W_h) + b_h)
    da = np.einsum("btv,vh->bth", by_logits, W_hy) * (1 - h**2)
    dE = np.zeros_like(E)
    np.add.at(dE, words, np.einsum("bth,hx->btx", da, W_h).reshape(*words.shape, -1))
    gradients = (
        dE,
        np.einsum("bth,btx->hx", da, x),
        da.sum(axis=(0, 1)),
        np.einsum("btv,bth->vh", by_logits, h),
        by_logits.sum(axis=(0, 1)),
    )
    logits = np.einsum("bth,vh->btv", h, W_hy) + b_y
    return {"logits": logits, "state": ids[:, T:], **dict(zip(LAYERS, gradients, strict=True))}


@item("fixed_window")
@weight(5)
@pytest.mark.parametrize("net", WINDOWS, ids=WINDOW_IDS)
def test_window_forwards_and_backwards(student, rng, check, net):
    """Logits of the window that ends with inputs[:, t], the last n - 1 ids, and every parameter's gradient."""
    rows, length, words, d, hidden, n = net
    arrays, inputs = window_arrays(rng, words, d, hidden, n), texts(rng, rows, length, words)
    state, by_logits = rng.integers(0, words, size=(rows, n - 1)), rng.normal(size=(rows, length, words))
    got = ran(student, window_model(student, arrays, n), inputs, state, by_logits)
    check_all(check, got, through_window(arrays, inputs, state, by_logits))


@item("fixed_window")
@weight(2)
def test_window_at_the_start_of_a_text(student, rng, check):
    """Without a state the window is filled up with <s>: in each call anew, whatever was read before."""
    arrays, inputs = window_arrays(rng, 6, 3, 4, 4), texts(rng, 3, 5, 6)
    model, by_logits = window_model(student, arrays, 4), rng.normal(size=(3, 5, 6))
    right = through_window(arrays, inputs, np.full((3, 3), BOS), by_logits)
    check_all(check, ran(student, model, inputs, None, by_logits), right)
    for more in ((), (None,)):
        model(student.tensor(inputs[:2, 1:3]), student.tensor(inputs[:2, :3]))
        logits, state = check.unpack(model(student.tensor(inputs), *more), 2)
        check.close(logits, right["logits"], "the logits")
        check.close(state, right["state"], "the state")


@item("fixed_window")
@weight(2)
def test_window_goes_on_from_its_state(student, rng, check):
    """A text in pieces, some shorter than the window, has the logits that it has in one."""
    arrays, inputs = window_arrays(rng, 7, 2, 5, 4), rng.integers(0, 7, size=(2, 10))
    model, state, parts = window_model(student, arrays, 4), None, []
    for piece in np.split(inputs, [1, 3, 4, 9], axis=1):
        logits, state = check.unpack(model(student.tensor(piece), state), 2)
        parts.append(check.array(logits, "the logits", (2, piece.shape[1], 7)))
        state = student.tensor(check.array(state, "the state", (2, 3)))
    right = through_window(arrays, inputs, np.full((2, 3), BOS), np.zeros((2, 10, 7)))
    check.close(np.concatenate(parts, axis=1), right["logits"], "the logits of all pieces")


@item("fixed_window")
@weight(2)
def test_window_sees_n_words_and_no_others(student, rng, check):
    """Another word at time t moves the logits of t, ..., t + n - 1, and not one before or after; nor another text's."""
    arrays, inputs = window_arrays(rng, 6, 3, 4, 3), rng.integers(0, 6, size=(2, 8))
    model, other = window_model(student, arrays, 3), inputs.copy()
    other[0, 3] = (other[0, 3] + 1) % 6
    first, second = (check.unpack(model(student.tensor(ids)), 2)[0] for ids in (inputs, other))
    moved = np.abs(check.array(first, "the logits", (2, 8, 6)) - check.array(second, "the logits", (2, 8, 6)))
    seen = moved.max(axis=-1) > 1e-9
    check.that(bool(seen[0, 3:6].all()), "the last n words should all matter")
    check.that(not seen[0, :3].any(), "a prediction should not depend on later words")
    check.that(not seen[0, 6:].any(), "a prediction should not depend on words before the window")
    check.that(not seen[1].any(), "a prediction should not depend on another sentence of the batch")


@item("fixed_window")
@weight(2)
def test_window_has_the_layers_that_it_says(student, reference, check):
    """Parameters have PyTorch's own initial values, E first, then W_h, then W_hy; the window is of 4 words."""
    sides = []
    for side in (student, reference):
        side.torch.manual_seed(3)
        sides.append(side.torch_lm.FixedWindowLM(9, 3, 5))
    check.equal(sorted(student.torch_tools.grads(sides[0])), sorted(LAYERS), "the names of the parameters")
    got, right = (model.state_dict() for model in sides)
    check.equal(sorted(got), sorted(LAYERS), "the names in state_dict()")
    for name in LAYERS:
        check.close(got[name], right[name], f"{name} at the start", rtol=1e-6)


@item("fixed_window")
def test_window_changes_nothing(student, rng, check):
    """The ids and the state that were given stay as they are, and so does what an earlier call returned."""
    arrays = window_arrays(rng, 6, 3, 4, 3)
    model, ids = window_model(student, arrays, 3), [texts(rng, 2, 4, 6), rng.integers(0, 6, size=(2, 2))]
    given = [student.tensor(array) for array in ids]
    right = through_window(arrays, *ids, np.zeros((2, 4, 6)))
    for _ in range(2):
        logits, state = check.unpack(model(*given), 2)
        check.close(logits, right["logits"], "the logits")
        check.close(state, right["state"], "the state")
        for handle, array in zip(given, ids, strict=True):
            check.close(student.get(handle), array, "what was given, after the call")


# --- vanilla_rnn

NETS = [  # B, T, V, d, H
    (2, 3, 6, 4, 5),
    (3, 7, 5, 2, 4),
    (4, 1, 5, 1, 2),
    (1, 7, 6, 3, 1),
]
NET_IDS = ["three-words", "seven-words", "one-word", "one-unit"]
FIELDS = {
    "E.weight": "E",
    "W_xh.weight": "W_xh",
    "W_xh.bias": "b_h",
    "W_hh.weight": "W_hh",
    "W_hy.weight": "W_hy",
    "W_hy.bias": "b_y",
}


def rnn_params(reference, rng, words, d, hidden, scale=1.0):
    """Random parameters of the RNN of part 4."""
    shapes = [(words, d), (hidden, d), (hidden,), (hidden, hidden), (words, hidden), (words,)]
    return reference.types.RNNParams(*[scale * rng.normal(size=shape) for shape in shapes])


def rnn_model(student, params, double=True):
    """The student's model with these parameters, in float64 unless said otherwise."""
    model = student.torch_lm.VanillaRNNLM(*params.E.shape, len(params.b_h))
    if double:
        model.double()
    student.torch_tools.load(model, {name: getattr(params, field) for name, field in FIELDS.items()})
    return model


def through_rnn(reference, params, inputs, state, by_logits, by_state):
    """Logits, state and gradients of the arrays of part 4, by name; the last state counts as H more logits."""
    logits, cache = reference.rnn.rnn_forward(inputs, params, state)
    (V, H), T = params.W_hy.shape, inputs.shape[1]
    wide = reference.types.RNNParams(**vars(params))
    wide.W_hy, wide.b_y = np.vstack([params.W_hy, np.eye(H)]), np.zeros(V + H)
    upstream = np.zeros((len(inputs), T, V + H))
    upstream[:, :, :V] = by_logits
    upstream[:, -1, V:] = by_state
    gradients = reference.rnn.rnn_backward(upstream, cache, wide)
    right = {"logits": logits, "state": cache.h[:, -1], "state before": gradients.h0}
    right |= {name: getattr(gradients, field) for name, field in FIELDS.items()}
    return right | {"W_hy.weight": gradients.W_hy[:V], "W_hy.bias": gradients.b_y[:V]}


def rnn_case(reference, rng, net, scale=1.0):
    """Params, and what ``run_backward`` is given: inputs, state and two gradients."""
    rows, length, words, d, hidden = net
    params, state = rnn_params(reference, rng, words, d, hidden, scale), np.tanh(rng.normal(size=(rows, hidden)))
    inputs, by_logits = texts(rng, rows, length, words), rng.normal(size=(rows, length, words))
    return params, inputs, state, by_logits, rng.normal(size=(rows, hidden))


@item("vanilla_rnn")
@weight(6)
@pytest.mark.parametrize("net", NETS, ids=NET_IDS)
def test_module_equals_the_arrays_of_part_4(student, reference, rng, check, net):
    """With the same weights and state: the same logits and state, and the same gradients, by the first state too."""
    params, *given = rnn_case(reference, rng, net)
    right = through_rnn(reference, params, *given)
    check_all(check, ran(student, rnn_model(student, params), *given), right, rtol=1e-12)


@item("vanilla_rnn")
@weight(2)
def test_module_in_single_precision(student, reference, rng, check):
    """A model in float32 computes in float32, with a state and without."""
    params, *given = rnn_case(reference, rng, (3, 5, 6, 3, 4), 0.5)
    model, single = rnn_model(student, params, double=False), np.float32
    for state in (given[1], None):
        zeros = np.zeros_like(given[1])
        right = through_rnn(reference, params, given[0], zeros if state is None else state, *given[2:])
        if state is None:
            del right["state before"]
        floats = [None if array is None else array.astype(single) for array in (state, *given[2:])]
        got = ran(student, model, given[0], *floats)
        check_all(check, got, {name: array.astype(single) for name, array in right.items()}, rtol=1e-5, atol=1e-7)


@item("vanilla_rnn")
@weight(2)
def test_module_starts_with_zeros(student, reference, rng, check):
    """Without a state, or with None, it starts from zeros: in every call anew, in the type of the parameters."""
    params, inputs, state, *_ = rnn_case(reference, rng, (3, 4, 5, 2, 3))
    model, (right, cache) = rnn_model(student, params), reference.rnn.rnn_forward(inputs, params)
    for more in ((), (None,), (student.tensor(np.zeros((3, 3))),)):
        model(student.tensor(inputs), student.tensor(state))
        logits, after = check.unpack(model(student.tensor(inputs), *more), 2)
        check.close(logits, right, "the logits", rtol=1e-12)
        check.close(after, cache.h[:, -1], "the state", rtol=1e-12)


@item("vanilla_rnn")
@weight(2)
def test_module_goes_on_from_its_state(student, reference, rng, check):
    """A text in pieces has the logits, and in the end the state, that it has in one."""
    params, inputs, state, *_ = rnn_case(reference, rng, (2, 10, 6, 3, 4))
    model, (right, cache), parts = rnn_model(student, params), reference.rnn.rnn_forward(inputs, params, state), []
    for piece in np.split(inputs, [1, 4, 9], axis=1):
        logits, state = check.unpack(model(student.tensor(piece), student.tensor(state)), 2)
        parts.append(check.array(logits, "the logits", (2, piece.shape[1], 6)))
        state = check.array(state, "the state", (2, 4))
    check.close(np.concatenate(parts, axis=1), right, "the logits of all pieces")
    check.close(state, cache.h[:, -1], "the state after the last piece")


@item("vanilla_rnn")
@weight(2)
def test_module_has_the_parameters_of_part_4(student, check):
    """V = 56, d = 32, H = 64: 11,640 numbers, with one bias for the state and one for the logits."""
    model = student.torch_lm.VanillaRNNLM(56, 32, 64)
    logits, _ = check.unpack(model(student.tensor(np.array([[1, 5, 3]]))), 2, "logits and state")
    check.array(logits, "the logits", (1, 3, 56))
    check.equal(sorted(student.torch_tools.grads(model)), sorted(FIELDS), "the names of the parameters")
    sizes = [int(np.size(array)) for array in model.state_dict().values()]
    check.equal(sum(sizes), 11_640, "the number of parameters")


@item("vanilla_rnn")
def test_module_reads_long_texts(student, reference, rng, check):
    """Fifty words, and a gradient by the last prediction alone: it comes back to the first state."""
    params, inputs, state, by_logits, by_state = rnn_case(reference, rng, (2, 50, 9, 4, 6), 0.6)
    by_logits[:, :-1] = 0
    right = through_rnn(reference, params, inputs, state, by_logits, by_state)
    check_all(check, ran(student, rnn_model(student, params), inputs, state, by_logits, by_state), right)


@item("vanilla_rnn")
def test_module_changes_nothing(student, reference, rng, check):
    """The ids and the state that were given stay as they are, and the same call has the same result."""
    params, inputs, state, *_ = rnn_case(reference, rng, (3, 4, 5, 2, 3))
    model, (right, cache) = rnn_model(student, params), reference.rnn.rnn_forward(inputs, params, state)
    given = [student.tensor(inputs), student.tensor(state)]
    for _ in range(2):
        logits, after = check.unpack(model(*given), 2)
        check.close(logits, right, "the logits")
        check.close(after, cache.h[:, -1], "the state")
        for handle, array in zip(given, (inputs, state), strict=True):
            check.close(student.get(handle), array, "what was given, after the call")
