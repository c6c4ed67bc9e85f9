"""Hidden tests of lm/tape.py: random shapes, random graphs laid out by hand, random sentences."""

from functools import partial

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# --- unbroadcast

BROADCASTS = {  # the shape of g, that of the variable
    "same": ((3, 2), (3, 2)),
    "same-with-ones": ((1, 3, 1), (1, 3, 1)),
    "number": ((), ()),
    "row": ((4, 3), (3,)),
    "column": ((4, 3), (4, 1)),
    "one-row": ((4, 3), (1, 3)),
    "square-row": ((4, 4), (4,)),
    "square-column": ((4, 4), (4, 1)),
    "to-a-number": ((2, 3, 4), ()),
    "to-one-entry": ((5,), (1,)),
    "vector-to-a-number": ((5,), ()),
    "to-one-by-one": ((3, 4), (1, 1)),
    "two-axes-in-front": ((2, 3, 4), (4,)),
    "in-front-and-inside": ((5, 1, 2, 4, 3), (2, 1, 3)),
    "ones-apart": ((2, 3, 4), (1, 3, 1)),
    "in-front-and-at-the-end": ((2, 3, 4), (3, 1)),
    "lengths-that-occur-twice": ((3, 2, 3), (2, 1)),
    "a-one-that-was-there": ((4, 1, 3), (1, 3)),
    "of-length-one": ((1, 3), (3,)),
}


@item("unbroadcast")
@weight(6)
@pytest.mark.parametrize("name", BROADCASTS, ids=list(BROADCASTS))
def test_unbroadcast_sums_what_was_repeated(student, reference, rng, check, name):
    """The result has the variable's shape, and each entry is the sum over all places that it was repeated into."""
    large, small = BROADCASTS[name]
    g = rng.normal(size=large)
    check.close(student.tape.unbroadcast(g, small), reference.tape.unbroadcast(g, small), "the gradient")


@item("unbroadcast")
@weight(2)
@pytest.mark.parametrize("name", ["row", "ones-apart", "in-front-and-inside"], ids=["row", "ones", "both"])
def test_unbroadcast_is_the_reverse_of_broadcasting(student, rng, check, name):
    """The gradient of sum(g * x), where x is broadcast to the shape of g."""
    large, small = BROADCASTS[name]
    g, at = rng.normal(size=large), rng.normal(size=small)
    check.gradient(student.tape.unbroadcast(g, small), lambda x: np.broadcast_to(x, large), at, g)


@item("unbroadcast")
@weight(2)
@pytest.mark.parametrize(
    ("shape", "value"), [((2, 1, 3), 20.0), ((5, 1, 2, 1, 3), 4.0), ((2, 4, 3), 5.0)], ids=["both", "inside", "front"]
)
def test_unbroadcast_of_ones(student, check, shape, value):
    """Of ones it counts how often an entry was repeated."""
    got = student.tape.unbroadcast(np.ones((5, 1, 2, 4, 3)), shape)
    check.close(got, np.full(shape, value), "the gradient")


@item("unbroadcast")
def test_unbroadcast_does_not_change_its_argument(student, reference, rng, check):
    """g is the same afterwards, and a second call has the same result."""
    for name in ("row", "column", "in-front-and-at-the-end", "number", "same"):
        large, small = BROADCASTS[name]
        g = rng.normal(size=large)
        given = student.put(np.array(g))
        for _ in range(2):
            check.close(student.tape.unbroadcast(given, small), reference.tape.unbroadcast(g, small), "the gradient")
            check.close(student.get(given), np.array(g), "g afterwards", rtol=0, atol=0)


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


def stable_sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def cross_entropy(target):
    def of(x):
        shifted = x - x.max()
        return np.log(np.exp(shifted).sum()) - shifted[target]

    return of


ROW = np.array([0.5, -2.0, 3.0])
TABLE = np.array([[1.0, -2.0, 0.5], [0.0, 4.0, -1.0]])


def two(operation):
    return lambda t, tape, x, y: operation(x, y)


def one(operation):
    return lambda t, tape, x: operation(x)


