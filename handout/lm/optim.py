# Handout version 2026.11
"""Keeping a step of gradient descent from becoming too long."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np


def clip_by_global_norm(arrays: Iterable[np.ndarray | None], max_norm: float) -> float:
    """Scale gradients in place so that their norm, all taken together, is at most ``max_norm``.

    The norm is the square root of the sum of the squares of all entries of all arrays (Pascanu, Mikolov and Bengio,
    2013, algorithm 1).

    Args:
        arrays: a list, or any other iterable, that is gone through once; of float64 or float32. None stands for a
            parameter without a gradient, and is passed over. An array that occurs twice (the same object) is one array:
            it counts once, and is scaled once.
        max_norm: above 0.

    Returns:
        The norm before, a float.

    If the norm is above ``max_norm``, every entry is multiplied by max_norm / norm; else nothing changes, not by a
    rounding either. If it is infinite or NaN, nothing changes: the caller sees it. Where entries of
    both kinds occur, either will do.

    Gradients explode: the square of an entry may be too large for a float (1e200, or 1e30 in float32), the norm is not.

    [3, 4] and [12] have the norm 13; with max_norm = 1 they become [3/13, 4/13] and [12/13].

    Common trap: one norm for all arrays together, not one for each.
    """
    raise NotImplementedError("clipping: clip_by_global_norm")
