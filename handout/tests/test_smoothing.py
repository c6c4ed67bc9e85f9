"""Tests of lm/smoothing.py on counts small enough to do by hand."""

import pytest

from autograder.feedback import item

# The lecture's three sentences: words, and what follows what.
COW_WORDS = {"the": 3, "cow": 2, "bat": 1, "eats": 3, "corn": 1, "hay": 1, "flies": 1, "</s>": 3}
COW_BIGRAMS = {
    ("<s>",): {"the": 3},
    ("the",): {"cow": 2, "bat": 1},
    ("cow",): {"eats": 2},
    ("bat",): {"eats": 1},
    ("eats",): {"corn": 1, "hay": 1, "flies": 1},
    ("corn",): {"</s>": 1},
    ("hay",): {"</s>": 1},
    ("flies",): {"</s>": 1},
}
COW_TABLES = [{(): COW_WORDS}, COW_BIGRAMS]


def numbers(check, got, expected, what):
    """A dict of numbers has the right keys, and under each the right number."""
    check.equal(sorted(got) if type(got) is dict else got, sorted(expected), f"the keys of {what}")
    for key, value in expected.items():
        check.close(got[key], value, f"{what}: what belongs to {key}")


# --- stupid_backoff


@item("stupid_backoff")
@pytest.mark.parametrize(
    ("word", "context", "expected"),
    [("cow", ("the",), 2 / 3), ("hay", ("the",), 0.4 / 15), ("hay", ("fish",), 0.4 / 15), ("fish", ("the",), 0.0)],
    ids=["seen", "word-did-not-follow", "context-unseen", "word-unseen"],
)
def test_backing_off_on_three_sentences(student, check, word, context, expected):
    """A word that followed has its relative frequency; any other has 0.4 times its share of the 15 words."""
    model = student.smoothing.StupidBackoff(COW_TABLES, 0.4)
    check.close(model.prob(word, context), expected, f"S({word} | {context[0]})")


@item("stupid_backoff")
def test_backing_off_twice(student, check):
    """Each word that is dropped from the context costs the factor once."""
    tables = [
        {(): {"hay": 1, "cow": 3}},
        {("eat",): {"hay": 1, "cow": 1}, ("a",): {"cow": 2}},
        {("cows", "eat"): {"cow": 1}, ("bats", "eat"): {"hay": 1}, ("see", "a"): {"cow": 2}},
    ]
    prob = student.smoothing.StupidBackoff(tables, 0.5).prob
    check.close(prob("hay", ("bats", "eat")), 1.0, "S(hay | bats eat)")
    check.close(prob("hay", ("cows", "eat")), 0.5 / 2, "S(hay | cows eat)")
    check.close(prob("hay", ("see", "a")), 0.25 / 4, "S(hay | see a)")
    check.close(prob("hay", ("big", "fish")), 0.25 / 4, "S(hay | big fish)")


@item("stupid_backoff")
def test_backing_off_with_unknown_words(student, check):
    """Where <unk> was counted, a word that was not is read as <unk>, before the bar and behind it."""
    tables = [{(): {"cow": 3, "<unk>": 1}}, {("<unk>",): {"cow": 1}, ("cow",): {"cow": 1, "<unk>": 1}}]
    prob = student.smoothing.StupidBackoff(tables, 0.5).prob
    check.close(prob("fish", ("cow",)), 1 / 2, "S(fish | cow)")
    check.close(prob("cow", ("fish",)), 1.0, "S(cow | fish)")


# --- good_turing


@item("good_turing")
def test_fish_caught_so_far(student, check):
    """Jurafsky and Martin: 10 carp, 3 perch, 2 whitefish, 1 trout, 1 salmon, 1 eel; 2 kinds never. 1* is 2/3."""
    got = student.smoothing.good_turing({0: 2, 1: 3, 2: 1, 3: 1, 10: 1})
    numbers(check, got, {0: 3 / 2, 1: 2 / 3, 2: 3.0, 3: 3.0, 10: 10.0}, "the adjusted counts")


@item("good_turing")
def test_a_zero_that_is_written_down(student, check):
    """An r with N_r = 0 is the same as one that is missing: it has no adjusted count."""
    got = student.smoothing.good_turing({1: 10, 2: 4, 3: 0, 4: 1})
    numbers(check, got, {1: 0.8, 2: 2.0, 4: 4.0}, "the adjusted counts")


# --- kneser_ney

SAN = {("san",): {"francisco": 9}, ("the",): {"bay": 2}, ("a",): {"bay": 1, "francisco": 1}, ("my",): {"bay": 1}}


