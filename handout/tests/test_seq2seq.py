"""Tests of lm/seq2seq.py: a net that can be followed by hand, and properties of any net."""

import numpy as np
import pytest

from autograder.feedback import item

LAYERS = 2


def hand_made(student):
    """One unit a layer. Every gate is 1/2: a cell halves what it holds, and adds half of tanh(what its layer reads).

    The encoder's words are the numbers 0, 1, 2 and 3. The decoder reads nothing at all, and its logits are (h, 0).
    """
    model = student.seq2seq.Seq2Seq(4, 2, 1, 1, LAYERS).double()
    arrays = {"E_x.weight": np.arange(4.0)[:, None], "E_y.weight": np.zeros((2, 1))}
    for side, reads in (("encoder", 1.0), ("decoder", 0.0)):
        for layer in range(LAYERS):
            arrays[f"{side}.weight_ih_l{layer}"] = np.array([[0.0], [0.0], [reads], [0.0]])
            arrays[f"{side}.weight_hh_l{layer}"] = np.zeros((4, 1))
            arrays[f"{side}.bias_ih_l{layer}"] = arrays[f"{side}.bias_hh_l{layer}"] = np.zeros(4)
    student.torch_tools.load(model, {**arrays, "W_hy.weight": np.array([[1.0], [0.0]]), "W_hy.bias": np.zeros(2)})
    return model


def read_by_hand(numbers):
    """h and c of both layers after these numbers."""
    h, c = np.zeros(LAYERS), np.zeros(LAYERS)
    for below in numbers:
        for layer in range(LAYERS):
            c[layer] = c[layer] / 2 + np.tanh(below) / 2
            h[layer] = below = np.tanh(c[layer]) / 2
    return h, c


def random_model(student, rng):
    """Seven source words, five target words, two layers; the weights are drawn."""
    model = student.seq2seq.Seq2Seq(7, 5, 3, 4, 2).double()
    shapes = {"E_x.weight": (7, 3), "E_y.weight": (5, 3), "W_hy.weight": (5, 4)}
    for side in ("encoder", "decoder"):
        shapes.update({f"{side}.weight_ih_l0": (16, 3), f"{side}.weight_ih_l1": (16, 4)})
        shapes.update({f"{side}.weight_hh_l{layer}": (16, 4) for layer in (0, 1)})
    student.torch_tools.load(model, {name: rng.normal(size=shape) for name, shape in shapes.items()})
    return model


@item("seq2seq")
@pytest.mark.parametrize("more", [0, 2], ids=["no-padding", "padding"])
def test_reading_by_hand(student, check, more):
    """After the words 3, 1 the cell of the first layer is tanh(3)/4 + tanh(1)/2; padding is not read."""
    source = np.array([[3, 1, *[2] * more]])
    mask = np.array([[True, True, *[False] * more]])
    got = hand_made(student).encode(student.tensor(source), student.tensor(mask))
    for name, part, right in zip("hc", check.unpack(got, 2), read_by_hand([3, 1]), strict=True):
        check.close(part, right.reshape(2, 1, 1), f"{name} of the two layers")


@item("seq2seq")
def test_writing_by_hand(student, check):
    """The decoder's upper layer begins with the cell of the encoder's upper layer, and halves it with each word."""
    ones = np.ones((1, 2), dtype=bool)
    tensors = [student.tensor(array) for array in (np.array([[3, 1]]), ones, np.array([[1, 0, 1]]))]
    _, cells = read_by_hand([3, 1])
    h = np.tanh(cells[1] / 2 ** np.arange(1.0, 4.0)) / 2
    right = np.stack([h, np.zeros(3)], axis=-1)[None]
    check.close(hand_made(student)(*tensors), right, "the logits")


@item("seq2seq")
def test_a_sentence_in_a_batch_is_as_if_alone(student, rng, check):
    """Beside a longer sentence, and padded with any words, it leaves the states that it leaves alone."""
    model = random_model(student, rng)
    source, sizes = rng.integers(0, 7, size=(3, 6)), (2, 6, 1)
    mask = np.arange(6) < np.array(sizes)[:, None]
    together = check.unpack(model.encode(student.tensor(source), student.tensor(mask)), 2)
    for row, size in enumerate(sizes):
        ids = source[row : row + 1, :size]
        alone = check.unpack(model.encode(student.tensor(ids), student.tensor(ids >= 0)), 2)
        for name, part, right in zip("hc", together, alone, strict=True):
            part = check.array(part, name, (2, 3, 4))
            right = check.array(right, f"{name} of one sentence", (2, 1, 4))
            check.close(part[:, row : row + 1], right, f"{name} of sentence {row}")


@item("seq2seq")
def test_predictions_see_the_source_and_the_words_before(student, rng, check):
    """Another target word moves the logits from its place on, not before; another source word moves all of them."""
    model = random_model(student, rng)
    source, inputs = rng.integers(0, 6, size=(1, 5)), rng.integers(0, 4, size=(1, 6))
    mask, shape = np.ones((1, 5), dtype=bool), (1, 6, 5)

    def logits(source, inputs):
        return check.array(model(*map(student.tensor, (source, mask, inputs))), "the logits", shape)

    before, last = logits(source, inputs), np.arange(6) == 3
    moved = np.abs(logits(source, inputs + last) - before).max(axis=-1) > 1e-9
    check.equal(moved[0].tolist(), [False] * 3 + [True] * 3, "whether another fourth word moves each prediction")
    moved = np.abs(logits(source + (np.arange(5) == 0), inputs) - before).max(axis=-1) > 1e-9
    check.equal(moved[0].tolist(), [True] * 6, "whether another first source word moves each prediction")


@item("seq2seq")
def test_loss_by_hand(student, check):
    """Where every logit is (0, log 3): three predictions of word 1 and one of word 0 cost (log 4 + 3 log 4/3) / 4."""
    model = hand_made(student)
    student.torch_tools.load(model, {"W_hy.weight": np.zeros((2, 1)), "W_hy.bias": np.array([0.0, np.log(3)])})
    source, inputs = np.array([[1, 2], [3, 0]]), np.array([[1, 1, 1], [1, 0, 0]])
    targets, mask = np.array([[1, 1, 1], [0, 0, 0]]), np.array([[True] * 3, [True, False, False]])
    got = model.loss(*map(student.tensor, (source, source > 0, inputs, targets, mask)))
    check.close(got, (np.log(4) + 3 * np.log(4 / 3)) / 4, "the loss")


@item("seq2seq")
def test_the_loss_reaches_the_words_that_were_read(student, rng, check):
    """After backward the embeddings of the source words have a gradient, those of the padding and of others none."""
    source, inputs, targets = np.array([[3, 5, 0], [5, 1, 2]]), np.array([[1, 2], [1, 4]]), np.array([[2, 3], [4, 3]])
    arrays = (source, np.array([[True, True, False], [True] * 3]), inputs, targets, np.ones((2, 2), dtype=bool))
    got = student.torch_testing.run_loss(random_model(student, rng), *map(student.tensor, arrays))["E_x.weight"]
    check.that(got is not None, "the gradient by E_x.weight is missing: nothing leads back to the encoder")
    moved = np.abs(check.array(got, "the gradient by E_x.weight", (7, 3))).max(axis=1) > 1e-12
    check.equal(np.flatnonzero(moved).tolist(), [1, 2, 3, 5], "the words whose embeddings have a gradient")
