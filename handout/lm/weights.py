"""The weights of the RNN language model: fresh ones, and ``rnn_lm.npz``. Given: there is nothing to fill in here."""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from .types import RNNParams

NAMES = tuple(field.name for field in fields(RNNParams))
WEIGHTS = "rnn_lm.npz"
LEADERBOARD = "leaderboard"
MAX_BYTES = 1_000_000  # of the file
MAX_ENTRIES = 32
MAX_SIZE = 256  # of d and of H
HEADER = 1_000  # bytes that are enough for what stands before an array's numbers

# Whatever a damaged or hostile zip makes zipfile raise.
BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)


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


def join_leaderboard(path: Path = Path(WEIGHTS)) -> None:
    """Put an entry ``leaderboard`` into the file: that you want its result to stand on the course's leaderboard."""
    with np.load(path) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    np.savez_compressed(path, **{**arrays, LEADERBOARD: True})


def find_weights() -> Path:
    """The trained weights: ``rnn_lm.npz`` in this folder or, where training puts it, beside it.

    Raises:
        NotImplementedError: there are none yet.
    """
    here = Path(__file__).resolve().parent
    for path in (here / WEIGHTS, here.parent / WEIGHTS):
        if path.exists():
            return path
    raise NotImplementedError(f"trained_model: there is no {WEIGHTS} yet")


def load_trained() -> RNNParams:
    """``load_weights`` of the file that ``find_weights`` finds."""
    return load_weights(find_weights())


def on_leaderboard() -> bool:
    """Whether the file that ``find_weights`` finds has an entry ``leaderboard``."""
    return f"{LEADERBOARD}.npy" in _unpacked(find_weights(), 0)


def load_weights(path: Path, vocabulary: int = 56) -> RNNParams:
    """Read and check what ``save_weights`` has written, or ``numpy.savez`` after training with any library.

    The file may come from anybody: nothing in it is executed, and no more is unpacked than arrays of these sizes take.

    Args:
        path: an .npz file of at most 1 MB with the arrays E (V, d), W_xh (H, d), b_h (H,), W_hh (H, H), W_hy (V, H)
            and b_y (V,), float32 or float64, all finite; d and H are at most 256. Other arrays are not read.
        vocabulary: V.

    Returns:
        The parameters, in float64.

    Raises:
        ValueError: with one line that says what is wrong with the file.
        FileNotFoundError: there is none.
    """
    largest = max(MAX_SIZE, vocabulary) * MAX_SIZE * 8 + HEADER
    entries = _unpacked(path, largest)
    missing = [name for name in NAMES if f"{name}.npy" not in entries]
    if missing:
        raise ValueError(f"{path.name} has no array {', '.join(missing)}: the names are {', '.join(NAMES)}")
    arrays = {}
    for name in NAMES:
        if len(entries[f"{name}.npy"]) > largest:
            raise ValueError(f"{path.name}: {name} is too large: d and H are at most {MAX_SIZE}")
        try:
            arrays[name] = _array(entries[f"{name}.npy"])
        except ValueError as error:
            raise ValueError(f"{path.name}: {name} {error}") from None
    sizes = {"V": vocabulary, "d": arrays["E"].shape[-1], "H": arrays["b_h"].shape[-1]}
    if max(sizes["d"], sizes["H"]) > MAX_SIZE:
        raise ValueError(f"{path.name}: d and H are at most {MAX_SIZE}, not {sizes['d']} and {sizes['H']}")
    for name, axes in zip(NAMES, ("Vd", "Hd", "H", "HH", "VH", "V"), strict=True):
        shape = tuple(sizes[axis] for axis in axes)
        if arrays[name].shape != shape:
            wanted = f"({', '.join(axes)}) = {shape}"
            raise ValueError(f"{path.name}: {name} should have shape {wanted}, not {arrays[name].shape}")
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{path.name}: {name} holds numbers that are not finite: the training has diverged")
    return RNNParams(**arrays)


def _unpacked(path: Path, largest: int) -> dict[str, bytes]:
    """The entries of an .npz file by name; those of the six arrays with at most ``largest`` + 1 bytes, others empty."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{path.name} has more than {MAX_BYTES:,} bytes: save float32 numbers, compressed")
    wanted = [f"{name}.npy" for name in NAMES]
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            count = len(archive.namelist())
            entries = {entry.filename: b"" for entry in archive.infolist()[:MAX_ENTRIES]}
            for name in entries.keys() & wanted if largest else ():
                entry = archive.getinfo(name)
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise zipfile.BadZipFile  # other methods ask for memory of their own choice
                with archive.open(entry) as member:
                    entries[name] = member.read(largest + 1)  # its size may be a lie
    except BAD_ZIP:
        raise ValueError(f"{path.name} is no .npz file, or a damaged one") from None
    if count > MAX_ENTRIES:
        raise ValueError(f"{path.name} has {count} entries, more than {MAX_ENTRIES}")
    return entries


def _array(content: bytes) -> np.ndarray:
    """The array of a .npy file, in float64; its header is not believed. ValueError continues a sentence."""
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except Exception:  # what the parser of a text that anybody may have written raises
        raise ValueError("is no array of numpy") from None
    if dtype.hasobject:
        raise ValueError("holds pickled Python objects, which are never loaded: save an array of numbers")
    if dtype.kind != "f" or dtype.itemsize not in (4, 8):
        raise ValueError(f"should be of float32 or float64, not {dtype.name}")
    numbers = content[file.tell() :]
    if len(shape) not in (1, 2) or min(shape) < 1:
        raise ValueError("should have one or two axes, none of them empty")
    if len(numbers) != math.prod(shape) * dtype.itemsize:
        raise ValueError("holds more or fewer numbers than its shape says")
    return np.frombuffer(numbers, dtype).reshape(shape, order="F" if fortran else "C").astype(float)
