"""Hidden tests of lm/seq2seq.py: random weights, lengths in any order, and padding that holds anything."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

NETS = [  # B, S, T, words of the source, of the target, d, H, layers
    (4, 5, 6, 7, 9, 3, 4, 2),
    (3, 6, 3, 5, 4, 2, 3, 3),
    (5, 3, 7, 6, 5, 4, 2, 1),
    (1, 7, 1, 8, 3, 1, 5, 2),
    (3, 1, 4, 3, 6, 2, 1, 2),
]
NET_IDS = ["two-layers", "three-layers", "one-layer", "one-sentence", "one-word"]


def random_arrays(rng, net):
    """All parameters by name."""
    _, _, _, source_words, target_words, d, hidden, layers = net
    shapes = {"E_x.weight": (source_words, d), "E_y.weight": (target_words, d)}
    for side in ("encoder", "decoder"):
        for layer in range(layers):
            shapes[f"{side}.weight_ih_l{layer}"] = (4 * hidden, hidden if layer else d)
            shapes[f"{side}.weight_hh_l{layer}"] = (4 * hidden, hidden)
            shapes[f"{side}.bias_ih_l{layer}"] = shapes[f"{side}.bias_hh_l{layer}"] = (4 * hidden,)
    shapes.update({"W_hy.weight": (target_words, hidden), "W_hy.bias": (target_words,)})
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def model_with(side, arrays, net):
    """The model of the student, or of the reference, with these parameters, in float64."""
    model = side.seq2seq.Seq2Seq(*net[3:]).double()
    side.torch_tools.load(model, arrays)
    return model


def lengths(rng, rows, longest):
    """A mask: sentences of several lengths in no order, the longest of them not the first; padding on the right."""
    sizes = rng.integers(1, longest + 1, size=rows)
    sizes[-1] = longest
    if rows > 2:
        sizes[:2] = 1, max(longest - 1, 1)
    return np.arange(longest) < sizes[:, None]


def random_pairs(rng, net):
    """Source, its mask, inputs, targets and their mask; in the padding stand words like any others."""
    rows, source_length, length, source_words, target_words = net[:5]
    source = rng.integers(0, source_words, size=(rows, source_length))
    inputs, targets = rng.integers(0, target_words, size=(2, rows, length))
    return source, lengths(rng, rows, source_length), inputs, targets, lengths(rng, rows, length)[::-1].copy()


def garbled(rng, ids, mask, words, more):
    """The same words with other padding, and more of it."""
    wide = rng.integers(0, words, size=(len(ids), ids.shape[1] + more))
    wide[:, : ids.shape[1]][mask] = ids[mask]
    return wide, np.pad(mask, ((0, 0), (0, more)))


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def lstm(arrays, side, x, h, c):
    """One sentence x (T, d) through all layers from the states h and c (L, H): the top layer (T, H), and h and c."""
    after = []
    for layer, (h_t, c_t) in enumerate(zip(h, c, strict=True)):
        names = (f"{side}.{part}_l{layer}" for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        W_xh, W_hh, b, b_more = (arrays[name] for name in names)
        states = []
        for x_t in x:
            i, f, g, o = np.split(W_xh @ x_t + W_hh @ h_t + b + b_more, 4)
            c_t = sigmoid(f) * c_t + sigmoid(i) * np.tanh(g)
            h_t = sigmoid(o) * np.tanh(c_t)
            states.append(h_t)
        x = np.array(states)
        after.append((h_t, c_t))
    return x, np.array([h_t for h_t, _ in after]), np.array([c_t for _, c_t in after])


def encoded(arrays, net, source, mask):
    """h and c, both (L, B, H): each sentence read alone, as far as it goes."""
    zeros = np.zeros((net[7], net[6]))
    texts = [ids[kept] for ids, kept in zip(source, mask, strict=True)]
    ends = [lstm(arrays, "encoder", arrays["E_x.weight"][text], zeros, zeros) for text in texts]
    return tuple(np.stack([end[part] for end in ends], axis=1) for part in (1, 2))


def decoded(arrays, net, source, mask, inputs):
    """The logits (B, T, V), sentence by sentence."""
    h, c = encoded(arrays, net, source, mask)
    rows = [
        lstm(arrays, "decoder", arrays["E_y.weight"][ids], h[:, row], c[:, row])[0] for row, ids in enumerate(inputs)
    ]
    return np.array(rows) @ arrays["W_hy.weight"].T + arrays["W_hy.bias"]


def surprises(logits, targets):
    """-log p of each target, (B, T)."""
    top = logits.max(axis=-1, keepdims=True)
    log_p = logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]


def given(student, *arrays):
    """The arrays as tensors on the student's side."""
    return [student.tensor(array) for array in arrays]