OPERATIONS = {  # the shapes of the inputs, the operation, and the same in numpy
    "add": ([(3, 2), (3, 2)], two(lambda x, y: x + y), np.add),
    "add-a-row": ([(4, 3), (3,)], two(lambda x, y: x + y), np.add),
    "add-to-a-row": ([(3,), (4, 3)], two(lambda x, y: x + y), np.add),
    "add-row-and-column": ([(1, 3), (4, 1)], two(lambda x, y: x + y), np.add),
    "add-a-number": ([(2, 3), ()], two(lambda x, y: x + y), np.add),
    "add-to-one-entry": ([(1,), (5,)], two(lambda x, y: x + y), np.add),
    "multiply": ([(3, 2), (3, 2)], two(lambda x, y: x * y), np.multiply),
    "multiply-a-row": ([(4, 3), (3,)], two(lambda x, y: x * y), np.multiply),
    "multiply-row-and-column": ([(4, 1), (1, 3)], two(lambda x, y: x * y), np.multiply),
    "multiply-a-row-of-a-stack": ([(1, 3), (4, 2, 3)], two(lambda x, y: x * y), np.multiply),
    "multiply-a-number": ([(), (2, 3)], two(lambda x, y: x * y), np.multiply),
    "square": ([(3,)], one(lambda x: x * x), np.square),
    "twice": ([(3,)], one(lambda x: x + x), lambda x: 2 * x),
    "add-a-constant": ([(2, 3)], one(lambda x: x + ROW), lambda x: x + ROW),
    "constant-plus": ([(3,)], one(lambda x: TABLE + x), lambda x: TABLE + x),
    "number-times": ([(2, 2)], one(lambda x: 3 * x), lambda x: 3 * x),
    "constant-times": ([(2, 1)], one(lambda x: ROW * x), lambda x: ROW * x),
    "times-a-constant": ([(3,)], one(lambda x: x * TABLE), lambda x: x * TABLE),
    "sum-of-a-matrix": ([(4, 2)], one(lambda x: x.sum()), np.sum),
    "sum-of-a-vector": ([(3,)], one(lambda x: x.sum()), np.sum),
    "sum-of-one-entry": ([(1, 1)], one(lambda x: x.sum()), np.sum),
    "matrix-times-vector": ([(4, 3), (3,)], two(lambda x, y: x @ y), np.matmul),
    "square-matrix-times-vector": ([(3, 3), (3,)], two(lambda x, y: x @ y), np.matmul),
    "matrix-times-vector-of-one": ([(4, 1), (1,)], two(lambda x, y: x @ y), np.matmul),
    "one-row-times-vector": ([(1, 3), (3,)], two(lambda x, y: x @ y), np.matmul),
    "matrix-times-matrix": ([(4, 3), (3, 2)], two(lambda x, y: x @ y), np.matmul),
    "square-matrices": ([(3, 3), (3, 3)], two(lambda x, y: x @ y), np.matmul),
    "column-times-row": ([(4, 1), (1, 3)], two(lambda x, y: x @ y), np.matmul),
    "constant-times-vector": ([(3,)], one(lambda x: TABLE @ x), lambda x: TABLE @ x),
    "constant-times-matrix": ([(3, 2)], one(lambda x: TABLE @ x), lambda x: TABLE @ x),
    "matrix-times-constant": ([(4, 3)], one(lambda x: x @ ROW), lambda x: x @ ROW),
    "tanh": ([(3, 2)], lambda t, tape, x: t.tanh(x), np.tanh),
    "sigmoid": ([(3, 2)], lambda t, tape, x: t.sigmoid(x), stable_sigmoid),
    "lookup": ([(5, 3)], lambda t, tape, x: t.lookup(x, 3), lambda x: x[3]),
    "lookup-of-one-entry": ([(2, 1)], lambda t, tape, x: t.lookup(x, 0), lambda x: x[0]),
    "softmax-cross-entropy": ([(5,)], lambda t, tape, x: t.softmax_cross_entropy(x, 4), cross_entropy(4)),
    "softmax-of-one": ([(1,)], lambda t, tape, x: t.softmax_cross_entropy(x, 0), cross_entropy(0)),
}


@item("tape_ops")
@weight(7)
@pytest.mark.parametrize("name", OPERATIONS, ids=list(OPERATIONS))
def test_operations_record_the_gradients(student, reference, rng, check, name):
    """What is recorded is the operation's result; each edge turns g into the gradient by its variable."""
    shapes, operation, function = OPERATIONS[name]
    arrays = [rng.normal(size=shape) for shape in shapes]
    (out, xs), (right, rights) = (run(side, operation, arrays) for side in (student, reference))
    value = np.asarray(function(*arrays), dtype=float)
    check.close(out.data, value, "what was recorded")
    g = rng.normal(size=value.shape)
    for i, (x, y) in enumerate(zip(xs, rights, strict=True)):
        got = pulled(check, out, x, g)
        check.close(got, sum(right.pulled(y, g)), f"the gradient by input {i + 1}")
        of_one = partial(lambda place, v: function(*arrays[:place], v, *arrays[place + 1 :]), i)
        check.gradient(got, of_one, arrays[i], g, f"the gradient by input {i + 1}")


