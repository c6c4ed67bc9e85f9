"""Frames between two processes, good and bad: ``autograder.wire``."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from autograder import wire
from autograder.feedback.values import Flat, flatten, unflatten
from tests.staff.links import Stream, as_bytes, from_bytes, same
from tests.staff.test_values import ALLOWED, CROSSES, DTYPES, LAYOUTS, VALUES

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


def take_apart(value: object) -> Flat:
    return flatten(value, lambda far: (7, type(far).__name__))


def cross(value: object) -> Any:
    """The value as it arrives behind the wire."""
    number, word, flat = from_bytes(as_bytes(3, "ok", take_apart(value)))
    assert (number, word) == (3, "ok")
    return unflatten(flat, lambda number, name: (number, name), writeable=True)


def frame(header: Any, buffers: bytes = b"") -> bytes:
    """A frame whose header is anything that MessagePack can say, or bytes as they are."""
    raw = header if isinstance(header, bytes) else msgspec.msgpack.encode(header)
    return len(raw).to_bytes(4, "little") + raw + buffers


GOOD = as_bytes(1, "ok", take_apart([1.5, "a", np.arange(6.0).reshape(2, 3), {"b": (True, None)}]))


@pytest.fixture
def ends() -> Any:
    """The two ends of a socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


# Good frames.


@pytest.mark.parametrize("value", [*CROSSES.values(), *LAYOUTS.values()], ids=[*CROSSES, *LAYOUTS])
def test_value_arrives_as_it_does_without_a_wire(value: Any) -> None:
    """Bytes change nothing: what arrives behind the wire is what arrives without one."""
    direct = unflatten(take_apart(value), lambda number, name: (number, name), writeable=True)
    assert same(cross(value), direct)


@settings(max_examples=40, derandomize=True, deadline=None, database=None)
@given(VALUES)
def test_any_value_arrives(value: Any) -> None:
    """Whatever is made of the types of the contract crosses the wire as it was."""
    assert same(cross(value), value)


@pytest.mark.parametrize("dtype", DTYPES, ids=[dtype.strip("|<") for dtype in DTYPES])
def test_every_dtype_arrives(dtype: str) -> None:
    """What may be flattened may be sent: arrays and scalars of every numeric dtype."""
    value = [np.ones((2, 1), dtype), np.dtype(dtype).type(1), np.ones(0, dtype)]
    assert same(cross(value), value)


def test_reference_crosses_as_number_and_name() -> None:
    """An object that stays is a number and a type name on the wire."""
    assert cross([object(), {"a": len}]) == [(7, "object"), {"a": (7, "builtin_function_or_method")}]


def test_arrays_arrive_in_memory_of_their_own(ends: Any) -> None:
    """Each array is fresh, writable memory: nothing of the sender's can change it later."""
    array = np.arange(4.0)
    wire.send(ends[0], 1, "ok", take_apart([array, array]))
    first, second = wire.receive(ends[1])[2].arrays
    first[0] = 9
    assert (second[0], array[0]) == (0, 0)
    assert first.flags.owndata


def test_frames_follow_one_another(ends: Any) -> None:
    """Frames are told apart by their lengths, and nothing of the next one is read."""
    for number in range(3):
        wire.send(ends[0], number, "word", take_apart([np.ones(number), number]))
    assert [wire.receive(ends[1])[0] for _ in range(3)] == [0, 1, 2]


def test_small_frame_is_one_system_call() -> None:
    """A call of a few numbers does not pay for several writes."""

    class Counting(Stream):
        calls = 0

        def sendall(self, part: bytes) -> None:
            self.calls += 1
            super().sendall(part)

    stream = Counting()
    wire.send(stream, 1, "ok", take_apart([np.ones(20), np.ones(20), 1.5]))  # type: ignore[arg-type]
    assert stream.calls == 1


AT_CAPS = ("a-million-items", "64-MiB", "4096-loose-keys")


@pytest.mark.parametrize("make", [ALLOWED[name] for name in AT_CAPS], ids=AT_CAPS)
def test_what_flatten_allows_fits_into_a_frame(make: Callable[[], Any]) -> None:
    """The caps of values and of the wire agree: a value at a cap of the first is none too large for the second."""
    value = make()
    assert same(cross(value), value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ["a" * (63 * MIB), [2**62] * 200_000],
        lambda: [np.empty((2**28, 2**28, 0)), np.empty((0,) + (2**10,) * 4)],
    ],
    ids=["text-and-numbers", "long-empty-axes"],
)
def test_largest_headers_still_arrive(make: Callable[[], Any]) -> None:
    """A value within the caps is no invalid frame, even where nearly all of it stands in the header."""
    flat = take_apart(make())
    arrived = from_bytes(as_bytes(1, "ok", flat))[2]
    assert len(arrived.kinds) == len(flat.kinds)
    assert [array.shape for array in arrived.arrays] == [array.shape for array in flat.arrays]


