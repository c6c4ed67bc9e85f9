# Handout version 2026.11
"""The LSTM (Hochreiter and Schmidhuber, 1997; with the forget gate of Gers et al., 2000) and a language model of it.

``lstm_cell`` is yours. ``LSTMLM`` around it is complete, and works as soon as the cell does.
"""

from __future__ import annotations

import torch
from torch import nn


def lstm_cell(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    W_xh: torch.Tensor,
    W_hh: torch.Tensor,
    b: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of an LSTM.

        a = W_xh x + W_hh h + b,  cut into four pieces of H numbers: a_i, a_f, a_g, a_o, in this order
        i = sigmoid(a_i),  f = sigmoid(a_f),  g = tanh(a_g),  o = sigmoid(a_o)
        c' = f * c + i * g,    h' = o * tanh(c')

    i, f and o are the input, the forget and the output gate, g is what may be written; ``*`` is entry by entry.

    Args:
        x: (B, d), the input of this step.
        h: (B, H), the hidden state after the step before.
        c: (B, H), the cell after the step before.
        W_xh: (4H, d): its first H rows belong to i, the next to f, then g, then o.
        W_hh: (4H, H), its rows in the same order.
        b: (4H,), likewise. One bias: ``nn.LSTM`` has two and adds them.

    Returns:
        (h', c'), both (B, H), of the type of the arguments, and part of the graph. No argument is changed.

    For B = d = H = 1, x = 1, h = 0, c = 1, W_xh = [[0], [log 3], [0.5], [0]], any W_hh and b = 0: the gates are
    i = 0.5, f = 0.75, o = 0.5, and g = tanh 0.5 = 0.4621. So c' = 0.75 + 0.2311 = 0.9811 and h' = 0.5 tanh 0.9811 =
    0.3768.

    Common trap: texts differ in the order of the gates. Weights in another order have the same shapes.
    """
    raise NotImplementedError("lstm_cell: lstm_cell")


class LSTMLM(nn.Module):
    """A language model of one or more layers of LSTM. Given: the cell is all that it needs.

    Layer 0 reads the embeddings, each other layer the hidden states of the layer below.

    Attributes:
        E: ``nn.Embedding``, (V, d).
        W_xh: of each layer, (4H, d) for layer 0 and (4H, H) for the others; an ``nn.ParameterList``, as the next two.
        W_hh: of each layer, (4H, H).
        b: of each layer, (4H,).
        W_hy: ``nn.Linear`` from H to V numbers, with a bias.
    """

    def __init__(self, vocab_size: int, embed_dim: int, hidden_dim: int, layers: int = 1) -> None:
        """Weights are uniform in +-1/sqrt(H), as in ``nn.LSTM``.

        The biases are 0, but those of the forget gates 1: at first a cell had better keep what it holds (Gers et al.).

        Args:
            vocab_size: V.
            embed_dim: d.
            hidden_dim: H.
            layers: at least 1.
        """
        super().__init__()
        bound = hidden_dim**-0.5
        sizes = [embed_dim] + [hidden_dim] * (layers - 1)
        forget = torch.arange(4 * hidden_dim) // hidden_dim == 1
        self.E = nn.Embedding(vocab_size, embed_dim)
        self.W_xh = nn.ParameterList(torch.empty(4 * hidden_dim, size).uniform_(-bound, bound) for size in sizes)
        self.W_hh = nn.ParameterList(torch.empty(4 * hidden_dim, hidden_dim).uniform_(-bound, bound) for _ in sizes)
        self.b = nn.ParameterList(forget.to(torch.get_default_dtype()) for _ in sizes)
        self.W_hy = nn.Linear(hidden_dim, vocab_size)

    def forward(
        self, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """The logits of each next word.

        Args:
            inputs: (B, T), ids; T is at least 1.
            state: (h, c), each (layers, B, H), as the call before returned it; None for zeros.

        Returns:
            (logits, (h, c)): logits (B, T, V); and the states after the last word, part of the graph.
        """
        x = self.E(inputs)
        zeros = x.new_zeros(len(self.b), len(inputs), self.W_hy.in_features)
        h_first, c_first = (zeros, zeros) if state is None else state
        h_last, c_last = [], []
        for W_xh, W_hh, b, h, c in zip(self.W_xh, self.W_hh, self.b, h_first, c_first, strict=True):
            states = []
            for x_t in x.unbind(dim=1):
                h, c = lstm_cell(x_t, h, c, W_xh, W_hh, b)
                states.append(h)
            x = torch.stack(states, dim=1)
            h_last.append(h)
            c_last.append(c)
        return self.W_hy(x), (torch.stack(h_last), torch.stack(c_last))
