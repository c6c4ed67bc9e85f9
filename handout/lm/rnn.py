# Handout version 2026.11
"""The Elman RNN language model: forward, loss, backpropagation through time (BPTT), truncated BPTT.

    h_t = tanh(W_xh E[inputs_t] + W_hh h_(t-1) + b_h),    logits_t = W_hy h_t + b_y

All arrays have the batch first: B sequences of T words, padded on the right. ``inputs[:, t]`` is read and gives the
state ``h[:, t + 1]``, from which ``targets[:, t]`` is predicted. Weights are (out, in): rows are multiplied by ``W.T``.
All numbers are float64; no function changes its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .types import RNNCache, RNNGradients, RNNParams, StepGradients


def rnn_step_forward(x: np.ndarray, h_prev: np.ndarray, params: RNNParams) -> np.ndarray:
    """One step: from the state before a word to the state after it.

    Args:
        x: (B, d), the embeddings of the words.
        h_prev: (B, H), the states before.
        params: its W_xh (H, d), b_h (H,) and W_hh (H, H) matter here.

    Returns:
        (B, H), the states after: tanh(W_xh x + W_hh h_prev + b_h), row by row.

    With d = H = 1, W_xh = 1, W_hh = 0.5, b_h = 0, x = 1 and h_prev = 1 it is tanh(1.5) = 0.9051.

    Common trap: the state is the output of tanh, not what goes into it.
    """
    raise NotImplementedError("rnn_step: rnn_step_forward")


def rnn_forward(inputs: np.ndarray, params: RNNParams, h0: np.ndarray | None = None) -> tuple[np.ndarray, RNNCache]:
    """Read B sequences of T words and give the logits of each next word.

    Args:
        inputs: (B, T), ids.
        params: the parameters.
        h0: (B, H), the states before the first word; None for zeros.

    Returns:
        (logits, cache): logits (B, T, V), where ``logits[:, t]`` has seen ``inputs[:, : t + 1]`` and nothing later;
        and an ``RNNCache`` of inputs, their embeddings and all T + 1 states, ``h[:, 0]`` being h0. Each call
        starts afresh and returns new arrays.

    Common trap: the logits of time t are made from the state *after* word t, ``h[:, t + 1]``.
    """
    raise NotImplementedError("rnn_forward: rnn_forward")


def masked_cross_entropy(logits: np.ndarray, targets: np.ndarray, mask: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean cross-entropy over the predictions that count, and its gradient.

    Args:
        logits: (B, T, V); any size of number, so nothing may overflow.
        targets: (B, T), ids; where the mask is False any id from 0 to V - 1.
        mask: (B, T), bool; False for padding.

    Returns:
        (loss, dlogits): the mean of -log softmax(logits)[target] over all entries where the mask is True, of the whole
        batch, in nats; and the gradient of that mean by the logits, (B, T, V), zeros where the mask is False. Where the
        mask is False everywhere: 0.0 and zeros.

    With V = 2, all logits 0 and three predictions that count, the loss is log 2, and dlogits is -1/6 at each target.

    Common trap: divide by the number of predictions that count, not by B * T, and not sentence by sentence.
    """
    raise NotImplementedError("masked_loss: masked_cross_entropy")


def rnn_step_backward(
    dh: np.ndarray, x: np.ndarray, h_prev: np.ndarray, h: np.ndarray, params: RNNParams
) -> StepGradients:
    """One step backwards: from the gradient of the loss by the states after it to that by all that went in.

    Args:
        dh: (B, H), the gradient of the loss by h, from everything that used h.
        x: (B, d), h_prev: (B, H): what went into the step.
        h: (B, H): what came out, ``rnn_step_forward(x, h_prev, params)``.
        params: as in the step.

    Returns:
        ``StepGradients``: by x and h_prev row by row; by W_xh, b_h and W_hh summed over the batch.

    Common trap: dh has to go through the derivative of tanh, 1 - h^2, before anything else.
    """
    raise NotImplementedError("rnn_step_backward: rnn_step_backward")


def rnn_backward(dlogits: np.ndarray, cache: RNNCache, params: RNNParams) -> RNNGradients:
    """Backpropagation through time: the gradient of the loss by all parameters and by h0.

    Args:
        dlogits: (B, T, V), the gradient of the loss by the logits.
        cache: what ``rnn_forward`` kept.
        params: the parameters of that forward pass.

    Returns:
        ``RNNGradients``. A parameter that is used at every step gets the sum over all steps; a word that occurs twice
        gets both gradients in its row of E. Nothing is clipped, and nothing is kept for the next call.

    Going back from the last step, the gradient by a state is that of its own logits plus what comes back from the step
    after it. ``dlogits`` holds the first part only.

    Common trap: the gradient by W_hh at step t needs the state *before* the step, ``cache.h[:, t]``.
    """
    raise NotImplementedError("bptt: rnn_backward")


def tbptt(
    inputs: np.ndarray,
    targets: np.ndarray,
    mask: np.ndarray,
    params: RNNParams,
    k: int,
    h0: np.ndarray | None = None,
) -> Iterator[tuple[float, RNNGradients]]:
    """Truncated BPTT: a long sequence in chunks of k steps. The state goes on, the gradient does not.

    Args:
        inputs, targets, mask: (B, T), as in ``rnn_forward`` and ``masked_cross_entropy``. The mask says what counts in
            the loss; the state goes on, whatever it says.
        params: the parameters. The caller may change its arrays between two chunks, and the next chunk uses them then.
        k: the length of a chunk; the last one may be shorter.
        h0: (B, H), the states before the first word; None for zeros.

    Yields:
        (loss, gradients) of each chunk in turn, as the chunk alone gives them: the mean over its own predictions that
        count, and ``RNNGradients`` (by h0: the state that the chunk began with). Nothing is computed before it is asked
        for.

    Common trap: the next chunk begins with the last state of this one as a plain array: no zeros, and no gradient back.
    """
    raise NotImplementedError("tbptt: tbptt")


def gradient_norms(inputs: np.ndarray, target: np.ndarray, params: RNNParams) -> np.ndarray:
    """How much of a prediction's gradient is left, d steps back: || d log p(target | inputs) / d h_(T-d) ||.

    Args:
        inputs: (B, T), prefixes of the same length; h0 is zeros.
        target: (B,), the word that follows each, an id.
        params: the parameters.

    Returns:
        (B, T): entry d is the norm of the gradient by the state after word T - 1 - d; d = 0 is the last state, from
        which the prediction is made, d = T - 1 the state after the first word.

    If W_hh is rho times an orthogonal matrix and all states are close to 0, entry d is close to rho^d times entry 0.

    Common trap: the loss is one prediction, the last. The other words are read, not predicted.
    """
    raise NotImplementedError("gradient_through_time: gradient_norms")


def spectral_radius(W: np.ndarray) -> float:
    """The largest absolute value of an eigenvalue of a square matrix. Eigenvalues may be complex.

    >>> round(spectral_radius(np.array([[0.0, 2.0], [-2.0, 0.0]])), 9)
    2.0

    Common trap: it is not the largest singular value, and not the largest eigenvalue that is real.
    """
    raise NotImplementedError("gradient_through_time: spectral_radius")
