"""Hidden tests of lm/beam.py: random tables of logits against the reference, a greedy walk and a full enumeration."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

INF = float("inf")
WORDS = (3, 4, 5)


def pairs_of(check, got, count):
    """The hypotheses as a list of (ids, log p)."""
    got = check.unpack(got, count, "the list of hypotheses")
    return [check.unpack(pair, 2, "a hypothesis, (ids, log p)") for pair in got]


def check_found(check, got, expected):
    """The right sentences in the right order, each with its log probability."""
    pairs = pairs_of(check, got, len(expected))
    check.equal([pair[0] for pair in pairs], [ids for ids, _ in expected], "the sentences, the best first")
    for (_, log_p), (_, right) in zip(pairs, expected, strict=True):
        check.close(log_p, right, "log p of a sentence", rtol=1e-10)


def row(*probs):
    """Logits with these probabilities from </s> (2) on, behind a <pad> and a <s> that are larger than all others."""
    with np.errstate(divide="ignore"):
        return [7.0, 9.0, *np.log(probs)]


def random_table(rng, depth, spread=1.5):
    """Logits after each beginning of fewer than ``depth`` of the words 3, 4 and 5.

    If other logits serve for all that is longer, then for one step only: after two of them, "3 4" and "4 3" are equal
    up to rounding.
    """
    table, last = {}, [(1,)]
    for _ in range(depth):
        table |= {read: np.concatenate([rng.uniform(2, 4, size=2), spread * rng.normal(size=4)]) for read in last}
        last = [(*read, word) for read in last for word in WORDS]
    return table


def log_probs(logits):
    """Log probabilities of </s> and the words; <pad> and <s> have none."""
    logits = np.array(logits)[2:]
    return logits - np.log(np.exp(logits).sum())


def enumerate_all(table, max_len):
    """Every sentence with its log probability: those that end, and those cut off after max_len words."""
    sentences, living = [], [([], 0.0)]
    for _ in range(max_len):
        longer = []
        for ids, log_p in living:
            each = log_probs(table[(1, *ids)])
            sentences.append((ids, float(log_p + each[0])))
            longer += [([*ids, word], float(log_p + each[word - 2])) for word in WORDS]
        living = longer
    return sentences + living


@item("beam_search")
@weight(3)
@pytest.mark.parametrize("k", [2, 3, 5], ids=["two", "three", "five"])
def test_search_in_random_tables(student, reference, rng, check, k):
    """What a beam of this width finds in random tables: the sentences, their order, and log p of each."""
    for _ in range(8):
        table, other = random_table(rng, 4), [3.0, 3.0, *rng.normal(size=4)]
        expected = reference.beam.beam_search(reference.testing.StepTable(table, other), (), k, 5)
        check_found(check, student.beam.beam_search(student.testing.StepTable(table, other), (), k, 5), expected)


@item("beam_search")
@weight(1.5)
def test_search_among_many_words(student, reference, rng, check):
    """With sixty words to choose from, too, the best k of all are kept at each step."""
    table = {(1,): 2 * rng.normal(size=63)}
    table |= {(1, word): 2 * rng.normal(size=63) for word in range(3, 63)}
    other = 2 * rng.normal(size=63)
    for k in (1, 4, 7, 25):
        expected = reference.beam.beam_search(reference.testing.StepTable(table, other), (), k, 3)
        check_found(check, student.beam.beam_search(student.testing.StepTable(table, other), (), k, 3), expected)


@item("beam_search")
@weight(2)
def test_width_one_is_greedy(student, rng, check):
    """A beam of width 1 takes the likeliest word at each step, until </s> or max_len words."""
    for max_len in (1, 2, 3, 4, 4, 4):
        table = random_table(rng, max_len)
        ids, log_p = [], 0.0
        while len(ids) < max_len:
            each = log_probs(table[(1, *ids)])
            log_p += float(each.max())
            if each.argmax() == 0:
                break
            ids.append(int(each.argmax()) + 2)
        step = student.testing.StepTable(table)
        check_found(check, student.beam.beam_search(step, (), 1, max_len), [(ids, log_p)])


@item("beam_search")
@weight(2)
@pytest.mark.parametrize("alpha", [0.0, 0.8], ids=["log-p", "length"])
def test_wide_beam_is_exhaustive(student, rng, check, alpha):
    """A beam wider than all that there is finds every sentence; together they have probability 1."""
    max_len = 3
    table = random_table(rng, max_len)
    everything = enumerate_all(table, max_len)
    predictions = [min(len(ids) + 1, max_len) for ids, _ in everything]
    scores = [log_p / n**alpha for (_, log_p), n in zip(everything, predictions, strict=True)]
    expected = [everything[i] for i in np.argsort(scores)[::-1]]
    for k in (len(everything), 1000):
        got = student.beam.beam_search(student.testing.StepTable(table), (), k, max_len, alpha)
        check_found(check, got, expected)
        total = sum(np.exp(check.number(pair[1], "log p")) for pair in pairs_of(check, got, len(expected)))
        check.close(float(total), 1.0, "the probability of all sentences together")


@item("beam_search")
@weight(2)
@pytest.mark.parametrize("alpha", [0.4, 1.0, 2.5], ids=["a-little", "per-prediction", "a-lot"])
def test_length_in_the_score(student, reference, rng, check, alpha):
    """Sentences are compared by log p / n^alpha, where </s> counts, and found as without it."""
    for _ in range(8):
        table, other = random_table(rng, 4), [3.0, 3.0, *rng.normal(size=4)]
        expected = reference.beam.beam_search(reference.testing.StepTable(table, other), (), 3, 5, alpha)
        check_found(check, student.beam.beam_search(student.testing.StepTable(table, other), (), 3, 5, alpha), expected)


@item("beam_search")
@weight(1.5)
def test_finished_sentences_are_kept(student, check):
    """A finished sentence waits, however many likelier beginnings there are, and wins when they come to nothing."""
    table = {(1,): row(0.3, 0.7, 0.0, 0.0), (1, 3): row(0.0, 18 / 35, 17 / 35, 0.0)}
    step = student.testing.StepTable(table, row(0.4, 0.3, 0.2, 0.1))
    expected = [([], float(np.log(0.3))), ([3, 3], float(np.log(0.144)))]
    check_found(check, student.beam.beam_search(step, (), 2, 6), expected)
    check.that(all(word != 2 for word, _ in step.asked), "the model was made to read </s>")


@item("beam_search")
@weight(1.5)
def test_search_goes_on_while_it_can_be_worth_it(student, check):
    """That k sentences are finished is not the end: a beginning that lives may still become a better one."""
    table = {
        (1,): row(0.3, 0.7, 0.0),
        (1, 3): row(0.1, 0.0, 0.9),
        (1, 3, 4): row(0.0, 0.0, 1.0),
        (1, 3, 4, 4): row(1.0, 0.0, 0.0),
    }
    step = student.testing.StepTable(table, row(1.0, 0.0, 0.0))
    expected = [([3, 4, 4], float(np.log(0.63))), ([], float(np.log(0.3)))]
    check_found(check, student.beam.beam_search(step, (), 2, 9), expected)
    table = {(1,): row(0.6, 0.4, 0.0), (1, 3): row(0.6, 0.0, 0.4)}
    step = student.testing.StepTable(table, row(0.0, 0.0, 1.0))
    expected = [([3, *[4] * 7], float(np.log(0.16))), ([], float(np.log(0.6)))]
    check_found(check, student.beam.beam_search(step, (), 2, 8, 1.0), expected)


@item("beam_search")
@weight(1.5)
def test_search_stops_when_nothing_can_change(student, check):
    """The model is not asked further once k are finished that no living beginning can beat, or nothing lives."""
    step = student.testing.StepTable({}, row(0.5, 0.4, 0.1))
    expected = [([], np.log(0.5)), ([3], np.log(0.2)), ([3, 3], np.log(0.08))]
    check_found(check, student.beam.beam_search(step, (), 3, 400), [(ids, float(log_p)) for ids, log_p in expected])
    check.that(len(step.asked) <= 30, "the model is asked long after the best sentences were certain")
    step = student.testing.StepTable({(1,): row(0.0, 1.0)}, row(1.0, 0.0))
    check_found(check, student.beam.beam_search(step, (), 5, 400), [([3], 0.0)])
    check.that(len(step.asked) <= 5, "the model is asked although every sentence has ended")


@item("beam_search")
@weight(2)
def test_log_probabilities_of_any_size(student, check):
    """Logits of +-1000 and sentences less likely than the smallest float are nothing special."""
    for size in (1000.0, -1000.0):
        step = student.testing.StepTable({}, [size, size, size, size + np.log(3), -3000.0])
        check_found(check, student.beam.beam_search(step, (), 2, 1), [([3], np.log(0.75)), ([], np.log(0.25))])
    step = student.testing.StepTable({}, [0.0, 0.0, -INF, *np.log([0.125, 0.25, 0.125, 0.5])])
    best, second = [6] * 1200, [6] * 1199 + [4]
    expected = [(best, 1200 * np.log(0.5)), (second, 1200 * np.log(0.5) + np.log(0.5))]
    got = student.beam.beam_search(step, (), 2, 1200)
    pairs = pairs_of(check, got, 2)
    for (_, log_p), (_, right) in zip(pairs, expected, strict=True):
        check.close(log_p, float(right), "log p of a long sentence", rtol=1e-10)
    check.equal(pairs[0][0], best, "the best sentence")
    check.equal(sorted(pairs[1][0]), sorted(second), "the words of the second sentence")


@item("beam_search")
@weight(1.5)
def test_equal_sentences_by_their_ids(student, check):
    """Of equal beginnings and of equal sentences those with the lower ids come first, whichever was there first."""
    third, ninth = float(-np.log(3)), float(-2 * np.log(3))
    for k, expected in (
        (3, [([], third), ([3], ninth), ([3, 3], ninth)]),
        (5, [([], third), ([3], ninth), ([3, 3], ninth), ([3, 4], ninth), ([4], ninth)]),
    ):
        step = student.testing.StepTable({}, row(1 / 3, 1 / 3, 1 / 3))
        check_found(check, student.beam.beam_search(step, (), k, 2), expected)
    table = {  # log p is -40, 0 or -80, without any rounding
        (1,): [0.0, 0.0, -INF, -40.0, 0.0],
        (1, 3): [0.0, 0.0, -INF, -INF, 0.0],
        (1, 4): [0.0, 0.0, -INF, -40.0, 0.0],
    }
    step = student.testing.StepTable(table)
    check_found(check, student.beam.beam_search(step, (), 2, 2), [([4, 4], 0.0), ([3, 4], -40.0)])


@item("beam_search")
@weight(1.5)
def test_what_cannot_be_is_not_found(student, check):
    """Where there are fewer possible sentences than k, there are fewer hypotheses; none has probability 0."""
    start = (8, 8)
    table = {(8, 8, 1): row(0.0, 1.0, 0.0, 0.0), (8, 8, 1, 3): row(0.25, 0.0, 0.0, 0.75)}
    step = student.testing.StepTable(table, row(1.0, 0.0, 0.0, 0.0))
    expected = [([3, 5], float(np.log(0.75))), ([3], float(np.log(0.25)))]
    check_found(check, student.beam.beam_search(step, start, 4, 5), expected)
    asked = [(1, start), (3, (8, 8, 1)), (5, (8, 8, 1, 3))]
    check.equal(step.asked[:3], asked, "what the step function was asked: (word, state)")