# Bad frames: whatever is wrong with the bytes, it is Invalid.


def head(dtype: Any, shape: Any) -> bytes:
    return frame([1, "ok", "a", [], [[dtype, shape]]])


BAD: dict[str, bytes] = {
    "length-over-the-cap": b"\xff\xff\xff\xff",
    "length-just-over-the-cap": (wire.MAX_HEADER + 1).to_bytes(4, "little"),
    "no-header": frame(b""),
    "garbage": frame(b"\xc1" * 20),
    "no-list": frame(5),
    "map": frame({"number": 1, "word": "ok", "kinds": "", "leaves": [], "heads": []}),
    "too-few-fields": frame([1, "ok", "", []]),
    "too-many-fields": frame([1, "ok", "", [], [], 0]),
    "bytes-after-the-header": frame(msgspec.msgpack.encode([1, "ok", "v", [1], []]) + b"\x00"),
    "header-cut": frame(msgspec.msgpack.encode([1, "ok", "v", ["text"], []])[:-2]),
    "number-is-text": frame(["1", "ok", "v", [1], []]),
    "number-is-a-float": frame([1.0, "ok", "v", [1], []]),
    "number-is-a-boolean": frame([True, "ok", "v", [1], []]),
    "number-is-none": frame([None, "ok", "v", [1], []]),
    "word-is-bytes": frame([1, b"ok", "v", [1], []]),
    "word-is-a-list": frame([1, ["ok"], "v", [1], []]),
    "kinds-are-a-list": frame([1, "ok", ["v"], [1], []]),
    "kinds-are-bytes": frame([1, "ok", b"v", [1], []]),
    "leaves-are-text": frame([1, "ok", "v", "1", []]),
    "leaf-is-a-list": frame([1, "ok", "v", [[1]], []]),
    "leaf-is-a-map": frame([1, "ok", "v", [{}], []]),
    "leaf-is-bytes": frame([1, "ok", "v", [b"a"], []]),
    "leaf-is-a-timestamp": frame(b"\x95\x01\xa2ok\xa1v\x91\xd6\xff\x00\x00\x00\x00\x90"),
    "leaf-is-an-extension": frame(b"\x95\x01\xa2ok\xa1v\x91\xd4\x05\x00\x90"),
    "leaf-is-nested-500-deep": frame(b"\x95\x01\xa2ok\xa1v\x91" + b"\x91" * 500 + b"\xc0\x90"),
    "leaf-is-nested-100000-deep": frame(b"\x95\x01\xa2ok\xa1v\x91" + b"\x91" * 100_000 + b"\xc0\x90"),
    "header-nested-100000-deep": frame(b"\x91" * 100_000 + b"\xc0"),
    "text-is-no-utf-8": frame(b"\x95\x01\xa2ok\xa1v\x91\xa2\xff\xfe\x90"),
    "text-with-a-surrogate": frame(b"\x95\x01\xa2ok\xa1v\x91\xa3\xed\xa0\x80\x90"),
    "word-is-no-utf-8": frame(b"\x95\x01\xa1\xff\xa1v\x91\x01\x90"),
    "leaves-claim-four-billion": frame(b"\x95\x01\xa2ok\xa1v\xdd\xff\xff\xff\xff"),
    "text-claims-four-billion": frame(b"\x95\x01\xa2ok\xa1v\x91\xdb\xff\xff\xff\xff"),
    "heads-claim-four-billion": frame(b"\x95\x01\xa2ok\xa1v\x91\x01\xdd\xff\xff\xff\xff"),
    "shape-claims-four-billion": frame(b"\x95\x01\xa2ok\xa1a\x90\x91\x92\xa3<f8\xdd\xff\xff\xff\xff"),
    "too-many-leaves": frame(
        b"\x95\x01\xa2ok\xa1v\xdd" + (2_000_001).to_bytes(4, "big") + b"\x01" * 2_000_001 + b"\x90"
    ),
    "too-many-kinds": frame([1, "ok", "e" * 1_000_001, [], []]),
    "more-heads-than-kinds": frame([1, "ok", "a", [], [["|u1", [0]]] * 2]),
    "head-is-text": frame([1, "ok", "a", [], ["|u1"]]),
    "head-of-three": frame([1, "ok", "a", [], [["|u1", [1], 0]]], b"x"),
    "dtype-object": head("|O", [1]),
    "dtype-object-of-8": head("O8", [1]),
    "dtype-text": head("<U1", [1]),
    "dtype-void": head("|V8", [1]),
    "dtype-structured": head("f8,O", [1]),
    "dtype-date": head("<M8[s]", [1]),
    "dtype-big-endian": head(">f8", [1]),
    "dtype-native-order": head("=f8", [1]),
    "dtype-by-name": head("float64", [1]),
    "dtype-python-expression": head("__import__('os')", [1]),
    "dtype-number": head(5, [1]),
    "dtype-empty": head("", [1]),
    "shape-is-a-number": head("<f8", 1),
    "axis-is-a-float": head("<f8", [1.0]),
    "axis-is-a-boolean": head("<f8", [True]),
    "axis-is-negative": head("<f8", [-1]),
    "two-negative-axes": head("<f8", [-2, -3]),
    "axis-over-the-cap": head("|u1", [0, 2**28 + 1]),
    "axis-of-64-bits": head("|u1", [2**63]),
    "seventeen-axes": head("|u1", [1] * 17),
    "array-over-64-MiB": head("<f8", [8 * MIB + 1]),
    "array-of-2-to-the-448": head("<f8", [2**28] * 16),
    "empty-array-of-no-possible-size": head("<f8", [2**28, 2**28, 2**28, 0]),
    "another-empty-array-of-no-possible-size": head("|u1", [0, 2**28, 2**28, 2**28]),
    "arrays-over-64-MiB-together": frame([1, "ok", "aa", [], [["<f8", [5 * MIB]], ["<f8", [5 * MIB]]]]),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_bad_frame_is_invalid(data: bytes) -> None:
    """Every malformed frame leaves as one exception type, Invalid."""
    with pytest.raises(wire.Invalid):
        from_bytes(data)


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_bad_frame_costs_little_memory(data: bytes) -> None:
    """A cap is checked before anything of the claimed size exists."""
    stream = Stream(data)
    tracemalloc.start()
    try:
        with pytest.raises(wire.Invalid):
            wire.receive(stream)  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # of what was really sent a few copies may exist: the header, and its parts as objects
    assert peak < 100_000 + 12 * len(data)


def test_truncated_frame_is_gone() -> None:
    """A frame that ends early, wherever, is a peer that has gone."""
    for length in range(len(GOOD)):
        with pytest.raises(wire.Gone):
            from_bytes(GOOD[:length])


def test_closed_socket_is_gone(ends: Any) -> None:
    """A peer that closed the socket is gone, for reading and for writing."""
    ends[1].close()
    with pytest.raises(wire.Gone):
        wire.receive(ends[0])
    with pytest.raises(wire.Gone):
        wire.send(ends[0], 1, "ok", take_apart(None))


@pytest.mark.parametrize("deadline", [None, 1e9], ids=["no-deadline", "deadline"])
def test_own_closed_socket_is_gone(ends: Any, deadline: float | None) -> None:
    """A socket that we closed ourselves raises the same, with a deadline and without."""
    ends[0].close()
    with pytest.raises(wire.Gone):
        wire.receive(ends[0], deadline)
    with pytest.raises(wire.Gone):
        wire.send(ends[0], 1, "ok", take_apart(None), deadline)


def test_descriptors_sent_along_are_discarded(ends: Any) -> None:
    """Files that a worker attaches to an answer never become open files of the trusted process."""
    before = set(Path("/proc/self/fd").iterdir())
    with open(__file__, encoding="utf-8") as file:
        socket.send_fds(ends[1], [GOOD], [file.fileno()])
        wire.receive(ends[0])
    assert set(Path("/proc/self/fd").iterdir()) == before


# Deadlines.


class Clock:
    """A time that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(wire, "time", clock)
    return clock


def test_slow_drip_ends_at_the_deadline(clock: Clock) -> None:
    """A byte a second does not push the deadline back: it is absolute."""

    class Drip(Stream):
        def recv_into(self, view: memoryview) -> int:
            clock.now += 1
            return super().recv_into(view[:1])

    stream = Drip(GOOD)
    with pytest.raises(wire.TooLate):
        wire.receive(stream, clock.now + 5)  # type: ignore[arg-type]
    assert len(GOOD) - len(stream.data) == 5
    assert stream.waits == [5, 4, 3, 2, 1]


def test_slow_reader_ends_at_the_deadline(clock: Clock) -> None:
    """A peer that takes each part of a large frame slowly does not push the deadline back either."""

    class Slow(Stream):
        def sendall(self, part: bytes) -> None:
            clock.now += 2
            super().sendall(part)

    with pytest.raises(wire.TooLate):
        wire.send(Slow(), 1, "ok", take_apart([np.zeros(MIB)] * 4), clock.now + 5)  # type: ignore[arg-type]


def test_silent_peer_ends_at_the_deadline(ends: Any) -> None:
    """A peer that says nothing is waited for until the deadline, and no longer."""
    began = time.monotonic()
    with pytest.raises(wire.TooLate):
        wire.receive(ends[0], began + 0.03)
    assert 0.02 < time.monotonic() - began < 5


def test_peer_that_does_not_read_ends_at_the_deadline(ends: Any) -> None:
    """A full socket does not block a sender for ever."""
    with pytest.raises(wire.TooLate):
        wire.send(ends[0], 1, "ok", take_apart(np.zeros(MIB)), time.monotonic() + 0.03)


def test_passed_deadline_reads_nothing(clock: Clock) -> None:
    """After the deadline not one byte is read or written any more."""
    stream = Stream(GOOD)
    with pytest.raises(wire.TooLate):
        wire.receive(stream, clock.now)  # type: ignore[arg-type]
    with pytest.raises(wire.TooLate):
        wire.send(stream, 1, "ok", take_apart(None), clock.now)  # type: ignore[arg-type]
    assert bytes(stream.data) == GOOD


def test_deadline_of_one_call_does_not_bind_the_next(ends: Any) -> None:
    """Without a deadline a call waits as long as it takes, whatever the one before was given."""
    wire.send(ends[0], 1, "ok", take_apart(None), time.monotonic() + 5)
    wire.receive(ends[1], time.monotonic() + 5)
    wire.send(ends[0], 2, "ok", take_apart(None))
    wire.receive(ends[1])
    assert (ends[0].gettimeout(), ends[1].gettimeout()) == (None, None)


# Anything at all, in a child: a crash of the decoder must not take the tests along.

FUZZ = """
    import random, resource, sys
    import msgspec
    from autograder import wire
    from autograder.feedback.values import Refused, unflatten
    from tests.staff.links import Stream
    from tests.staff.test_wire import GOOD, BAD, frame

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    draw = random.Random(1)
    pieces = [GOOD, *(data for data in BAD.values() if 8 < len(data) < 500)]
    codes = bytes.fromhex("91 95 c0 c1 c4 c7 ca cb cf d3 d6 d9 db dc dd df ff")
    leaves = [None, True, -1, 0, 1, 3, 1 << 20, 1 << 63, 1.5, float("nan"), "a", "", "0x1f", "a" * 40]
    size = int.from_bytes(GOOD[:4], "little")
    header, buffers = msgspec.msgpack.decode(GOOD[4 : 4 + size]), GOOD[4 + size :]

    def changed_bytes():
        data = bytearray(draw.choice(pieces))
        for _ in range(draw.randint(1, 4)):
            place, how = draw.randrange(4, len(data)), draw.randrange(5)
            if how == 0:
                data[place] ^= 1 << draw.randrange(8)
            elif how == 1:
                data[place] = draw.choice(codes)
            elif how == 2:
                data[place:place] = draw.randbytes(draw.randint(1, 6))
            elif how == 3:
                del data[place : place + draw.randint(1, 3)]
            else:
                data[place : place + 4] = draw.randbytes(4)
        # mostly a length that fits, so that the header is read
        if draw.random() < 0.9:
            data[:4] = min(len(data) - 4, int.from_bytes(data[:4], "little")).to_bytes(4, "little")
        return bytes(data)

    def changed_parts():
        kinds, given, heads = header[2], list(header[3]), list(header[4])
        for _ in range(draw.randint(0, 2)):
            kinds = "".join(draw.choice("vicqbeSltsdgahx") if draw.random() < 0.1 else kind for kind in kinds)
            given[draw.randrange(len(given))] = draw.choice(leaves)
        if draw.random() < 0.3:
            heads = [[draw.choice(["<f8", "|u1", "<c16", "|O"]), [draw.choice([0, 1, 2, 6, -1, 1 << 28])]]]
        return frame([1, "ok", kinds, given, heads], buffers)

    def noise():
        return frame(draw.randbytes(draw.randint(0, 60)))

    outcomes = {"value": 0, "Refused": 0, "Invalid": 0, "Gone": 0}
    for _ in range(5000):
        data = draw.choice([changed_bytes, changed_bytes, changed_parts, noise])()
        try:
            flat = wire.receive(Stream(data))[2]
            unflatten(flat, lambda number, name: (number, name), writeable=False)
            outcomes["value"] += 1
        except (wire.Invalid, wire.Gone, Refused) as error:
            outcomes[type(error).__name__] += 1
    print(msgspec.json.encode(outcomes).decode())
"""


def test_changed_bytes_never_crash_the_decoder() -> None:
    """Thousands of changed frames: each is refused or read, no other exception, no signal, little memory."""
    command = [sys.executable, "-c", textwrap.dedent(FUZZ)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = msgspec.json.decode(done.stdout)
    assert min(outcomes.values()) > 50, outcomes  # every way out was taken
