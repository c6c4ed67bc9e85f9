"""The LSTM (Hochreiter and Schmidhuber, 1997, with a forget gate): one step, and a language model around it."""

from __future__ import annotations

import torch


def lstm_cell(
    x: torch.Tensor,
    h: torch.Tensor,
    c: torch.Tensor,
    W_xh: torch.Tensor,
    W_hh: torch.Tensor,
    b: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step."""
    # BEGIN SOLUTION lstm_cell
    i, f, g, o = (x @ W_xh.T + h @ W_hh.T + b).chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
    # END SOLUTION