def check_state(check, got, right):
    """h and c are right."""
    for name, part, expected in zip("hc", check.unpack(got, 2, "what encode returns"), right, strict=True):
        check.close(part, expected, f"{name} after the source")


@item("seq2seq")
@weight(4)
@pytest.mark.parametrize("net", NETS, ids=NET_IDS)
def test_state_of_a_batch_is_that_of_each_sentence(student, rng, check, net):
    """For every layer h and c right after a sentence's own last word, as if it had been read alone."""
    arrays, (source, mask, *_) = random_arrays(rng, net), random_pairs(rng, net)
    got = model_with(student, arrays, net).encode(*given(student, source, mask))
    check_state(check, got, encoded(arrays, net, source, mask))


@item("seq2seq")
@weight(2)
def test_source_padding_does_not_matter(student, rng, check):
    """Other words in the padding, or more padding: the same states and the same logits."""
    net = NETS[0]
    arrays, (source, mask, inputs, *_) = random_arrays(rng, net), random_pairs(rng, net)
    model, right = model_with(student, arrays, net), decoded(arrays, net, source, mask, inputs)
    for ids, more in ((0, 3), (net[3], 0), (net[3], 4)):
        wide, wide_mask = garbled(rng, source, mask, ids or 1, more)
        tensors = given(student, wide, wide_mask, inputs)
        check_state(check, model.encode(*tensors[:2]), encoded(arrays, net, source, mask))
        check.close(model(*tensors), right, "the logits")


@item("seq2seq")
@weight(4)
@pytest.mark.parametrize("net", NETS, ids=NET_IDS)
def test_logits_by_teacher_forcing(student, rng, check, net):
    """Each layer of the decoder begins where that of the encoder ended, and reads the words that it is given."""
    arrays, (source, mask, inputs, *_) = random_arrays(rng, net), random_pairs(rng, net)
    got = model_with(student, arrays, net)(*given(student, source, mask, inputs))
    check.close(got, decoded(arrays, net, source, mask, inputs), "the logits")


@item("seq2seq")
@weight(2)
def test_what_a_prediction_depends_on(student, rng, check):
    """On the words before and on the whole source: not on later words, and not on other sentences of the batch."""
    net = (3, 5, 6, 7, 9, 3, 4, 2)
    arrays, (source, _, inputs, *_) = random_arrays(rng, net), random_pairs(rng, net)
    model, mask = model_with(student, arrays, net), np.ones(source.shape, dtype=bool)
    shape = (3, 6, 9)
    before = check.array(model(*given(student, source, mask, inputs)), "the logits", shape)
    later, first, last = inputs.copy(), source.copy(), source.copy()
    later[1, 3] = (later[1, 3] + 1) % 9
    first[1, 0] = (first[1, 0] + 1) % 7
    last[1, -1] = (last[1, -1] + 1) % 7

    def moved(*ids):
        """Whether the logits of each place are others now, (B, T)."""
        after = check.array(model(*given(student, ids[0], mask, ids[1])), "the logits", shape)
        return np.abs(after - before).max(axis=-1) > 1e-9

    by_later = moved(source, later)
    check.that(not by_later[1, :3].any(), "a prediction should not depend on later words")
    check.that(bool(by_later[1, 3:].all()), "a prediction should depend on the words before it")
    for place, ids in (("first", first), ("last", last)):
        by_source = moved(ids, inputs)
        check.that(bool(by_source[1].all()), f"every prediction should depend on the {place} word of the source")
        check.that(not by_source[[0, 2]].any(), "a prediction should not depend on another sentence of the batch")


