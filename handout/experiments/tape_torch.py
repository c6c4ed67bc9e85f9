"""Experiment 3, the step that needs PyTorch: its gradients and those of the tape are the same. Given."""

from __future__ import annotations

from typing import Any

import numpy as np
from lm.types import RNNParams

from .run import Run
from .tape_tools import NAMES, gradients, sentence, small_params


def against_pytorch(run: Run) -> None:
    """PyTorch, in float64, has the same gradients by all six parameters."""
    import torch
    from torch.nn.functional import cross_entropy as loss_of

    inputs, targets = sentence()
    arrays = small_params(run.rng("sentence"))
    loss, ours = gradients(arrays)
    p = RNNParams(**{name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()})
    h = torch.zeros(len(arrays["b_h"]), dtype=torch.float64)
    logits = []
    for word in inputs:
        h = torch.tanh(p.W_xh @ p.E[word] + p.W_hh @ h + p.b_h)
        logits.append(p.W_hy @ h + p.b_y)
    theirs = loss_of(torch.stack(logits), torch.tensor(targets))
    theirs.backward()
    rows: list[list[Any]] = []
    for name in NAMES:
        gradient = getattr(p, name).grad.numpy()
        largest, difference = (float(np.abs(x).max()) for x in (gradient, gradient - ours[name]))
        rows.append([name, str(gradient.shape), largest, difference])
    run.table("against-pytorch", ["parameter", "shape", "largest gradient", "largest difference"], rows)
    run.look(
        "nobody wrote backpropagation through time: a loop and a tape are enough",
        "没有人写过 BPTT 的代码：一个循环加一条磁带就够了",
    )
    run.figure("4.9 sentence: loss, tape against PyTorch", abs(loss - theirs.item()), 0, 1e-12)
    run.figure("4.9 sentence: gradients, tape against PyTorch", max(row[3] for row in rows), 0, 1e-12, "6.9e-15")
