"""Hidden tests of lm/rnn.py: truncated backpropagation, and how gradients fade through time."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

NAMES = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")
# Right code is exact to 1e-14; differences of one's own forward are not, whatever their step.
EXACT = 1e-11


def parameters(rng, words=6, embedding=3, hidden=4, size=0.7):
    """Random arrays of the parameters, by name."""
    shapes = {
        "E": (words, embedding),
        "W_xh": (hidden, embedding),
        "b_h": (hidden,),
        "W_hh": (hidden, hidden),
        "W_hy": (words, hidden),
        "b_y": (words,),
    }
    return {name: size * rng.normal(size=shape) for name, shape in shapes.items()}


def there(student, arrays):
    """``RNNParams`` on the student's side, and a handle for each of its arrays."""
    handles = {name: student.put(array) for name, array in arrays.items()}
    return student.types.RNNParams(**handles), handles


# --- tbptt


def batch(rng, sentences, steps, words=6):
    """Ids, next ids and a mask that is True everywhere."""
    ids = rng.integers(0, words, size=(sentences, steps + 1))
    return ids[:, :-1].copy(), ids[:, 1:].copy(), np.ones((sentences, steps), dtype=bool)


def check_chunk(student, check, chunks, expected, number):
    """The next chunk of the student's iterator is what the reference gives."""
    done, chunk = check.unpack(student.testing.advance(chunks), 2, "a step of the iterator")
    check.that(done is False, f"chunk {number} is missing")
    loss, gradients = check.unpack(chunk, 2, f"chunk {number}")
    check.close(loss, expected[0], f"the loss of chunk {number}", rtol=EXACT)
    for name, got in check.fields(gradients, (*NAMES, "h0"), f"the gradients of chunk {number}").items():
        right = getattr(expected[1], name)
        check.close(got, right, f"the gradient by {name} in chunk {number}", rtol=EXACT)


def check_end(student, check, chunks):
    """The student's iterator has no further chunk."""
    done, _ = check.unpack(student.testing.advance(chunks), 2, "a step of the iterator")
    check.that(done is True, "there are more chunks than there should be")


@item("tbptt")
@weight(3)
@pytest.mark.parametrize(
    ("sentences", "steps", "k"),
    [(2, 6, 3), (3, 7, 3), (1, 5, 1), (4, 8, 5), (3, 3, 2)],
    ids=["whole-chunks", "short-last-chunk", "one-step", "long-last-chunk", "square"],
)
def test_tbptt_gives_each_chunk_its_own_gradient(student, reference, rng, check, sentences, steps, k):
    """Each chunk goes on from the last state of the one before it, and its gradient stops where it began."""
    arrays, (inputs, targets, mask) = parameters(rng), batch(rng, sentences, steps)
    h0 = np.tanh(rng.normal(size=(sentences, 4)))
    params, _ = there(student, arrays)
    chunks = student.rnn.tbptt(inputs, targets, mask, params, k, h0)
    right = reference.rnn.tbptt(inputs, targets, mask, reference.types.RNNParams(**arrays), k, h0)
    for number, expected in enumerate(right, start=1):
        check_chunk(student, check, chunks, expected, number)
    check_end(student, check, chunks)


@item("tbptt")
@weight(2)
@pytest.mark.parametrize("h0", [True, False], ids=["from-a-state", "from-zeros"])
def test_tbptt_of_one_chunk_is_full_backpropagation(student, reference, rng, check, h0):
    """With k of T or more there is one chunk, and its gradient is that of the whole sequence."""
    for steps, k in ((4, 4), (3, 9), (1, 1)):
        arrays, (inputs, targets, mask) = parameters(rng), batch(rng, 2, steps)
        start = rng.uniform(-1, 1, size=(2, 4)) if h0 else None
        right = reference.types.RNNParams(**arrays)
        logits, cache = reference.rnn.rnn_forward(inputs, right, start)
        loss, dlogits = reference.rnn.masked_cross_entropy(logits, targets, mask)
        params, _ = there(student, arrays)
        chunks = student.rnn.tbptt(inputs, targets, mask, params, k, start)
        check_chunk(student, check, chunks, (loss, reference.rnn.rnn_backward(dlogits, cache, right)), 1)
        check_end(student, check, chunks)


