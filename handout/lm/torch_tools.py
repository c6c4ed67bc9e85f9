"""What the PyTorch part shares: states of any shape, batches as tensors, arrays in and out of models. All given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def load(model: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Copy arrays into the parameters of these names, in the parameters' own type: ``load(model, {"W_hy.bias": b_y})``.

    Raises:
        ValueError: ``named_parameters`` knows no such name (what is not registered nobody finds), or the shape differs.
    """
    parameters = dict(model.named_parameters())
    for name, array in arrays.items():
        if name not in parameters:
            raise ValueError(f"the model has no parameter {name}, it has {', '.join(parameters) or 'none'}")
        if parameters[name].shape != array.shape:
            raise ValueError(f"{name} has the shape {tuple(parameters[name].shape)}, the array {array.shape}")
        with torch.no_grad():
            parameters[name].copy_(torch.from_numpy(np.array(array)))


def run_backward(
    model: nn.Module,
    inputs: torch.Tensor,
    state: torch.Tensor | None = None,
    by_logits: torch.Tensor | None = None,
    by_state: torch.Tensor | None = None,
) -> dict[str, np.ndarray | None]:
    """Run a model forwards and backwards, and show all that arrives, to be compared with an array version.

    Args:
        model: called as ``model(inputs, state)``, returns (logits, state). Gradients that it holds are thrown away.
        inputs: (B, T), ids.
        state: the state before the first word, a tensor; None for the start of a text.
        by_logits, by_state: gradients of a loss by the logits, and by the state after the last word; None for neither.

    Returns:
        Arrays by name: "logits"; "state", that after the last word; each parameter's gradient under its name; and
        "state before", the gradient by the given state, if its numbers are real ones. A gradient may be None.

    Raises:
        RuntimeError: nothing leads back from what the model returned.
    """
    model.zero_grad()
    if state is not None and state.is_floating_point():
        state = state.clone().requires_grad_()
    logits, after = model(inputs, state)
    for name, end, gradient in (("logits", logits, by_logits), ("state", after, by_state)):
        if gradient is not None:
            if not end.requires_grad:
                raise RuntimeError(f"the {name} that the model returned does not lead back to its parameters")
            end.backward(gradient, retain_graph=True)
    shown = {"logits": logits.numpy(force=True), "state": after.numpy(force=True), **grads(model)}
    if state is not None and state.is_floating_point():
        shown["state before"] = None if state.grad is None else state.grad.numpy(force=True)
    return shown
