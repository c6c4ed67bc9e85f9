"""What the PyTorch part shares: states of any shape, batches as tensors, gradients by name. Given: nothing to fill in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from .batching import Batch

#: What a model carries from one call to the next: a tensor, a tuple of them (an LSTM has two), or None.
State = Any


def map_state(function: Callable[[torch.Tensor], torch.Tensor], state: State) -> State:
    """The state with ``function`` applied to each of its tensors: ``map_state(torch.Tensor.clone, state)``."""
    if state is None:
        return None
    if isinstance(state, torch.Tensor):
        return function(state)
    return tuple(map_state(function, part) for part in state)


def tensors(batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs, targets and mask of a batch as tensors: int64, int64, bool."""
    inputs, targets, mask = (torch.from_numpy(np.ascontiguousarray(array)) for array in batch)
    return inputs, targets, mask


def grads(model: nn.Module) -> dict[str, np.ndarray | None]:
    """The gradient of each parameter by name, as an array of its own; None where there is none."""
    return {
        name: None if parameter.grad is None else parameter.grad.numpy(force=True).copy()
        for name, parameter in model.named_parameters()
    }