UNARY = ("tanh", "sigmoid", "softmax-cross-entropy")


@item("tape_ops")
@weight(1)
@pytest.mark.parametrize("name", UNARY, ids=list(UNARY))
def test_operations_far_out(student, reference, rng, check, name):
    """Inputs of +-1000 and gradients in the millions are no trouble."""
    shapes, operation, function = OPERATIONS[name]
    for scale, size in ((1000.0, 1.0), (1.0, 1e6), (30.0, 1e6)):
        arrays = [rng.choice([-scale, scale, 0.5], size=shape) for shape in shapes]
        arrays[0].flat[0] = 0.5  # so that one slope is not close to 0
        (out, (x,)), (right, (y,)) = (run(side, operation, arrays) for side in (student, reference))
        check.close(out.data, np.asarray(function(*arrays)), "what was recorded")
        g = size * rng.normal(size=np.shape(function(*arrays)))
        check.close(pulled(check, out, x, g), sum(right.pulled(y, g)), "the gradient")


FLAT = {"tanh": 5.0, "sigmoid": 9.0}  # where the slope is about a ten-thousandth


@item("tape_ops")
@weight(1)
@pytest.mark.parametrize("name", FLAT, ids=list(FLAT))
def test_operations_where_the_curve_is_flat(student, reference, rng, check, name):
    """Where the slope is a ten-thousandth the gradient is as exact as anywhere."""
    shapes, operation, _ = OPERATIONS[name]
    arrays = [FLAT[name] * rng.uniform(0.9, 1.1, shape) * rng.choice([-1, 1], shape) for shape in shapes]
    (out, (x,)), (right, (y,)) = (run(side, operation, arrays) for side in (student, reference))
    g = rng.normal(size=arrays[0].shape)
    check.close(pulled(check, out, x, g), sum(right.pulled(y, g)), "the small gradient", atol=0)


CAREFUL = ("add", "add-a-row", "multiply-a-row", "matrix-times-vector", *UNARY, "lookup", "sum-of-a-matrix")


@item("tape_ops")
@weight(1)
@pytest.mark.parametrize("name", CAREFUL, ids=list(CAREFUL))
def test_operations_change_nothing(student, rng, check, name):
    """Neither the operation nor its edges change data or g, and an edge makes the same of the same g once more."""
    shapes, operation, function = OPERATIONS[name]
    arrays = [rng.normal(size=shape) for shape in shapes]
    given = [student.put(array) for array in arrays]
    out, xs = run(student, operation, given)
    g = rng.normal(size=np.shape(function(*arrays)))
    held = student.put(np.array(g))
    first = [pulled(check, out, x, held) for x in xs]
    for x, before in zip(xs, first, strict=True):
        check.close(pulled(check, out, x, held), before, "what the edges make of the same g once more")
    check.close(student.get(held), np.array(g), "g afterwards", rtol=0, atol=0)
    for handle, array in zip(given, arrays, strict=True):
        check.close(student.get(handle), array, "the data afterwards", rtol=0, atol=0)


# --- tape_record


def check_node(student, check, node, out, inputs, factors):
    """The node is ``out`` with an edge to each input, in their order, that multiplies by its factor."""
    var, edges = check.unpack(node, 2, "the node")
    check.that(student.testing.same(var, out), "the node should hold the Var that record returned")
    for edge, x, factor in zip(check.unpack(edges, len(inputs), "the edges"), inputs, factors, strict=True):
        to, local = check.unpack(edge, 2, "the edge")
        check.that(student.testing.same(to, x), "the edges should lead to the inputs, in their order")
        check.close(local(0.5), 0.5 * factor, "what the edge makes of g")


@item("tape_record")
@weight(2)
def test_record_returns_a_new_value(student, rng, check):
    """A new Var on this tape with the data that was given: an array or a number; no leaf."""
    tape, times = student.tape.Tape(), student.testing.Times(2.0)
    x = tape.leaf(rng.normal(size=3))
    for data in (rng.normal(size=(2, 3)), float(rng.normal()), np.float64(rng.normal()), rng.normal(size=(1,))):
        out = tape.record(data, (x, times))
        check.close(out.data, np.asarray(data), "its data")
        check.equal(out.is_leaf, False, "whether it is a leaf")
        check.that(student.testing.same(out.tape, tape), "it should be on the tape that recorded it")
        check.that(not student.testing.same(out, x), "it should be a new Var")


