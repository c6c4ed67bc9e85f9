"""The weights of the RNN language model: fresh ones, and ``rnn_lm.npz``. Given: there is nothing to fill in here."""

from __future__ import annotations

import zipfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from .types import RNNParams

NAMES = tuple(field.name for field in fields(RNNParams))
WEIGHTS = "rnn_lm.npz"
MAX_BYTES = 1_000_000  # of the file, and of what it holds
MAX_STATE = 256


def init_params(rng: np.random.Generator, vocabulary: int = 56, embedding: int = 32, hidden: int = 64) -> RNNParams:
    """Random parameters of V words, embeddings of d and a state of H numbers.

    E is drawn from the standard normal distribution; W_xh and b_h evenly from +-1/sqrt(d); W_hh, W_hy and b_y evenly
    from +-1/sqrt(H). With the default sizes there are 11,640.
    """

    def uniform(bound: int, *shape: int) -> np.ndarray:
        return rng.uniform(-(bound**-0.5), bound**-0.5, size=shape)

    return RNNParams(
        E=rng.normal(size=(vocabulary, embedding)),
        W_xh=uniform(embedding, hidden, embedding),
        b_h=uniform(embedding, hidden),
        W_hh=uniform(hidden, hidden, hidden),
        W_hy=uniform(hidden, vocabulary, hidden),
        b_y=uniform(hidden, vocabulary),
    )


def save_weights(params: RNNParams, path: Path) -> None:
    """Write the six arrays, as float32, which takes half the room and costs no accuracy that matters."""
    arrays: dict[str, Any] = {name: np.asarray(getattr(params, name), dtype=np.float32) for name in NAMES}
    np.savez_compressed(path, **arrays)


def load_weights(path: Path, vocabulary: int = 56) -> RNNParams:
    """Read and check what ``save_weights``, or PyTorch and ``numpy.savez``, has written.

    Args:
        path: an .npz file of at most 1 MB with the arrays E (V, d), W_xh (H, d), b_h (H,), W_hh (H, H), W_hy (V, H)
            and b_y (V,), float32 or float64, all finite; d and H are at most 256. Other arrays are not read.
        vocabulary: V.

    Raises:
        ValueError: with one line that says what is wrong with the file.
        FileNotFoundError: there is none.
    """
    _check_file(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [name for name in NAMES if name not in archive.files]
            if missing:
                raise ValueError(f"{path.name} has no array {', '.join(missing)}")
            arrays = {name: archive[name] for name in NAMES}
    except (zipfile.BadZipFile, EOFError, OSError, KeyError) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    for name, array in arrays.items():
        if array.dtype not in (np.float32, np.float64):
            raise ValueError(f"{path.name}: {name} should be of float32 or float64, not {array.dtype}")
        if not np.isfinite(array).all():
            raise ValueError(f"{path.name}: {name} holds numbers that are not finite")
    if arrays["W_xh"].ndim != 2:
        raise ValueError(f"{path.name}: W_xh should have two axes")
    hidden, embedding = arrays["W_xh"].shape
    if not 0 < max(hidden, embedding) <= MAX_STATE:
        raise ValueError(f"{path.name}: d and H should be at most {MAX_STATE}, not {embedding} and {hidden}")
    shapes = ((vocabulary, embedding), (hidden, embedding), (hidden,), (hidden, hidden), (vocabulary, hidden))
    for name, shape in zip(NAMES, (*shapes, (vocabulary,)), strict=True):
        if arrays[name].shape != shape:
            raise ValueError(f"{path.name}: {name} should have shape {shape}, not {arrays[name].shape}")
    return RNNParams(**{name: array.astype(float) for name, array in arrays.items()})


def _check_file(path: Path) -> None:
    """Before anything is unpacked: the file and what it says to hold are small."""
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ValueError(f"{path.name} has {size} bytes, more than {MAX_BYTES}")
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist() if entry.filename[:-4] in NAMES)
    except zipfile.BadZipFile:
        raise ValueError(f"{path.name} is no .npz file") from None
    if unpacked > 2 * MAX_BYTES:
        raise ValueError(f"{path.name} holds arrays of {unpacked} bytes, more than {2 * MAX_BYTES}")
