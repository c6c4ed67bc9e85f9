"""Hidden tests of rnn_lm.npz: how far the model is from the truth on sentences that it has not seen."""

import math
import random

import numpy as np
from gradescope_utils.autograder_utils.decorators import leaderboard, partial_credit

from autograder.feedback import item

# The gap is not estimated from the words that happened to follow but from the true distribution of what may follow:
# so 1,000 sentences are enough to know it to within .002 nats a word (three standard deviations).
SENTENCES, AT_ONCE = 1000, 250
FULL, NONE = 0.03, 0.08  # nats a word
SHARE = 9  # of ten


def divergence(reference, params, sentences, vocab):
    """The Kullback-Leibler divergence of the model from the truth, in nats, summed over all predictions."""
    batch = reference.batching.pad(sentences, vocab)
    truth = np.zeros((*batch.inputs.shape, len(vocab)))
    for row, sentence in enumerate(sentences):
        for time, words in enumerate(reference.truth.next_words(sentence)):
            truth[row, time, [vocab.ids[word] for word in words]] = list(words.values())
    logits, _ = reference.rnn.rnn_forward(batch.inputs, params)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    model = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    possible = truth > 0
    return float((truth[possible] * (np.log(truth[possible]) - model[possible])).sum())


@item("trained_model")
@partial_credit(SHARE)
@leaderboard("gap to the truth, in nats a word", "asc")
def test_the_gap_to_the_truth_is_small(student, reference, rng, check, set_score, set_leaderboard_value):
    """On new sentences the model loses at most 0.03 nats a word against the true probabilities; 0.08 earns nothing."""
    names = reference.weights.NAMES
    found = check.fields(student.weights.load_trained(), names, "what load_trained gives")
    arrays = {name: check.array(found[name], name) for name in names}
    vocab = reference.corpus.vocabulary()
    V, d, H = len(vocab), arrays["E"].shape[-1], arrays["b_h"].shape[-1]
    for name, shape in zip(names, ((V, d), (H, d), (H,), (H, H), (V, H), (V,)), strict=True):
        check.array(arrays[name], name, shape)
    params = reference.types.RNNParams(**arrays)
    stream = random.Random(int(rng.integers(2**62)))
    sentences = [reference.corpus.sample(stream) for _ in range(SENTENCES)]
    with np.errstate(all="ignore"):  # weights may be huge: then what follows is no number
        parts = [sentences[start : start + AT_ONCE] for start in range(0, SENTENCES, AT_ONCE)]
        total = sum(divergence(reference, params, part, vocab) for part in parts)
    gap = total / sum(len(sentence) + 1 for sentence in sentences)
    check.that(math.isfinite(gap), "the model's probabilities are no numbers: its weights are too large")
    check.that(gap < NONE, f"the model loses {gap:.3f} nats a word against the truth; below {NONE} it earns points")
    set_score(SHARE * min(1.0, (NONE - gap) / (NONE - FULL)))
    if student.weights.on_leaderboard():
        set_leaderboard_value(round(gap, 4))