@item("tape_record")
@weight(3)
def test_record_keeps_the_order_of_the_program(student, rng, check):
    """Each value is one node behind all earlier ones, with edges to leaves and to recorded values alike."""
    tape, times = student.tape.Tape(), student.testing.Times
    values = [tape.leaf(1.0), tape.leaf(2.0)]
    expected = []
    for _ in range(8):
        places = [int(i) for i in rng.integers(0, len(values), size=rng.integers(1, 4))]
        factors = rng.normal(size=len(places)).tolist()
        inputs = [values[i] for i in places]
        out = tape.record(1.0, *[(x, times(f)) for x, f in zip(inputs, factors, strict=True)])
        expected.append((out, inputs, factors))
        values.append(out)
    check.equal(len(tape.nodes), len(expected), "the number of nodes")
    for node, (out, inputs, factors) in zip(tape.nodes, expected, strict=True):
        check_node(student, check, node, out, inputs, factors)


@item("tape_record")
@weight(2)
@pytest.mark.parametrize("where", ["first", "last", "both", "alone"], ids=["first", "last", "both", "alone"])
def test_record_gives_no_edge_to_a_constant(student, rng, check, where):
    """Numbers and arrays among the inputs have no edge. A value that depends on nothing is recorded still."""
    tape, times = student.tape.Tape(), student.testing.Times
    x, constants = tape.leaf(1.0), [(2.0, times(9.0)), (rng.normal(size=3), times(9.0)), (1, times(9.0))]
    edges = {
        "first": [*constants, (x, times(3.0))],
        "last": [(x, times(3.0)), *constants],
        "both": [constants[0], (x, times(3.0)), constants[1]],
        "alone": constants,
    }[where]
    out = tape.record(rng.normal(size=3), *edges)
    check.equal(len(tape.nodes), 1, "the number of nodes")
    inputs = [] if where == "alone" else [x]
    check_node(student, check, tape.nodes[0], out, inputs, [3.0] * len(inputs))


@item("tape_record")
@weight(2)
def test_record_keeps_both_edges_to_one_value(student, check):
    """The same Var among the inputs twice has two edges, be it a leaf or a recorded value."""
    tape, times = student.tape.Tape(), student.testing.Times
    x = tape.leaf(3.0)
    y = tape.record(9.0, (x, times(3.0)), (x, times(4.0)))
    z = tape.record(81.0, (y, times(5.0)), (x, times(6.0)), (y, times(5.0)))
    nodes = tape.nodes
    check.equal(len(nodes), 2, "the number of nodes")
    check_node(student, check, nodes[0], y, [x, x], [3.0, 4.0])
    check_node(student, check, nodes[1], z, [y, x, y], [5.0, 6.0, 5.0])


@item("tape_record")
def test_equal_values_are_different_values(student, check):
    """Two results with the same numbers, from the same inputs, are two Vars and two nodes."""
    tape, times = student.tape.Tape(), student.testing.Times(1.0)
    x, y = tape.leaf([1.0, 2.0]), tape.leaf([1.0, 2.0])
    outs = [tape.record(np.array([1.0, 2.0]), (v, times)) for v in (x, y, x)]
    check.equal(len(tape.nodes), 3, "the number of nodes")
    for node, out, v in zip(tape.nodes, outs, (x, y, x), strict=True):
        check_node(student, check, node, out, [v], [1.0])


@item("tape_record")
def test_two_tapes_have_nothing_in_common(student, check):
    """What one tape records is not on the other."""
    one_tape, other = student.tape.Tape(), student.tape.Tape()
    x, y, times = one_tape.leaf(1.0), other.leaf(1.0), student.testing.Times(2.0)
    outs = [one_tape.record(2.0, (x, times)), other.record(2.5, (y, times)), one_tape.record(3.0, (x, times))]
    check.equal((len(one_tape.nodes), len(other.nodes)), (2, 1), "the numbers of nodes")
    for node, out, v in zip((*one_tape.nodes, *other.nodes), (outs[0], outs[2], outs[1]), (x, x, y), strict=True):
        check_node(student, check, node, out, [v], [2.0])


# --- tape_backward: tapes laid out by hand, without record and without the operations


def laid_out(side, arrays, steps):
    """A tape, its leaves, and all of its values: see ``lay_out`` in testing.py."""
    tape = side.tape.Tape()
    leaves = [tape.leaf(array) for array in arrays]
    return tape, leaves, side.testing.lay_out(tape, side.tape.Var, leaves, steps)


