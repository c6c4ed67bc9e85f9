"""Tests of the models of lm/torch_lm.py with weights so simple that the numbers can be done by hand."""

import numpy as np
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# --- fixed_window


def small_window(student):
    """Word w has the embedding w / 10, the window is (oldest, middle, newest), and the logits are h and -h."""
    model = student.torch_lm.FixedWindowLM(4, 1, 1, 3).double()
    arrays = {
        "E.weight": np.array([[0.0], [0.1], [0.2], [0.3]]),
        "W_h.weight": np.array([[1.0, 2.0, 4.0]]),
        "W_h.bias": np.array([-1.0]),
        "W_hy.weight": np.array([[1.0], [-1.0], [0.0], [0.0]]),
        "W_hy.bias": np.array([0.0, 0.0, 5.0, 6.0]),
    }
    student.torch_tools.load(model, arrays)
    return model


@item("fixed_window")
@weight(1.5)
def test_window_by_hand(student, check):
    """The window of time t ends with inputs[:, t]; before the text stands <s>, id 1; the last two ids are the state."""
    logits, state = check.unpack(small_window(student)(student.tensor([[3, 2, 0, 3]])), 2)
    h = np.tanh(np.array([0.5, 0.5, -0.3, 0.4]))  # <s> <s> 3: 0.1 + 2 * 0.1 + 4 * 0.3 - 1 = 0.5, then <s> 3 2, ...
    right = np.stack([h, -h, np.full(4, 5.0), np.full(4, 6.0)], axis=-1)[None]
    check.close(logits, right, "the logits")
    check.close(state, np.array([[0, 3]]), "the state")


@item("fixed_window")
def test_window_goes_on_by_hand(student, check):
    """With the state 2, 3 the first window is 2 3 3; after one word the state is 3, 3. Two sentences at once."""
    logits, state = check.unpack(small_window(student)(student.tensor([[3], [0]]), student.tensor([[2, 3], [0, 0]])), 2)
    h = np.tanh(np.array([[1.0], [-1.0]]))
    check.close(check.array(logits, "the logits", (2, 1, 4))[:, :, 0], h, "the first logits")
    check.close(state, np.array([[3, 3], [0, 0]]), "the state")


@item("fixed_window")
@weight(1.5)
def test_window_hands_its_parameters_to_the_optimiser(student, check):
    """V = 56, d = 32, H = 64, four words: 56 32 + 4 32 64 + 64 56 = 13,568 weights, and 120 biases, all registered."""
    names = ["E.weight", "W_h.bias", "W_h.weight", "W_hy.bias", "W_hy.weight"]
    model = student.torch_lm.FixedWindowLM(56, 32, 64)
    check.equal(sorted(student.torch_tools.grads(model)), names, "the names of the parameters")
    sizes = {name: int(np.size(array)) for name, array in model.state_dict().items()}
    check.equal(sum(sizes[name] for name in names if name.endswith("weight")), 13_568, "the number of weights")
    check.equal(sum(sizes[name] for name in names if name.endswith("bias")), 120, "the number of biases")


@item("fixed_window")
def test_window_goes_backwards_by_hand(student, check):
    """Two words, d = 2, the text is 3 0: the embeddings of <s>, 3 and 0 have the gradients of their places."""
    model = student.torch_lm.FixedWindowLM(4, 2, 1, 2).double()
    arrays = {
        "E.weight": np.zeros((4, 2)),
        "W_h.weight": np.array([[1.0, 2.0, 3.0, 4.0]]),
        "W_h.bias": np.zeros(1),
        "W_hy.weight": np.array([[1.0], [0.0], [0.0], [0.0]]),
    }
    student.torch_tools.load(model, arrays)
    upstream = student.tensor(np.array([[[1.0, 0.0, 0.0, 0.0]] * 2]))
    got = student.torch_tools.run_backward(model, student.tensor([[3, 0]]), by_logits=upstream)["E.weight"]
    check.that(got is not None, "the gradient by E.weight is missing: nothing leads back there")
    # all slopes are 1; <s> is the older word once, 0 the newer one, and 3 is both
    check.close(got, np.array([[3.0, 4.0], [1.0, 2.0], [0.0, 0.0], [4.0, 6.0]]), "the gradient by E.weight")


