"""Hidden tests of lm/answers.py: the term's text, and formulas on numbers that no lecture prints."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

NINE_DIGITS = {"rtol": 1e-9, "atol": 0}


def sizes(rng, count, low=2, high=500):
    """Different whole numbers, as Python's."""
    return [int(number) for number in rng.choice(range(low, high), size=count, replace=False)]


# --- paper_ngrams


@item("paper_ngrams")
@weight(3)
@pytest.mark.parametrize(
    ("place", "what"),
    [(0, "p(cow | the)"), (1, "p(corn | eats)"), (2, "p(</s> | corn)")],
    ids=["cow", "corn", "end"],
)
def test_bigram_probabilities_of_the_text(student, reference, check, place, what):
    """How often the word followed, divided by how often anything did."""
    got = check.unpack(student.answers.bigram_probabilities(), 3, "the bigram probabilities")
    check.close(got[place], reference.answers.bigram_probabilities()[place], what, **NINE_DIGITS)


@item("paper_ngrams")
@weight(2)
@pytest.mark.parametrize(("place", "what"), [(0, "the probability"), (1, "the perplexity")], ids=["p", "perplexity"])
def test_the_bat_eats_corn(student, reference, check, place, what):
    """Five predictions: their product, and the perplexity that goes with it."""
    got = check.unpack(student.answers.sentence_probability(), 2, "the probability and perplexity")
    check.close(got[place], reference.answers.sentence_probability()[place], what, **NINE_DIGITS)


@item("paper_ngrams")
@weight(3)
@pytest.mark.parametrize(
    ("place", "what"),
    [(0, "p(corn | eats)"), (1, "p(fish | eats)"), (2, "p(fish | eats) with fish in the vocabulary")],
    ids=["corn", "stranger", "added"],
)
def test_add_one_of_the_text(student, reference, check, place, what):
    """V is what can be predicted; a word outside of it gets nothing, and one that enters it changes V."""
    got = check.unpack(student.answers.add_one(), 3, "the smoothed probabilities")
    check.close(got[place], reference.answers.add_one()[place], what, **NINE_DIGITS)


@item("paper_ngrams")
@weight(2)
def test_next_word_of_other_counts(student, check, rng):
    """Its count, divided by the sum of all; nothing for a word that never followed. The counts stay as they are."""
    counts = dict(zip(("ant", "bee", "cat", "dog"), sizes(rng, 4, high=40), strict=True))
    given = student.put(counts)
    for word, count in counts.items():
        got = student.answers.next_word_probability(given, word)
        check.close(got, count / sum(counts.values()), "p(word | context)", **NINE_DIGITS)
    check.close(student.answers.next_word_probability(given, "eel"), 0, "p of a word that never followed")
    check.close(student.answers.next_word_probability({"ant": 3}, "ant"), 1, "p of the only word", **NINE_DIGITS)
    check.equal(student.get(given), counts, "the counts afterwards")


# --- paper_perplexity


@item("paper_perplexity")
@weight(2)
def test_uniform_perplexity_is_the_number_of_words(student, check, rng):
    """For any number of words."""
    for k in (1, *sizes(rng, 4)):
        check.close(student.answers.uniform_perplexity(k), k, "the perplexity", **NINE_DIGITS)


@item("paper_perplexity")
@weight(4)
@pytest.mark.parametrize("q", [0.0, 0.25, 0.91, 1.0, None], ids=["none", "quarter", "most", "all", "random"])
def test_two_levels_of_probability(student, check, rng, q):
    """The exponential of the mean surprise, whatever the shares are."""
    q = float(rng.uniform(0.05, 0.95)) if q is None else q
    for _ in range(3):
        a, b = (float(number) for number in rng.uniform(1.5, 60, size=2))
        check.close(student.answers.two_level_perplexity(q, a, b), a**q * b ** (1 - q), "the perplexity", **NINE_DIGITS)


@item("paper_perplexity")
@weight(4)
@pytest.mark.parametrize(
    ("place", "what"),
    [(0, "bits a prediction"), (1, "nats a prediction"), (2, "bits a sentence"), (3, "the factor")],
    ids=["bits", "nats", "sentence", "factor"],
)
def test_bits_saved_by_other_models(student, reference, check, rng, place, what):
    """Each of the four answers for other perplexities; a model that is worse saves less than nothing."""
    before, after = (float(number) for number in sorted(rng.uniform(3, 90, size=2))[::-1])
    for old, new, events in ((before, after, float(rng.uniform(3, 15))), (4.0, 4.5, 1), (1024.0, 256.0, 7)):
        got = check.unpack(student.answers.bits_saved(old, new, events), 4, "the result")
        check.close(got[place], reference.answers.bits_saved(old, new, events)[place], what, **NINE_DIGITS)


# --- paper_parameters


@item("paper_parameters")
@weight(3)
@pytest.mark.parametrize("tied", [False, True], ids=["free", "tied"])
def test_parameters_of_other_rnns(student, reference, check, rng, tied):
    """Every array of the model counts once."""
    for vocabulary, embedding, hidden in (sizes(rng, 3), sizes(rng, 3), (9, 1, 4), (1, 5, 2)):
        shape = (vocabulary, hidden if tied else embedding, hidden)
        expected = reference.answers.rnn_lm_parameters(*shape, tied)
        check.close(
            student.answers.rnn_lm_parameters(*shape, tied), expected, "the number of parameters", **NINE_DIGITS
        )


