"""Fingerprints of code: what is left of it when names, strings, comments and spacing are gone.

copydetect tokenizes (names become V, functions F, strings S), so whoever renames changes nothing. Of its output every
run of ``LENGTH`` characters is hashed, and of each ``WINDOW`` neighbours the smallest is kept (winnowing: Schleimer,
Wilkerson and Aiken, SIGMOD 2003): two texts that share LENGTH + WINDOW - 1 characters share a fingerprint. The hash is
our own: Python's differs from run to run, and so would the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...feedback.errors import InputError

LENGTH, WINDOW = 30, 4
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd: nothing is lost modulo 2**64


@dataclass(frozen=True)
class Prints:
    """The fingerprints of a file: hash -> the lines on which it stands, each (first, last), counted from 1."""

    lines: dict[int, tuple[tuple[int, int], ...]]

    @property
    def hashes(self) -> frozenset[int]:
        """Them alone."""
        return frozenset(self.lines)


def fingerprints(source: str) -> Prints:
    """The fingerprints of a Python file; none of one that is shorter than they are.

    Raises:
        InputError: copydetect is not installed.
    """
    try:
        from copydetect.utils import filter_code
    except ImportError:
        raise InputError('comparing needs copydetect: pip install "autograder[similarity]"') from None
    text, offsets = filter_code(source, "submission.py")
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    count = len(codes) - LENGTH + 1
    if count < 1:
        return Prints({})
    hashes = np.zeros(count, dtype=np.uint64)
    for at in range(LENGTH):  # Horner's rule for every run at once
        hashes = hashes * _BASE + codes[at : at + count]
    hashes ^= hashes >> np.uint64(29)
    found: dict[int, list[tuple[int, int]]] = {}
    line_of = _LineOf(source, offsets)
    for at in _winnowed(hashes):
        found.setdefault(int(hashes[at]), []).append((line_of(at), line_of(at + LENGTH - 1)))
    return Prints({key: tuple(places) for key, places in found.items()})


def _winnowed(hashes: NDArray[np.uint64]) -> list[int]:
    """The place of the rightmost smallest hash of every window."""
    if len(hashes) <= WINDOW:
        return [int(len(hashes) - 1 - np.argmin(hashes[::-1]))]
    windows = np.lib.stride_tricks.sliding_window_view(hashes, WINDOW)[:, ::-1]
    places = np.arange(len(windows)) + WINDOW - 1 - np.argmin(windows, axis=1)
    return [int(place) for place in np.unique(places)]


class _LineOf:
    """From a place in the filtered text to a line of the source."""

    def __init__(self, source: str, offsets: NDArray[np.int64]) -> None:
        table = np.asarray(offsets).reshape(-1, 2)
        self._at, self._shift = table[:, 0], np.maximum.accumulate(table[:, 1])  # some entries fall back
        self._ends = np.flatnonzero(np.frombuffer(source.encode("utf-32-le"), dtype=np.uint32) == ord("\n"))

    def __call__(self, place: int) -> int:
        known = int(np.searchsorted(self._at, place, side="right")) - 1
        origin = place + (int(self._shift[known]) if known >= 0 else 0)
        return int(np.searchsorted(self._ends, origin)) + 1
