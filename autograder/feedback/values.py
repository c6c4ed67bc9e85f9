"""What crosses between a test and the student's code, and how it is taken apart.

Loaded in both processes; standard library and numpy only. The rules are the same inline and between processes,
so that a value that works on a laptop works in grading.

An object becomes a ``Flat``: one character a node in preorder (``kinds``), the plain leaves, and the arrays, which a
wire can send as raw buffers. Invariants:

* types are looked up by identity, never by ``isinstance`` or by name: a subclass may lie about its contents
* a cap is checked before anything of that size is built
* everything that is refused leaves as one exception type, ``Refused``
* arrays in a ``Flat`` are our own copies: little-endian, C order, a numeric dtype
* anything else crosses as a reference: the far side keeps the object, the near side gets its number

========  =====================================================  =======================================
kind      object                                                 leaves, children
========  =====================================================  =======================================
v         None, bool, int of 64 bits, float, str                 itself
i         int of up to 4096 bits                                 hexadecimal text
c         complex                                                real, imaginary
q         Fraction                                               numerator and denominator as children
b         bytes                                                  a buffer
e         Ellipsis
S         slice                                                  start, stop, step as children
l t s     list, tuple, set                                       length; the members as children
d         dict, Counter, defaultdict, OrderedDict                length; key, value, key, value ...
g         numpy scalar                                           a 0-d buffer
a         numpy array; a subclass crosses as a plain array       a buffer
h         anything else                                          number and type name of the object
========  =====================================================  =======================================
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

MAX_ITEMS = 1_000_000
MAX_BYTES = 64 << 20
MAX_DEPTH = 32
MAX_ENTRIES = 65_536  # of one dict or set
MAX_LOOSE_KEYS = 4_096  # a message: keys that hold an int can be made to collide, and no deadline helps while decoding
MAX_KEY_INT = 1 << 31
MAX_INT_BITS = 4096
MAX_AXES = 16
MAX_AXIS = 1 << 28
DTYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16".split())
# numpy has two integer types of one size: both cross, as the one that the dtype names
SCALARS = frozenset([*(np.dtype(name).type for name in DTYPES), np.longlong, np.ulonglong])

Refer = Callable[[object], tuple[int, str]]  # an object that does not cross -> (number, type name)
Resolve = Callable[[int, str], object]
Leaf = None | bool | int | float | str


class Refused(Exception):
    """This value does not cross; ``str()`` says what it is and where it stands."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what)
        self.what, self.path = what, path

    def under(self, step: str) -> Refused:
        """The same refusal, seen from one container further out."""
        return Refused(self.what, step + self.path)

    def __str__(self) -> str:
        return f"{self.what} (at {self.path})" if self.path else self.what


class Flat:
    """An object taken apart: ``kinds``, ``leaves`` and ``arrays`` in preorder."""

    __slots__ = ("arrays", "kinds", "leaves")

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.leaves: list[Leaf] = []
        self.arrays: list[np.ndarray] = []


def flatten(value: object, refer: Refer, tensor: Callable[[object], np.ndarray | None] | None = None) -> Flat:
    """Take a value apart.

    Args:
        value: what is to cross.
        refer: gives the number and type name of an object that stays where it is, or raises Refused.
        tensor: gives a tensor's contents as an array, None for anything that is no tensor.

    Raises:
        Refused: the value, or something in it, may not cross.
    """
    encoder = _Encoder(refer, tensor)
    encoder.add(value, 0)
    return encoder.flat


def unflatten(flat: Flat, resolve: Resolve, writeable: bool) -> Any:
    """Build the object again. The arrays of ``flat`` are used as they are, not copied.

    Args:
        flat: what ``flatten`` made, perhaps in another process: nothing in it is trusted.
        resolve: gives the object that stands for a reference.
        writeable: whether the arrays may be written to.

    Raises:
        Refused: this is nothing that ``flatten`` could have made.
    """
    decoder = _Decoder(flat, resolve, writeable)
    try:
        value = decoder.take(0)
    except (StopIteration, TypeError, ValueError, OverflowError, MemoryError, ZeroDivisionError) as error:
        raise Refused(f"a malformed message ({type(error).__name__})") from None
    if not decoder.spent():
        raise Refused("a malformed message (parts left over)")
    return value


