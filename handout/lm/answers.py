# Handout version 2026.11
"""The paper questions: what can be worked out by hand, as functions that return the answer.

Work on paper first, then write down either the answer or the formula that gives it. A number may be a ``Fraction``, an
int or a float; it is compared to nine digits, so ``Fraction(2, 3)`` and ``2 / 3`` are right and ``0.667`` is not.

The first three questions are about the text ``CORPUS``, and nothing but it. Each sentence is read with one ``<s>``
before it and one ``</s>`` after it; ``<s>`` is only ever context, ``</s>`` is predicted like a word. On your machine
only the form of these three answers is checked. Their values are compared when you hand in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from .vocab import BOS, EOS

#: An exact answer or a float.
Number = Fraction | float

#: A list of sentences, each a list of words.
CORPUS = [
    sentence.split()
    for sentence in """
    the fly eats corn and grass
    the bat eats hay
    a cow eats grass
    the cow eats corn
    the bat sees corn
    each bat eats flies
    """.strip().splitlines()
]


def bigram_probabilities() -> tuple[Number, Number, Number]:
    """Three bigram probabilities by maximum likelihood (lecture B, exercise 1a), for this text:

        the fly eats corn and grass
        the bat eats hay
        a cow eats grass
        the cow eats corn
        the bat sees corn
        each bat eats flies

    Returns:
        (p(cow | the), p(corn | eats), p(</s> | corn)).

    For the lecture's own three sentences, "the cow eats corn", "the cow eats hay" and "the bat eats flies", the answer
    is (2/3, 1/3, 1).

    Common trap: the end of a sentence follows its last word like any other word; no bigram reaches into the next
    sentence.
    """
    raise NotImplementedError("paper_ngrams: bigram_probabilities")


def sentence_probability() -> tuple[Number, float]:
    """The bigram probability of "the bat eats corn", and its perplexity (exercise 1b), for this text:

        the fly eats corn and grass
        the bat eats hay
        a cow eats grass
        the cow eats corn
        the bat sees corn
        each bat eats flies

    Returns:
        (probability, perplexity): the product of the five predictions (four words and ``</s>``), each by maximum
        likelihood, and that product to the power of -1/5.

    For the lecture's three sentences the answer is (1/9, 9^(1/5) = 1.5518...).

    Common trap: the first word is predicted too, from ``<s>``.
    """
    raise NotImplementedError("paper_ngrams: sentence_probability")


def add_one() -> tuple[Number, Number, Number]:
    """Add-one smoothing of the bigrams, and a word that the text does not have (exercise 1c), for this text:

        the fly eats corn and grass
        the bat eats hay
        a cow eats grass
        the cow eats corn
        the bat sees corn
        each bat eats flies

    The vocabulary is what can be predicted: the different words of the text, and ``</s>``. Smoothing divides the
    probability among the words of the vocabulary; there is no ``<unk>`` for any other word.

    Returns:
        (p(corn | eats), p(fish | eats), p(fish | eats) after "fish" was added to the vocabulary). The text stays as it
        is; every probability is by add-one smoothing.

    For the lecture's three sentences, with their 8 types, the answer is (2/11, 0, 1/12).

    Common trap: what a new type in the vocabulary changes.
    """
    raise NotImplementedError("paper_ngrams: add_one")


def next_word_probability(counts: Mapping[str, int], word: str) -> Number:
    """p(word | context) by maximum likelihood, from how often each word followed that context.

    Args:
        counts: ``{word: how often}`` for every word that followed; at least one. It is not changed.
        word: any word; one that never followed has probability 0.

    After "cows eat" came corn 4 times, grass 3 times, hay twice, "if" and "which" once each: p(corn | cows eat) = 4/11.

    Common trap: divide by the count of everything that followed, this word included.
    """
    raise NotImplementedError("paper_ngrams: next_word_probability")


def uniform_perplexity(k: int) -> Number:
    """The perplexity of a model that gives each of k words the probability 1/k (exercise 2a).

    Args:
        k: how many words there are, 1 or more; the next word is always one of them.

    A uniform model of the 54 words of the farm has perplexity 54.

    Common trap: a perplexity is no cross-entropy.
    """
    raise NotImplementedError("paper_perplexity: uniform_perplexity")


def two_level_perplexity(q: float, a: float, b: float) -> Number:
    """The perplexity of a text in which a share q of the events had probability 1/a, and the rest had 1/b.

    Args:
        q: a share from 0 to 1.
        a, b: positive.

    If half of the events had probability 1/2 and half of them 1/8, the perplexity is 4. If a quarter of them had 1/2
    and the rest 1/8, it is 2^2.5 = 5.657.

    Common trap: perplexity is no arithmetic mean.
    """
    raise NotImplementedError("paper_perplexity: two_level_perplexity")


def bits_saved(before: float, after: float, events: float) -> tuple[Number, Number, Number, Number]:
    """What a lower perplexity means (exercise 2c).

    Args:
        before: perplexity of the old model.
        after: perplexity of the new model on the same text.
        events: predictions in a sentence, on average.

    Returns:
        (bits a prediction, nats a prediction, bits a sentence, factor): by how much the cross-entropy falls, in these
        three units, and by what factor the probability of a sentence of so many predictions rises.

    From 2.856 to 2.540 with 11.6 predictions a sentence: about (0.1692, 0.1173, 1.962, 3.90). These are the lecture's
    models; the 6-gram mixture of part 1 is another one, with 2.870.

    Common trap: all four are zero or one when nothing changes, and which is one?
    """
    raise NotImplementedError("paper_perplexity: bits_saved")


def rnn_lm_parameters(vocabulary: int, embedding: int, hidden: int, tied: bool = False) -> Number:
    """How many numbers an RNN language model learns (exercise 3a, b).

    It has an embedding E (vocabulary, embedding), h_t = tanh(W_xh x_t + b_h + W_hh h_(t-1)) with one bias b_h, and
    logits W_hy h_t + b_y over the vocabulary.

    Args:
        vocabulary, embedding, hidden: sizes.
        tied: W_hy and E are one and the same matrix; asked only where ``embedding`` is ``hidden``.

    (56, 32, 64) gives 11,640; (50,000, 1024, 1024) gives 104,548,176, and tied 53,348,176.

    Common trap: each bias is learned too, and there are two of them.
    """
    raise NotImplementedError("paper_parameters: rnn_lm_parameters")


def output_share(vocabulary: int, embedding: int, hidden: int) -> Number:
    """The share of E, W_hy and b_y among all parameters of that model, not tied (exercise 3b).

    Args:
        vocabulary, embedding, hidden: sizes.

    Returns:
        A number from 0 to 1: (50,000, 1024, 1024) gives 0.980, that is 98.0 %.

    Common trap: everything whose size depends on the vocabulary counts.
    """
    raise NotImplementedError("paper_parameters: output_share")


def unshared_recurrence(hidden: int, steps: int) -> Number:
    """How many numbers W_hh would have if each of so many steps had a matrix of its own (lecture A, 4.1).

    Args:
        hidden: size of the state.
        steps: how many steps, each of which multiplies a state by its own matrix (hidden, hidden).

    A state of 64 over 10 steps gives 40,960 instead of 4,096.

    Common trap: W_hh alone is asked for.
    """
    raise NotImplementedError("paper_parameters: unshared_recurrence")


def ngram_entries(vocabulary: int, n: int) -> Number:
    """How many entries a full table of n-grams has: one for each context of n - 1 words and each next word (3c).

    Args:
        vocabulary: how many words there are; any of them may stand at any place.
        n: 1 or more.

    Trigrams of 50,000 words: 1.25e14.

    Common trap: a trigram has two words of context and one more.
    """
    raise NotImplementedError("paper_parameters: ngram_entries")


def fixed_window_parameters(vocabulary: int, embedding: int, hidden: int, window: int) -> Number:
    """How many numbers a fixed-window language model learns, without biases (lecture A, 3.2).

    The embeddings of the last ``window`` words, side by side, are the input of one hidden layer; from that come the
    logits over the vocabulary. There are no biases.

    Args:
        vocabulary, embedding, hidden: sizes.
        window: how many words it sees.

    (10,000, 100, 200, 4) gives 3,080,000.

    Common trap: the words share one embedding matrix, but in the hidden layer each place has weights of its own.
    """
    raise NotImplementedError("paper_parameters: fixed_window_parameters")


def training_memory(parameters: float, bytes_each: float) -> Number:
    """The memory for so many parameters, in GiB (exercise 10b). 1 GiB is 2^30 bytes.

    Args:
        parameters: how many there are.
        bytes_each: bytes a parameter: 16 for training with Adam in mixed precision, 2 for weights alone in bfloat16.

    7e9 parameters of 16 bytes take 104.31 GiB; the weights of 175e9 take 651.93 GiB at 4 bytes and 325.96 at 2.

    Common trap: GiB, not GB.
    """
    raise NotImplementedError("paper_parameters: training_memory")


def jacobian_passes(inputs: int, outputs: int) -> tuple[Number, Number]:
    """How many passes the full Jacobian of a function takes, by mode (exercise 6a).

    Args:
        inputs: how many numbers go in.
        outputs: how many come out.

    Returns:
        (passes of the forward mode, passes of the reverse mode), for any Jacobian: sparsity is not made use of.

    A simulator with 3 parameters and 1,000,000 grid points: 3 passes or 1,000,000.

    Common trap: which mode gives a column, which one a row?
    """
    raise NotImplementedError("paper_cost: jacobian_passes")


def operation_ratio(n: int) -> Number:
    """How many times more operations forward mode needs than reverse mode, for the gradient of a function of n inputs.

    Counted as in lecture B, 5.4, for f(x) = sum of sin(x_i) x_(i+1): a pass of the forward mode takes 3n operations,
    and there is one for each input; the reverse mode takes 3n for its forward pass and 5n for the pass back.

    For n = 1000 the ratio is 375.

    Common trap: the reverse mode has to compute the function, too.
    """
    raise NotImplementedError("paper_cost: operation_ratio")


def gradient_left(weight: float, slope: float, steps: int) -> Number:
    """What is left of a gradient of 1 that goes back through so many steps of an RNN with one unit.

    Args:
        weight: the recurrent weight, positive.
        slope: the derivative of the activation, positive, and the same at each step.
        steps: how many steps; each multiplies the gradient by both.

    A slope of 0.5 and 100 steps: 2.10e-35 for a weight of 0.9, and 1.09e-26 for a weight of 1.1.

    Common trap: a weight above 1 alone does not make a gradient grow.
    """
    raise NotImplementedError("paper_cost: gradient_left")


def break_even_weight(slope: float) -> Number:
    """The positive weight of that unit with which a gradient neither shrinks nor grows.

    Args:
        slope: the derivative of the activation, positive, and the same at each step.

    For a slope of 0.5 it is 2.

    Common trap: it does not depend on the number of steps.
    """
    raise NotImplementedError("paper_cost: break_even_weight")


def hidden_state_bytes(steps: int, batch: int, hidden: int, truncation: int | None = None) -> Number:
    """The bytes of the states h_1, ..., h_T that backpropagation through time keeps, in float32.

    Args:
        steps: T, the length of the sequence.
        batch: how many sequences go together.
        hidden: size of a state.
        truncation: with truncated backpropagation, the number of steps that are kept at a time. It may be larger than
            ``steps``; then there are only ``steps`` states to keep. None for all of them.

    (1000, 64, 512) takes 125 MiB = 131,072,000 bytes; with truncation after 35 steps 4.375 MiB = 4,587,520 bytes.

    Common trap: a float32 has 4 bytes.
    """
    raise NotImplementedError("paper_cost: hidden_state_bytes")


def beam_candidates(vocabulary: int, beam: int, steps: int) -> Number:
    """How many candidates a beam search scores.

    It starts with one empty hypothesis. In each step every hypothesis is continued by each word of the vocabulary, each
    continuation is one candidate, and the best ``beam`` candidates are the hypotheses of the next step. No hypothesis
    ends before the last step.

    Args:
        vocabulary: how many words there are, not fewer than ``beam``.
        beam: how many hypotheses are kept.
        steps: how many steps, 1 or more.

    (50,000, 5, 20) gives 4,800,000.

    Common trap: how many hypotheses are there in the first step?
    """
    raise NotImplementedError("paper_cost: beam_candidates")
