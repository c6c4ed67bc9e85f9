"""What crosses, what does not, and that nothing made of bad parts comes through: ``autograder.feedback.values``."""

from __future__ import annotations

import array
import collections
import decimal
import enum
import math
import re
import tracemalloc
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.feedback import values
from autograder.feedback.values import Flat, Refused, flatten, unflatten
from tests.staff.links import same

MODEST = settings(max_examples=60, derandomize=True, deadline=None, database=None)


class Reference:
    """What a far object becomes on the near side."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name


class Table:
    """A stand-in for the server's table of objects."""

    def __init__(self) -> None:
        self.objects: list[object] = []

    def refer(self, value: object) -> tuple[int, str]:
        self.objects.append(value)
        return len(self.objects) - 1, type(value).__name__


def take_apart(value: object) -> Flat:
    return flatten(value, Table().refer)


def cross(value: object, writeable: bool = False) -> Any:
    """The value as it arrives on the other side."""
    return unflatten(take_apart(value), Reference, writeable)


def by_hand(kinds: str, *leaves: Any, arrays: tuple[np.ndarray, ...] = ()) -> Flat:
    """A Flat that flatten did not make."""
    flat = Flat()
    flat.kinds, flat.leaves, flat.arrays = list(kinds), list(leaves), list(arrays)
    return flat


# What crosses.

CROSSES: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "zero": 0,
    "largest-64-bit": 2**63 - 1,
    "smallest-64-bit": -(2**63),
    "just-over-64-bits": 2**63,
    "just-under-64-bits": -(2**63) - 1,
    "4096-bits": 2**4096 - 1,
    "minus-4096-bits": -(2**4096) + 1,
    "float": 0.1,
    "minus-zero": -0.0,
    "smallest-float": 5e-324,
    "largest-float": 1.7976931348623157e308,
    "infinity": -math.inf,
    "nan": math.nan,
    "complex": 1.5 - 2j,
    "complex-of-specials": complex(-0.0, math.inf),
    "empty-text": "",
    "text": 'a\x00b\n"语言" 💐 e\u0301',
    "empty-bytes": b"",
    "bytes": bytes(range(256)),
    "ellipsis": ...,
    "slice": slice(None, -3, 2),
    "slice-of-parts": slice("a", (1, 2.5), [None]),
    "fraction": Fraction(-1, 3),
    "large-fraction": Fraction(3**200, 2**300),
    "empty-list": [],
    "empty-tuple": (),
    "empty-set": set(),
    "empty-dict": {},
    "list": [1, "a", None, [2.0, [True]]],
    "tuple": (1, ("a", ()), []),
    "set": {"a", 1, ("b", 2), (), (("c", -3), "d")},
    "dict": {"b": 1, "a": {2: [3]}, ("the", "cow"): 0.5, (): {"x": ()}, (1, ("y",)): None},
    "largest-keys": {2**31: 1, -(2**31): 2},
    "counts": {("the",): {"bat": 2, "cow": 1}, ("</s>",): {}},
}


@pytest.mark.parametrize("value", CROSSES.values(), ids=CROSSES)
def test_plain_value_arrives_with_its_exact_type(value: Any) -> None:
    """A value of the contract arrives equal, of the same type, down to its smallest part and its order."""
    assert same(cross(value), value)


@pytest.mark.parametrize(
    "value",
    [Counter("banana"), OrderedDict(b=1, a=2), defaultdict(list, b=[1], a=[])],
    ids=["Counter", "OrderedDict", "defaultdict"],
)
def test_kinds_of_dict_arrive_as_dict_in_order(value: dict[str, Any]) -> None:
    """The standard library's dicts arrive as plain dicts with their entries in order."""
    assert same(cross(value), dict(value))


DTYPES = sorted(values.DTYPES)


@pytest.mark.parametrize("dtype", DTYPES, ids=[dtype.strip("|<") for dtype in DTYPES])
def test_array_arrives_with_its_dtype(dtype: str) -> None:
    """An array of every numeric dtype arrives bit by bit, infinities and NaNs included."""
    numbers = np.array([0, 1, 100, 7, 3, 1], dtype=dtype).reshape(2, 3)
    if numbers.dtype.kind in "fc":
        numbers[0] = [math.nan, math.inf, -0.0]
    assert same(cross(numbers), numbers)


