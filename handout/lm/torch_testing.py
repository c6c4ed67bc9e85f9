"""Stand-ins for models and optimisers that tests of the PyTorch part use. Given: nothing to fill in here.

The models are so small that a test can calculate their gradients with a formula. They are called as any other model
of this part, ``model(inputs, state)``, return ``(logits, state)``, and note how they were called. Their parameters are
float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from .torch_tools import State, grads, map_state


def parameter(values: Any) -> nn.Parameter:
    """A parameter in float64, with a copy of these numbers."""
    return nn.Parameter(torch.tensor(np.asarray(values, dtype=np.float64)))


def returned(function: Callable[..., Any], *arguments: Any) -> tuple[Any, bool]:
    """What the function returns, and whether a graph still hangs on it, or on a part of it."""
    value = function(*arguments)
    parts = value if isinstance(value, (list, tuple)) else [value]
    return value, any(isinstance(part, torch.Tensor) and part.requires_grad for part in parts)


class Noting(nn.Module):
    """A model that keeps how it was called. What it answers is up to ``read``, which a subclass has.

    Attributes:
        calls: for each call a dict: ``"state"``, the numbers that came in (or None); ``"training"``, the mode the model
            was in; ``"recorded"``, whether the logits that went out hang on a graph.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[dict[str, Any]] = []

    def read(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        raise NotImplementedError

    def forward(self, inputs: torch.Tensor, state: State = None) -> tuple[torch.Tensor, State]:
        before = map_state(lambda part: part.detach().clone(), state)
        logits, state = self.read(inputs, state)
        self.calls.append({"state": before, "training": self.training, "recorded": logits.requires_grad})
        return logits, state


class Table(Noting):
    """The logits after a word stand in its row of a table; a bias is added to all of them. Its state is None.

    Args:
        table: (V, V), becomes a parameter.
        bias: (V,), becomes a parameter.
        dropout: the share of logits that are set to 0 in training mode. With 1.0 it is all of them, so that each word
            then has probability 1/V.
    """

    def __init__(self, table: Any, bias: Any, dropout: float = 0.0) -> None:
        super().__init__()
        self.table = parameter(table)
        self.bias = parameter(bias)
        self.dropout = nn.Dropout(dropout)

    def read(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        return self.dropout(self.table[inputs] + self.bias), None


class Echo(Noting):
    """Each word that was read echoes on, K times, each time fading at a speed of its own.

        s_k <- decay_k s_k + onehot(word),    logits = (s_1 + ... + s_K) W

    All V numbers of each s_k are 0 at the start. Gradients by the decays go back through time, as those of an RNN do.

    Args:
        weight: W, (V, V), becomes a parameter.
        decays: (K,), becomes a parameter.
        as_tuple: whether the state is a tuple of K tensors (B, V), as an LSTM has two of them; otherwise it is one
            tensor (B, K, V).
    """

    def __init__(self, weight: Any, decays: Any, as_tuple: bool = False) -> None:
        super().__init__()
        self.weight = parameter(weight)
        self.decays = parameter(decays)
        self.as_tuple = as_tuple

    def read(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        words = nn.functional.one_hot(inputs, len(self.weight)).to(self.weight.dtype)
        if state is None:
            echoes = [torch.zeros_like(words[:, 0])] * len(self.decays)
        else:
            echoes = list(state if self.as_tuple else state.unbind(dim=1))
        sums = []
        for word in words.unbind(dim=1):
            echoes = [self.decays[k] * echo + word for k, echo in enumerate(echoes)]
            sums.append(torch.stack(echoes).sum(dim=0))
        return torch.stack(sums, dim=1) @ self.weight, tuple(echoes) if self.as_tuple else torch.stack(echoes, dim=1)


class Clock(Noting):
    """Its state grows by a rate with each word; the logits are the state, plus the word's row of a table.

        h <- h + rate,    logits = h + table[word]

    Autograd keeps no numbers for a sum, so a graph that was gone through once can be gone through again without an
    error: whoever drags it along gets a wrong gradient instead.

    Args:
        rate: (V,), becomes a parameter. The state is a tensor (B, V), zeros at the start.
        table: (V, V), becomes a parameter.
    """

    def __init__(self, rate: Any, table: Any) -> None:
        super().__init__()
        self.rate = parameter(rate)
        self.table = parameter(table)

    def read(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        h = self.rate.new_zeros(len(inputs), len(self.rate)) if state is None else state
        states = []
        for _ in range(inputs.shape[1]):
            h = h + self.rate
            states.append(h)
        return torch.stack(states, dim=1) + self.table[inputs], h


class NotingSGD(torch.optim.SGD):
    """Gradient descent, ``p <- p - lr * gradient``, that keeps the gradients it steps with.

    Attributes:
        gradients: for each step a dict, ``{name of the parameter: its gradient then}``, clipped or not.
    """

    def __init__(self, model: nn.Module, lr: float) -> None:
        super().__init__(model.parameters(), lr=lr)
        self.model = model
        self.gradients: list[dict[str, np.ndarray | None]] = []

    def step(self, closure: Any = None) -> Any:
        self.gradients.append(grads(self.model))
        return super().step(closure)


def run_loss(model: Any, *arguments: torch.Tensor) -> dict[str, np.ndarray | None]:
    """``model.loss(*arguments)`` forwards and backwards: "loss", and under its name each parameter's gradient or None.

    Gradients that the model holds are thrown away.
    """
    model.zero_grad()
    loss = model.loss(*arguments)
    loss.backward()
    return {"loss": loss.numpy(force=True), **grads(model)}
