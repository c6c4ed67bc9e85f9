"""Hidden tests of rnn_lm.npz: how far the model is from the truth on sentences that it has not seen."""

import math
import random

import numpy as np
from gradescope_utils.autograder_utils.decorators import leaderboard, partial_credit

from autograder.feedback import item

# Two models that differ by .02 nats a word differ by about 1 nat from sentence to sentence: with this many
# sentences their mean is known to within .002 (three standard deviations are .005).
SENTENCES = 2000
FULL, NONE = 0.03, 0.08  # nats a word
SHARE = 9  # of ten


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
    stream = random.Random(int(rng.integers(2**62)))
    sentences = [reference.corpus.sample(stream) for _ in range(SENTENCES)]
    predictions = sum(len(sentence) + 1 for sentence in sentences)
    truth = sum(map(reference.truth.log_probability, sentences)) / predictions
    with np.errstate(all="ignore"):  # weights may be huge: then what follows is no number
        loss = reference.train.mean_loss(reference.types.RNNParams(**arrays), sentences, vocab)
    gap = loss + truth
    check.that(math.isfinite(gap), "the model's probabilities are no numbers: its weights are too large")
    check.that(gap < NONE, f"the model loses {gap:.3f} nats a word against the truth; below {NONE} it earns points")
    set_score(SHARE * min(1.0, (NONE - gap) / (NONE - FULL)))
    if student.weights.on_leaderboard():
        set_leaderboard_value(round(gap, 4))