@item("tbptt")
@weight(2.5)
@pytest.mark.parametrize("steps", [8, 7], ids=["whole-chunks", "short-last-chunk"])
def test_tbptt_uses_what_the_caller_has_made_of_the_parameters(student, reference, rng, check, steps):
    """Arrays that the caller changes between two chunks, in place, are those of the next chunk; the state goes on."""
    arrays, (inputs, targets, mask) = parameters(rng), batch(rng, 3, steps)
    mine = {name: array.copy() for name, array in arrays.items()}
    params, handles = there(student, arrays)
    chunks = student.rnn.tbptt(inputs, targets, mask, params, 2)
    right = reference.rnn.tbptt(inputs, targets, mask, reference.types.RNNParams(**mine), 2)
    for number, expected in enumerate(right, start=1):
        check_chunk(student, check, chunks, expected, number)
        for name in NAMES:
            new = mine[name] + 0.3 * rng.normal(size=mine[name].shape)
            mine[name][...] = new
            handles[name][...] = new
    check_end(student, check, chunks)


@item("tbptt")
@weight(1.5)
def test_tbptt_computes_nothing_before_it_is_asked(student, reference, rng, check):
    """The first chunk too is computed when it is asked for, with the parameters as they are then."""
    before, now, (inputs, targets, mask) = parameters(rng), parameters(rng), batch(rng, 2, 4)
    params, handles = there(student, before)
    chunks = student.rnn.tbptt(inputs, targets, mask, params, 2)
    for name in NAMES:
        handles[name][...] = now[name]
    right = reference.rnn.tbptt(inputs, targets, mask, reference.types.RNNParams(**now), 2)
    for number, expected in enumerate(right, start=1):
        check_chunk(student, check, chunks, expected, number)


@item("tbptt")
@weight(2)
def test_tbptt_of_padded_sentences(student, reference, rng, check):
    """The loss is the mean over the chunk's own predictions that count; of none it is 0.0, and so is its gradient."""
    arrays, (inputs, targets, mask) = parameters(rng), batch(rng, 3, 8)
    for row, length in enumerate((4, 2, 3)):
        mask[row, length:] = False
    params, _ = there(student, arrays)
    chunks = student.rnn.tbptt(inputs, targets, mask, params, 3)
    right = reference.rnn.tbptt(inputs, targets, mask, reference.types.RNNParams(**arrays), 3)
    for number, expected in enumerate(right, start=1):
        check_chunk(student, check, chunks, expected, number)
    check_end(student, check, chunks)


@item("tbptt")
def test_tbptt_takes_the_state_through_what_does_not_count(student, reference, rng, check):
    """The mask says what counts in the loss; the state goes on all the same, also where a chunk ends with False."""
    arrays, (inputs, targets, mask) = parameters(rng), batch(rng, 3, 9)
    mask[0, 2], mask[1, 4:6], mask[2, 5:7] = False, False, False
    params, _ = there(student, arrays)
    chunks = student.rnn.tbptt(inputs, targets, mask, params, 3)
    right = reference.rnn.tbptt(inputs, targets, mask, reference.types.RNNParams(**arrays), 3)
    for number, expected in enumerate(right, start=1):
        check_chunk(student, check, chunks, expected, number)
    check_end(student, check, chunks)


@item("tbptt")
@weight(1.5)
def test_tbptt_changes_nothing(student, reference, rng, check):
    """Words, mask, parameters and h0 are afterwards what they were before, and a second run has the same chunks."""
    arrays, words = parameters(rng), batch(rng, 2, 5)
    h0 = rng.uniform(-1, 1, size=(2, 4))
    params, handles = there(student, arrays)
    given = [student.put(array) for array in words]
    start = student.put(h0)
    for _ in range(2):
        chunks = student.rnn.tbptt(*given, params, 2, start)
        right = reference.rnn.tbptt(*words, reference.types.RNNParams(**arrays), 2, h0.copy())
        for number, expected in enumerate(right, start=1):
            check_chunk(student, check, chunks, expected, number)
        check_end(student, check, chunks)
        for name in NAMES:
            check.close(student.get(handles[name]), arrays[name], f"{name} afterwards", rtol=0, atol=0)
        for handle, array, name in zip(given, words, ("inputs", "targets", "mask"), strict=True):
            check.that(bool(np.array_equal(student.get(handle), array)), f"{name} should stay as they are")
        check.close(student.get(start), h0, "h0 afterwards", rtol=0, atol=0)


