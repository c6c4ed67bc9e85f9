"""Public tests of rnn_lm.npz, the weights that were trained."""

import numpy as np
from gradescope_utils.autograder_utils.decorators import weight

from autograder.feedback import item

START, THE = 1, 54  # ids of <s> and "the"


@item("trained_model")
@weight(1)
def test_the_model_knows_how_sentences_begin(student, check):
    """The form of the file, and "the" as the first word; how good the model is is measured when you hand it in."""
    names = ("E", "W_xh", "b_h", "W_hh", "W_hy", "b_y")
    params = check.fields(student.weights.load_trained(), names, "what load_trained gives")
    E, W_xh, b_h, _, W_hy, b_y = (check.array(params[name], name) for name in names)
    with np.errstate(all="ignore"):
        logits = W_hy @ np.tanh(W_xh @ E[START] + b_h) + b_y  # the state before is zeros
        odds = np.exp(logits - logits[THE])
        check.that(bool(1 / odds.sum() > 0.9), 'the model should give "the" more than 0.9 at the start of a sentence')
