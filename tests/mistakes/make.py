"""Files of weights that are wrong: what the ``[[files]]`` of the catalogue are made by.

Each function gets the solved submission files, ``{"rnn_lm.npz": b"...", ...}``, and returns the content of one file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

Files = Mapping[str, bytes]


def _trained(solved: Files) -> dict[str, Any]:
    """The arrays of the solved file."""
    with np.load(io.BytesIO(solved["rnn_lm.npz"])) as archive:
        return dict(archive)


def _saved(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def untrained(solved: Files) -> bytes:
    """Random weights, of the size that weights have at first."""
    rng = np.random.default_rng(0)
    return _saved(**{name: rng.uniform(-0.125, 0.125, array.shape) for name, array in _trained(solved).items()})


def one_epoch(solved: Files) -> bytes:
    """From ``python -m lm.train --epochs 1 --hidden 16``."""
    return (Path(__file__).parent / "trained_model" / "one-epoch.npz").read_bytes()


def quantised(solved: Files) -> bytes:
    """Nineteen values for each array, as small files of weights have them: it earns a part of the point."""
    steps = {name: np.abs(array).max() / 9 for name, array in _trained(solved).items()}
    return _saved(**{name: np.round(array / steps[name]) * steps[name] for name, array in _trained(solved).items()})


def diverged(solved: Files) -> bytes:
    """What is left when the loss has become NaN."""
    return _saved(**{name: np.full_like(array, np.nan) for name, array in _trained(solved).items()})


def recurrence_transposed(solved: Files) -> bytes:
    """For ``h @ W_hh``: a square matrix shows nothing of it."""
    arrays = _trained(solved)
    return _saved(**{**arrays, "W_hh": arrays["W_hh"].T})


def all_transposed(solved: Files) -> bytes:
    """Matrices of (in, out), for ``x @ W``."""
    return _saved(**{name: array.T if name.startswith("W") else array for name, array in _trained(solved).items()})


def special_words_last(solved: Files) -> bytes:
    """The words numbered in another order."""
    words = ("E", "W_hy", "b_y")
    return _saved(**{name: np.roll(a, -3, axis=0) if name in words else a for name, a in _trained(solved).items()})


def names_of_pytorch(solved: Files) -> bytes:
    """A state_dict as it is."""
    names = ("embedding.weight", "rnn.weight_ih_l0", "rnn.bias_ih_l0", "rnn.weight_hh_l0", "out.weight", "out.bias")
    return _saved(**dict(zip(names, _trained(solved).values(), strict=True)))


def one_dictionary(solved: Files) -> bytes:
    """``np.savez(path, params=params)`` with a dictionary, which numpy pickles."""
    return _saved(params=np.array(_trained(solved), dtype=object))


def half_precision(solved: Files) -> bytes:
    """float16, to save room."""
    return _saved(**{name: array.astype(np.float16) for name, array in _trained(solved).items()})