def swept(side, arrays, steps, loss=-1):
    """The grad of each leaf after ``backward`` of one of the values, the last by default."""
    tape, leaves, values = laid_out(side, arrays, steps)
    tape.backward(values[loss])
    return [leaf.grad for leaf in leaves]


def check_leaves(check, got, expected):
    for i, (g, want) in enumerate(zip(got, expected, strict=True)):
        check.close(g, np.asarray(want, dtype=float), f"the gradient by leaf {i + 1}")


def graph(rng, leaves, length):
    """Steps where each value is made of the one before it and any other, so that the last depends on many."""
    steps = []
    for i in range(length):
        other = int(rng.integers(0, leaves + i))
        pair = (leaves + i - 1, other) if rng.random() < 0.5 else (other, leaves + i - 1)
        steps.append(("mul" if rng.random() < 0.3 else "add", *pair))
    return steps


DIAMONDS = {  # steps on the leaves a (0) and b (1), and the gradients by them
    "a+a": ([("add", 0, 0)], lambda a, b: (2, 0)),
    "a*a": ([("mul", 0, 0)], lambda a, b: (2 * a, 0)),
    "b=a+a, c=b+b": ([("add", 0, 0), ("add", 2, 2)], lambda a, b: (4, 0)),
    "b=a*a, c=b*b": ([("mul", 0, 0), ("mul", 2, 2)], lambda a, b: (4 * a**3, 0)),
    "a used again late": ([("mul", 0, 1), ("mul", 2, 0)], lambda a, b: (2 * a * b, a * a)),
    "a used again first": ([("mul", 0, 1), ("mul", 0, 2)], lambda a, b: (2 * a * b, a * a)),
    "product of a reused value": (
        [("add", 0, 1), ("mul", 2, 0), ("mul", 3, 2)],  # c = a + b, a c, a c^2
        lambda a, b: ((a + b) ** 2 + 2 * a * (a + b), 2 * a * (a + b)),
    ),
    "three ways back": (
        [("mul", 0, 1), ("add", 2, 0), ("mul", 2, 3), ("add", 4, 2)],  # c = a b, d = c + a, c d + c
        lambda a, b: (2 * a * b * b + 2 * a * b + b, 2 * a * a * b + a * a + a),
    ),
    "early value used last": (
        [("mul", 0, 0), ("add", 2, 1), ("mul", 3, 3), ("mul", 4, 2)],  # c = a^2, d = c + b, d^2 c
        lambda a, b: (2 * a * ((a * a + b) ** 2 + 2 * (a * a + b) * a * a), 2 * (a * a + b) * a * a),
    ),
}


@item("tape_backward")
@weight(4)
@pytest.mark.parametrize("name", DIAMONDS, ids=list(DIAMONDS))
def test_backward_sums_over_all_uses(student, rng, check, name):
    """However often and wherever a value is used: its gradient is the sum of what comes back from all uses."""
    steps, gradients = DIAMONDS[name]
    a, b = rng.normal(size=2)
    check_leaves(check, swept(student, [a, b], steps), gradients(a, b))


PUBLISHED = {  # of other engines' tests: leaves, steps, and the gradients by the leaves that are no constants
    # x = -4 (2 is the constant): z = 2 x + 2 + x; q = relu(z) + z x; y = relu(z z) + q + q x, where z is below 0
    "micrograd": (
        [-4.0, 2.0],
        [
            *[("mul", 1, 0), ("add", 2, 1), ("add", 3, 0), ("mul", 4, 0)],
            *[("mul", 4, 4), ("add", 6, 5), ("mul", 5, 0), ("add", 7, 8)],
        ],
        [46.0],
    ),
    "micrograd-twice": ([1.0], [("add", 0, 0), ("add", 1, 1)], [4.0]),  # b = a + a, c = b + b
    # F1(x, y) = x + y + 10; 5 F1(F1(0, v), F1(0, v)), and with F1(0, v) for v
    "minitorch-F1": ([0.0, 10.0, 5.0], [("add", 0, 1), ("add", 3, 3), ("add", 4, 1), ("mul", 2, 5)], [10.0]),
    "minitorch-F1-deeper": (
        [0.0, 10.0, 5.0],
        [("add", 0, 1), ("add", 3, 1), ("add", 4, 4), ("add", 5, 1), ("mul", 2, 6)],
        [10.0],
    ),
    # F2(x, y) = x y + x; 5 F2(5, 10), and 5 F2(10, v) with v = 5 and 10 a constant
    "minitorch-F2": ([5.0, 10.0, 5.0], [("mul", 0, 1), ("add", 3, 0), ("mul", 2, 4)], [55.0, 25.0]),
    "minitorch-F2-constant": ([5.0, 10.0, 5.0], [("mul", 1, 0), ("add", 3, 1), ("mul", 2, 4)], [50.0]),
    "needle": ([6.0, 0.0], [("mul", 0, 0), ("mul", 0, 1), ("add", 2, 3)], [12.0, 6.0]),  # x^2 + x y
}