@item("seq2seq")
@weight(3)
@pytest.mark.parametrize("net", NETS[:4], ids=NET_IDS[:4])
def test_loss_is_the_mean_over_predictions(student, rng, check, net):
    """The sum of -log p of all targets that count, over their number: of the whole batch, whatever the padding is."""
    arrays, (source, source_mask, inputs, targets, mask) = random_arrays(rng, net), random_pairs(rng, net)
    right = surprises(decoded(arrays, net, source, source_mask, inputs), targets)[mask].mean()
    model = model_with(student, arrays, net)
    got = model.loss(*given(student, source, source_mask, inputs, targets, mask))
    check.close(got, right, "the loss")
    wide_inputs, wide_mask = garbled(rng, inputs, mask, net[4], 3)
    wide_targets, _ = garbled(rng, targets, mask, net[4], 3)
    got = model.loss(*given(student, source, source_mask, wide_inputs, wide_targets, wide_mask))
    check.close(got, right, "the loss with more padding")


@item("seq2seq")
@weight(3)
@pytest.mark.parametrize("net", NETS[:3], ids=NET_IDS[:3])
def test_gradients_reach_all_parameters(student, reference, rng, check, net):
    """The loss goes back through decoder, states and encoder, to the embeddings of the source words."""
    arrays, pairs = random_arrays(rng, net), random_pairs(rng, net)
    got, right = (
        side.torch_testing.run_loss(model_with(side, arrays, net), *given(side, *pairs))
        for side in (student, reference)
    )
    check.equal(sorted(got) if type(got) is dict else got, sorted(right), "the names of what the model has")
    for name, array in right.items():
        check.that(got[name] is not None, f"the gradient by {name} is missing: nothing leads back there")
        check.close(got[name], array, name if name == "loss" else f"the gradient by {name}")


@item("seq2seq")
def test_word_by_word_as_by_teacher_forcing(student, rng, check):
    """``step`` reads the same words one at a time and has the same logits, for each of two sentences in turn."""
    net = (2, 5, 6, 7, 9, 3, 4, 2)
    arrays, (source, _, inputs, *_) = random_arrays(rng, net), random_pairs(rng, net)
    model, right = model_with(student, arrays, net), decoded(arrays, net, source, np.ones((2, 5), bool), inputs)
    steps, states = [student.seq2seq.step(model, [int(i) for i in ids]) for ids in source], [None, None]
    for t in range(6):
        for row in (0, 1):
            logits, after = check.unpack(steps[row](int(inputs[row, t]), states[row]), 2)
            states[row] = tuple(student.tensor(part) for part in check.unpack(after, 2, "the state"))
            check.close(logits, right[row, t], "the logits of the next word")


@item("seq2seq")
def test_a_pass_keeps_what_it_was_given(student, rng, check):
    """Arguments stay as they are, no call changes the next one, and a model in float32 answers in float32."""
    net = NETS[0]
    arrays, pairs = random_arrays(rng, net), random_pairs(rng, net)
    model, tensors = model_with(student, arrays, net), given(student, *pairs)
    right = decoded(arrays, net, *pairs[:3])
    for _ in range(2):
        check.close(model(*tensors[:3]), right, "the logits")
        model.encode(*given(student, pairs[0][::-1].copy(), pairs[1][::-1].copy()))
        model.loss(*tensors)
    for number, (tensor, array) in enumerate(zip(tensors, pairs, strict=True)):
        got = np.asarray(student.get(tensor))
        check.that(bool(np.array_equal(got, array)), f"argument {number} should not be changed")
    got = model.float()(*tensors[:3])
    check.close(got, right.astype(np.float32), "the logits in float32", rtol=1e-3)