@item("paper_parameters")
@weight(2)
def test_share_of_other_sizes(student, reference, check, rng):
    """All that grows with the vocabulary, as a share of the whole."""
    for shape in (sizes(rng, 3), sizes(rng, 3), (3, 40, 50)):
        check.close(
            student.answers.output_share(*shape), reference.answers.output_share(*shape), "the share", **NINE_DIGITS
        )


@item("paper_parameters")
@weight(2)
def test_recurrence_that_is_not_shared(student, check, rng):
    """One matrix a step."""
    for hidden, steps in (sizes(rng, 2), sizes(rng, 2), (17, 1), (1, 6)):
        got = student.answers.unshared_recurrence(hidden, steps)
        check.close(got, steps * hidden**2, "the number of parameters", **NINE_DIGITS)


@item("paper_parameters")
@weight(2)
@pytest.mark.parametrize("n", [1, 2, 5, 11], ids=["n1", "n2", "n5", "n11"])
def test_entries_of_other_tables(student, check, rng, n):
    """One for each sequence of n words."""
    for vocabulary in (1, *sizes(rng, 2)):
        check.close(
            student.answers.ngram_entries(vocabulary, n), float(vocabulary**n), "the number of entries", **NINE_DIGITS
        )


@item("paper_parameters")
@weight(2)
def test_parameters_of_other_windows(student, reference, check, rng):
    """The embeddings once, the hidden layer for each place of the window, the output."""
    for shape in (sizes(rng, 4), sizes(rng, 4), (*sizes(rng, 3), 1)):
        expected = reference.answers.fixed_window_parameters(*shape)
        check.close(
            student.answers.fixed_window_parameters(*shape), expected, "the number of parameters", **NINE_DIGITS
        )


@item("paper_parameters")
@weight(2)
def test_memory_of_other_models(student, check, rng):
    """Bytes over 2^30, with what comes after the point."""
    for parameters, bytes_each in ((float(rng.uniform(1e6, 1e12)), 18), (11_640, 16), (2**30, 0.5)):
        got = student.answers.training_memory(parameters, bytes_each)
        check.close(got, parameters * bytes_each / 1024**3, "the memory in GiB", **NINE_DIGITS)


# --- paper_cost


@item("paper_cost")
@weight(2)
def test_passes_for_other_jacobians(student, check, rng):
    """A column a pass forwards, a row a pass backwards."""
    for inputs, outputs in (sizes(rng, 2), sizes(rng, 2), (7, 7), (12, 1)):
        passes = check.unpack(student.answers.jacobian_passes(inputs, outputs), 2, "the numbers of passes")
        got = np.array([check.number(number, "each number of passes") for number in passes])
        expected = np.array([float(inputs), float(outputs)])
        check.close(got, expected, "the passes of forward and reverse mode", **NINE_DIGITS)


@item("paper_cost")
@weight(2)
def test_ratio_of_other_sizes(student, reference, check, rng):
    """n passes over the operations of one forward and one backward pass; below 1 for few inputs."""
    for n in (1, 2, *sizes(rng, 3)):
        check.close(
            student.answers.operation_ratio(n), reference.answers.operation_ratio(n), "the ratio", **NINE_DIGITS
        )


@item("paper_cost")
@weight(2)
def test_gradient_after_other_numbers_of_steps(student, check, rng):
    """One factor for the weight and one for the slope at each step, whether it shrinks or grows."""
    for steps in (0, 1, *sizes(rng, 3, high=80)):
        weight_, slope = float(rng.uniform(0.5, 4)), float(rng.uniform(0.1, 1))
        got = student.answers.gradient_left(weight_, slope, steps)
        check.close(got, (weight_ * slope) ** steps, "the gradient", **NINE_DIGITS)
    weight_, slope = float(rng.uniform(0.2, 0.6)), float(rng.uniform(0.1, 0.5))
    got = student.answers.gradient_left(weight_, slope, 20)
    check.close(got, (weight_ * slope) ** 20, "the gradient that is nearly gone", rtol=1e-9, atol=0)


@item("paper_cost")
def test_weight_that_keeps_other_gradients(student, check, rng):
    """Together with the slope it makes 1."""
    for slope in (1.0, 0.25, float(rng.uniform(0.1, 0.9)), float(rng.uniform(1.1, 2))):
        check.close(student.answers.break_even_weight(slope), 1 / slope, "the weight", **NINE_DIGITS)


@item("paper_cost")
@weight(3)
@pytest.mark.parametrize("truncation", ["none", "some", "more"], ids=["full", "truncated", "longer-than-the-sequence"])
def test_bytes_of_other_states(student, check, rng, truncation):
    """4 bytes for each number of each state that is kept."""
    for _ in range(3):
        steps, batch, hidden = sizes(rng, 3)
        k = {"none": None, "some": int(rng.integers(1, steps)), "more": steps + int(rng.integers(1, 90))}[truncation]
        kept = k if truncation == "some" else steps
        got = student.answers.hidden_state_bytes(steps, batch, hidden, k)
        check.close(got, 4 * kept * batch * hidden, "the bytes", **NINE_DIGITS)


@item("paper_cost")
@weight(2)
def test_candidates_of_other_beams(student, reference, check, rng):
    """One hypothesis at first, then the whole beam, each continued by every word."""
    for vocabulary, beam, steps in ((700, *sizes(rng, 2)), (6, 6, 4), (50, 1, 9), (50, 4, 1)):
        expected = reference.answers.beam_candidates(vocabulary, beam, steps)
        got = student.answers.beam_candidates(vocabulary, beam, steps)
        check.close(got, expected, "the number of candidates", **NINE_DIGITS)