@item("tape_backward")
@pytest.mark.parametrize("name", PUBLISHED, ids=list(PUBLISHED))
def test_backward_of_published_graphs(student, check, name):
    """Expressions of the tests of micrograd, minitorch and needle, with the gradients that stand there."""
    leaves, steps, gradients = PUBLISHED[name]
    check_leaves(check, swept(student, leaves, steps)[: len(gradients)], gradients)


@item("tape_backward")
@weight(3)
@pytest.mark.parametrize("shape", [(), (1,), (3, 2)], ids=["numbers", "one-entry", "matrices"])
def test_backward_of_random_graphs(student, reference, rng, check, shape):
    """Twelve values, each made of the one before it and any other."""
    for _ in range(3):
        arrays = [rng.uniform(0.5, 1.5, size=shape) for _ in range(3)]
        steps = [*graph(rng, 3, 12), ("dot", 14, 0)]
        check_leaves(check, swept(student, arrays, steps), swept(reference, arrays, steps))


@item("tape_backward")
@weight(2)
def test_backward_hands_the_same_array_to_several(student, rng, check):
    """An edge may return g itself. What is added for one value must not show in the gradient of another."""
    u, v, w = (rng.normal(size=3) for _ in range(3))
    # a = u v, b = v w, d = a w, c = a + b, (c + d) . u
    steps = [("mul", 0, 1), ("mul", 1, 2), ("mul", 3, 2), ("add", 3, 4), ("add", 5, 6), ("dot", 7, 0)]
    expected = [2 * u * v + v * w + 2 * u * v * w, u * (u + w + u * w), u * v + u * u * v]
    check_leaves(check, swept(student, [u, v, w], steps), expected)
    mirrored = [(name, j, i) for name, i, j in steps]
    check_leaves(check, swept(student, [u, v, w], mirrored), expected)


@item("tape_backward")
@weight(3)
@pytest.mark.parametrize("shape", [(), (4,)], ids=["numbers", "vectors"])
def test_backward_adds_to_the_grad_that_is_there(student, rng, check, shape):
    """What stood in a leaf's grad stays, and the gradient of every further loss is added, each leaf on its own."""
    arrays = [rng.normal(size=shape) for _ in range(3)]
    steps = [("add", 0, 1), ("mul", 3, 1), ("dot", 4, 4)]  # the third leaf plays no part
    a, b, _ = arrays
    gradients = [2 * (a + b) * b * b, 2 * (a + b) * b * (a + 2 * b), np.zeros(shape)]
    before = [rng.normal(size=shape) for _ in range(3)]
    tape = student.tape.Tape()
    leaves = [tape.leaf(array) for array in arrays]
    for leaf, array in zip(leaves, before, strict=True):
        leaf.grad = np.array(array)
    for times in (1, 2, 3):
        values = student.testing.lay_out(tape, student.tape.Var, leaves, steps)
        tape.backward(values[-1])
        check_leaves(check, [x.grad for x in leaves], [x + times * g for x, g in zip(before, gradients, strict=True)])


@item("tape_backward")
def test_leaves_do_not_share_their_grad(student, rng, check):
    """Two leaves that get the same gradient keep it apart: the next loss adds to each once."""
    a, b, c = (rng.normal(size=3) for _ in range(3))
    steps = [("add", 0, 1), ("dot", 3, 2)]
    tape = student.tape.Tape()
    leaves = [tape.leaf(x) for x in (a, b, c)]
    for times in (1, 2):
        tape.backward(student.testing.lay_out(tape, student.tape.Var, leaves, steps)[-1])
        check_leaves(check, [x.grad for x in leaves], [times * c, times * c, times * (a + b)])


