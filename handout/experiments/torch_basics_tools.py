"""Modules for the experiment on PyTorch: one with parameters of every kind, and a net for the spiral. Given."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy


def chain(value: torch.Tensor) -> str:
    """The recorded operations from a value back to a leaf: ``SumBackward0 <- MulBackward0 <- AccumulateGrad``."""
    names = []
    node: Any = value.grad_fn
    while node is not None:
        names.append(type(node).__name__)
        node = next((before for before, _ in node.next_functions if before is not None), None)
    return " <- ".join(names)


def by_branch(x: torch.Tensor) -> torch.Tensor:
    """The lecture's function: which operations there are depends on the numbers."""
    if x.sum() > 0:  # noqa: SIM108
        y = (x * x).sum()
    else:
        y = torch.sin(x).sum() * 3
    return y


class Kinds(nn.Module):
    """Numbers kept in six ways, all of them used in ``forward``."""

    def __init__(self) -> None:
        super().__init__()
        self.parameter = nn.Parameter(torch.ones(3))
        self.layer = nn.Linear(3, 3, bias=False)
        self.layers = nn.ModuleList([nn.Linear(3, 3, bias=False)])
        self.tensor = torch.ones(3, requires_grad=True)
        self.in_a_list = [nn.Linear(3, 3, bias=False)]
        self.register_buffer("buffer", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) + self.layers[0](x) + self.in_a_list[0](x) + self.parameter + self.tensor + self.buffer

    def kinds(self) -> dict[str, Any]:
        """Each tensor by how it is written in ``__init__``."""
        return {
            "nn.Parameter(..)": self.parameter,
            "nn.Linear(..)": self.layer.weight,
            "nn.ModuleList([nn.Linear(..)])": self.layers[0].weight,
            "torch.ones(.., requires_grad=True)": self.tensor,
            "[nn.Linear(..)]": self.in_a_list[0].weight,
            'register_buffer("buffer", ..)': self.buffer,
        }


class SpiralNet(nn.Module):
    """Two numbers, 16 sigmoids, 3 logits. ``in_a_list`` keeps the hidden layer in a Python list."""

    def __init__(self, in_a_list: bool = False) -> None:
        super().__init__()
        hidden = [nn.Linear(2, 16)]
        self.hidden = hidden if in_a_list else nn.ModuleList(hidden)
        self.out = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.hidden:
            x = torch.sigmoid(layer(x))
        return self.out(x)


def train(
    model: nn.Module, points: np.ndarray, arms: np.ndarray, steps: int, zero: bool = True
) -> tuple[list[float], float]:
    """(losses, accuracy at the end) of Adam on all points at once: the five steps of every training in PyTorch."""
    X, y = torch.tensor(points, dtype=torch.float32), torch.tensor(arms)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _step in range(steps):
        if zero:
            optimiser.zero_grad()  # 1. forget the last gradients
        logits = model(X)  # 2. forwards, and autograd records
        loss = cross_entropy(logits, y)  # 3. the loss
        loss.backward()  # 4. backwards: every parameter's grad
        optimiser.step()  # 5. move the parameters
        losses.append(loss.item())
    with torch.no_grad():
        return losses, float((model(X).argmax(dim=1) == y).float().mean())
