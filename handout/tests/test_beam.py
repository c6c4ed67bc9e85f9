"""Tests of lm/beam.py: searches that can be done by hand."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

INF = float("inf")

# After <s> (1) come 3 and 4; after 3 come </s> (2), 3 and 4; after 4 always </s>. No logit is as large as those of
# <pad> and <s>.
TABLE = {
    (1,): [9.0, 9.0, -INF, *np.log([0.6, 0.4])],
    (1, 3): [9.0, 9.0, *np.log([0.5, 0.25, 0.25])],
    (1, 4): [9.0, 9.0, 0.0, -INF, -INF],
}
END = [9.0, 9.0, 0.0, -INF, -INF]  # </s> and nothing else


def check_found(check, got, expected):
    """The right sentences in the right order, each with its probability."""
    got = check.unpack(got, len(expected), "the list of hypotheses")
    pairs = [check.unpack(pair, 2, "a hypothesis, (ids, log p)") for pair in got]
    check.equal([pair[0] for pair in pairs], [ids for ids, _ in expected], "the sentences, the best first")
    for (_, log_p), (ids, p) in zip(pairs, expected, strict=True):
        check.close(log_p, float(np.log(p)), f"log p of {ids}", rtol=1e-12)


@item("beam_search")
@weight(1.5)
@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [([3], 0.3)]),
        (2, [([4], 0.4), ([3], 0.3)]),
        (9, [([4], 0.4), ([3], 0.3), ([3, 3], 0.15), ([3, 4], 0.15)]),
    ],
    ids=["greedy", "two", "all"],
)
def test_widths(student, check, k, expected):
    """Width 1 is greedy and misses the likeliest sentence; width 2 finds it; a large width finds all there are."""
    step = student.testing.StepTable(TABLE, END)
    check_found(check, student.beam.beam_search(step, (), k, 3), expected)


@item("beam_search")
@weight(1.5)
@pytest.mark.parametrize(
    ("alpha", "expected"),
    [(0.0, [([], 0.5), ([3, 4], 0.2)]), (1.0, [([3, 4], 0.2), ([], 0.5)])],
    ids=["log-p", "per-prediction"],
)
def test_length(student, check, alpha, expected):
    """The empty sentence is one prediction, </s>; two words and </s> are three: 0.5 against the cube root of 0.2."""
    table = {(1,): [9.0, 9.0, *np.log([0.5, 0.3, 0.2])], (1, 3): [9.0, 9.0, -INF, *np.log([1 / 3, 2 / 3])]}
    step = student.testing.StepTable(table, END)
    check_found(check, student.beam.beam_search(step, (), 2, 4, alpha), expected)


@item("beam_search")
def test_sentences_that_do_not_end(student, check):
    """After max_len words a sentence counts as it is; one that was finished before is in the list as well."""
    step = student.testing.StepTable({}, [9.0, 9.0, *np.log([0.25, 0.75])])
    check_found(check, student.beam.beam_search(step, (), 2, 2), [([3, 3], 9 / 16), ([], 1 / 4)])


@item("beam_search")
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {
                (1,): [9.0, 9.0, -INF, *np.log([0.6, 0.4])],
                (1, 3): [9.0, 9.0, *np.log([0.05, 0.5, 0.45])],
                (1, 4): [9.0, 9.0, *np.log([0.5, 0.3, 0.2])],
                (1, 3, 3): [9.0, 9.0, *np.log([0.6, 0.4]), -INF],
                (1, 3, 4): [9.0, 9.0, *np.log([0.6, 0.4]), -INF],
            },
            [([3, 3], 0.18), ([3, 4], 0.162)],
        ),
        (
            {
                (1,): [9.0, 9.0, np.log(0.4), np.log(0.6), -INF],
                (1, 3): [9.0, 9.0, -INF, *np.log([0.6, 0.4])],
                (1, 3, 3): [9.0, 9.0, *np.log([0.3, 0.3, 0.4])],
            },
            [([], 0.4), ([3, 4], 0.24)],
        ),
    ],
    ids=["both-of-one-beginning", "beside-a-finished-one"],
)
def test_which_two_live(student, check, table, expected):
    """Two are kept of all candidates together; one that is finished does not take the place of one that lives."""
    check_found(check, student.beam.beam_search(student.testing.StepTable(table, END), (), 2, 3), expected)


@item("beam_search")
def test_when_it_is_over(student, check):
    """No sooner than it is certain that nothing better comes, for the largest length that can be reached; no later."""
    table = {
        (1,): [9.0, 9.0, *np.log([0.5, 0.5]), -INF],
        (1, 3): [9.0, 9.0, np.log(0.6), -INF, np.log(0.4)],
        (1, 3, 4): [9.0, 9.0, -INF, -INF, 0.0],
    }
    step = student.testing.StepTable(table, END)
    check_found(check, student.beam.beam_search(step, (), 2, 5, 1.0), [([3, 4, 4], 0.2), ([3], 0.3)])
    step = student.testing.StepTable({}, [9.0, 9.0, *np.log([0.6, 0.4])])
    check_found(check, student.beam.beam_search(step, (), 2, 50), [([], 0.6), ([3], 0.24)])
    check.equal(len(step.asked), 2, "how often the model was asked")


@item("beam_search")
def test_equal_ones_and_large_logits(student, check):
    """Of equal ones the lower ids come first, whichever beginning was the likelier; e^1000 is never computed."""
    table = {
        (1,): [9.0, 9.0, -INF, -60.0, 0.0],
        (1, 3): [9.0, 9.0, -INF, -INF, 0.0],
        (1, 4): [9.0, 9.0, -INF, -60.0, 0.0],
    }
    step = student.testing.StepTable(table)
    check_found(check, student.beam.beam_search(step, (), 2, 2), [([4, 4], 1.0), ([3, 4], np.exp(-60.0))])
    step = student.testing.StepTable({}, [9.0, 9.0, 1000.0, 1000.0 + np.log(4)])
    check_found(check, student.beam.beam_search(step, (), 2, 1), [([3], 0.8), ([], 0.2)])