@item("kneser_ney")
def test_san_francisco_is_one_way(student, check):
    """Francisco has come 10 times, but after 2 words; the bay 4 times, after 3."""
    got = student.smoothing.continuation_counts(SAN)
    check.equal(got, {(): {"francisco": 2, "bay": 3}}, "the continuation counts")
    trigrams = {("x", "y"): {"z": 5, "w": 1}, ("y", "y"): {"z": 2}, ("y", "z"): {"w": 1}}
    expected = {("y",): {"z": 2, "w": 1}, ("z",): {"w": 1}}
    check.equal(student.smoothing.continuation_counts(trigrams), expected, "the continuation counts of trigrams")


@item("kneser_ney")
def test_kneser_ney_of_the_bay(student, check):
    """Each word of a row gives up D, and the lower order shares it out; a new context has the lower order in full."""
    prob = student.smoothing.KneserNey(SAN, 0.5).prob
    check.close(prob("bay", ("fish",)), 3 / 5, "P(bay | fish)")
    check.close(prob("bay", ("san",)), 0.5 / 9 * 3 / 5, "P(bay | san)")
    check.close(prob("francisco", ("san",)), (8.5 + 0.5 * 2 / 5) / 9, "P(francisco | san)")
    check.close(prob("bay", ("a",)), (0.5 + 0.5 * 2 * 3 / 5) / 2, "P(bay | a)")


@item("kneser_ney")
def test_kneser_ney_on_three_sentences(student, check):
    """Nothing is lost: in each context the probabilities of the 8 words sum to 1."""
    prob = student.smoothing.KneserNey(COW_BIGRAMS, 0.75).prob
    check.close(prob("cow", ("the",)), (1.25 + 0.75 * 2 * 1 / 11) / 3, "P(cow | the)")  # 11 different bigrams
    for context in (("eats",), ("fish",), ("bat", "the")):
        total = sum(check.number(prob(word, context), "p(word | context)") for word in COW_WORDS)
        check.close(total, 1.0, "the sum of the probabilities of all words")


# --- tune_em

ALL_BUT_CORN = {"hay": 1.0, "flies": 1.0, "</s>": 1.0}  # a table need not sum to 1


@item("tune_em")
def test_em_finds_the_share_of_the_higher_order(student, check):
    """Order 2 is right about 7 first words of 20, order 1 about the other 13: the weight is 7/20."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("<s>",): {"corn": 1.0}}),
    ]
    got = student.smoothing.tune_em(models, [["corn"]] * 7 + [["hay"]] * 13)
    numbers(check, got, {2: 0.35}, "the weights")


@item("tune_em")
def test_em_is_drawn_to_the_better_order(student, check):
    """Two thirds of the words have 0.8 in order 2 and 0.2 in order 1, the others 0.2 and 0.8."""
    # the likelihood, 2 log(0.2 + 0.6 x) + log(0.8 - 0.6 x), is largest at x = 7/9
    models = [
        student.testing.TableModel({(): {"corn": 0.2, "hay": 0.8, "</s>": 1.0}}),
        student.testing.TableModel({("<s>",): {"corn": 0.8, "hay": 0.2}}),
    ]
    got = student.smoothing.tune_em(models, [["corn"], ["corn"], ["hay"]])
    check.equal(sorted(got) if type(got) is dict else got, [2], "the orders that have a weight")
    check.close(got[2], 7 / 9, "the weight of order 2", atol=1e-4)


@item("tune_em")
def test_em_for_one_order_after_the_other(student, check):
    """Order 3 is mixed with the mixture below it; where order 2 has not seen the context, that is order 1 in full."""
    models = [
        student.testing.TableModel({(): ALL_BUT_CORN}),
        student.testing.TableModel({("a",): {"corn": 1.0}}),
        student.testing.TableModel({("<s>", "a"): {"corn": 1.0}, ("<s>", "c"): {"hay": 1.0}}),
    ]
    held_out = [["a", "corn"]] * 4 + [["a", "hay"]] + [["b", "a", "corn"]] + [["b", "a", "hay"]] * 4 + [["c", "hay"]]
    got = student.smoothing.tune_em(models, held_out)
    # order 2: 5 times right, 5 times wrong. Order 3: 4 log(x + (1 - x)/2) + log(1 - x) is largest at x = 3/5;
    # both give "c hay" a probability of 1, and it says nothing about x
    check.equal(sorted(got) if type(got) is dict else got, [2, 3], "the orders that have a weight")
    check.close(got[2], 0.5, "the weight of order 2")
    check.close(got[3], 0.6, "the weight of order 3", atol=1e-4)