class _Encoder:
    def __init__(self, refer: Refer, tensor: Callable[[object], np.ndarray | None] | None) -> None:
        self.flat = Flat()
        self.refer, self.tensor = refer, tensor
        self.size = 0
        self.loose_keys = 0

    def add(self, value: object, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Refused(f"a value nested deeper than {MAX_DEPTH} levels")
        if len(self.flat.kinds) >= MAX_ITEMS:
            raise Refused("a value of more than a million items")
        encode = _ENCODERS.get(type(value))
        if encode is not None:
            encode(self, value, depth)
        elif issubclass(type(value), np.ndarray):
            # a view of the base class: a subclass' own methods and attributes are never asked
            self.numeric("a", np.ndarray.view(value, np.ndarray))  # type: ignore[call-overload]
        elif type(value) in SCALARS:
            self.numeric("g", np.asarray(value))
        else:
            self.other(value)

    def plain(self, value: Any, depth: int) -> None:
        self.flat.kinds.append("v")
        self.flat.leaves.append(value)

    def text(self, value: Any, depth: int) -> None:
        try:
            self.grow(len(value.encode()))
        except UnicodeEncodeError:
            raise Refused("a text with lone surrogates") from None
        self.plain(value, depth)

    def integer(self, value: Any, depth: int) -> None:
        if -(1 << 63) <= value < 1 << 63:
            self.plain(value, depth)
        elif value.bit_length() <= MAX_INT_BITS:
            text = hex(value)
            self.grow(len(text))
            self.flat.kinds.append("i")
            self.flat.leaves.append(text)
        else:
            raise Refused(f"an integer of more than {MAX_INT_BITS} bits")

    def complex(self, value: Any, depth: int) -> None:
        self.flat.kinds.append("c")
        self.flat.leaves += [value.real, value.imag]

    def fraction(self, value: Any, depth: int) -> None:
        self.flat.kinds.append("q")
        self.add(value.numerator, depth + 1)
        self.add(value.denominator, depth + 1)

    def octets(self, value: Any, depth: int) -> None:
        self.flat.kinds.append("b")
        self.array(np.frombuffer(value, np.uint8))

    def ellipsis(self, value: Any, depth: int) -> None:
        self.flat.kinds.append("e")

    def slice(self, value: Any, depth: int) -> None:
        self.flat.kinds.append("S")
        for part in (value.start, value.stop, value.step):
            self.add(part, depth + 1)

    def sequence(self, value: Any, depth: int) -> None:
        if len(value) > MAX_ITEMS:  # at once, not after the first million
            raise Refused("a value of more than a million items")
        self.flat.kinds.append("l" if type(value) is list else "t")
        self.flat.leaves.append(len(value))
        for index, member in enumerate(value):
            try:
                self.add(member, depth + 1)
            except Refused as refused:
                raise refused.under(f"[{index}]") from None

    def set(self, value: Any, depth: int) -> None:
        self.entries(len(value), "set")
        self.flat.kinds.append("s")
        self.flat.leaves.append(len(value))
        for member in value:
            self.key(member, "set member")
            self.add(member, depth + 1)

    def dict(self, value: Any, depth: int) -> None:
        self.entries(len(value), "dict")
        self.flat.kinds.append("d")
        self.flat.leaves.append(len(value))
        for key, member in value.items():
            self.key(key, "dict key")
            self.add(key, depth + 1)
            try:
                self.add(member, depth + 1)
            except Refused as refused:
                raise refused.under(f"[{key!r:.40}]") from None

    def entries(self, count: int, name: str) -> None:
        if count > MAX_ENTRIES:
            raise Refused(f"a {name} of {count} entries")

    def key(self, key: object, name: str) -> None:
        if not _wholly_text(key, name, 0):
            self.loose_keys += 1
            if self.loose_keys > MAX_LOOSE_KEYS:
                raise Refused(f"more than {MAX_LOOSE_KEYS} {name}s that hold an integer")

    def numeric(self, kind: str, value: np.ndarray) -> None:
        self.flat.kinds.append(kind)
        self.array(value)

    def array(self, value: np.ndarray) -> None:
        dtype = value.dtype.newbyteorder("<")
        if dtype.str not in DTYPES:
            raise Refused(f"an array of dtype {value.dtype}")
        if value.ndim > MAX_AXES:
            raise Refused(f"an array of {value.ndim} axes")
        if max(value.shape, default=0) > MAX_AXIS:
            raise Refused(f"an array with an axis of length {max(value.shape)}")
        self.grow(value.nbytes)
        copy = np.empty(value.shape, dtype.str)  # by name: a dtype object may carry metadata, and that any object
        copy[...] = value
        self.flat.arrays.append(copy)

    def other(self, value: object) -> None:
        if self.tensor is not None:
            contents = self.tensor(value)
            if contents is not None:
                self.flat.kinds.append("a")
                self.array(contents)
                return
        number, name = self.refer(value)
        self.grow(len(name))
        self.flat.kinds.append("h")
        self.flat.leaves += [number, name]

    def grow(self, size: int) -> None:
        self.size += size
        if self.size > MAX_BYTES:
            raise Refused(f"a value larger than {MAX_BYTES >> 20} MiB")


_ENCODERS: dict[type, Callable[[_Encoder, Any, int], None]] = {
    type(None): _Encoder.plain,
    bool: _Encoder.plain,
    float: _Encoder.plain,
    int: _Encoder.integer,
    str: _Encoder.text,
    complex: _Encoder.complex,
    Fraction: _Encoder.fraction,
    bytes: _Encoder.octets,
    type(...): _Encoder.ellipsis,
    slice: _Encoder.slice,
    list: _Encoder.sequence,
    tuple: _Encoder.sequence,
    set: _Encoder.set,
    dict: _Encoder.dict,
    Counter: _Encoder.dict,
    OrderedDict: _Encoder.dict,
    defaultdict: _Encoder.dict,
}


def _wholly_text(key: object, name: str, depth: int) -> bool:
    """Whether a key holds text only (whose hashes are secret). Refuses what is no key."""
    kind = type(key)
    if kind is str:
        return True
    if kind is int:
        if not -MAX_KEY_INT <= key <= MAX_KEY_INT:  # type: ignore[operator]
            raise Refused(f"a {name} of more than 32 bits")
        return False
    if kind is tuple:
        if depth > MAX_DEPTH:
            raise Refused(f"a {name} nested deeper than {MAX_DEPTH} levels")
        whole = True
        for part in key:  # type: ignore[attr-defined]
            whole = _wholly_text(part, name, depth + 1) and whole
        return whole
    raise Refused(f"a {name} of type {kind.__name__:.40}")


class _Decoder:
    def __init__(self, flat: Flat, resolve: Resolve, writeable: bool) -> None:
        self.kinds: Iterator[str] = iter(flat.kinds)
        self.leaves: Iterator[Leaf] = iter(flat.leaves)
        self.arrays: Iterator[np.ndarray] = iter(flat.arrays)
        self.resolve, self.writeable = resolve, writeable
        self.loose_keys = 0

    def take(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Refused(f"a value nested deeper than {MAX_DEPTH} levels")
        kind = next(self.kinds)
        if kind == "v":
            return next(self.leaves)
        if kind == "a":
            array = next(self.arrays)
            array.flags.writeable = self.writeable
            return array
        take = _DECODERS.get(kind)
        if take is None:
            raise Refused(f"a malformed message (kind {kind!r})")
        return take(self, depth)

    def leaf(self, kind: type) -> Any:
        value = next(self.leaves)
        if type(value) is not kind:
            raise Refused(f"a malformed message ({type(value).__name__} for {kind.__name__})")
        return value

    def length(self, most: int) -> int:
        count: int = self.leaf(int)
        if not 0 <= count <= most:
            raise Refused(f"a container of {count} entries")
        return count

    def integer(self, depth: int) -> int:
        text: str = self.leaf(str)
        if len(text) > MAX_INT_BITS // 4 + 8:
            raise Refused(f"an integer of more than {MAX_INT_BITS} bits")
        value = int(text, 16)
        if value.bit_length() > MAX_INT_BITS:
            raise Refused(f"an integer of more than {MAX_INT_BITS} bits")
        return value

    def complex(self, depth: int) -> complex:
        return complex(self.leaf(float), self.leaf(float))

    def fraction(self, depth: int) -> Fraction:
        numerator, denominator = self.take(depth + 1), self.take(depth + 1)
        if type(numerator) is not int or type(denominator) is not int:
            raise Refused("a malformed message (fraction)")
        return Fraction(numerator, denominator)

    def octets(self, depth: int) -> bytes:
        array = next(self.arrays)
        if array.dtype.str != "|u1":
            raise Refused("a malformed message (bytes)")
        return array.tobytes()

    def ellipsis(self, depth: int) -> Any:
        return ...

    def slice(self, depth: int) -> slice:
        return slice(self.take(depth + 1), self.take(depth + 1), self.take(depth + 1))

    def list(self, depth: int) -> Any:
        return [self.take(depth + 1) for _ in range(self.length(MAX_ITEMS))]

    def tuple(self, depth: int) -> Any:
        return tuple(self.list(depth))

    def set(self, depth: int) -> Any:
        members: Any = set()
        for _ in range(self.length(MAX_ENTRIES)):
            member = self.key(depth)
            if member in members:
                raise Refused("a set member twice")
            members.add(member)
        return members

    def dict(self, depth: int) -> Any:
        entries: Any = {}
        for _ in range(self.length(MAX_ENTRIES)):
            key = self.key(depth)
            if key in entries:
                raise Refused("a dict key twice")
            entries[key] = self.take(depth + 1)
        return entries

    def key(self, depth: int) -> Any:
        key = self.take(depth + 1)
        if not _wholly_text(key, "dict key", 0):
            self.loose_keys += 1
            if self.loose_keys > MAX_LOOSE_KEYS:
                raise Refused(f"more than {MAX_LOOSE_KEYS} keys that hold an integer")
        return key

    def scalar(self, depth: int) -> Any:
        array = next(self.arrays)
        if array.shape != ():
            raise Refused("a malformed message (scalar)")
        return array[()]

    def reference(self, depth: int) -> object:
        return self.resolve(self.leaf(int), self.leaf(str))

    def spent(self) -> bool:
        end = object()
        return all(next(parts, end) is end for parts in (self.kinds, self.leaves, self.arrays))


_DECODERS: dict[str, Callable[[_Decoder, int], Any]] = {
    "i": _Decoder.integer,
    "c": _Decoder.complex,
    "q": _Decoder.fraction,
    "b": _Decoder.octets,
    "e": _Decoder.ellipsis,
    "S": _Decoder.slice,
    "l": _Decoder.list,
    "t": _Decoder.tuple,
    "s": _Decoder.set,
    "d": _Decoder.dict,
    "g": _Decoder.scalar,
    "h": _Decoder.reference,
}