@item("tape_backward")
@weight(2)
@pytest.mark.parametrize("where", ["before", "after", "between"], ids=["before", "after", "between"])
def test_backward_passes_over_what_the_loss_does_not_need(student, rng, check, where):
    """A value that plays no part in the loss has nothing to hand on; what was recorded beyond it still has."""
    a, b = rng.normal(size=2)
    steps, loss, expected = {
        # nodes at the beginning of the tape that nothing uses, then a^2 b
        "before": ([("mul", 1, 1), ("mul", 2, 0), ("mul", 0, 0), ("mul", 4, 1)], 5, (2 * a * b, a * a)),
        # the loss a b, and after it values made of the loss and of a
        "after": ([("mul", 0, 1), ("mul", 2, 0), ("add", 3, 2), ("mul", 0, 0)], 2, (b, a)),
        # c = a b, then something of c that nothing uses, then c a
        "between": ([("mul", 0, 1), ("mul", 2, 2), ("add", 3, 1), ("mul", 2, 0)], 5, (2 * a * b, a * a)),
    }[where]
    check_leaves(check, swept(student, [a, b], steps, loss), expected)


@item("tape_backward")
def test_backward_passes_over_idle_values_in_the_middle(student, rng, check):
    """c = a b; c c, which nothing uses; (c a) a: from the idle value on the sweep has to go on."""
    a, b = rng.normal(size=2)
    steps = [("mul", 0, 1), ("mul", 2, 2), ("mul", 2, 0), ("mul", 4, 0)]
    check_leaves(check, swept(student, [a, b], steps), [3 * a * a * b, a**3])


@item("tape_backward")
@weight(2)
def test_backward_empties_the_tape(student, rng, check):
    """Afterwards no node is left, also of those that the loss does not need; once more is a RuntimeError."""
    a, b = rng.normal(size=2)
    steps = [("mul", 0, 1), ("mul", 2, 0), ("add", 3, 2), ("mul", 0, 0)]
    for loss in (5, 3):
        tape, leaves, values = laid_out(student, [a, b], steps)
        tape.backward(values[loss])
        check.equal(len(tape.nodes), 0, "the number of nodes afterwards")
        grads = [leaf.grad for leaf in leaves]
        with pytest.raises(RuntimeError):
            tape.backward(values[loss])
        check_leaves(check, [leaf.grad for leaf in leaves], [check.array(g, "grad") for g in grads])


@item("tape_backward")
def test_backward_on_an_empty_tape(student, check):
    """Where nothing was recorded there is nothing to go back to: a RuntimeError."""
    tape = student.tape.Tape()
    leaf = tape.leaf(1.0)
    with pytest.raises(RuntimeError):
        tape.backward(leaf)
    check.close(leaf.grad, 0.0, "the grad of the leaf")


@item("tape_backward")
@weight(2)
@pytest.mark.parametrize("kind", ["straight", "doubled"], ids=["straight", "doubled"])
def test_backward_along_a_chain_of_five_thousand(student, rng, check, kind):
    """5,000 values, each made of the one before: no longer than the tape."""
    a, b = rng.normal(size=2)
    if kind == "straight":  # a + b + b + ...
        steps = [("add", i + 1 if i else 0, 1) for i in range(5000)]
        expected = (1.0, 5000.0)
    else:  # x_(i+1) = x_i b + x_i: from the third value on b is small enough
        b = rng.uniform(-1e-3, 1e-3)
        steps = [
            step
            for i in range(0, 5000, 2)
            for step in (("mul", i + 1 if i else 0, 1), ("add", i + 2, i + 1 if i else 0))
        ]
        expected = ((1 + b) ** 2500, 2500 * a * (1 + b) ** 2499)
    check_leaves(check, swept(student, [a, b], steps), expected)


# --- tape_rnn

NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")
SENTENCES = [(5, 3, 4, 6), (4, 2, 3, 1), (6, 4, 2, 3), (3, 1, 4, 7), (3, 3, 3, 3), (2, 2, 1, 4), (12, 8, 10, 15)]
SENTENCE_IDS = ["six-words", "one-word", "three-words", "one-number-a-word", "square", "one-unit", "fifteen-words"]


def net(rng, words, d, hidden, scale=1.0):
    """Random parameters, in the order of their names."""
    shapes = [(words, d), (hidden, d), (hidden,), (hidden, hidden), (words, hidden), (words,)]
    return [scale * rng.normal(size=shape) for shape in shapes]


def on_a_tape(side, arrays):
    """A tape, and the parameters as its leaves."""
    tape = side.tape.Tape()
    return tape, side.types.RNNParams(*[tape.leaf(array) for array in arrays])


def ids(rng, words, length):
    """Ids of random words, many of them more than once."""
    return [int(i) for i in rng.integers(0, words, size=length)]