@pytest.mark.parametrize("dtype", DTYPES, ids=[dtype.strip("|<") for dtype in DTYPES])
def test_numpy_scalar_keeps_its_type(dtype: str) -> None:
    """A numpy scalar arrives as a numpy scalar of the same type, no array and no Python number."""
    scalar = np.dtype(dtype).type(1)
    assert isinstance(scalar, np.generic)
    assert same(cross(scalar), scalar)
    assert same(cross([scalar, {"a": scalar}]), [scalar, {"a": scalar}])


def test_long_long_arrives_as_the_integer_of_its_size() -> None:
    """Where numpy has two types for one size, both modes give the one of the wire."""
    arrived = cross([np.longlong(3), np.array([3], np.longlong), np.ulonglong(3)])
    assert [type(arrived[0]), type(arrived[1][0]), type(arrived[2])] == [np.int64, np.int64, np.uint64]


GRID = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "c-order": GRID,
    "fortran-order": np.asfortranarray(GRID),
    "transposed": GRID.T,
    "every-second": GRID[:, ::2, ::-1],
    "broadcast": np.broadcast_to(GRID[:1], (5, 3, 4)),
    "big-endian": GRID.astype(">f8"),
    "big-endian-integers": np.arange(5, dtype=">i2"),
    "read-only": np.frombuffer(b"12345678", dtype="<i4"),
    "zero-axes": np.array(2.5),
    "zero-axes-boolean": np.array(True),
    "empty": np.empty((0,)),
    "empty-with-shape": np.empty((3, 0, 2), dtype="<f4"),
    "sixteen-axes": np.ones((1,) * 16),
    "misaligned": np.frombuffer(b"x" + bytes(16), dtype="u1")[1:].view("<f8"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_array_arrives_whatever_its_layout(layout: np.ndarray) -> None:
    """Order of axes, of bytes, strides: the numbers arrive in C order, little-endian, in memory of their own."""
    arrived = cross(layout)
    assert type(arrived) is np.ndarray
    assert arrived.shape == layout.shape
    np.testing.assert_array_equal(arrived, layout)
    assert arrived.dtype == layout.dtype.newbyteorder("<")
    assert arrived.flags.c_contiguous
    assert not np.shares_memory(arrived, layout)


@pytest.mark.parametrize("writeable", [True, False], ids=["arguments", "answers"])
def test_arrays_are_writable_on_the_students_side_only(writeable: bool) -> None:
    """A student may write into his arguments; what a test receives is read-only, so that a lost write raises."""
    arrived = cross([np.zeros(2), (np.zeros(()),)], writeable)
    for member in (arrived[0], arrived[1][0]):
        assert member.flags.writeable is writeable


def test_dtype_leaves_its_metadata_behind() -> None:
    """Nothing hangs on an array: a dtype can carry any object with it."""
    arrived = cross(np.zeros(2, np.dtype("f8", metadata={"secret": object()})))
    assert arrived.dtype.metadata is None


class Liar(np.ndarray):
    """An array that claims to be something else, and to equal everything."""

    def __eq__(self, other: object) -> Any:
        return True

    def __array_ufunc__(self, *arguments: Any, **keywords: Any) -> Any:
        raise AssertionError("asked")

    __array_function__ = __array_ufunc__  # type: ignore[assignment]
    shape = property(lambda self: (1, 2, 3))  # type: ignore[assignment]
    dtype = property(lambda self: np.dtype("f4"))  # type: ignore[assignment]
    nbytes = property(lambda self: 0)  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


ARRAY_SUBCLASSES: dict[str, Any] = {
    "matrix": np.array([[1.0, 2.0]]).view(np.matrix),
    "masked": np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    "record": np.array([1.0, 2.0]).view(np.recarray),
    "liar": np.array([1.0, 2.0]).view(Liar),
}


@pytest.mark.parametrize("value", ARRAY_SUBCLASSES.values(), ids=ARRAY_SUBCLASSES)
def test_array_subclass_arrives_as_a_plain_array(value: Any) -> None:
    """A subclass arrives as the numbers that it holds; its own methods are never asked."""
    arrived = cross(value)
    assert type(arrived) is np.ndarray
    assert arrived.dtype == np.float64
    assert arrived.ravel().tolist() == [1.0, 2.0]


def test_copies_do_not_alias() -> None:
    """What is sent is a copy, and an array or list that stands twice in a value arrives as two."""
    numbers, words = np.zeros(3), ["a"]
    flat = take_apart([numbers, words, numbers, words])
    numbers[0] = 7
    words.append("b")
    first, one, second, two = unflatten(flat, Reference, True)
    first[1] = 5
    one.append("c")
    assert (first.tolist(), second.tolist(), one, two) == ([0, 5, 0], [0, 0, 0], ["a", "c"], ["a"])


# What stays where it is.


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Real(float):
    pass


class Row(list[Any]):
    pass


class Pair(tuple[Any, ...]):
    __slots__ = ()


class Words(dict[str, Any]):
    pass


class Bag(set[Any]):
    pass


class Third(Fraction):
    pass


class Number(np.float64):
    """A numpy scalar of one's own, that says it was numpy's."""


Number.__module__ = "numpy"
Point = collections.namedtuple("Point", "x y")
Level = enum.IntEnum("Level", "LOW HIGH")

STAYS: dict[str, Any] = {
    "subclass-of-str": Text("a"),
    "subclass-of-int": Whole(1),
    "subclass-of-float": Real(1.5),
    "subclass-of-list": Row([1]),
    "subclass-of-tuple": Pair((1,)),
    "subclass-of-dict": Words(a=1),
    "subclass-of-set": Bag({1}),
    "subclass-of-bytes": type("Octets", (bytes,), {})(b"a"),
    "subclass-of-complex": type("Point", (complex,), {})(1j),
    "subclass-of-fraction": Third(1, 3),
    "subclass-of-numpy-scalar": Number(1.5),
    "class-called-int": type("int", (int,), {"__module__": "builtins"})(1),
    "named-tuple": Point(1, 2),
    "enumeration": Level.LOW,
    "numpy-text": np.str_("a"),
    "numpy-bytes": np.bytes_(b"a"),
    "numpy-date": np.datetime64("2026-01-01"),
    "numpy-long-double": np.longdouble(1),
    "frozenset": frozenset({1}),
    "bytearray": bytearray(b"a"),
    "memoryview": memoryview(b"a"),
    "range": range(3),
    "generator": (x for x in [1]),
    "iterator": iter([1]),
    "keys": {"a": 1}.keys(),
    "items": {"a": 1}.items(),
    "map": map(str, [1]),
    "deque": collections.deque([1]),
    "array.array": array.array("d", [1.0]),
    "decimal": decimal.Decimal(1),
    "function": len,
    "class": float,
    "module": math,
    "exception": ValueError("a"),
    "object": object(),
    "dtype": np.dtype("f8"),
    "random-generator": np.random.default_rng(0),
}


@pytest.mark.parametrize("value", STAYS.values(), ids=STAYS)
def test_anything_else_crosses_as_a_reference(value: object) -> None:
    """An object of any other type, a subclass above all, stays; its number and type name cross."""
    table = Table()
    arrived = unflatten(flatten([value, {"a": value}], table.refer), Reference, False)
    references = [arrived[0], arrived[1]["a"]]
    assert [type(reference) for reference in references] == [Reference, Reference]
    assert all(table.objects[reference.number] is value for reference in references)
    assert references[0].name == type(value).__name__


def test_tensor_hook_decides_what_is_an_array() -> None:
    """An object for which the hook has an array crosses as that array, others as references."""
    known = object()
    flat = flatten([known, object()], Table().refer, lambda value: np.ones(2) if value is known else None)
    arrived = unflatten(flat, Reference, False)
    assert arrived[0].tolist() == [1, 1]
    assert type(arrived[1]) is Reference


# What is refused, on the way out.


def nested(depth: int) -> Any:
    """A value whose innermost part stands ``depth`` levels down."""
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def nested_key(depth: int) -> Any:
    key: Any = "a"
    for _ in range(depth):
        key = (key,)
    return key


def itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


MIB = 1 << 20
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "too-many-items": (lambda: [None] * 1_000_000, "a value of more than a million items"),
    "too-many-items-in-all": (lambda: [[0] * 999] * 1001, "a value of more than a million items (at [999][998])"),
    "too-large-an-array": (lambda: np.broadcast_to(0.0, (8 * MIB + 1,)), "a value larger than 64 MiB"),
    "arrays-too-large-together": (
        lambda: [np.zeros(5 * MIB), np.zeros(4 * MIB)],
        "a value larger than 64 MiB (at [1])",
    ),
    "too-much-text": (lambda: ["a" * (33 * MIB), "语" * (11 * MIB)], "a value larger than 64 MiB (at [1])"),
    "too-many-bytes": (lambda: bytes(64 * MIB + 1), "a value larger than 64 MiB"),
    "integers-too-large-together": (lambda: [1 << 4095] * 70_000, "a value larger than 64 MiB (at ["),
    "too-deep": (lambda: nested(33), "a value nested deeper than 32 levels (at [0][0]"),
    "list-in-itself": (itself, "a value nested deeper than 32 levels (at [0][0]"),
    "too-large-a-dict": (lambda: dict.fromkeys(map(str, range(65_537))), "a dict of 65537 entries"),
    "too-large-a-set": (lambda: set(map(str, range(65_537))), "a set of 65537 entries"),
    "too-many-loose-keys": (lambda: dict.fromkeys(range(4_097)), "more than 4096 dict keys that hold an integer"),
    "too-many-loose-members": (lambda: set(range(4_097)), "more than 4096 set members that hold an integer"),
    "too-many-loose-keys-in-a-message": (
        lambda: [{("a", i): 0 for i in range(3000)}, {"b": dict.fromkeys(range(1097))}],
        "more than 4096 dict keys that hold an integer (at [1]['b'])",
    ),
    "loose-keys-and-members": (
        lambda: [set(range(2048)), dict.fromkeys(range(2049))],
        "more than 4096 dict keys that hold an integer (at [1])",
    ),
    "large-key": (lambda: {2**31 + 1: 0}, "a dict key of more than 32 bits"),
    "large-negative-member": (lambda: {-(2**31) - 1}, "a set member of more than 32 bits"),
    "large-integer-in-a-key": (lambda: {("a", (2**40,)): 0}, "a dict key of more than 32 bits"),
    "float-key": (lambda: {1.0: 0}, "a dict key of type float"),
    "boolean-key": (lambda: {True: 0}, "a dict key of type bool"),
    "none-key": (lambda: {None: 0}, "a dict key of type NoneType"),
    "bytes-member": (lambda: {b"a"}, "a set member of type bytes"),
    "numpy-key": (lambda: {np.int64(1): 0}, "a dict key of type int64"),
    "text-subclass-as-key": (lambda: {Text("a"): 0}, "a dict key of type Text"),
    "named-tuple-as-key": (lambda: {Point(1, 2): 0}, "a dict key of type Point"),
    "object-as-key": (lambda: {object(): 0}, "a dict key of type object"),
    "frozenset-in-a-member": (lambda: {("a", frozenset())}, "a set member of type frozenset"),
    "deep-key": (lambda: {nested_key(40): 0}, "a dict key nested deeper than 32 levels"),
    "too-large-an-integer": (lambda: 1 << 4096, "an integer of more than 4096 bits"),
    "too-large-a-numerator": (lambda: Fraction(1 << 4096, 3), "an integer of more than 4096 bits"),
    "lone-surrogate": (lambda: ["a", "b\udc80"], "a text with lone surrogates (at [1])"),
    "lone-surrogate-in-a-key": (lambda: {"b\ud800": 0}, "a text with lone surrogates"),
    "seventeen-axes": (lambda: np.ones((1,) * 17), "an array of 17 axes"),
    "long-axis": (lambda: np.empty((2**28 + 1, 0)), "an array with an axis of length 268435457"),
    "object-array": (lambda: np.array([None]), "an array of dtype object"),
    "text-array": (lambda: np.array(["ab"]), "an array of dtype <U2"),
    "structured-array": (lambda: np.zeros(2, "f8,i4"), "an array of dtype [('f0', '<f8'), ('f1', '<i4')]"),
    "date-array": (lambda: np.zeros(2, "M8[s]"), "an array of dtype datetime64[s]"),
    "void-array": (lambda: np.zeros(2, "V8"), "an array of dtype |V8"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_value_that_may_not_cross_is_refused_by_name(make: Callable[[], Any], message: str) -> None:
    """Every cap and every wrong type is one exception that says what it is and where it stands."""
    with pytest.raises(Refused, match=re.escape(message)):
        take_apart(make())


ALLOWED: dict[str, Callable[[], Any]] = {
    "a-million-items": lambda: [None] * 999_999,
    "64-MiB": lambda: np.zeros(8 * MIB),
    "32-levels": lambda: nested(32),
    "65536-entries": lambda: dict.fromkeys(map(str, range(65_536))),
    "65536-members": lambda: set(map(str, range(65_536))),
    "4096-loose-keys": lambda: [set(range(2048)), {(i, "a"): 0 for i in range(2048)}],
    "many-entries-with-text-tuples": lambda: {("a", (str(i),)): 0 for i in range(10_000)},
}


@pytest.mark.parametrize("make", ALLOWED.values(), ids=ALLOWED)
def test_value_at_its_cap_still_crosses(make: Callable[[], Any]) -> None:
    """What is just as large as the caps allow arrives."""
    value = make()
    assert same(cross(value), value)


def test_path_leads_to_the_culprit() -> None:
    """A refusal says where in the value it arose: list index and dict key, outermost first."""
    with pytest.raises(Refused) as caught:
        take_apart({"rows": [0, ({("the",): {"cow": [1.0, np.array([None])]}},)]})
    assert str(caught.value) == "an array of dtype object (at ['rows'][1][0][('the',)]['cow'][1])"
    assert caught.value.what == "an array of dtype object"


def test_path_shortens_a_long_key() -> None:
    """A key of any length takes at most 40 characters of a path."""
    with pytest.raises(Refused) as caught:
        take_apart({"k" * 1000: {1.5: 0}})
    assert len(caught.value.path) == 42


def test_refusal_of_references_passes_through() -> None:
    """A side that keeps no objects refuses them, and the path is told all the same."""

    def refer(value: object) -> tuple[int, str]:
        raise Refused(f"a test cannot send a {type(value).__name__}")

    with pytest.raises(Refused, match=re.escape("a test cannot send a object (at [1][0])")):
        flatten([0, [object()]], refer)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.broadcast_to(0.0, (1 << 40,)),
        lambda: [np.broadcast_to(0.0, (7 * MIB,)), np.broadcast_to(0.0, (7 * MIB,))][1:] * 2,
        lambda: Fraction(1 << 10_000_000, 1),
    ],
    ids=["one-array", "second-array", "integer"],
)
def test_cap_is_checked_before_anything_is_copied(make: Callable[[], Any]) -> None:
    """A refusal of something large costs no memory of its size."""
    value = make()
    allowance = 60 * MIB if isinstance(value, list) else MIB
    assert peak_of(lambda: take_apart(value)) < allowance