@item("tbptt")
def test_tbptt_of_two_texts_in_turn(student, reference, rng, check):
    """Two runs at the same time have nothing to do with each other."""
    runs = []
    for steps, k in ((5, 2), (6, 3)):
        arrays, words = parameters(rng), batch(rng, 2, steps)
        params, _ = there(student, arrays)
        right = reference.rnn.tbptt(*words, reference.types.RNNParams(**arrays), k)
        runs.append((student.rnn.tbptt(*words, params, k), right))
    for number in (1, 2):
        for chunks, right in runs:
            check_chunk(student, check, chunks, next(right), number)


# --- gradient_through_time


def fading(rng, rho, hidden=5, words=7, embedding=3):
    """A network whose states stay 0, and whose W_hh is rho times an orthogonal matrix."""
    arrays = parameters(rng, words, embedding, hidden)
    arrays["E"], arrays["b_h"] = np.zeros((words, embedding)), np.zeros(hidden)
    arrays["W_hh"] = rho * np.linalg.qr(rng.normal(size=(hidden, hidden)))[0]
    return arrays


def log_probability(reference, states, following, target, params):
    """log p(target) of one sequence, if it is in these states and then reads the words that follow."""
    hidden = states
    for word in following:
        hidden = reference.rnn.rnn_step_forward(params.E[[word]], hidden, params)
    logits = hidden[0] @ params.W_hy.T + params.b_y
    return logits[target] - np.log(np.exp(logits).sum())


@item("gradient_through_time")
@weight(3)
@pytest.mark.parametrize(
    ("sentences", "steps", "hidden"),
    [(3, 7, 4), (1, 1, 4), (4, 3, 1), (5, 5, 5)],
    ids=["several", "one-word", "one-unit", "square"],
)
def test_gradient_norms_of_random_networks(student, reference, rng, check, sentences, steps, hidden):
    """Entry d of a row is the norm of the gradient of that row's log-probability by the state d steps back."""
    arrays = parameters(rng, hidden=hidden)
    inputs, target = rng.integers(0, 6, size=(sentences, steps)), rng.integers(0, 6, size=sentences)
    expected = reference.rnn.gradient_norms(inputs, target, reference.types.RNNParams(**arrays))
    params, _ = there(student, arrays)
    check.close(student.rnn.gradient_norms(inputs, target, params), expected, "the norms", rtol=EXACT)


@item("gradient_through_time")
@weight(2)
def test_gradient_norms_agree_with_differences(student, reference, rng, check):
    """The norms are those of what a small change of each state does to the log-probability of the target."""
    arrays, inputs, target = parameters(rng), rng.integers(0, 6, size=(2, 4)), np.array([3, 3])
    right = reference.types.RNNParams(**arrays)
    params, _ = there(student, arrays)
    norms = check.array(student.rnn.gradient_norms(inputs, target, params), "the norms", (2, 4))
    _, cache = reference.rnn.rnn_forward(inputs, right)
    for row in range(2):
        for d in range(4):
            state, following, slopes = cache.h[row, 4 - d][None], inputs[row, 4 - d :], []
            for unit in range(4):
                change = 1e-6 * np.eye(4)[[unit]]
                above, below = (
                    log_probability(reference, state + sign * change, following, 3, right) for sign in (1, -1)
                )
                slopes.append((above - below) / 2e-6)
            check.close(float(norms[row, d]), float(np.linalg.norm(slopes)), "the norm", rtol=1e-6, atol=1e-8)