@item("tape_rnn")
@weight(3)
@pytest.mark.parametrize(("words", "d", "hidden", "length"), SENTENCES, ids=SENTENCE_IDS)
def test_the_loss_of_a_sentence(student, reference, rng, check, words, d, hidden, length):
    """The mean of the cross-entropies of its words, a number on the tape."""
    arrays, inputs, targets = net(rng, words, d, hidden), ids(rng, words, length), ids(rng, words, length)
    got, right = (
        side.tape.sentence_loss(on_a_tape(side, arrays)[1], inputs, targets).data for side in (student, reference)
    )
    check.close(got, right, "the loss")


@item("tape_rnn")
@weight(4)
@pytest.mark.parametrize(("words", "d", "hidden", "length"), SENTENCES, ids=SENTENCE_IDS)
def test_the_gradients_of_a_sentence(student, reference, rng, check, words, d, hidden, length):
    """One backward fills the gradients of all six parameters, with what comes back through time."""
    arrays, inputs, targets = net(rng, words, d, hidden), ids(rng, words, length), ids(rng, words, length)
    grads = []
    for side in (student, reference):
        tape, params = on_a_tape(side, arrays)
        tape.backward(side.tape.sentence_loss(params, inputs, targets))
        grads.append([getattr(params, name).grad for name in NAMES])
    for name, got, right in zip(NAMES, *grads, strict=True):
        check.close(got, right, f"the gradient by {name}")


@item("tape_rnn")
@weight(1)
def test_the_gradients_through_states_near_one(student, reference, rng, check):
    """With biases of 5 and -5 little comes back through tanh, and that is as exact as anywhere."""
    arrays, inputs, targets = net(rng, 5, 3, 4, 0.3), ids(rng, 5, 6), ids(rng, 5, 6)
    arrays[2] = rng.choice([-5.0, 5.0], 4)
    (tape, params), (other, right) = (on_a_tape(side, arrays) for side in (student, reference))
    tape.backward(student.tape.sentence_loss(params, inputs, targets))
    other.backward(reference.tape.sentence_loss(right, inputs, targets))
    for name in NAMES:
        check.close(getattr(params, name).grad, getattr(right, name).grad, f"the gradient by {name}", atol=0)


@item("tape_rnn")
@weight(1)
def test_sentence_after_sentence(student, reference, rng, check):
    """Each sentence starts from h = 0 again, its gradients are added, and a tuple of ids does as well as a list."""
    arrays, sentences = net(rng, 5, 2, 3), [(ids(rng, 5, n), ids(rng, 5, n)) for n in (4, 1, 6)]
    (tape, params), (other, right) = (on_a_tape(side, arrays) for side in (student, reference))
    for inputs, targets in sentences:
        tape.backward(student.tape.sentence_loss(params, tuple(inputs), tuple(targets)))
        other.backward(reference.tape.sentence_loss(right, inputs, targets))
    for name, array in zip(NAMES, arrays, strict=True):
        check.close(getattr(params, name).grad, getattr(right, name).grad, f"the gradient by {name}")
        check.close(getattr(params, name).data, array, f"{name} afterwards", rtol=0, atol=0)


@item("tape_rnn")
@weight(0.5)
def test_a_net_of_zeros(student, reference, rng, check):
    """Where all parameters are 0, values of many kinds are equal, and are values of their own all the same."""
    arrays, inputs, targets = [0 * array for array in net(rng, 4, 2, 3)], ids(rng, 4, 5), [1, 3, 3, 1, 0]
    (tape, params), (other, right) = (on_a_tape(side, arrays) for side in (student, reference))
    tape.backward(student.tape.sentence_loss(params, inputs, targets))
    other.backward(reference.tape.sentence_loss(right, inputs, targets))
    for name in NAMES:
        check.close(getattr(params, name).grad, getattr(right, name).grad, f"the gradient by {name}")


@item("tape_rnn")
@weight(0.5)
def test_the_loss_of_a_net_that_is_sure(student, reference, rng, check):
    """Weights in the hundreds: a loss of any size, and gradients that are numbers."""
    arrays, inputs, targets = net(rng, 5, 3, 4, scale=300.0), ids(rng, 5, 4), ids(rng, 5, 4)
    (tape, params), (other, right) = (on_a_tape(side, arrays) for side in (student, reference))
    loss, expected = (
        student.tape.sentence_loss(params, inputs, targets),
        reference.tape.sentence_loss(right, inputs, targets),
    )
    check.close(loss.data, expected.data, "the loss")
    tape.backward(loss)
    other.backward(expected)
    for name in NAMES:
        check.close(getattr(params, name).grad, getattr(right, name).grad, f"the gradient by {name}")