def peak_of(action: Callable[[], Any]) -> int:
    """Bytes that an action, which must be refused, allocates at its worst."""
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# What is refused, on the way in.

BYTES = np.zeros(3, np.uint8)
MALFORMED: dict[str, Flat] = {
    "nothing": by_hand(""),
    "unknown-kind": by_hand("x"),
    "kind-of-two-characters": by_hand(("vv",), 1),  # type: ignore[arg-type]
    "kind-left-over": by_hand("vv", 1, 2),
    "leaf-left-over": by_hand("v", 1, 2),
    "array-left-over": by_hand("v", 1, arrays=(BYTES,)),
    "leaf-missing": by_hand("v"),
    "array-missing": by_hand("a"),
    "bytes-missing": by_hand("b"),
    "member-missing": by_hand("lv", 2, 1),
    "value-missing": by_hand("dv", 1, "a"),
    "length-missing": by_hand("l"),
    "length-is-text": by_hand("l", "1"),
    "length-is-a-boolean": by_hand("lv", True, 1),
    "length-is-a-float": by_hand("lv", 1.0, 1),
    "length-is-negative": by_hand("l", -1),
    "list-too-long": by_hand("l", 1_000_001),
    "tuple-too-long": by_hand("t", 1 << 62),
    "set-too-large": by_hand("s", 65_537),
    "dict-too-large": by_hand("d", 65_537),
    "too-deep": by_hand("l" * 34 + "v", *[1] * 34, 0),
    "too-deep-in-slices": by_hand("S" * 40),
    "too-deep-in-fractions": by_hand("q" * 40),
    "too-deep-a-key": by_hand("d" + "t" * 33 + "vv", 1, *[1] * 33, "a", 0),
    "set-member-twice": by_hand("svv", 2, "a", "a"),
    "dict-key-twice": by_hand("dvvvv", 2, "a", 1, "a", 2),
    "key-one-and-true": by_hand("dvvvv", 2, 1, 0, True, 0),
    "key-is-a-list": by_hand("dlv", 1, 0, 0),
    "key-is-a-dict": by_hand("ddv", 1, 0, 0),
    "key-is-an-array": by_hand("dav", 1, 0, arrays=(BYTES,)),
    "key-is-a-float": by_hand("dvv", 1, 1.5, 0),
    "key-is-none": by_hand("dvv", 1, None, 0),
    "key-is-a-reference": by_hand("dhv", 1, 0, "object", 0),
    "key-holds-a-reference": by_hand("dthv", 1, 1, 0, "object", 0),
    "key-is-a-fraction": by_hand("dqvvv", 1, 1, 2, 0),
    "key-is-a-slice": by_hand("dSvvvv", 1, None, None, None, 0),
    "key-is-a-large-integer": by_hand("dvv", 1, 1 << 32, 0),
    "member-is-a-set": by_hand("ss", 1, 0),
    "too-many-loose-keys": by_hand("d" + "vv" * 4097, 4097, *[n // 2 for n in range(2 * 4097)]),
    "loose-keys-of-two-sets": by_hand("l" + ("s" + "v" * 3000) * 2, 2, *[3000, *range(3000)] * 2),
    "integer-is-no-text": by_hand("i", 5),
    "integer-is-no-number": by_hand("i", "0xg"),
    "integer-is-empty": by_hand("i", ""),
    "integer-too-long": by_hand("i", "0x" + "f" * 2000),
    "integer-of-4097-bits": by_hand("i", hex(1 << 4096)),
    "complex-of-text": by_hand("c", "1", "2"),
    "complex-of-integers": by_hand("c", 1, 2),
    "complex-of-one-part": by_hand("c", 1.0),
    "fraction-over-zero": by_hand("qvv", 1, 0),
    "fraction-of-floats": by_hand("qvv", 1.0, 2.0),
    "fraction-of-booleans": by_hand("qvv", True, True),
    "fraction-of-text": by_hand("qvv", "1", "2"),
    "fraction-of-a-reference": by_hand("qhv", 0, "int", 1),
    "bytes-of-floats": by_hand("b", arrays=(np.zeros(3),)),
    "scalar-with-an-axis": by_hand("g", arrays=(BYTES,)),
    "scalar-missing": by_hand("g"),
    "reference-by-text": by_hand("h", "0", "object"),
    "reference-by-boolean": by_hand("h", True, "object"),
    "reference-without-a-name": by_hand("h", 0),
    "reference-named-by-number": by_hand("h", 0, 1),
}


@pytest.mark.parametrize("flat", MALFORMED.values(), ids=MALFORMED)
def test_malformed_parts_are_refused(flat: Flat) -> None:
    """Parts that flatten could not have made leave as one exception type, Refused."""
    with pytest.raises(Refused):
        unflatten(flat, Reference, False)


@pytest.mark.parametrize(
    "flat",
    [by_hand("l", 1_000_000), by_hand("lt" * 8, *[1_000_000] * 16), by_hand("d", 65_536), by_hand("s", 65_536)],
    ids=["list", "nested", "dict", "set"],
)
def test_nothing_is_allocated_for_a_length_that_is_only_claimed(flat: Flat) -> None:
    """A container grows with the members that are there, not with the length that is announced."""
    assert peak_of(lambda: unflatten(flat, Reference, False)) < 100_000


def test_every_kind_of_the_docstring_has_a_decoder() -> None:
    """The table on top of the file lists exactly the kinds that are understood."""
    lines = (values.__doc__ or "").splitlines()
    first, last = [index for index, line in enumerate(lines) if line.startswith("====")][1:]
    listed = {kind for line in lines[first + 1 : last] for kind in line[:8].split()}
    assert listed == {"v", "a", *values._DECODERS}


# Any value at all.

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
KEYS = st.recursive(
    WORDS | st.integers(-(2**31), 2**31), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.complex_numbers()
    | WORDS
    | st.binary(max_size=5)
    | st.fractions()
    | st.just(...)
    | hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    | st.sampled_from(DTYPES).map(lambda dtype: np.dtype(dtype).type(1))
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
        | st.builds(slice, inner, inner, inner)
    ),
    max_leaves=12,
)


@MODEST
@given(VALUES)
def test_any_value_makes_the_round_trip(value: Any) -> None:
    """Whatever is made of the types of the contract arrives as it was."""
    assert same(cross(value), value)


@MODEST
@given(VALUES, st.data())
def test_changed_parts_are_refused_or_a_value(value: Any, data: st.DataObject) -> None:
    """One kind or leaf of a good message changed: it is refused or read, and nothing else happens."""
    flat = take_apart(value)
    if data.draw(st.booleans()) or not flat.leaves:
        flat.kinds[data.draw(st.integers(0, len(flat.kinds) - 1))] = data.draw(st.sampled_from("vicqbeSltsdgahx"))
    else:
        flat.leaves[data.draw(st.integers(0, len(flat.leaves) - 1))] = data.draw(
            st.none() | st.booleans() | st.integers(-2, 2**63) | st.floats() | WORDS
        )
    try:
        unflatten(flat, Reference, False)
    except Refused:
        pass
