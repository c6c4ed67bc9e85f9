"""Hidden tests of lm/decoding.py: random distributions, ties, and sentences from tables of logits."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

INF = float("inf")
ALMOST_ONE = 1 - 2**-53
TINY = float(np.finfo(float).tiny)


def check_distribution(check, got, expected, what="the distribution"):
    """The same words have a positive probability, and it is the right one."""
    expected = np.asarray(expected, dtype=float)
    got = check.array(got, what, expected.shape)
    check.equal(np.flatnonzero(got).tolist(), np.flatnonzero(expected).tolist(), "the ids that are kept")
    check.close(got, expected, what, rtol=1e-12, atol=1e-300)


def distribution(rng, size):
    """Random probabilities, none of them equal to another."""
    weights = rng.exponential(size=size) + 1e-3
    return weights / weights.sum()


def only(probs, kept):
    """The probabilities of these ids, renormalised; 0 for all others."""
    expected = np.where(np.isin(np.arange(len(probs)), kept), probs, 0.0)
    return expected / expected.sum()


# --- decoding


@item("decoding")
@weight(2)
def test_greedy_takes_the_largest(student, rng, check):
    """The id of the largest logit, whatever the others are."""
    for size in (1, 2, 7, 40):
        logits = 1000 * rng.normal(size=size) - 500
        check.equal(student.decoding.greedy(logits), int(logits.argmax()), "the choice")
    for logits, choice in (([-1e5, -INF, -1e4], 2), ([-INF, -9.0, -INF], 1)):
        check.equal(student.decoding.greedy(np.array(logits)), choice, "the choice")


@item("decoding")
@weight(1.5)
def test_greedy_prefers_the_lower_id(student, check):
    """Of equally large logits the lowest id is chosen."""
    for logits, choice in (([2.0, 5.0, 5.0, 1.0, 5.0], 1), ([0.0] * 6, 0), ([-INF, -2.0, -3.0, -2.0], 1)):
        check.equal(student.decoding.greedy(np.array(logits)), choice, "the choice")


@item("decoding")
@weight(2)
def test_temperature_divides_the_logits(student, rng, check):
    """Each probability is proportional to exp(logit / tau)."""
    for size, tau in ((1, 2.0), (2, 0.25), (9, 0.25), (9, 1), (9, 3.0)):
        logits = 3 * rng.normal(size=size)
        powers = np.exp(logits) ** (1 / tau)
        check_distribution(check, student.decoding.temperature(logits, tau), powers / powers.sum())


@item("decoding")
@weight(1.5)
def test_temperature_zero_is_greedy(student, rng, check):
    """At temperature 0 the greedy choice has all the probability, of equals the lowest id."""
    logits = rng.normal(size=8)
    for row in (logits, [3.0, 7.0, 7.0], [-1000.0, -INF, -999.0], [1000.0, 1000.0], [4.0]):
        expected = np.eye(len(row))[int(np.argmax(row))]
        for zero in (0, 0.0):
            check_distribution(check, student.decoding.temperature(np.array(row), zero), expected)


@item("decoding")
@weight(1.5)
def test_temperature_of_any_size(student, check):
    """Logits of +-1000 and temperatures near 0 give a distribution too."""
    for logits, tau, expected in (
        ([1000.0, 1000.0 + np.log(3), -1000.0], 1.0, [0.25, 0.75, 0.0]),
        ([-1000.0, -1000.0 - np.log(3)], 1.0, [0.75, 0.25]),
        ([1.0, 0.0, 0.999], 1e-5, [1.0, 0.0, 0.0]),
        ([1000.0, -1000.0], 1e4, [1 / (1 + np.exp(-0.2)), 1 / (1 + np.exp(0.2))]),
    ):
        got = student.decoding.temperature(np.array(logits), tau)
        check.close(got, np.array(expected), "the distribution", rtol=1e-9)


@item("decoding")
def test_temperature_of_words_that_cannot_come(student, check):
    """A logit of -inf has probability 0 at every temperature."""
    logits = np.array([-INF, np.log(2.0), -INF, np.log(8.0)])
    for tau, expected in ((1.0, [0, 0.2, 0, 0.8]), (2.0, [0, 1 / 3, 0, 2 / 3]), (0, [0, 0, 0, 1]), (9.0, None)):
        got = student.decoding.temperature(logits, tau)
        if expected is None:
            ratio = 4 ** (1 / tau)
            expected = [0, 1 / (1 + ratio), 0, ratio / (1 + ratio)]
        check_distribution(check, got, expected)


@item("decoding")
@weight(2)
def test_top_k_keeps_the_k_most_probable(student, rng, check):
    """The k most probable words keep their proportions and sum to 1; all others get 0."""
    for size in (1, 5, 30):
        probs = distribution(rng, size)
        for k in sorted({1, 2, size // 2 + 1, size}):
            expected = np.where(probs >= np.sort(probs)[::-1][min(k, size) - 1], probs, 0.0)
            check_distribution(check, student.decoding.top_k(probs, k), expected / expected.sum())


@item("decoding")
@weight(2)
def test_top_k_of_equals(student, check):
    """Exactly k words are kept, the lower ids among equals, and no more than there are."""
    for probs, k, kept in (
        ([0.2, 0.3, 0.2, 0.3], 1, [1]),
        ([0.125, 0.25, 0.125, 0.25, 0.125, 0.125], 4, [0, 1, 2, 3]),
        ([0.25] * 4, 3, [0, 1, 2]),
        ([1 / 32] * 32, 5, [0, 1, 2, 3, 4]),
        ([0.5, 0.0, 0.5, 0.0], 3, [0, 2]),
        ([0.25, 0.75], 3, [0, 1]),
        ([0.0, 0.5, 0.25, 0.25], 10**6, [1, 2, 3]),
    ):
        check_distribution(check, student.decoding.top_k(np.array(probs), k), only(probs, kept))


@item("decoding")
def test_top_k_and_top_p_of_many_equals(student, rng, check):
    """Among hundreds of words with few different probabilities, too, the lower ids come first among equals."""
    times = rng.permutation(np.repeat([1, 2, 3, 4], 64))
    probs, falling = times / times.sum(), sorted(range(256), key=lambda word: -times[word])
    for count in (5, 100, 150, 230):
        check_distribution(check, student.decoding.top_k(probs, count), only(probs, falling[:count]))
        p = (times[falling[:count]].sum() - 0.5) / times.sum()  # between two sums
        check_distribution(check, student.decoding.top_p(probs, float(p)), only(probs, falling[:count]))


@item("decoding")
@weight(2)
def test_top_p_keeps_the_fewest_that_reach_p(student, rng, check):
    """The nucleus holds the most probable words up to and with the one that brings their sum to p."""
    for size in (1, 4, 25):
        probs = distribution(rng, size)
        falling = np.sort(probs)[::-1]
        for p in rng.uniform(0.02, 0.98, size=6):
            count = next(n for n in range(1, size + 1) if falling[:n].sum() >= p)
            expected = np.where(probs >= falling[count - 1], probs, 0.0)
            check_distribution(check, student.decoding.top_p(probs, float(p)), expected / expected.sum())


@item("decoding")
@weight(2)
def test_top_p_at_the_border(student, check):
    """The word that crosses p is kept; a sum of exactly p is enough; the lower ids come first among equals."""
    for probs, p, kept in (
        ([0.41, 0.09, 0.5], 0.9, [0, 2]),
        ([0.41, 0.09, 0.5], 0.6, [0, 2]),
        ([0.41, 0.09, 0.5], 0.95, [0, 1, 2]),
        ([0.125, 0.5, 0.25, 0.125], 0.5, [1]),
        ([0.125, 0.5, 0.25, 0.125], 0.75, [1, 2]),
        ([0.125, 0.5, 0.25, 0.125], 0.8, [0, 1, 2]),
        ([0.125] * 8, 0.375, [0, 1, 2]),
        ([1 / 32] * 32, 1 / 8, [0, 1, 2, 3]),
    ):
        check_distribution(check, student.decoding.top_p(np.array(probs), p), only(probs, kept))


@item("decoding")
@pytest.mark.parametrize("p", [TINY, 1.0], ids=["tiny", "one"])
def test_top_p_keeps_one_or_all(student, check, p):
    """However small p is, one word is kept; with p = 1 all are, even if their sum is 1 only up to rounding."""
    for probs, best in (([0.25, 0.375, 0.375], 1), ([0.1] * 10, 0), ([0.5, 0.0, 0.5], 0), ([1.0], 0)):
        expected = only(probs, [best] if p < 1 else range(len(probs)))
        check_distribution(check, student.decoding.top_p(np.array(probs), p), expected)


@item("decoding")
@pytest.mark.parametrize("name", ["greedy", "temperature", "top_k", "top_p"], ids=["greedy", "tau", "k", "p"])
def test_decoding_changes_nothing(student, reference, rng, check, name):
    """The array that is passed is afterwards what it was, and a second call has the same result."""
    array = distribution(rng, 7)
    more = {"greedy": (), "temperature": (0.7,), "top_k": (3,), "top_p": (0.6,)}[name]
    given, function = student.put(array), getattr(student.decoding, name)
    for _ in range(2):
        expected = getattr(reference.decoding, name)(array.copy(), *more)
        check.close(function(given, *more), expected, "the result")
        check.close(student.get(given), array, "the array afterwards", rtol=0, atol=0)


# --- generation


def logits_of(*probs):
    """Logits with these probabilities from </s> (2) on, behind a <pad> and a <s> that are larger than all others."""
    with np.errstate(divide="ignore"):
        return [7.0, 9.0, *np.log(probs)]


@item("generation")
@weight(3)
@pytest.mark.parametrize(
    ("tau", "k", "p"),
    [(1.0, None, None), (1.5, 3, None), (2.0, None, 0.6), (0.7, 4, 0.8)],
    ids=["plain", "top-k", "top-p", "all"],
)
def test_generate_draws_word_by_word(student, reference, rng, check, tau, k, p):
    """Each word is drawn from the logits after all words before it, with its own uniform number, until </s>."""
    for _ in range(6):
        table, last = {(1,): rng.normal(size=7)}, [(1,)]
        for _ in range(4):
            last = [(*read, word) for read in last for word in rng.choice([2, 3, 4, 5, 6], 3, replace=False).tolist()]
            table |= {read: 2 * rng.normal(size=7) for read in last}
        uniforms, other = rng.uniform(size=9).tolist(), rng.normal(size=7)
        mine, theirs = (testing.StepTable(table, other) for testing in (student.testing, reference.testing))
        expected = reference.decoding.generate(theirs, (), uniforms, 9, tau, k, p)
        check.equal(student.decoding.generate(mine, (), uniforms, 9, tau, k, p), expected, "the sentence")
        asked = mine.asked[: len(theirs.asked)]
        check.equal(asked, theirs.asked, "what the step function was asked: (word, state)")


@item("generation")
@weight(1.5)
def test_generate_reads_its_words_from_the_start_state(student, check):
    """The first word read is <s>, in the state that was passed; then each word drawn, in the state of the step."""
    start = (8, 8)
    table = {(8, 8, 1): logits_of(0, 1, 0), (8, 8, 1, 3): logits_of(0, 0, 1), (8, 8, 1, 3, 4): logits_of(1, 0, 0)}
    step = student.testing.StepTable(table, logits_of(1, 1, 1))
    check.equal(student.decoding.generate(step, start, [0.5] * 3, 3), [3, 4], "the sentence")
    asked = [(1, start), (3, (8, 8, 1)), (4, (8, 8, 1, 3))]
    check.equal(step.asked[:3], asked, "what the step function was asked: (word, state)")


@item("generation")
@weight(1.5)
def test_generate_stops_at_the_end_mark(student, check):
    """When </s> is drawn the sentence is complete, without <s> and </s>, whatever numbers are left."""
    step = student.testing.StepTable({}, logits_of(0.5, 0.25, 0.25))
    for uniforms, expected in (
        ([0.2, 0.9, 0.9, 0.9], []),
        ([0.6, 0.4, 0.9, 0.9], [3]),
        ([0.8, 0.6, 0.9, 0.1], [4, 3, 4]),
    ):
        check.equal(student.decoding.generate(step, (), uniforms, 4), expected, "the sentence")


@item("generation")
def test_generate_long_texts(student, reference, rng, check):
    """Sixty words from the same logits every time: what comes out tells the order and the size of all cuts."""
    logits, uniforms = [0.0, 0.0, -np.inf, *rng.normal(size=10)], rng.uniform(size=60).tolist()
    got, expected = [], []
    for tau, k, p in ((2.0, 8, 0.85), (0.6, None, 0.9), (1.5, 5, None), (1.0, 4, 0.6)):
        for texts, side in ((got, student), (expected, reference)):
            texts.append(side.decoding.generate(side.testing.StepTable({}, logits), (), uniforms, 60, tau, k, p))
    check.equal(got, expected, "the texts")


@item("generation")
def test_generate_stops_after_max_len_words(student, check):
    """A sentence has at most max_len words, one uniform number each, however many numbers there are."""
    step = student.testing.StepTable({}, logits_of(0.5, 0.25, 0.25))
    for max_len, count in ((1, 1), (4, 4), (4, 9), (1, 6)):
        got = student.decoding.generate(step, (), [0.8] * count, max_len)
        check.equal(got, [4] * max_len, "the sentence")


@item("generation")
@weight(1.5)
@pytest.mark.parametrize("u", [0.0, ALMOST_ONE], ids=["zero", "almost-one"])
def test_generate_at_the_ends_of_the_interval(student, check, u):
    """The uniform 0 draws the first word that can come, the last number below 1 the last one that can."""
    for probs, first, last in (
        ([0.0, 0.5, 0.0, 0.5, 0.0], 3, 5),
        ([0.0, *[0.1] * 10, 0.0, 0.0], 3, 12),
        ([0.0, 0.0, 1.0, 0.0], 4, 4),
    ):
        step = student.testing.StepTable({}, logits_of(*probs))
        expected = [first if u == 0 else last] * 2
        check.equal(student.decoding.generate(step, (), [u, u], 2), expected, "the sentence")
        check.equal(
            student.decoding.generate(step, (), [u, u], 2, 1.0, 20, 0.999), expected, "the sentence cut by k, p"
        )


@item("generation")
@weight(1.5)
def test_generate_never_writes_padding_or_a_start(student, check):
    """<pad> and <s> are ruled out before anything else, even if they have the largest logits."""
    for tau, k, p, expected in (
        (1.0, None, None, [4, 3]),
        (0.0, None, None, [3, 3]),
        (1.0, 1, None, [3, 3]),
        (1.0, None, 0.3, [3, 3]),
    ):
        for first, second in ((50.0, 1000.0), (1000.0, 50.0), (0.5, 0.5)):
            step = student.testing.StepTable({}, [first, second, *np.log([0.25, 0.5, 0.25])])
            check.equal(student.decoding.generate(step, (), [0.9, 0.5], 2, tau, k, p), expected, "the sentence")


@item("generation")
@weight(2)
def test_generate_takes_its_steps_in_order(student, check):
    """Temperature first, then top-k on what it gives, then top-p on what top-k leaves."""
    for probs, tau, k, p, u, word in (
        ([0.0, 0.4, 0.3, 0.2, 0.1], 1.0, 2, 0.5, 0.99, 3),
        ([0.0, 0.64, 0.16, 0.16, 0.04], 2.0, None, 0.6, 0.99, 4),
        ([0.0, 0.5, 0.3, 0.2], 0.1, None, 0.6, 0.999, 3),
    ):
        step = student.testing.StepTable({}, logits_of(*probs))
        check.equal(student.decoding.generate(step, (), [u], 1, tau, k, p), [word], "the word")
