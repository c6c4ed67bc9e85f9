# Handout version 2026.11
"""Sequence to sequence (Sutskever, Vinyals and Le, 2014; Cho et al., 2014): one LSTM reads, another one writes.

The encoder reads the source sentence and keeps nothing of it but its last state. The decoder is a language model of the
target that begins with that state in place of zeros: p(y | x) = prod_t p(y_t | y_1 .. y_(t-1), x).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

#: The state of an LSTM with L layers: h and c, both (L, B, H).
LSTMState = tuple[torch.Tensor, torch.Tensor]


class Seq2Seq(nn.Module):
    """An encoder, a decoder, and all that one tells the other: the state of each layer.

    Attributes:
        E_x: ``nn.Embedding``, (V_x, d), of the source words.
        encoder: ``nn.LSTM`` from d to H numbers with L layers, batch first.
        E_y: ``nn.Embedding``, (V_y, d), of the target words.
        decoder: ``nn.LSTM`` from d to H numbers with L layers, batch first.
        W_hy: ``nn.Linear`` from H to V_y numbers.
    """

    def __init__(self, source_size: int, target_size: int, embed_dim: int, hidden_dim: int, layers: int = 1) -> None:
        super().__init__()
        self.E_x = nn.Embedding(source_size, embed_dim)
        self.encoder = nn.LSTM(embed_dim, hidden_dim, layers, batch_first=True)
        self.E_y = nn.Embedding(target_size, embed_dim)
        self.decoder = nn.LSTM(embed_dim, hidden_dim, layers, batch_first=True)
        self.W_hy = nn.Linear(hidden_dim, target_size)

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> LSTMState:
        """Read the source sentences, from a state of zeros, in the order of their words.

        Args:
            source: (B, S), ids, padded on the right with any ids of the vocabulary.
            mask: (B, S), bool; True for words, False for padding. Each sentence has at least one word.

        Returns:
            (h, c), both (L, B, H), part of the graph: for every layer the state right after the sentence's own last
            word. It is what the encoder would return for that sentence alone, without padding.

        Common trap: an LSTM does not know what padding is, and what it reads changes its state.
        ``nn.utils.rnn.pack_padded_sequence`` tells it where each sentence ends; a loop over time does as well.
        """
        raise NotImplementedError("seq2seq: Seq2Seq.encode")

    def forward(self, source: torch.Tensor, source_mask: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """The logits of each target word, by teacher forcing: the decoder reads the right words, not its own.

        Args:
            source, source_mask: (B, S), as in ``encode``.
            inputs: (B, T), ids of ``<s>`` and the target words; T is at least 1.

        Returns:
            logits (B, T, V_y): ``logits[:, t]`` has seen the whole source and ``inputs[:, : t + 1]``, nothing else.

        Common trap: each layer of the decoder begins with the state of the same layer of the encoder, h and c.
        """
        raise NotImplementedError("seq2seq: Seq2Seq.forward")

    def loss(
        self,
        source: torch.Tensor,
        source_mask: torch.Tensor,
        inputs: torch.Tensor,
        targets: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """The mean of -log p(target word | target words before it, source) over all predictions of the batch, in nats.

        Args:
            source, source_mask, inputs: as in ``forward``.
            targets: (B, T), ids of the target words and ``</s>``, padded with any ids of the vocabulary.
            mask: (B, T), bool; False for padding, with at least one True.

        Returns:
            A tensor without axes, part of the graph: ``backward`` reaches encoder and decoder.

        Common trap: the words of a short sentence count as much as those of a long one, not more.
        """
        raise NotImplementedError("seq2seq: Seq2Seq.loss")


def step(model: Seq2Seq, source: Sequence[int]) -> Callable[[int, LSTMState | None], tuple[np.ndarray, LSTMState]]:
    """One sentence to translate, as ``generate`` and ``beam_search`` take a model. Given.

    Args:
        model: its ``encode`` is called once, here.
        source: the ids of the words of one sentence.

    Returns:
        ``step(word, state) -> (logits, state)``: the logits of the next word, an array (V_y,), after reading one more
        target word. None is the state before ``<s>``: the sentence has been read, and nothing written.

    Nothing is recorded for gradients.
    """
    ids = torch.tensor([list(source)])
    with torch.no_grad():
        start = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))

    def next_word(word: int, state: LSTMState | None) -> tuple[np.ndarray, LSTMState]:
        with torch.no_grad():
            states, after = model.decoder(model.E_y(torch.tensor([[word]])), start if state is None else state)
            return model.W_hy(states[0, 0]).double().numpy(), after

    return next_word
