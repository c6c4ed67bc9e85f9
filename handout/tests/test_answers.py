"""Tests of lm/answers.py: the form of what depends on the text, and the lecture's own numbers."""

import numpy as np
import pytest
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

# --- paper_ngrams: the values are compared by the hidden tests


def probabilities(check, got, count, what):
    """Numbers from 0 to 1, so many."""
    for value in check.unpack(got, count, what):
        number = check.number(value, f"each of {what}")
        check.that(0 <= number <= 1, f"each of {what} should be a number from 0 to 1")


@item("paper_ngrams")
@weight(0.5)
def test_bigram_probabilities_are_probabilities(student, check):
    """Three numbers from 0 to 1: the form only; the values are compared when you hand in."""
    probabilities(check, student.answers.bigram_probabilities(), 3, "the bigram probabilities")


@item("paper_ngrams")
@weight(0.5)
def test_sentence_probability_and_perplexity(student, check):
    """A probability and a perplexity, at least 1: the form only; the values are compared when you hand in."""
    probability, perplexity = check.unpack(student.answers.sentence_probability(), 2, "the probability and perplexity")
    number = check.number(probability, "the probability")
    check.that(0 <= number <= 1, "the probability should be a number from 0 to 1")
    check.that(check.number(perplexity, "the perplexity") >= 1, "the perplexity should be at least 1")


@item("paper_ngrams")
@weight(0.5)
def test_add_one_gives_probabilities(student, check):
    """Three numbers from 0 to 1: the form only; the values are compared when you hand in."""
    probabilities(check, student.answers.add_one(), 3, "the smoothed probabilities")


@item("paper_ngrams")
def test_next_word_after_cows_eat(student, check):
    """Corn came 4 times of 11. The counts are the same afterwards."""
    counts = {"corn": 4, "grass": 3, "hay": 2, "if": 1, "which": 1}
    given = student.put(counts)
    check.close(student.answers.next_word_probability(given, "corn"), 4 / 11, "p(corn | cows eat)", rtol=1e-9)
    check.equal(student.get(given), counts, "the counts afterwards")


# --- paper_perplexity


@item("paper_perplexity")
@pytest.mark.parametrize("k", [1, 2, 54], ids=["k1", "k2", "k54"])
def test_uniform_perplexity_of_the_farm(student, check, k):
    """As many choices as there are words."""
    check.close(student.answers.uniform_perplexity(k), k, "the perplexity", rtol=1e-9)


@item("paper_perplexity")
def test_two_level_perplexity_of_halves_and_quarters(student, check):
    """The examples of the docstring; where both levels are the same, it is a uniform model."""
    check.close(student.answers.two_level_perplexity(0.25, 2, 8), 2**2.5, "the perplexity", rtol=1e-9)
    check.close(student.answers.two_level_perplexity(0.5, 2, 8), 4, "the perplexity", rtol=1e-9)
    check.close(student.answers.two_level_perplexity(0.3, 7, 7), 7, "the perplexity", rtol=1e-9)


@item("paper_perplexity")
def test_bits_saved_by_the_rnn(student, check):
    """From the 6-gram to the RNN, as the lecture prints it, and a digit or two more."""
    got = check.unpack(student.answers.bits_saved(2.856, 2.540, 11.6), 4, "the result")
    printed = (
        ("bits a prediction", 0.16917),
        ("nats a prediction", 0.11726),
        ("bits a sentence", 1.9623),
        ("factor", 3.897),
    )
    for value, (what, expected) in zip(got, printed, strict=True):
        check.close(value, expected, what, rtol=2e-3)


# --- paper_parameters


@item("paper_parameters")
def test_parameters_of_the_rnn(student, check):
    """The farm's model, and a large one, not tied and tied."""
    parameters = student.answers.rnn_lm_parameters
    check.close(parameters(56, 32, 64), 11_640, "the number of parameters", rtol=1e-9)
    check.close(parameters(50_000, 1024, 1024), 104_548_176, "the number of parameters", rtol=1e-9)
    check.close(parameters(50_000, 1024, 1024, True), 53_348_176, "the number of parameters, tied", rtol=1e-9)


@item("paper_parameters")
def test_share_of_embedding_and_output(student, check):
    """98.0 % of the large model."""
    check.close(student.answers.output_share(50_000, 1024, 1024), 0.980, "the share", rtol=1e-3)


@item("paper_parameters")
def test_sizes_of_the_lectures(student, check):
    """Ten matrices instead of one, the table of all trigrams, and the window of four words."""
    check.close(student.answers.unshared_recurrence(64, 10), 40_960, "the number of parameters", rtol=1e-9)
    check.close(student.answers.ngram_entries(50_000, 3), 1.25e14, "the number of entries", rtol=1e-9)
    got = student.answers.fixed_window_parameters(10_000, 100, 200, 4)
    check.close(got, 3_080_000, "the number of parameters", rtol=1e-9)


@item("paper_parameters")
@pytest.mark.parametrize(
    ("parameters", "bytes_each", "printed"),
    [(7e9, 16, 104.308), (175e9, 4, 651.926), (175e9, 2, 325.963)],
    ids=["adam", "float32", "bfloat16"],
)
def test_memory_of_large_models(student, check, parameters, bytes_each, printed):
    """Seven billion parameters in training, 175 billion at rest."""
    check.close(student.answers.training_memory(parameters, bytes_each), printed, "the memory in GiB", rtol=1e-4)


# --- paper_cost


@item("paper_cost")
def test_passes_and_operations(student, check):
    """Three inputs and a million outputs; a gradient of a thousand numbers."""
    passes = check.unpack(student.answers.jacobian_passes(3, 10**6), 2, "the numbers of passes")
    forward, reverse = (check.number(number, "each number of passes") for number in passes)
    # together: one number by itself, which would be an argument, names no mistake
    check.close(np.array([forward, reverse]), np.array([3.0, 1e6]), "the passes of forward and reverse mode", rtol=1e-9)
    check.close(student.answers.operation_ratio(7), 21 / 8, "the ratio", rtol=1e-9)
    check.close(student.answers.operation_ratio(1000), 375, "the ratio", rtol=1e-9)


@item("paper_cost")
def test_gradient_after_a_hundred_steps(student, check):
    """Nearly nothing, even with a weight above 1; it takes a weight of 2 to keep it."""
    check.close(student.answers.gradient_left(0.9, 0.5, 100), 2.095e-35, "the gradient", rtol=5e-3, atol=0)
    check.close(student.answers.gradient_left(1.1, 0.5, 100), 1.087e-26, "the gradient", rtol=5e-3, atol=0)
    check.close(student.answers.break_even_weight(0.5), 2, "the weight", rtol=1e-9)


@item("paper_cost")
def test_states_and_candidates(student, check):
    """125 MiB, a thirtieth of it with truncation, and the candidates of a beam of five."""
    full, cut = student.answers.hidden_state_bytes(1000, 64, 512), student.answers.hidden_state_bytes(1000, 64, 512, 35)
    check.close(full, 125 * 2**20, "the bytes of all states", rtol=1e-9)
    check.close(cut, 4.375 * 2**20, "the bytes with truncation", rtol=1e-9)
    short = student.answers.hidden_state_bytes(20, 64, 512, 35)  # no more states than steps
    check.close(short, 20 * 2**17, "the bytes with truncation", rtol=1e-9)
    check.close(student.answers.beam_candidates(50_000, 5, 20), 4_800_000, "the number of candidates", rtol=1e-9)
