"""Files of weights that are right and look different: what the ``[[files]]`` of the catalogue are made by.

Each function gets the solved submission files, ``{"rnn_lm.npz": b"...", ...}``, and returns the content of one file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

Files = Mapping[str, bytes]


def _trained(solved: Files) -> dict[str, Any]:
    """The arrays of the solved file."""
    with np.load(io.BytesIO(solved["rnn_lm.npz"])) as archive:
        return dict(archive)


def double_precision(solved: Files) -> bytes:
    """float64, not compressed, by columns, with the state of an optimiser and the wish to be on the leaderboard."""
    file = io.BytesIO()
    arrays = {name: np.asfortranarray(array, dtype=float) for name, array in _trained(solved).items()}
    np.savez(file, **arrays, **{f"mean_{name}": np.zeros(3) for name in arrays}, steps=6250, leaderboard=True)
    return file.getvalue()


def as_large_as_may_be(solved: Files) -> bytes:
    """d = H = 256, where the numbers that were added do nothing."""
    a = _trained(solved)
    d, H = a["E"].shape[1], len(a["b_h"])
    more_d, more_h = (0, 256 - d), (0, 256 - H)
    widths = {"E": ((0, 0), more_d), "W_xh": (more_h, more_d), "b_h": (more_h,), "W_hh": (more_h, more_h)}
    widths.update(W_hy=((0, 0), more_h), b_y=((0, 0),))
    file = io.BytesIO()
    np.savez(file, **{name: np.pad(array, widths[name]) for name, array in a.items()})
    return file.getvalue()


def mirrored(solved: Files) -> bytes:
    """The same model with the units of the state in another order, and every second one with the other sign."""
    a = _trained(solved)
    order = np.random.default_rng(0).permutation(len(a["b_h"]))
    sign = np.where(np.arange(len(order)) % 2, -1, 1)[:, None]
    file = io.BytesIO()
    a["W_xh"], a["b_h"] = sign * a["W_xh"][order], sign[:, 0] * a["b_h"][order]
    a["W_hh"], a["W_hy"] = sign * a["W_hh"][order][:, order] * sign.T, a["W_hy"][:, order] * sign.T
    np.savez_compressed(file, **a)
    return file.getvalue()