@item("fixed_window")
@weight(0.5)
def test_window_of_one_word(student, check):
    """It needs to know nothing of the words before: the state is (B, 0)."""
    model = student.torch_lm.FixedWindowLM(4, 1, 1, 1)
    logits, state = check.unpack(model(student.tensor([[3, 2, 0]])), 2)
    check.array(logits, "the logits", (1, 3, 4))
    check.array(state, "the state", (1, 0))


# --- vanilla_rnn


def small_rnn(student):
    """One unit: h = tanh(e + h / 2), the embeddings 0, 1 and 2; the logits are 3 h, 1 - h and h."""
    model = student.torch_lm.VanillaRNNLM(3, 1, 1).double()
    arrays = {
        "E.weight": np.array([[0.0], [1.0], [2.0]]),
        "W_xh.weight": np.array([[1.0]]),
        "W_xh.bias": np.array([0.0]),
        "W_hh.weight": np.array([[0.5]]),
        "W_hy.weight": np.array([[3.0], [-1.0], [1.0]]),
        "W_hy.bias": np.array([0.0, 1.0, 0.0]),
    }
    student.torch_tools.load(model, arrays)
    return model


@item("vanilla_rnn")
@weight(2)
def test_module_by_hand(student, check):
    """Each state comes from the one before; the state after the last word is returned."""
    one = np.tanh(1.0)
    two = np.tanh(2 + one / 2)
    logits, state = check.unpack(small_rnn(student)(student.tensor([[1, 2]])), 2)
    check.close(logits, np.array([[[3 * one, 1 - one, one], [3 * two, 1 - two, two]]]), "the logits")
    check.close(state, np.array([[two]]), "the state")


@item("vanilla_rnn")
def test_module_goes_on_by_hand(student, check):
    """A state that is given is where it starts: a text in two calls is the text in one."""
    one, model = np.tanh(1.0), small_rnn(student)
    logits, state = check.unpack(model(student.tensor([[0], [2]]), student.tensor(np.array([[one], [-1.0]]))), 2)
    h = np.tanh([one / 2, 2 - 0.5])
    check.close(logits, np.stack([3 * h, 1 - h, h], axis=-1)[:, None], "the logits")
    check.close(state, h[:, None], "the state")
    _, state = check.unpack(model(student.tensor([[0]])), 2)
    check.close(state, np.array([[0.0]]), "the state of the next text, which begins with zeros")


@item("vanilla_rnn")
@weight(2)
def test_module_goes_backwards_by_hand(student, check):
    """After two words 0 from the state 0: the gradient by the last state goes back through both steps."""
    inputs, zero, one = (student.tensor(np.array(rows)) for rows in ([[0, 0]], [[0.0]], [[1.0]]))
    got = student.torch_tools.run_backward(small_rnn(student), inputs, zero, by_state=one)
    check.that(got["state before"] is not None, "the gradient by the first state is missing: nothing leads back there")
    check.close(got["state before"], np.array([[0.25]]), "the gradient by the first state")  # all slopes are 1
    check.close(got["W_xh.bias"], np.array([1.5]), "the gradient by W_xh.bias")  # 1 from step two, 0.5 from step one
    check.close(got["E.weight"], np.array([[1.5], [0.0], [0.0]]), "the gradient by E.weight")


@item("vanilla_rnn")
def test_module_with_two_units(student, check):
    """W_hh has a 1 in row 0, column 1: the new h_0 is tanh of the old h_1, and its gradient goes back there."""
    model = student.torch_lm.VanillaRNNLM(3, 1, 2).double()
    arrays = {name: np.zeros(shape) for name, shape in (("E.weight", (3, 1)), ("W_xh.bias", (2,)), ("W_hy.bias", (3,)))}
    arrays["W_hh.weight"] = np.array([[0.0, 1.0], [0.0, 0.0]])
    arrays["W_hy.weight"] = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    student.torch_tools.load(model, arrays)
    inputs, h, upstream = (student.tensor(np.array(rows)) for rows in ([[0]], [[0.5, 2.0]], [[[1.0, 0.0, 0.0]]]))
    got = student.torch_tools.run_backward(model, inputs, h, by_logits=upstream)
    check.close(got["state"], np.array([[np.tanh(2.0), 0.0]]), "the state")
    check.that(got["state before"] is not None, "the gradient by the first state is missing: nothing leads back there")
    slope = 1 - np.tanh(2.0) ** 2
    check.close(got["state before"], np.array([[0.0, slope]]), "the gradient by the first state")
