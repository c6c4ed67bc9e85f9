# Handout version 2026.11
"""Language models in PyTorch: a window of words, an RNN, and the loops that train and evaluate any of them.

A model is an ``nn.Module`` that is called as ``model(inputs, state)`` and returns ``(logits, state)``: inputs (B, T)
are ids, logits (B, T, V) say what follows each of them, and the state is what the next call needs to go on from there;
None is the state at the start of a text. Autograd does the backward pass, so what is left is to build the right graph.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from .torch_tools import State, map_state
from .vocab import Vocab

BOS_ID = Vocab([]).ids["<s>"]


class FixedWindowLM(nn.Module):
    """The neural language model of Bengio et al. (2003), without the direct connections of its equation (1).

        h_t = tanh(W_h [E[w_(t-3)]; E[w_(t-2)]; E[w_(t-1)]; E[w_t]] + b_h),    logits_t = W_hy h_t + b_y

    for a window of 4: the embeddings of the last words, oldest first, in one long vector.

    Attributes:
        window: n, how many words a prediction looks at.
        E: ``nn.Embedding``, (V, d).
        W_h: ``nn.Linear`` from n d to H numbers, with a bias.
        W_hy: ``nn.Linear`` from H to V numbers, with a bias.
    """

    def __init__(self, vocab_size: int, embed_dim: int, hidden_dim: int, window: int = 4) -> None:
        """Make the layers, in the order E, W_h, W_hy, with PyTorch's own initialisation.

        Args:
            vocab_size: V.
            embed_dim: d.
            hidden_dim: H.
            window: n, at least 1.

        The model has V d + n d H + H V weights and H + V biases, and ``parameters()`` finds them all.

        Common trap: only what is an attribute, and a module or an ``nn.Parameter``, is found by the optimiser.
        """
        super().__init__()
        raise NotImplementedError("fixed_window: FixedWindowLM.__init__")

    def forward(self, inputs: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits of each next word.

        Args:
            inputs: (B, T), ids.
            state: (B, n - 1), the ids of the words just before the inputs; None at the start of a text, where the
                window is filled up with ``<s>`` (id 1) on the left.

        Returns:
            (logits, state): logits (B, T, V), where ``logits[:, t]`` has seen ``inputs[:, t]`` and the n - 1 words
            before it, nothing else; and the last n - 1 ids of all, for the next call.

        Common trap: ``inputs[:, t]`` itself is the last word of the window, not the first one after it.
        """
        raise NotImplementedError("fixed_window: FixedWindowLM.forward")


class VanillaRNNLM(nn.Module):
    """The RNN language model of part 4 as a module, written out: no ``nn.RNN``, no ``nn.RNNCell``.

        h_t = tanh(W_xh E[inputs_t] + b_h + W_hh h_(t-1)),    logits_t = W_hy h_t + b_y

    Attributes:
        E: ``nn.Embedding``, (V, d).
        W_xh: ``nn.Linear`` from d to H numbers; its bias is b_h.
        W_hh: ``nn.Linear`` from H to H numbers, without a bias: one is enough.
        W_hy: ``nn.Linear`` from H to V numbers; its bias is b_y.
    """

    def __init__(self, vocab_size: int, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.E = nn.Embedding(vocab_size, embed_dim)
        self.W_xh = nn.Linear(embed_dim, hidden_dim)
        self.W_hh = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.W_hy = nn.Linear(hidden_dim, vocab_size)

    def forward(self, inputs: torch.Tensor, state: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits of each next word, as ``rnn_forward`` does it with arrays.

        Args:
            inputs: (B, T), ids; T is at least 1.
            state: (B, H), the states before the first word; None for zeros.

        Returns:
            (logits, state): logits (B, T, V); and the states after the last word, (B, H), part of the graph.
            Works in the type of the parameters, float32 or float64.

        Common trap: a tensor that is written into after a step has read from it cannot go backwards. Collect the states
        in a list, then stack them.
        """
        raise NotImplementedError("vanilla_rnn: VanillaRNNLM.forward")


def train_step(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    mask: torch.Tensor,
    max_norm: float,
) -> float:
    """One step of training on one batch: zero, forward, loss, backward, clip, step.

    Args:
        model: called as ``model(inputs)``, returns (logits, state). It holds no gradients at first; after that it holds
            what the last call left. So zero them first or last, but each call steps with its own gradient only.
        optimiser: of the model's parameters.
        inputs, targets: (B, T), ids.
        mask: (B, T), bool; False for padding, with at least one True.
        max_norm: above 0. If the norm of all gradients together is larger, they are scaled to it. The exact factor of
            ``clip_by_global_norm`` and that of ``torch.nn.utils.clip_grad_norm_`` are both right.

    Returns:
        The loss before the step: the mean cross-entropy in nats of the predictions where the mask is True. A float, on
        which no graph hangs.

    Whether the model is in training mode is the caller's business; a step does not change it.

    Common trap: ``backward`` adds to the gradients that are there.
    """
    raise NotImplementedError("train_step: train_step")


def train_chunks(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    k: int,
    max_norm: float,
) -> list[float]:
    """Truncated BPTT over B long streams: a step of training every k words, the state carried along.

    Args:
        model: called as ``model(inputs, state)``, returns (logits, state).
        optimiser: of the model's parameters.
        inputs, targets: (B, T), ids; row b is one long text (``batchify``), every prediction counts.
        k: the length of a chunk; the last one may be shorter. At least 1.
        max_norm: as in ``train_step``.

    Returns:
        The loss of each chunk before its step: the mean over its own predictions, in nats; floats.

    The first chunk starts with the state None, each other one with the state that the chunk before it ended with. No
    gradient goes back into an earlier chunk. A state is a tensor, a tuple of tensors or None: ``map_state`` knows.
    The model stays in the mode, training or not, in which it came.

    Common trap: a state that was carried along still hangs on the graph of the chunk before.
    """
    raise NotImplementedError("train_chunks: train_chunks")


def evaluate(model: nn.Module, batches: Iterable[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> float:
    """The mean cross-entropy over all predictions of all batches, in nats.

    Args:
        model: called as ``model(inputs)``, returns (logits, state). Each batch starts afresh.
        batches: (inputs, targets, mask) each, as in ``train_step``; batches may differ in size. Gone through once.

    Returns:
        The mean over all predictions where a mask is True, of all batches together; a float. Nothing is recorded for
        gradients. Dropout and the like are off meanwhile (``eval``), and afterwards the model is in the mode in which
        it came, training or not.

    Common trap: the mean of the batches' means counts each word of a small batch for more.
    """
    raise NotImplementedError("evaluate: evaluate")
