"""A ``Flat`` as bytes over a stream socket: the only thing that crosses between the trusted and the student's process.

Loaded in both processes. One frame is an unsigned 32-bit length, a MessagePack header, and the raw buffers of its
arrays. Never pickle. Invariants:

* every length is checked against its cap before anything of that size is allocated
* a deadline is absolute: a peer that sends one byte a second does not push it back
* whatever is wrong with the bytes leaves as ``Invalid``; a closed socket as ``Gone``; a missed deadline as ``TooLate``
* buffers travel after the header, into fresh arrays: twenty times faster than inside it
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Annotated

import msgspec
import numpy as np

from .feedback.values import DTYPES, MAX_AXES, MAX_AXIS, MAX_BYTES, MAX_ITEMS, Flat

MAX_HEADER = MAX_BYTES + 32 * MAX_ITEMS  # all texts of a value, and the kind and number or head of each item
JOINED = 1 << 16  # frames up to this size are sent by one system call
_LENGTH = struct.Struct("<I")


class WireError(Exception):
    """The peer cannot be spoken with any more."""


class Invalid(WireError):
    """The peer sent something that is no frame."""


class Gone(WireError):
    """The peer closed the socket."""


class TooLate(WireError):
    """The deadline passed."""


_Leaves = Annotated[list[bool | int | float | str | None], msgspec.Meta(max_length=2 * MAX_ITEMS)]
_Shape = Annotated[list[int], msgspec.Meta(max_length=MAX_AXES)]
_Heads = Annotated[list[tuple[str, _Shape]], msgspec.Meta(max_length=MAX_ITEMS)]


class Header(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Everything of a frame but its buffers. ``word`` is a request's name or an answer's status."""

    number: int
    word: str
    kinds: str
    leaves: _Leaves
    heads: _Heads


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Header)


def send(sock: socket.socket, number: int, word: str, flat: Flat, deadline: float | None = None) -> None:
    """Send one frame, or raise Gone or TooLate."""
    heads = [(array.dtype.str, list(array.shape)) for array in flat.arrays]
    header = _encoder.encode(Header(number, word, "".join(flat.kinds), flat.leaves, heads))
    parts: list[bytes | memoryview] = [_LENGTH.pack(len(header)), header]
    parts += [array.reshape(-1).view(np.uint8).data for array in flat.arrays if array.size]
    if sum(len(part) for part in parts) <= JOINED:
        parts = [b"".join(parts)]
    for part in parts:
        try:
            _limit(sock, deadline)
            sock.sendall(part)
        except TimeoutError:
            raise TooLate from None
        except OSError:
            raise Gone from None


def receive(sock: socket.socket, deadline: float | None = None) -> tuple[int, str, Flat]:
    """The next frame as (number, word, flat).

    Raises:
        Invalid: the bytes are no frame of ours, or a cap is exceeded.
        Gone: the peer closed the socket.
        TooLate: the frame was not complete at the deadline.
    """
    length = bytearray(_LENGTH.size)
    _fill(sock, memoryview(length), deadline)
    (size,) = _LENGTH.unpack(length)
    if size > MAX_HEADER:
        raise Invalid(f"a header of {size} bytes")
    raw = bytearray(size)
    _fill(sock, memoryview(raw), deadline)
    try:
        header = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError, MemoryError) as error:
        raise Invalid(f"no header: {type(error).__name__}") from None
    if len(header.kinds) > MAX_ITEMS or len(header.heads) > len(header.kinds):
        raise Invalid("too many items")
    flat = Flat()
    flat.kinds, flat.leaves = list(header.kinds), header.leaves
    for dtype, shape in _checked(header.heads):
        array = np.empty(shape, dtype)
        if array.size:
            _fill(sock, array.reshape(-1).view(np.uint8).data, deadline)
        flat.arrays.append(array)
    return header.number, header.word, flat


def _checked(heads: list[tuple[str, list[int]]]) -> list[tuple[str, list[int]]]:
    """The array heads, all of them checked before the first buffer is allocated."""
    total = 0
    for dtype, shape in heads:
        if dtype not in DTYPES or any(not 0 <= axis <= MAX_AXIS for axis in shape):
            raise Invalid("an array that may not cross")
        size = extent = np.dtype(dtype).itemsize
        for axis in shape:
            size *= axis
            extent *= axis or 1
        if extent >= 1 << 63:  # numpy cannot make it, even where an axis of length 0 leaves nothing of it
            raise Invalid("an array of no possible size")
        total += size
        if total > MAX_BYTES:
            raise Invalid(f"arrays larger than {MAX_BYTES >> 20} MiB")
    return heads


def _fill(sock: socket.socket, view: memoryview, deadline: float | None) -> None:
    while len(view):
        try:
            _limit(sock, deadline)
            count = sock.recv_into(view)
        except TimeoutError:
            raise TooLate from None
        except OSError:
            raise Gone from None
        if not count:
            raise Gone
        view = view[count:]


def _limit(sock: socket.socket, deadline: float | None) -> None:
    if deadline is None:
        sock.settimeout(None)  # that of an earlier frame still stands
        return
    left = deadline - time.monotonic()
    if left <= 0:
        raise TooLate
    sock.settimeout(left)
