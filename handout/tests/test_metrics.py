"""Tests of lm/metrics.py: values to work out by hand."""

from math import inf, log

import pytest

from autograder.feedback import item

# --- perplexity


@item("perplexity")
def test_perplexity_of_a_sentence(student, check):
    """Exercise 1: "the bat eats corn" has probability 1/9 in five predictions, so perplexity 9^(1/5)."""
    table = {
        ("<s>",): {"the": 1.0},
        ("the",): {"cow": 2 / 3, "bat": 1 / 3},
        ("bat",): {"eats": 1.0},
        ("eats",): {"corn": 1 / 3, "hay": 1 / 3, "flies": 1 / 3},
        ("corn",): {"</s>": 1.0},
    }
    model = student.testing.TableModel(table)
    check.close(student.metrics.cross_entropy(model, [["the", "bat", "eats", "corn"]]), log(9) / 5, "the cross-entropy")
    check.close(student.metrics.perplexity(model, [("the", "bat", "eats", "corn")]), 9 ** (1 / 5), "the perplexity")


@item("perplexity")
def test_perplexity_of_digits(student, check):
    """Ten digits that are all as likely: perplexity 10. Far less when nearly all of them are 0."""
    # Jurafsky and Martin, chapter 3. The tenth digit, a 0, is the </s> of a sentence of nine here.
    uniform = student.testing.UniformModel(["</s>", *"123456789"])
    check.close(student.metrics.perplexity(uniform, [list("314159265")]), 10.0, "the perplexity of uniform digits")
    # 91 zeros in 100 digits of training, one each of 1 to 9; the text is 0 0 0 0 0 3 0 0 0 0: 1.725
    table = {(): {"</s>": 0.91, "0": 0.91, **dict.fromkeys("123456789", 0.01)}}
    skewed = student.testing.TableModel(table)
    expected = (0.91**9 * 0.01) ** (-1 / 10)
    check.close(student.metrics.perplexity(skewed, [list("000003000")]), expected, "the perplexity of zeros")


@item("perplexity")
def test_perplexity_over_several_sentences(student, check):
    """The mean is over all predictions: two words and two ends."""
    model = student.testing.TableModel({(): {"moo": 1 / 2, "</s>": 1 / 4}})
    # (log 2 + log 4 + log 2 + log 4) / 4
    check.close(student.metrics.cross_entropy(model, [["moo"], ["moo"]]), 1.5 * log(2), "the cross-entropy")
    # (3 log 2 + log 4 + log 4) / 5: the empty sentence is one prediction
    check.close(student.metrics.cross_entropy(model, [["moo"] * 3, []]), 7 / 5 * log(2), "the cross-entropy")
    check.close(student.metrics.perplexity(model, [["moo"] * 3, []]), 2 ** (7 / 5), "the perplexity")


@item("perplexity")
def test_perplexity_with_a_zero(student, check):
    """Infinite, without an error, as soon as one word or one end has probability 0."""
    table = {("<s>",): {"moo": 1.0}, ("moo",): {"moo": 0.5, "</s>": 0.5}, ("baa",): {"moo": 1.0}}
    model = student.testing.TableModel(table)
    for sentences in ([["moo"], ["moo", "baa", "moo"]], [["moo"], []]):
        check.close(student.metrics.perplexity(model, sentences), inf, "the perplexity")
        check.close(student.metrics.cross_entropy(model, sentences), inf, "the cross-entropy")


@item("perplexity")
def test_perplexity_of_a_long_text(student, check):
    """Thousands of small probabilities do not become 0 on the way."""
    model = student.testing.TableModel({("<s>",): {"moo": 1 / 8}, ("moo",): {"moo": 1 / 8, "</s>": 1 / 8}})
    check.close(student.metrics.perplexity(model, [["moo"] * 3000, ["moo"] * 3]), 8.0, "the perplexity")


@item("perplexity")
def test_perplexity_does_not_depend_on_the_order(student, check):
    """Every sentence starts after <s> <s>, wherever it stands; the sentences are the same afterwards."""
    table = {
        ("<s>", "<s>"): {"moo": 0.5, "baa": 0.25},
        ("<s>", "moo"): {"baa": 0.125},
        ("<s>", "baa"): {"</s>": 0.5},
        ("moo", "baa"): {"</s>": 1.0},
    }
    model = student.testing.TableModel(table)
    sentences = [["moo", "baa"], ["baa"]]  # 1/2 * 1/8 * 1 and 1/4 * 1/2: 2^7 in 5 predictions
    given = student.put(sentences)
    check.close(student.metrics.perplexity(model, given), 2 ** (7 / 5), "the perplexity")
    check.close(student.metrics.perplexity(model, sentences[::-1]), 2 ** (7 / 5), "the perplexity, backwards")
    check.equal(student.get(given), sentences, "the sentences afterwards")


@item("perplexity")
@pytest.mark.parametrize(
    ("nats", "expected"),
    [(log(2), 1.0), (log(2.856) - log(2.540), 0.16917), (0.0, 0.0)],
    ids=["one", "lecture", "zero"],
)
def test_bits(student, check, nats, expected):
    """log 2 nats are one bit; from the 6-gram to the RNN the lecture saves 0.169 bits a word."""
    check.close(student.metrics.bits(nats), expected, "the number of bits", rtol=1e-3 if expected == 0.16917 else 1e-10)


# --- agreement


def accuracy(student, rows):
    """The accuracy over pairs of "makes" and "make", given the scores of the right and of the wrong form."""
    prefixes = [("the", "bat", "near", f"cow {i}") for i in range(len(rows))]
    scores = {prefix: {"makes": right, "make": wrong} for prefix, (right, wrong) in zip(prefixes, rows, strict=True)}
    pairs = [(prefix, "makes", "make") for prefix in prefixes]
    return student.metrics.agreement_accuracy(student.testing.ScoreTable(scores), pairs)


@item("agreement")
def test_agreement_of_three_pairs(student, check):
    """The example of the docstring: one right form of three scores higher."""
    check.close(accuracy(student, [(0.3, 0.1), (0.2, 0.2), (0.2, 0.4)]), 1 / 3, "the accuracy")


@item("agreement")
def test_agreement_of_equal_scores(student, check):
    """A model that does not know gets nothing for it."""
    check.close(accuracy(student, [(0.0, 0.0), (-inf, -inf), (0.5, 0.5)]), 0.0, "the accuracy")


@item("agreement")
def test_agreement_of_log_probabilities(student, check):
    """Only which of the two is higher matters, not how high."""
    check.close(accuracy(student, [(-9.0, -inf), (-20.0, -21.0), (-0.5, -0.1), (-7.0, -8.5)]), 3 / 4, "the accuracy")
