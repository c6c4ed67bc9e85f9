"""Tests of lm/tape.py: graphs small enough to differentiate by hand, and differences of numpy's own functions."""

from functools import partial
from math import log

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# --- unbroadcast


@item("unbroadcast")
@weight(3)
@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((3,), [5.0, 7.0, 9.0]),
        ((2, 1), [[6.0], [15.0]]),
        ((1, 3), [[5.0, 7.0, 9.0]]),
        ((1, 1), [[21.0]]),
        ((1,), [21.0]),
        ((), 21.0),
        ((2, 3), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    ],
    ids=["row", "column", "one-row", "one-by-one", "one-entry", "number", "same-shape"],
)
def test_unbroadcast_two_by_three(student, check, shape, expected):
    """Each entry of the variable gets the sum of all entries that it was repeated into, in the variable's shape."""
    g = student.put(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    check.close(student.tape.unbroadcast(g, shape), np.array(expected), f"the gradient of shape {shape}")
    check.close(student.get(g), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "g afterwards", rtol=0, atol=0)


# --- tape_ops: the operations record on a stand-in for a tape, which keeps nothing but the edges


def run(side, operation, arrays):
    """An operation on Vars over an ``EdgeTape``: what it recorded, and the Vars."""
    tape = side.testing.EdgeTape()
    xs = [side.tape.Var(array, tape) for array in arrays]
    return operation(side.tape, tape, *xs), xs


def pulled(check, out, x, g):
    """What the edges to x make of g, all together."""
    parts = out.pulled(x, g)
    check.that(len(parts) > 0, "an edge should lead to each variable")
    return sum(check.array(part, "what an edge makes of g") for part in parts)


OPERATIONS = {  # the shapes of the inputs, the operation, and the same in numpy
    "add": ([(2, 3), (2, 3)], lambda t, tape, x, y: x + y, np.add),
    "add-a-row": ([(2, 3), (3,)], lambda t, tape, x, y: x + y, np.add),
    "multiply": ([(2, 3), (2, 3)], lambda t, tape, x, y: x * y, np.multiply),
    "multiply-a-column": ([(2, 1), (3,)], lambda t, tape, x, y: x * y, np.multiply),
    "square": ([(2, 3)], lambda t, tape, x: x * x, np.square),
    "twice": ([(2, 3)], lambda t, tape, x: x + x, lambda x: 2 * x),
    "constant-first": ([(2, 3)], lambda t, tape, x: np.array([1.0, -2.0, 3.0]) * x, lambda x: x * [1.0, -2.0, 3.0]),
    "sum": ([(2, 3)], lambda t, tape, x: x.sum(), np.sum),
    "matrix-times-vector": ([(2, 3), (3,)], lambda t, tape, x, y: x @ y, np.matmul),
    "matrix-times-matrix": ([(2, 3), (3, 4)], lambda t, tape, x, y: x @ y, np.matmul),
    "tanh": ([(2, 3)], lambda t, tape, x: t.tanh(x), np.tanh),
    "sigmoid": ([(4,)], lambda t, tape, x: t.sigmoid(x), lambda x: 1 / (1 + np.exp(-x))),
    "lookup": ([(4, 3)], lambda t, tape, x: t.lookup(x, 2), lambda x: x[2]),
    "softmax-cross-entropy": (
        [(4,)],
        lambda t, tape, x: t.softmax_cross_entropy(x, 1),
        lambda x: np.log(np.exp(x).sum()) - x[1],
    ),
}


@item("tape_ops")
@weight(3)
@pytest.mark.parametrize("name", OPERATIONS, ids=list(OPERATIONS))
def test_operations_agree_with_differences(student, rng, check, name):
    """What is recorded is the operation's result; each edge turns g into the gradient by its variable."""
    shapes, operation, function = OPERATIONS[name]
    arrays = [rng.normal(size=shape) for shape in shapes]
    out, xs = run(student, operation, arrays)
    expected = np.asarray(function(*arrays), dtype=float)
    check.close(out.data, expected, "what was recorded")
    g = rng.normal(size=expected.shape)
    for i, x in enumerate(xs):
        of_one = partial(lambda place, v: function(*arrays[:place], v, *arrays[place + 1 :]), i)
        got = pulled(check, out, x, g)
        check.gradient(got, of_one, arrays[i], g, f"the gradient by input {i + 1}")
        check.close(pulled(check, out, x, g), got, "what the edges make of the same g once more")


# --- tape_record


@item("tape_record")
@weight(2)
def test_record_appends_a_node(student, check):
    """The new Var holds the result and is no leaf; the last node is that Var with its edges."""
    tape = student.tape.Tape()
    x, y = tape.leaf([1.0, 2.0]), tape.leaf([3.0, 4.0])
    out = tape.record(np.array([3.0, 8.0]), (x, student.testing.Times(10.0)), (y, student.testing.Times(20.0)))
    check.close(out.data, np.array([3.0, 8.0]), "the data of the new Var")
    check.equal(out.is_leaf, False, "whether it is a leaf")
    check.that(student.testing.same(out.tape, tape), "the new Var should be on the tape that recorded it")
    check.equal(len(tape.nodes), 1, "the number of nodes")
    node, edges = check.unpack(tape.nodes[0], 2, "the node")
    check.that(student.testing.same(node, out), "the node should hold the Var that record returned")
    for edge, variable, factor in zip(check.unpack(edges, 2, "the edges"), (x, y), (10.0, 20.0), strict=True):
        to, local = check.unpack(edge, 2, "the edge")
        check.that(student.testing.same(to, variable), "the edges should lead to the inputs, in their order")
        check.close(local(1.5), 1.5 * factor, "what the edge makes of 1.5")


@item("tape_record")
@weight(2)
def test_record_leaves_out_constants(student, check):
    """Numbers and arrays get no edge; a Var that is there twice keeps both of its edges."""
    tape, times = student.tape.Tape(), student.testing.Times
    x = tape.leaf(2.0)
    tape.record(4.0, (x, times(2.0)), (3.0, times(1.0)), (x, times(5.0)), (np.ones(2), times(1.0)))
    _, edges = check.unpack(tape.nodes[0], 2, "the node")
    (x1, local1), (x2, local2) = check.unpack(edges, 2, "the edges")
    check.that(student.testing.same(x1, x) and student.testing.same(x2, x), "both edges should lead to the Var")
    check.close(local1(1.0), 2.0, "what the first edge makes of 1")
    check.close(local2(1.0), 5.0, "what the second edge makes of 1")


# --- tape_backward: tapes laid out by hand, without record and without the operations


def laid_out(student, arrays, steps):
    """A tape, its leaves, and all of its values: see ``lay_out`` in testing.py."""
    tape = student.tape.Tape()
    leaves = [tape.leaf(array) for array in arrays]
    return tape, leaves, student.testing.lay_out(tape, student.tape.Var, leaves, steps)


@item("tape_backward")
@weight(3)
@pytest.mark.parametrize(
    ("leaves", "steps", "expected"),
    [
        ([3.0], [("add", 0, 0)], [2.0]),
        ([3.0], [("mul", 0, 0)], [6.0]),
        ([3.0], [("add", 0, 0), ("add", 1, 1)], [4.0]),
        ([3.0, 5.0], [("mul", 0, 1), ("mul", 2, 0), ("mul", 3, 2)], [675.0, 270.0]),  # a^3 b^2: 3 a^2 b^2 and 2 a^3 b
        ([[1.0, 2.0], [3.0, 4.0]], [("add", 0, 1), ("dot", 2, 0)], [[5.0, 8.0], [1.0, 2.0]]),
    ],
    ids=["a+a", "a*a", "b=a+a-c=b+b", "product-used-twice", "vectors"],
)
def test_backward_sums_over_all_uses(student, check, leaves, steps, expected):
    """However often and wherever a value is used: its gradient is the sum of what comes back from all uses."""
    tape, variables, values = laid_out(student, leaves, steps)
    tape.backward(values[-1])
    for i, (leaf, gradient) in enumerate(zip(variables, expected, strict=True)):
        check.close(leaf.grad, np.array(gradient), f"the gradient by leaf {i}")


@item("tape_backward")
def test_backward_hands_the_same_array_to_several(student, check):
    """An edge may return g itself. What is added for one value must not show in the gradient of another."""
    # u = p p, v = q q, w = u u, y = w + u, z = y + v; the loss is z . p, so the sum of p^5 + p^3 + q^2 p
    steps = [("mul", 0, 0), ("mul", 1, 1), ("mul", 2, 2), ("add", 4, 2), ("add", 5, 3), ("dot", 6, 0)]
    tape, (p, q), values = laid_out(student, [[1.0, 2.0], [3.0, -1.0]], steps)
    tape.backward(values[-1])
    check.close(p.grad, np.array([17.0, 93.0]), "p.grad")  # 5 p^4 + 3 p^2 + q^2
    check.close(q.grad, np.array([6.0, -4.0]), "q.grad")  # 2 q p


@item("tape_backward")
def test_backward_adds_and_empties(student, check):
    """It adds to the grad of each leaf, and afterwards the tape is empty: once more is a RuntimeError."""
    tape, (a, b), values = laid_out(student, [2.0, 3.0], [("mul", 0, 1)])
    a.grad, b.grad = np.array(10.0), np.array(20.0)
    tape.backward(values[-1])
    check.close(a.grad, 13.0, "a.grad")
    check.close(b.grad, 22.0, "b.grad")
    check.equal(len(tape.nodes), 0, "the number of nodes afterwards")
    with pytest.raises(RuntimeError):
        tape.backward(values[-1])


@item("tape_backward")
def test_backward_leaves_alone_what_the_loss_does_not_need(student, check):
    """Values that play no part in the loss get and pass on nothing, be they recorded before the loss or after."""
    steps = [("mul", 0, 0), ("mul", 1, 1), ("add", 2, 0), ("mul", 4, 3)]  # the loss is a * a + a
    tape, (a, b), values = laid_out(student, [3.0, 5.0], steps)
    tape.backward(values[4])
    check.close(a.grad, 7.0, "a.grad")
    check.close(b.grad, 0.0, "b.grad")


@item("tape_backward")
def test_backward_along_a_long_chain(student, check):
    """A chain of 2,000 values is no longer than the tape."""
    steps = [("add", i if i else 0, 0) for i in range(2000)]  # a + a, + a, + a ...
    tape, (a,), values = laid_out(student, [1.0], steps)
    tape.backward(values[-1])
    check.close(a.grad, 2001.0, "a.grad")


# --- tape_rnn

NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")


def sentence(student, check, arrays, inputs, targets, expected):
    """The parameters as leaves after a backward pass from the loss of a sentence, which is looked at first."""
    tape = student.tape.Tape()
    params = student.types.RNNParams(*[tape.leaf(array) for array in arrays])
    loss = student.tape.sentence_loss(params, inputs, targets)
    check.close(loss.data, expected, "the loss")
    tape.backward(loss)
    return params


@item("tape_rnn")
def test_the_loss_of_a_net_that_knows_nothing(student, check):
    """With all parameters 0 each of the 3 words is as likely: log 3. b_y alone has a gradient."""
    shapes = [(3, 2), (4, 2), (4,), (4, 4), (3, 4), (3,)]
    params = sentence(student, check, [np.zeros(shape) for shape in shapes], [0, 1, 1, 2], [1, 1, 2, 2], log(3))
    check.close(params.b_y.grad, np.array([1 / 3, 1 / 3 - 1 / 2, 1 / 3 - 1 / 2]), "the gradient by b_y")
    check.close(params.W_hy.grad, np.zeros((3, 4)), "the gradient by W_hy")


def plain_loss(E, W_xh, b_h, W_hh, W_hy, b_y, inputs, targets):
    """The same loss in plain numpy."""
    h, total = np.zeros(len(b_h)), 0.0
    for read, next_word in zip(inputs, targets, strict=True):
        h = np.tanh(W_xh @ E[read] + W_hh @ h + b_h)
        logits = W_hy @ h + b_y
        total += np.log(np.exp(logits).sum()) - logits[next_word]
    return total / len(inputs)


@item("tape_rnn")
@weight(2)
@pytest.mark.parametrize("name", NAMES, ids=list(NAMES))
def test_the_gradients_of_a_sentence(student, rng, check, name):
    """The tape's gradient by each parameter is what a small change of it does to the loss."""
    arrays = dict(zip(NAMES, (rng.normal(size=s) for s in [(3, 2), (4, 2), (4,), (4, 4), (3, 4), (3,)]), strict=True))
    inputs, targets = [0, 1, 1, 2], [1, 1, 2, 0]
    expected = plain_loss(**arrays, inputs=inputs, targets=targets)
    params = sentence(student, check, arrays.values(), inputs, targets, expected)

    def of_one(array):
        return plain_loss(**{**arrays, name: array}, inputs=inputs, targets=targets)

    check.gradient(getattr(params, name).grad, of_one, arrays[name], what=f"the gradient by {name}")