@item("gradient_through_time")
@weight(2)
@pytest.mark.parametrize("rho", [0.8, 1.0, 1.25], ids=["fades", "stays", "grows"])
def test_gradient_norms_through_an_orthogonal_matrix(student, rng, check, rho):
    """With states of 0 and W_hh = rho times an orthogonal matrix, entry d is rho^d times entry 0, for any d."""
    arrays, inputs, target = fading(rng, rho), rng.integers(0, 7, size=(2, 60)), np.array([4, 1])
    params, _ = there(student, arrays)
    probs = np.exp(arrays["b_y"]) / np.exp(arrays["b_y"]).sum()
    first = [float(np.linalg.norm((np.eye(7)[word] - probs) @ arrays["W_hy"])) for word in target]
    norms = check.array(student.rnn.gradient_norms(inputs, target, params), "the norms", (2, 60))
    for row in range(2):
        check.close(norms[row] / rho ** np.arange(60), np.full(60, first[row]), "the norms divided by rho^d")


@item("gradient_through_time")
@pytest.mark.parametrize("largest", [0.5, 0.95, 1.5], ids=["half", "below-one", "above-one"])
def test_gradient_norms_grow_no_faster_than_the_largest_singular_value(student, rng, check, largest):
    """Pascanu, Mikolov and Bengio (2013): a step back multiplies by it at most, so below 1 gradients must vanish."""
    arrays, inputs, target = parameters(rng), rng.integers(0, 6, size=(2, 30)), np.array([4, 1])
    arrays["W_hh"] *= largest / np.linalg.norm(arrays["W_hh"], 2)
    params, _ = there(student, arrays)
    norms = check.array(student.rnn.gradient_norms(inputs, target, params), "the norms", (2, 30))
    grown = bool(np.all(norms[:, 1:] <= largest * norms[:, :-1] * (1 + 1e-9)))
    check.that(grown and bool(np.all(norms[:, 0] > 0)), "a norm is larger than the one before it allows")


@item("gradient_through_time")
def test_gradient_norms_change_nothing(student, reference, rng, check):
    """Words, targets and parameters are afterwards what they were before; a second call has the same result."""
    arrays, inputs, target = parameters(rng), rng.integers(0, 6, size=(2, 4)), np.array([3, 0])
    expected = reference.rnn.gradient_norms(inputs, target, reference.types.RNNParams(**arrays))
    params, handles = there(student, arrays)
    given = student.put(inputs), student.put(target)
    for _ in range(2):
        check.close(student.rnn.gradient_norms(*given, params), expected, "the norms")
        check.equal(student.get(given[0]).tolist(), inputs.tolist(), "the inputs afterwards")
        check.equal(student.get(given[1]).tolist(), target.tolist(), "the targets afterwards")
        for name in NAMES:
            check.close(student.get(handles[name]), arrays[name], f"{name} afterwards", rtol=0, atol=0)


@item("gradient_through_time")
@weight(2)
def test_spectral_radius_of_matrices_that_one_knows(student, rng, check):
    """The largest absolute value of an eigenvalue: real or complex, positive or negative."""
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for name, matrix, radius in (
        ("complex eigenvalues", 3 * turn, 3.0),
        ("a rotation and a larger factor", np.array([[0.0, 2.0, 9.0], [-2.0, 0.0, 9.0], [0.0, 0.0, 2.5]]), 2.5),
        ("a negative eigenvalue", np.diag([1.0, -4.0, 2.0]), 4.0),
        ("a triangle", np.array([[0.5, 100.0], [0.0, -0.25]]), 0.5),
        ("zeros", np.zeros((3, 3)), 0.0),
        ("one number", np.array([[-0.3]]), 0.3),
    ):
        check.close(student.rnn.spectral_radius(matrix), radius, f"the spectral radius of a matrix with {name}")


@item("gradient_through_time")
def test_spectral_radius_of_random_matrices(student, reference, rng, check):
    """It has nothing to do with the basis, and is rho for rho times an orthogonal matrix."""
    for size in (2, 5, 8):
        matrix, orthogonal = rng.normal(size=(size, size)), np.linalg.qr(rng.normal(size=(size, size)))[0]
        expected = float(np.abs(np.linalg.eigvals(matrix)).max())
        check.close(student.rnn.spectral_radius(matrix), expected, "the spectral radius")
        turned = orthogonal @ matrix @ orthogonal.T
        check.close(student.rnn.spectral_radius(turned), expected, "the spectral radius in another basis", rtol=1e-8)
        check.close(student.rnn.spectral_radius(0.7 * orthogonal), 0.7, "the spectral radius of 0.7 times a turn")
