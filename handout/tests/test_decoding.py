"""Tests of lm/decoding.py: distributions and sentences to work out by hand."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

INF = float("inf")


def check_distribution(check, got, expected):
    """The same words have a positive probability, and it is the right one."""
    expected = np.array(expected)
    got = check.array(got, "the distribution", expected.shape)
    check.equal(np.flatnonzero(got).tolist(), np.flatnonzero(expected).tolist(), "the ids that are kept")
    check.close(got, expected, "the distribution")


# --- decoding


@item("decoding")
@weight(1.5)
def test_greedy(student, check):
    """The id of the largest logit; of two that are equally large the lower one."""
    check.equal(student.decoding.greedy(np.array([0.5, -1.0, 2.5, 2.0])), 2, "the choice")
    check.equal(student.decoding.greedy(np.array([-INF, -3.0, -7.0, -3.0])), 1, "the choice among two")


@item("decoding")
@weight(1.5)
def test_temperature(student, check):
    """softmax(logits / tau), for logits of any size; at temperature 0 the greedy choice."""
    for logits, tau, expected in (
        (np.log([1.0, 4.0]), 1.0, [1 / 5, 4 / 5]),
        (np.log([1.0, 4.0]), 2.0, [1 / 3, 2 / 3]),
        ([1.0, 3.0, 3.0], 0, [0.0, 1.0, 0.0]),
        ([1000.0, -1000.0, -INF, 1000.0], 1.0, [0.5, 0.0, 0.0, 0.5]),
    ):
        check_distribution(check, student.decoding.temperature(np.array(logits), tau), expected)


@item("decoding")
@weight(1.5)
def test_top_k(student, check):
    """The k most probable words, the lower ids among equals, renormalised; all of them if there are fewer."""
    probs = np.array([0.1, 0.4, 0.1, 0.4])
    for k, expected in (
        (1, [0, 1.0, 0, 0]),
        (2, [0, 0.5, 0, 0.5]),
        (3, [1 / 9, 4 / 9, 0, 4 / 9]),
        (9, [0.1, 0.4, 0.1, 0.4]),
    ):
        check_distribution(check, student.decoding.top_k(probs, k), expected)


@item("decoding")
@weight(1.5)
def test_top_p(student, check):
    """The fewest most probable words that reach p together, with the one that crosses it; always one at least."""
    for p in (0.9, 0.6):
        expected = [50 / 91, 41 / 91, 0.0]
        check_distribution(check, student.decoding.top_p(np.array([0.5, 0.41, 0.09]), p), expected)
    check_distribution(check, student.decoding.top_p(np.array([0.25, 0.5, 0.25]), 0.625), [1 / 3, 2 / 3, 0.0])
    check_distribution(check, student.decoding.top_p(np.array([0.25, 0.5, 0.25]), 0.75), [1 / 3, 2 / 3, 0.0])
    check_distribution(check, student.decoding.top_p(np.array([0.25, 0.5, 0.25]), 0.01), [0.0, 1.0, 0.0])


@item("decoding")
@weight(0.5)
@pytest.mark.parametrize(
    ("name", "argument", "parameter"),
    [("temperature", "logits", 0.5), ("top_k", "probs", 2), ("top_p", "probs", 0.5)],
    ids=["temperature", "top-k", "top-p"],
)
def test_decoding_keeps_its_argument(student, check, name, argument, parameter):
    """The array that is passed is afterwards what it was before."""
    array = np.array([0.125, 0.5, 0.375])
    given = student.put(array)
    check.array(getattr(student.decoding, name)(given, parameter), "the probabilities", (3,))
    check.close(student.get(given), array, f"your argument {argument} after the call", rtol=0, atol=0)


# --- generation

# After <s> (1) come 3 and 4; after 3 come 4 and </s> (2); after 4 always </s>. <pad> and <s> have the largest logits.
TABLE = {
    (1,): [9.0, 9.0, -INF, 0.0, 0.0],
    (1, 3): [9.0, 9.0, np.log(0.25), -INF, np.log(0.75)],
    (1, 4): [9.0, 9.0, 0.0, -INF, -INF],
    (1, 3, 4): [9.0, 9.0, 0.0, -INF, -INF],
}


@item("generation")
@weight(2)
@pytest.mark.parametrize(
    ("uniforms", "expected"),
    [([0.4, 0.3, 0.5], [3, 4]), ([0.4, 0.2, 0.5], [3]), ([0.5, 0.0, 0.0], [4]), ([0.0, 1 - 2**-53, 0.9], [3, 4])],
    ids=["two-words", "one-word", "at-the-border", "ends-of-the-interval"],
)
def test_generate(student, check, uniforms, expected):
    """Words are drawn one after the other until </s>, each from the logits after all words before it."""
    step = student.testing.StepTable(TABLE, np.zeros(5))
    sentence = student.decoding.generate(step, (), uniforms, 3)
    draws = [(1, ()), (3, (1,)), (4, (1, 3))] if expected[0] == 3 else [(1, ()), (4, (1,))]
    draws = draws[: len(expected) + 1]
    for number, (asked, draw) in enumerate(zip(step.asked, draws, strict=False), 1):
        check.equal(asked, draw, f"what call {number} of the step function was given: (word, state)")
    check.equal(sentence, expected, "the sentence")


@item("generation")
@weight(2)
def test_generate_stops_and_limits(student, check):
    """At most max_len words; temperature 0 takes the largest logit, top-k and top-p what they keep."""
    step = student.testing.StepTable({}, np.array([9.0, 9.0, -INF, *np.log([0.5, 0.3, 0.2])]))
    generate = student.decoding.generate
    check.equal(generate(step, (), [0.9, 0.6, 0.1, 0.9], 3), [5, 4, 3], "three words")
    check.equal(generate(step, (), [0.9, 0.6, 0.1], 3, 0.0), [3, 3, 3], "three words at temperature 0")
    check.equal(generate(step, (), [0.9, 0.6, 0.1], 3, 1.0, 2), [4, 3, 3], "three words of the two likeliest")
    check.equal(generate(step, (), [0.9, 0.6, 0.1], 3, 1.0, None, 0.7), [4, 3, 3], "three words of the nucleus")
    check.equal(generate(step, (), [0.9, 0.6, 0.1], 3, 1.0, 2, 0.6), [3, 3, 3], "three words cut by k, then by p")
