"""The contract between a test and the student's code, over three links with equal results: ``feedback.handles``.

Inline: the server is called in this process. Loopback: so it is, but every request and answer becomes bytes and is
read from them. Isolated: a confined worker, another process and, for root, another user.
"""

# ruff: noqa: SIM300 - on which side a handle stands is what is tested

from __future__ import annotations

import copy
import dataclasses
import io
import json
import math
import operator
import pickle
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.feedback.checks import Check
from autograder.feedback.errors import CheckFailed, Ended, GraderError, NotSendable, StudentError, WrongType
from autograder.feedback.handles import Handle, Student
from autograder.feedback.inline import InlineLink
from autograder.feedback.server import Server
from autograder.feedback.values import Flat, flatten
from autograder.pool import Pool
from tests.staff.links import (
    ITEM,
    PACKAGE,
    PROBE,
    Loopback,
    open_folder,
    open_pool,
    same,
    unchanged_imports,
    write_package,
)
from tests.staff.test_values import CROSSES, LAYOUTS, VALUES

WORK = """
    import collections
    import dataclasses
    from fractions import Fraction

    import numpy as np


    class Layer:
        def __init__(self, weight, bias=0.0):
            self.weight, self.bias, self.rows = weight, bias, {}

        def forward(self, x):
            return self.weight * x + self.bias

        def __getitem__(self, index):
            return self.rows[index]

        def __setitem__(self, index, value):
            self.rows[index] = value


    @dataclasses.dataclass
    class Cache:
        a: object
        b: object = None


    class Term:
        # keeps the text of what was done to it, and with what, in which order
        __array_ufunc__ = None  # on either side: numpy must not take it apart

        def __init__(self, text):
            self.text = text

        def __neg__(self):
            return Term(f"-{self.text}")


    def shown(value):
        if isinstance(value, Term):
            return value.text
        return f"array{value.tolist()}" if isinstance(value, np.ndarray) else f"{type(value).__name__} {value}"


    def operator(sign, reflected):
        def apply(self, other):
            left, right = (other, self) if reflected else (self, other)
            return Term(f"({shown(left)} {sign} {shown(right)})")
        return apply


    for name, sign in dict(add="+", sub="-", mul="*", truediv="/", matmul="@", pow="**").items():
        setattr(Term, f"__{name}__", operator(sign, False))
        setattr(Term, f"__r{name}__", operator(sign, True))
        setattr(Term, f"__i{name}__", lambda self, other: setattr(self, "text", "changed"))


    class Liar:
        shape, dtype, ndim, size = (2,), np.dtype("f8"), 1, 2
        __class__ = float

        def __init__(self, truth=(1.0, 2.0)):
            self.truth = truth

        def yes(self, *arguments, **keywords):
            return True

        __eq__ = __le__ = __lt__ = __ge__ = __gt__ = __bool__ = __contains__ = yes
        __hash__ = object.__hash__

        def __ne__(self, other):
            return False

        def nothing(self, *arguments):
            return 0.0

        __sub__ = __rsub__ = __float__ = __abs__ = __round__ = nothing

        def __array__(self, dtype=None, copy=None):
            return np.array(self.truth)

        def __array_function__(self, *arguments):
            return True

        def __array_ufunc__(self, *arguments, **keywords):
            return np.zeros(2)

        def __iter__(self):
            return iter(self.truth)

        def __len__(self):
            return 2

        def __int__(self):
            return 1

        __index__ = __int__


    def echo(value):
        return value


    def names(value):
        kind = type(value).__name__
        if kind == "dict":
            return [kind, *((names(key), names(member)) for key, member in value.items())]
        return [kind, *map(names, value)] if kind in ("list", "tuple") else kind


    def is_same(a, b):
        return a is b


    def double_in_place(array):
        array *= 2


    def extend(words):
        words.append("more")
        return words


    def writes_into(array):
        array[...] = 5
        return array


    def several(*arguments, **keywords):
        return [list(arguments), keywords]


    def count_up(n):
        yield from range(n)


    def kinds_of_dict():
        many = collections.defaultdict(list)
        many["a"].append(1)
        return [collections.Counter("aab"), many, collections.OrderedDict(b=1, a=2)]


    class Real(float):
        pass


    def odd(name):
        point = collections.namedtuple("Point", "x y")
        return {
            "generator": (n for n in [1]), "keys": {"a": 1}.keys(), "map": map(str, [1]), "point": point(1, 2),
            "real": Real(1.5), "range": range(3), "frozenset": frozenset([1]), "class": Layer, "function": echo,
            "text array scalar": np.array(["a"])[0], "made-up name": type("0.5\\n[x] all passed", (), {})(),
        }[name]


    def refused(name):
        return {
            "objects": [np.array([None])],
            "texts": np.array(["a"]),
            "surrogates": {"a": [chr(0xdc80)]},
            "float keys": {1.5: 0},
            "too large": np.broadcast_to(0.0, (1 << 24,)),
            "too large an integer": 1 << 5000,
            "axes": np.ones((1,) * 20),
        }[name]


    def nested():
        value = []
        value.append(value)
        return value
"""

FAULTS = """
    import json

    import numpy as np


    class OddError(LookupError):
        pass


    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("no text")


    class Text(str):
        def __getitem__(self, index):
            raise RuntimeError("no part")

        encode = __getitem__


    class Subclassed(Exception):
        def __str__(self):
            return Text("some text")


    class Traceless(Exception):
        __traceback__ = property(lambda self: 1 / 0)


    class Meta(type):
        __name__ = property(lambda cls: 1 / 0)
        __mro__ = property(lambda cls: 1 / 0)
        __module__ = "builtins"


    class Strange(Exception, metaclass=Meta):
        pass


    class Inherits(KeyError, json.JSONDecodeError):
        pass


    Lookalike = type("ValueError", (Exception,), {"__module__": "builtins"})


    def throw(name):
        raise {
            "value": lambda: ValueError("shapes (3,4) and (5,4) not aligned"),
            "key": lambda: KeyError("the"),
            "empty": lambda: ValueError(),
            "several": lambda: ValueError("a", 1),
            "index": lambda: IndexError("list index out of range"),
            "os": lambda: FileNotFoundError(2, "No such file"),
            "algebra": lambda: np.linalg.LinAlgError("Singular matrix"),
            "own": lambda: OddError("odd"),
            "stub": lambda: NotImplementedError("add_k: AddK.prob"),
            "assertion": lambda: AssertionError("not so"),
            "recursion": lambda: RecursionError("too deep"),
            "lookalike": lambda: Lookalike("looks like one"),
            "stop": lambda: StopIteration("over"),
            "stop async": lambda: StopAsyncIteration("over"),
            "generator exit": lambda: GeneratorExit("over"),
            "decode": lambda: UnicodeDecodeError("utf-8", b"x", 0, 1, "bad byte"),
            "group": lambda: eval("ExceptionGroup('some', [ValueError(1)])") if "ExceptionGroup" in dir(__builtins__)
            or "ExceptionGroup" in __builtins__ else RuntimeError("some (1 sub-exception)"),
            "exit": lambda: SystemExit(3),
            "interrupt": lambda: KeyboardInterrupt("stop"),
            "mute": Mute,
            "subclassed": Subclassed,
            "traceless": lambda: Traceless("no trace"),
            "strange": lambda: Strange("strange"),
            "long": lambda: ValueError("x" * 1000),
            "surrogate": lambda: ValueError("a" + chr(0xdc80)),
            "syntax": lambda: SyntaxError("bad", ("elsewhere.py", "one", 1, "x")),
            "warning": lambda: DeprecationWarning("old"),
        }[name]()


    def outer():
        return middle()


    def middle():
        return np.apply_along_axis(inner, 0, np.ones(2))


    def inner(row):
        raise ValueError("inside")


    def deep(n):
        if n == 0:
            raise ValueError("deep")
        deep(n - 1)


    def endless():
        return endless()


    def division():
        return 1 / 0
"""

STUDENT = {
    "work": WORK,
    "faults": FAULTS,
    "probe": PROBE,
    "testing": """
        class TableModel:
            def __init__(self, table):
                self.table = table

            def prob(self, word, context):
                return self.table[tuple(context)][word]

        def advance(iterator):
            try:
                return False, next(iterator)
            except StopIteration:
                return True, None
    """,
    "users": """
        def total(model, words):
            return sum(model.prob(word, ()) for word in words)
    """,
    "broken_syntax": "def f():\n    return (1,\n\n\nx = = 2\n",
    "broken_name": "from .work import echo\n\necho(1)\nundefined\n",
    "broken_import": "import no_such_library\n",
    "broken_relative": "from .work import no_such_name\n",
    "leaves": "raise SystemExit('bye')\n",
}


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Pool, Path]]:
    """Workers for the package, and the folder in which it lies."""
    with open_pool(STUDENT) as (pool, folder):
        yield pool, folder / "submission"


@pytest.fixture(params=["inline", "loopback", "isolated"])
def far(request: pytest.FixtureRequest, site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side, over each of the links."""
    pool, folder = site
    if request.param == "isolated":
        with pool.open(ITEM) as student:
            yield student
    else:
        link = InlineLink if request.param == "inline" else Loopback
        with unchanged_imports():
            yield Student(link(folder, PACKAGE))


@pytest.fixture
def isolated(site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side in a worker."""
    with site[0].open(ITEM) as student:
        yield student


@pytest.fixture
def inline(site: tuple[Pool, Path]) -> Iterator[Student]:
    """The student's side in this process."""
    with unchanged_imports():
        yield Student(InlineLink(site[1], PACKAGE))


# What crosses: the same in every mode.


def test_plain_data_makes_the_round_trip(far: Student) -> None:
    """Every type of the contract reaches the student and comes back as it is."""
    echo = far.work.echo
    for name, value in CROSSES.items():
        assert same(echo(value), value), name
    for name, array in LAYOUTS.items():
        arrived = echo(array)
        assert (arrived.shape, arrived.dtype) == (array.shape, array.dtype.newbyteorder("<")), name
        assert np.array_equal(arrived, array), name


def test_types_on_the_students_side_are_those_that_were_sent(far: Student) -> None:
    """A list is a list there, a numpy scalar a numpy scalar, all the way down."""
    sent = [1, True, 1.0, "a", None, b"", (1j, [...]), {"a": {("b", 1): np.float32(1)}}, np.int64(1), np.ones(2)]
    expected = ["int", "bool", "float", "str", "NoneType", "bytes", ["tuple", "complex", ["list", "ellipsis"]]]
    dicts = ["dict", ("str", ["dict", (["tuple", "str", "int"], "float32")])]
    assert far.work.names(sent) == ["list", *expected, dicts, "int64", "ndarray"]


def test_kinds_of_dict_arrive_as_dict(far: Student) -> None:
    """Counter, defaultdict and OrderedDict are dicts to a test."""
    assert same(far.work.kinds_of_dict(), [{"a": 2, "b": 1}, {"a": [1]}, {"b": 1, "a": 2}])


@pytest.mark.parametrize(
    ("name", "type_name"),
    [
        ("generator", "generator"),
        ("keys", "dict_keys"),
        ("map", "map"),
        ("point", "Point"),
        ("real", "Real"),
        ("range", "range"),
        ("frozenset", "frozenset"),
        ("class", "type"),
        ("function", "function"),
        ("text array scalar", "str_"),
        ("made-up name", "object"),
    ],
)
def test_anything_else_is_a_handle(far: Student, name: str, type_name: str) -> None:
    """Generators, views, own classes and subclasses of plain types stay on the student's side."""
    got = far.work.odd(name)
    assert type(got) is Handle
    assert got._type == type_name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("objects", "returned an array of dtype object (at [0])"),
        ("texts", "returned an array of dtype <U1"),
        ("surrogates", "returned a text with lone surrogates (at ['a'][0])"),
        ("float keys", "returned a dict key of type float"),
        ("too large", "returned a value larger than 64 MiB"),
        ("too large an integer", "returned an integer of more than 4096 bits"),
        ("axes", "returned an array of 20 axes"),
    ],
)
def test_answer_that_may_not_cross_is_a_wrong_type(far: Student, name: str, message: str) -> None:
    """An answer over a cap fails the test with one line that names the function, in every mode alike."""
    with pytest.raises(WrongType) as caught:
        far.work.refused(name)
    assert str(caught.value).startswith(f"work.refused: {message}")
    assert far.sticky is caught.value


def test_list_in_itself_is_a_wrong_type(far: Student) -> None:
    """A value without an end is refused, and the worker lives."""
    with pytest.raises(WrongType, match="nested deeper than 32 levels"):
        far.work.nested()
    assert far.work.echo(1) == 1


# Handles.


def test_attributes_are_read_and_written(far: Student) -> None:
    """``h.x`` and ``h.x = value`` reach the object, each time."""
    layer = far.work.Layer(2.0)
    assert layer.weight == 2.0
    layer.weight = np.array([3.0])
    layer.fresh = {"a": [1]}
    assert layer.weight.tolist() == [3.0]
    assert layer.fresh == {"a": [1]}
    layer.bias += 1.5
    assert layer.forward(2.0).tolist() == [7.5]


def test_calls_take_positions_and_keywords(far: Student) -> None:
    """A call passes what it is given, and its plain answer is no handle."""
    assert far.work.several(1, [2], x=(3,), y=None) == [[1, [2]], {"x": (3,), "y": None}]
    assert far.work.Layer(weight=2.0, bias=1.0).forward(3.0) == 7.0


def test_items_are_read_and_written(far: Student) -> None:
    """``h[i]`` and ``h[i] = value`` work for keys, slices, tuples of them and the ellipsis."""
    layer = far.work.Layer(1.0)
    layer["a", 1] = [5]
    assert layer["a", 1] == [5]
    grid = far.put(np.arange(6.0).reshape(2, 3))
    grid[0, 1:] = 9.0
    assert grid[..., ::2].tolist() == [[0, 9], [3, 5]]
    assert far.get(grid).tolist() == [[0, 9, 9], [3, 4, 5]]


def test_handles_stand_anywhere_inside_containers(far: Student) -> None:
    """A handle may be sent, and arrives, within lists, tuples, dicts and slices."""
    layer = far.work.Layer(2.0)
    answer = far.work.echo([layer, {"a": (layer, 1)}, slice(layer, 2)])
    for got in (answer[0], answer[1]["a"][0], answer[2].start):
        assert type(got) is Handle
        assert far.work.is_same(got, layer) is True


ARRAY = np.array([1.0, 2.0])
SIGNS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "truediv": ("/", operator.truediv),
    "matmul": ("@", operator.matmul),
    "pow": ("**", operator.pow),
}
OPERANDS: dict[str, tuple[Any, str]] = {
    "int": (2, "int 2"),
    "float": (0.5, "float 0.5"),
    "complex": (1j, "complex 1j"),
    "numpy-scalar": (np.float64(0.5), "float64 0.5"),
    "array": (ARRAY, "array[1.0, 2.0]"),
    "zero-axes": (np.array(3.0), "array3.0"),
    "tuple": ((1,), "tuple (1,)"),
}


@pytest.mark.parametrize(("sign", "apply"), SIGNS.values(), ids=SIGNS)
def test_arithmetic_is_the_objects_own(far: Student, sign: str, apply: Callable[[Any, Any], Any]) -> None:
    """``+ - * / @ **`` and their reflected forms are one request each, whatever stands on the other side."""
    term = far.work.Term("t")
    for name, (other, text) in OPERANDS.items():
        calls = far.calls
        left, right = apply(term, other), apply(other, term)
        assert far.calls == calls + 2, name
        assert [type(left), type(right)] == [Handle, Handle], name
        assert (left.text, right.text) == (f"(t {sign} {text})", f"({text} {sign} t)"), name


def test_arithmetic_of_two_handles_and_minus(far: Student) -> None:
    """Both operands may be handles, and unary minus is the object's own."""
    a, b = far.work.Term("a"), far.work.Term("b")
    assert (a * b - -a).text == "((a * b) - -a)"
    assert np.negative(a).text == "-a"
    assert sum([a, b]).text == "((int 0 + a) + b)"


def test_plain_answers_of_arithmetic_are_plain(far: Student) -> None:
    """Arithmetic on a handle of an array gives an array, as any other answer."""
    array: Any = far.put(ARRAY)
    for got in (array + 1, 1 + array, array @ np.array([[1.0], [0.0]]).repeat(2, 1), ARRAY * array):
        assert type(got) is np.ndarray
    number: Any = far.put(3)
    assert (2**number, 7 - number) == (8, 4)


IN_PLACE = "iadd isub imul itruediv imatmul ipow ifloordiv imod iand ior ixor ilshift irshift".split()


def test_in_place_operators_raise(far: Student) -> None:
    """``h += y`` cannot mean what it says: it raises TypeError, and the object stays as it is."""
    term = far.work.Term("t")
    for name in IN_PLACE:
        with pytest.raises(TypeError, match=f"in-place {name[1:]} "):
            getattr(operator, name)(term, 1)
    assert term.text == "t"
    assert far.sticky is None  # a fault of the test, not of the student


@dataclasses.dataclass
class Context:
    value: Any

    def enter(self) -> None:
        with self.value:
            pass


JUDGING: dict[str, Callable[[Any], Any]] = {
    "==": lambda h: h == 1.0,
    "!=": lambda h: h != 1.0,
    "<": lambda h: h < 1.0,
    "<=": lambda h: h <= 1.0,
    ">": lambda h: h > 1.0,
    ">=": lambda h: h >= 1.0,
    "reflected ==": lambda h: 1.0 == h,
    "reflected <=": lambda h: 1.0 <= h,
    "== array": lambda h: h == ARRAY,
    "array ==": lambda h: ARRAY == h,
    "array <=": lambda h: ARRAY <= h,
    "scalar ==": lambda h: np.float64(1) == h,
    "== in a list": lambda h: [h] == [1.0],
    "== in a tuple": lambda h: (1.0,) == (h,),
    "== in a dict": lambda h: {"a": h} == {"a": 1.0},
    "in": lambda h: h in [1.0],
    "contains": lambda h: 1.0 in h,
    "index of a list": lambda h: [1.0].index(h),
    "bool": bool,
    "not": lambda h: not h,
    "if": lambda h: 1 if h else 2,
    "and": lambda h: h and 1,
    "all": lambda h: all([h]),
    "len": len,
    "iter": iter,
    "list": list,
    "unpacking": lambda h: [*h],
    "for": lambda h: [x + 1 for x in h],
    "next": next,
    "reversed": reversed,
    "zip": lambda h: list(zip(h, [1], strict=False)),
    "int": int,
    "float": float,
    "complex": complex,
    "index": lambda h: [1, 2][h],
    "range": range,
    "hex": hex,
    "abs": abs,
    "round": round,
    "divmod": lambda h: divmod(h, 2),
    "reflected divmod": lambda h: divmod(2, h),
    "%": lambda h: h % 2,
    "reflected %": lambda h: 2 % h,
    "//": lambda h: h // 2,
    "reflected //": lambda h: 2 // h,
    "&": lambda h: h & True,
    "reflected |": lambda h: True | h,
    "~": lambda h: ~h,
    "+": lambda h: +h,
    "<<": lambda h: h << 1,
    "max": lambda h: max([h, 1.0]),
    "sorted": lambda h: sorted([h, 1.0]),
    "format": lambda h: f"{h:.3f}",
    "format without a spec": lambda h: f"{h}",
    "bytes": bytes,
    "with": lambda h: Context(h).enter(),
    "open": open,
    "del attribute": lambda h: delattr(h, "truth"),
    "del item": lambda h: operator.delitem(h, 0),
    "math.isclose": lambda h: math.isclose(h, 1.0),
    "math.floor": math.floor,
    "math.sqrt": math.sqrt,
    "statistics.mean": lambda h: statistics.mean(h),
    "approx": lambda h: pytest.approx(1.0) == h,
    "approx of a list": lambda h: [h] == pytest.approx([1.0]),
    "np.asarray": np.asarray,
    "np.array of a list": lambda h: np.array([h, 1.0]),
    "np.array with a dtype": lambda h: np.array(h, dtype=float),
    "np.allclose": lambda h: np.allclose(h, ARRAY),
    "np.allclose second": lambda h: np.allclose(ARRAY, h),
    "np.isclose": lambda h: np.isclose(h, 1.0),
    "np.array_equal": lambda h: np.array_equal(h, ARRAY),
    "np.testing": lambda h: np.testing.assert_allclose(h, ARRAY),
    "np.testing second": lambda h: np.testing.assert_array_equal(ARRAY, h),
    "np.sum": np.sum,
    "np.mean": np.mean,
    "np.shape": np.shape,
    "np.concatenate": lambda h: np.concatenate([h, ARRAY]),
    "np.where": lambda h: np.where(h, 1, 2),
    "np.dot": lambda h: np.dot(ARRAY, h),
    "array.dot": lambda h: ARRAY.dot(h),
    "np.exp": np.exp,
    "np.abs": np.abs,
    "np.isfinite": np.isfinite,
    "np.isnan": np.isnan,
    "np.maximum": lambda h: np.maximum(h, 0.0),
    "np.add.reduce": lambda h: np.add.reduce(h),
    "np.add with out": lambda h: np.add(ARRAY, h, out=np.zeros(2)),
    "np.add with where": lambda h: np.add(ARRAY, h, where=False),
    "array +=": lambda h: operator.iadd(np.zeros(2), h),
    "array[i] =": lambda h: np.zeros(2).__setitem__(0, h),
    "array[:] =": lambda h: np.zeros(2).__setitem__(slice(None), h),
    "array[h]": lambda h: ARRAY[h],
}


@pytest.mark.parametrize("judge", JUDGING.values(), ids=JUDGING)
def test_nothing_lets_an_object_judge_itself(inline: Student, judge: Callable[[Any], Any]) -> None:
    """Comparison, truth, length, iteration, conversion and numpy's functions raise, and the failure sticks."""
    assert refuses(inline.work.Liar(), judge)


def test_nothing_lets_an_object_judge_itself_over_any_link(far: Student) -> None:
    """The same for every link, for a liar and for an honest object."""
    for handle in (far.work.Liar(), far.work.Layer(1.0), far.put([1.0, 2.0])):
        assert [name for name, judge in JUDGING.items() if not refuses(handle, judge)] == []


def refuses(handle: Handle, judge: Callable[[Any], Any]) -> bool:
    """Whether this way to judge a handle fails the test for good, without asking the object."""
    student = handle._student
    student.sticky, calls = None, student.calls
    with pytest.raises((WrongType, ValueError)) as caught:
        judge(handle)
    error = caught.value if isinstance(caught.value, WrongType) else caught.value.__cause__  # numpy wraps some
    assert f"returned a {handle._type}, expected " in str(error)
    return isinstance(student.sticky, WrongType) and student.calls == calls


LISTED = {
    "itself": lambda h: h,
    "list": lambda h: [h, h],
    "tuple": lambda h: (h, h),
    "dict": lambda h: {"a": h},
    "nested": lambda h: [1.0, ({"a": [h]},)],
}
CHECKS: dict[str, Callable[[Check, Any], Any]] = {
    "close": lambda check, got: check.close(got, ARRAY),
    "close to a number": lambda check, got: check.close(got, 1.0),
    "equal": lambda check, got: check.equal(got, [1.0, 2.0]),
    "equal to itself": lambda check, got: check.equal(got, got),
    "number": lambda check, got: check.number(got),
    "array": lambda check, got: check.array(got),
    "gradient": lambda check, got: check.gradient(got, np.sin, ARRAY),
}


@pytest.mark.parametrize("wrap", LISTED.values(), ids=LISTED)
@pytest.mark.parametrize("judge", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("hidden", [True, False], ids=["hidden", "public"])
def test_every_check_refuses_a_liar(
    inline: Student, judge: Callable[[Check, Any], Any], wrap: Callable[[Any], Any], hidden: bool
) -> None:
    """No check passes an object whose ``==``, ``-``, ``__array__`` and ``shape`` lie, alone or in a container."""
    got = wrap(inline.work.Liar())
    with pytest.raises((WrongType, CheckFailed)):
        judge(Check(hidden), got)


def test_liar_is_refused_over_every_link(far: Student) -> None:
    """A liar that the student's function returns, in whatever, fails the test that looks at it."""
    for wrap in LISTED.values():
        got = far.work.echo(wrap(far.work.Liar()))
        for judge in CHECKS.values():
            with pytest.raises((WrongType, CheckFailed)):
                judge(Check(True), got)
        with pytest.raises((WrongType, GraderError)):
            Check(True).that(got, "it is so")


def test_results_are_taken_apart_by_checks(far: Student) -> None:
    """``check.unpack`` gives the parts of a tuple, ``check.fields`` the attributes of an object."""
    check = Check(True)
    number, layer = check.unpack(far.work.echo((1.5, far.work.Layer(2.0))), 2)
    assert number == 1.5
    assert check.fields(layer, ["weight", "bias"]) == {"weight": 2.0, "bias": 0.0}
    with pytest.raises(CheckFailed, match="no field 'slope'"):
        check.fields(layer, ["slope"])
    with pytest.raises(WrongType):
        check.unpack(far.work.Liar(), 2)


@pytest.mark.parametrize("name", ["__len__x", "__wrapped__", "__dict__", "__array_interface__", "__torch_function__"])
def test_dunder_names_are_local(far: Student, name: str) -> None:
    """A name with two underscores is no attribute of the student's object: AttributeError, without a request."""
    layer = far.work.Layer(1.0)
    calls = far.calls
    with pytest.raises(AttributeError) as caught:
        getattr(layer, name)
    assert type(caught.value) is AttributeError
    assert far.calls == calls


@pytest.mark.parametrize("name", ["_pytestfixturefunction", "pytestmark", "pytest_plugins", "_mock_methods"])
def test_names_of_test_tools_are_local(far: Student, name: str) -> None:
    """What pytest or mock look for on any object does not reach the student's."""
    layer = far.work.Layer(1.0)
    calls = far.calls
    assert not hasattr(layer, name)
    assert far.calls == calls


def test_text_hash_and_class_of_a_handle_are_local(far: Student) -> None:
    """repr, str, hash, type and isinstance never ask the student's side."""
    liar = far.work.Liar()
    calls = far.calls
    assert repr(liar) == str(liar) == f"{liar!r}" == "<the student's work.Liar>"
    assert isinstance(hash(liar), int)
    assert liar.__class__ is Handle
    assert not isinstance(liar, float)
    assert "forward" not in dir(liar)
    assert far.calls == calls


def test_handle_is_named_by_how_it_was_reached(far: Student) -> None:
    """Messages can say which of the student's functions an object came from."""
    assert repr(far.work) == "<the student's work>"
    assert repr(far.work.Layer) == "<the student's work.Layer>"
    assert repr(far.work.Layer(1.0)) == "<the student's work.Layer>"
    assert repr(far.work.Layer(1.0).forward) == "<the student's work.Layer.forward>"
    far.work.Layer(1.0).forward(1.0)
    assert far.last_call == "work.Layer.forward"


@pytest.mark.parametrize(
    "action",
    [copy.copy, copy.deepcopy, pickle.dumps, lambda h: copy.deepcopy([h]), json.dumps],
    ids=["copy", "deepcopy", "pickle", "deepcopy-of-a-list", "json"],
)
def test_handles_cannot_be_copied_or_stored(far: Student, action: Callable[[Any], Any]) -> None:
    """A copy of a handle would be no copy of the object: TypeError, without a request."""
    layer = far.work.Layer(1.0)
    calls = far.calls
    with pytest.raises(TypeError):
        action(layer)
    assert far.calls == calls


def test_same_object_has_one_number(far: Student) -> None:
    """However an object is reached, its handles have the same hash; another object's differ."""
    layer = far.work.Layer(1.0)
    assert hash(far.work.echo(layer)) == hash(layer) == hash(far.work.echo([layer])[0])
    assert hash(far.work.Layer(1.0)) != hash(layer)


# Identity and mutation.


def test_arguments_are_copies(far: Student) -> None:
    """What the student does to an argument does not happen to the test's value."""
    words, array = ["a"], np.zeros(3)
    assert far.work.extend(words) == ["a", "more"]
    assert far.work.writes_into(array).tolist() == [5, 5, 5]
    assert words == ["a"]
    assert array.tolist() == [0, 0, 0]


def test_received_arrays_are_read_only(far: Student) -> None:
    """A write into a received array raises instead of being lost."""
    layer = far.work.Layer(np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        layer.weight[...] = 7
    with pytest.raises(ValueError, match="read-only"):
        layer.weight += 1
    with pytest.raises(ValueError, match="read-only"):
        far.work.echo({"a": [np.zeros(2)]})["a"][0][0] = 1
    assert layer.weight.tolist() == [0, 0]


def test_handle_passed_twice_is_the_same_object(far: Student) -> None:
    """``student.put`` makes one object; passed twice it is one object there, while values arrive as two."""
    array = np.zeros(2)
    handle = far.put(array)
    assert far.work.is_same(handle, handle) is True
    assert far.work.is_same(array, array) is False
    assert far.work.is_same(handle, far.put(array)) is False


def test_get_reads_an_object_back_as_it_is_now(far: Student) -> None:
    """In-place changes show in ``student.get``, which gives a copy each time."""
    array = np.array([1.0, 2.0])
    handle = far.put(array)
    before = far.get(handle)
    far.work.double_in_place(handle)
    assert (before.tolist(), far.get(handle).tolist(), array.tolist()) == ([1, 2], [2, 4], [1, 2])


@pytest.mark.parametrize(
    "value", [None, 1, "a", [], {"a": 1}, 1.5], ids=["None", "int", "str", "list", "dict", "float"]
)
def test_put_gives_a_handle_of_any_value(far: Student, value: Any) -> None:
    """Whatever is put is a handle, even what would cross as itself; get gives it back."""
    handle = far.put(value)
    assert type(handle) is Handle
    assert same(far.get(handle), value)


def test_get_of_an_object_that_stays_is_its_handle(far: Student) -> None:
    """``student.get`` of an object of the student's own class is a handle of the same object."""
    layer = far.work.Layer(1.0)
    assert hash(far.get(layer)) == hash(layer)


@dataclasses.dataclass
class Cache:
    a: Any
    b: Any = None


Cache.__module__ = "reference_mini.work"


def test_like_rebuilds_a_dataclass_there(far: Student) -> None:
    """A reference's record becomes the student's record of the same name, handles in it included."""
    array = far.put(np.ones(2))
    rebuilt = far.like(Cache(a=[np.zeros(2)], b=array))
    assert rebuilt._type == "Cache"
    assert rebuilt.a[0].tolist() == [0, 0]
    assert far.work.is_same(far.probe.run("answer = record.b is array", record=rebuilt, array=array), True)
    assert far.probe.run("answer = type(record).__module__", record=rebuilt) == "mini.work"


@pytest.mark.parametrize("record", [Cache, {"a": 1}, 1.5], ids=["class", "dict", "float"])
def test_like_takes_records_only(far: Student, record: Any) -> None:
    """Anything but a dataclass's instance is a fault of the test."""
    with pytest.raises(NotSendable):
        far.like(record)


def test_missing_record_is_the_students_fault(far: Student) -> None:
    """A dataclass that the student's module lacks is an AttributeError of the student's."""

    @dataclasses.dataclass
    class Missing:
        a: int = 1

    Missing.__module__ = "reference_mini.work"
    with pytest.raises(AttributeError, match="Missing") as caught:
        far.like(Missing())
    assert isinstance(caught.value, StudentError)


# Functions, models, generators.


class Reference:
    """An object of a test's own."""


UNSENDABLE: dict[str, Any] = {
    "function": len,
    "lambda": lambda x: x,
    "generator": (x for x in [1]),
    "class": Reference,
    "object": Reference(),
    "module": math,
    "range": range(3),
    "frozenset": frozenset(),
    "file": io.StringIO(),
    "rng": np.random.default_rng(0),
    "keys": {}.keys(),
    "text-array": np.array(["a"]),
    "text-scalar": np.str_("a"),
    "float-key": {1.5: 1},
    "in-a-list": [[len]],
    "in-a-dict": {"a": (len,)},
    "record": Cache(1),
}


@pytest.mark.parametrize("value", UNSENDABLE.values(), ids=UNSENDABLE)
def test_test_cannot_send_an_object(far: Student, value: Any) -> None:
    """A test that passes a function or an object is broken, and says so, before anything is sent."""
    work = far.work
    echo = work.echo
    calls = far.calls
    for send in (echo, far.put, lambda it: setattr(work, "x", it), lambda it: work.Layer + it):
        with pytest.raises(NotSendable):
            send(value)
    assert far.calls <= calls + 1  # reading work.Layer
    assert far.sticky is None
    assert issubclass(NotSendable, GraderError)
    assert not issubclass(NotSendable, StudentError)


def test_handle_of_another_test_is_refused(far: Student, site: tuple[Pool, Path]) -> None:
    """A handle means nothing on another student's side."""
    with unchanged_imports():
        other = Student(InlineLink(site[1], PACKAGE)).work.Layer(1.0)
    with pytest.raises(NotSendable, match="another student"):
        far.put(other)


def test_models_are_doubles_made_over_handles(far: Student) -> None:
    """A function that wants a model gets a double of the given file, made on the student's side."""
    model = far.testing.TableModel({(): {"bat": 0.25, "cow": 0.5}})
    assert far.users.total(model, ["bat", "cow"]) == 0.75


def test_generators_are_read_step_by_step(far: Student) -> None:
    """``advance(generator)`` gives (done, value), so that an early end cannot end the test's loop."""
    generator = far.work.count_up(2)
    steps = [far.testing.advance(generator) for _ in range(3)]
    assert steps == [(False, 0), (False, 1), (True, None)]


# Errors.

RAISED: dict[str, tuple[str, type[Exception], str, str]] = {
    "value": ("value", ValueError, "ValueError", "shapes (3,4) and (5,4) not aligned"),
    "key-without-quotes": ("key", KeyError, "KeyError", "'the'"),
    "without-text": ("empty", ValueError, "ValueError", ""),
    "several-arguments": ("several", ValueError, "ValueError", "('a', 1)"),
    "index": ("index", IndexError, "IndexError", "list index out of range"),
    "file-not-found": ("os", FileNotFoundError, "FileNotFoundError", "[Errno 2] No such file"),
    "numpy's": ("algebra", ValueError, "LinAlgError", "Singular matrix"),
    "own-class": ("own", LookupError, "OddError", "odd"),
    "stub": ("stub", NotImplementedError, "NotImplementedError", "add_k: AddK.prob"),
    "assertion": ("assertion", AssertionError, "AssertionError", "not so"),
    "recursion": ("recursion", RecursionError, "RecursionError", "too deep"),
    "warning": ("warning", DeprecationWarning, "DeprecationWarning", "old"),
    "syntax-elsewhere": ("syntax", SyntaxError, "SyntaxError", "bad (elsewhere.py)"),
    "surrogates": ("surrogate", ValueError, "ValueError", "a?"),
    "long-text": ("long", ValueError, "ValueError", "x" * 200),
}


@pytest.mark.parametrize(("name", "builtin", "kind", "message"), RAISED.values(), ids=RAISED)
def test_exception_is_raised_again(far: Student, name: str, builtin: type, kind: str, message: str) -> None:
    """A student's exception is a StudentError and the builtin, with its class's name and at most 200 characters."""
    with pytest.raises(builtin) as caught:
        far.faults.throw(name)
    error = caught.value
    assert isinstance(error, StudentError)
    assert (error.kind, str(error)) == (kind, message)
    stays = error if name == "stub" else None  # a RuntimeError too: no test that wants one is passed by a stub
    assert far.sticky is stays


def test_long_text_is_cut_before_it_is_sent() -> None:
    """A huge message of an exception does not travel: the far side cuts it as well."""
    described = Server(PACKAGE, "/nowhere")._describe(ValueError("x" * 10_000))
    assert described == ["ValueError", "ValueError", "x" * 200, []]


def test_key_error_shows_its_key_once(far: Student) -> None:
    """KeyError would quote its text when shown: 'the' stays 'the'."""
    with pytest.raises(KeyError) as caught:
        far.faults.throw("key")
    assert f"{caught.value}" == "'the'"


UNNATURAL: dict[str, tuple[str, str, str]] = {
    "stop-iteration": ("stop", "StopIteration", "over"),
    "stop-async-iteration": ("stop async", "StopAsyncIteration", "over"),
    "generator-exit": ("generator exit", "GeneratorExit", "over"),
    "decoding": ("decode", "UnicodeDecodeError", "'utf-8' codec can't decode byte 0x78 in position 0: bad byte"),
    "system-exit": ("exit", "SystemExit", "3"),
}


@pytest.mark.parametrize(("name", "kind", "message"), UNNATURAL.values(), ids=UNNATURAL)
def test_exception_that_cannot_or_must_not_be_raised_again(far: Student, name: str, kind: str, message: str) -> None:
    """What would end a loop or the process, or cannot be built from a text, is a StudentError and nothing more."""
    with pytest.raises(StudentError) as caught:
        far.faults.throw(name)
    assert (caught.value.kind, str(caught.value)) == (kind, message)
    assert type(caught.value).__mro__[1:] == StudentError.__mro__
    assert far.work.echo(1) == 1  # it lives


def test_stop_iteration_does_not_end_a_loop_of_assertions(far: Student) -> None:
    """A generator that asks the student's code is not ended early by it."""

    def asking() -> Iterator[object]:
        for _ in range(2):
            yield far.faults.throw("stop")

    with pytest.raises(StudentError):
        list(asking())
    with pytest.raises(StudentError):
        list(map(far.faults.throw, ["stop"]))


def test_exception_group_is_a_student_error(far: Student) -> None:
    """An exception that wants other exceptions cannot be built here, and is told by its name and text."""
    with pytest.raises(StudentError, match=r"some \(1 sub-exception\)"):
        far.faults.throw("group")


@pytest.mark.parametrize("name", ["mute", "subclassed", "traceless", "strange"])
def test_exception_that_hides_itself_is_still_one(far: Student, name: str) -> None:
    """Broken ``__str__``, text, traceback or class: the test fails with a StudentError, and the worker lives."""
    with pytest.raises(StudentError) as caught:
        far.faults.throw(name)
    assert not isinstance(caught.value, Ended)
    assert far.work.echo(1) == 1


def test_text_that_cannot_be_shown_is_said_to_be_so(far: Student) -> None:
    """An exception whose ``__str__`` raises keeps its name."""
    with pytest.raises(StudentError) as caught:
        far.faults.throw("mute")
    assert (caught.value.kind, str(caught.value)) == ("Mute", "(its message cannot be shown)")


def test_class_that_only_looks_like_a_builtin_is_none(far: Student) -> None:
    """A class that calls itself ValueError is no ValueError, whatever its name and module say."""
    with pytest.raises(StudentError) as caught:
        far.faults.throw("lookalike")
    assert not isinstance(caught.value, ValueError)


def test_keyboard_interrupt_in_a_worker_is_the_students(isolated: Student) -> None:
    """``raise KeyboardInterrupt`` in a worker does not stop the tests."""
    with pytest.raises(StudentError) as caught:
        isolated.faults.throw("interrupt")
    assert caught.value.kind == "KeyboardInterrupt"
    assert not isinstance(caught.value, KeyboardInterrupt)


def test_keyboard_interrupt_inline_stops_the_tests(inline: Student) -> None:
    """On a laptop Ctrl-C arrives in the student's code, and must end pytest."""
    with pytest.raises(KeyboardInterrupt):
        inline.faults.throw("interrupt")


def test_frames_are_the_students_own(far: Student) -> None:
    """The trace shows the student's files, lines and functions, outermost first, and nobody else's."""
    with pytest.raises(ValueError, match="inside") as caught:
        far.faults.outer()
    source = (STUDENT["faults"]).splitlines()
    lines = {text.strip(): number for number, text in enumerate(source, 1)}
    assert caught.value.frames == (  # type: ignore[attr-defined]
        ("mini/faults.py", lines["return middle()"], "outer"),
        ("mini/faults.py", lines["return np.apply_along_axis(inner, 0, np.ones(2))"], "middle"),
        ("mini/faults.py", lines['raise ValueError("inside")'], "inner"),
    )


def test_long_traces_end_at_the_raise(far: Student) -> None:
    """Of many frames the last six are shown."""
    with pytest.raises(ValueError, match="deep") as caught:
        far.faults.deep(20)
    frames = caught.value.frames  # type: ignore[attr-defined]
    assert len(frames) == 6
    assert frames[-1][1] == frames[-2][1] - 1


def test_endless_recursion_is_a_recursion_error(far: Student) -> None:
    """Recursion without end is told as such, and the worker lives."""
    with pytest.raises(RecursionError) as caught:
        far.faults.endless()
    assert len(caught.value.frames) == 6  # type: ignore[attr-defined]
    assert far.work.echo(1) == 1


def test_errors_in_calls_of_the_wrong_form(far: Student) -> None:
    """A wrong number of arguments, a missing function, a missing item: the builtin errors, from the student's side."""
    with pytest.raises(TypeError, match="argument"):
        far.work.echo(1, 2)
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = far.work.no_such_function
    with pytest.raises(KeyError, match="gone"):
        far.work.Layer(1.0)["gone"]
    with pytest.raises(TypeError):
        _ = far.work.Layer(1.0) + 1
    assert far.sticky is None


IMPORTS: dict[str, tuple[str, type[Exception], str, tuple[tuple[str, int, str], ...]]] = {
    "syntax": ("broken_syntax", SyntaxError, "", (("mini/broken_syntax.py", 2, "<module>"),)),
    "name": ("broken_name", NameError, "name 'undefined' is not defined", (("mini/broken_name.py", 4, "<module>"),)),
    "library": (
        "broken_import",
        ModuleNotFoundError,
        "No module named 'no_such_library'",
        (("mini/broken_import.py", 1, "<module>"),),
    ),
    "relative": ("broken_relative", ImportError, "cannot import name", (("mini/broken_relative.py", 1, "<module>"),)),
    "missing": ("no_such_module", ModuleNotFoundError, "No module named 'mini.no_such_module'", ()),
}


@pytest.mark.parametrize(("module", "builtin", "message", "frames"), IMPORTS.values(), ids=IMPORTS)
def test_import_error_names_file_and_line(
    far: Student, module: str, builtin: type[Exception], message: str, frames: tuple[tuple[str, int, str], ...]
) -> None:
    """A module that cannot be imported says where; the others work, and a second try fails alike."""
    for _ in range(2):
        with pytest.raises(builtin) as caught:
            getattr(far, module)
        error = caught.value
        assert isinstance(error, StudentError)
        assert error.importing == module
        assert message in str(error)
        assert [frame[0] for frame in error.frames] == [frame[0] for frame in frames]
        if module != "broken_syntax":  # which line a missing bracket is told on is the version's own
            assert error.frames == frames
    assert far.work.echo(1) == 1


def test_exit_at_import_is_an_import_error_of_its_own(far: Student) -> None:
    """``sys.exit`` while a module is imported fails that import only."""
    with pytest.raises(StudentError, match="bye") as caught:
        _ = far.leaves
    assert (caught.value.kind, caught.value.importing) == ("SystemExit", "leaves")
    assert far.work.echo(1) == 1


def test_frames_are_found_behind_a_link() -> None:
    """Where the package is reached by a symbolic link, its frames are shown all the same, by their short names."""
    with open_folder() as folder, unchanged_imports():
        write_package(folder / "real", STUDENT)
        (folder / "link").symlink_to(folder / "real")
        student = Student(InlineLink(folder / "link", PACKAGE))
        with pytest.raises(ZeroDivisionError) as caught:
            student.faults.division()
        assert [frame[0] for frame in caught.value.frames] == ["mini/faults.py"]  # type: ignore[attr-defined]
        with pytest.raises(SyntaxError) as caught_syntax:
            _ = student.broken_syntax
        assert [frame[0] for frame in caught_syntax.value.frames] == ["mini/broken_syntax.py"]  # type: ignore[attr-defined]


# What sticks.


def test_swallowed_wrong_type_still_fails_the_test(far: Student) -> None:
    """The first sticky error is kept, whatever the test swallows; ordinary errors are not."""
    with pytest.raises(ValueError, match="aligned"):
        far.faults.throw("value")
    assert far.sticky is None
    for handle in (far.work.Liar(), far.work.Layer(1.0)):
        with pytest.raises(WrongType):
            bool(handle)
    assert str(far.sticky) == "work.Liar: returned a Liar, expected True or False"


def test_ended_process_is_sticky(isolated: Student) -> None:
    """``os._exit`` in a call ends the worker: every later request says so, and the test fails."""
    layer = isolated.work.Layer(1.0)
    with pytest.raises(Ended, match="ended its process") as caught:
        isolated.probe.run("import os; os._exit(0)")
    assert isolated.sticky is caught.value
    with pytest.raises(Ended, match="ended its process"):
        _ = layer.weight
    with pytest.raises(Ended, match="ended its process"):
        isolated.put(1)


def test_crash_of_the_interpreter_is_an_ended_process(isolated: Student) -> None:
    """A segmentation fault is the worker's alone."""
    with pytest.raises(Ended, match="ended its process"):
        isolated.probe.run("import ctypes; ctypes.string_at(0)")


def test_module_state_does_not_outlive_a_test(site: tuple[Pool, Path]) -> None:
    """What a test changes in the student's modules is gone in the next, inline and isolated."""
    pool, folder = site
    for _ in range(2):
        with pool.open(ITEM) as student:
            assert not hasattr(student.work, "trace")
            student.work.trace = 1
    with unchanged_imports():
        for _ in range(2):
            student = Student(InlineLink(folder, PACKAGE))
            assert not hasattr(student.work, "trace")
            student.work.trace = 1


def test_all_links_tell_the_same_story(site: tuple[Pool, Path]) -> None:
    """One script over the three links: the same answers, errors, frames and counts, word for word."""
    pool, folder = site
    stories = []
    for kind in (InlineLink, Loopback, None):
        if kind is None:
            with pool.open(ITEM) as student:
                stories.append(story(student))
        else:
            with unchanged_imports():
                stories.append(story(Student(kind(folder, PACKAGE))))
    assert stories[0] == stories[1] == stories[2]
    assert len(stories[0]) > 20


def story(student: Student) -> list[str]:
    """What happens when a test does this and that."""
    work, faults = student.work, student.faults
    layer, term = work.Layer(np.ones(2)), work.Term("t")
    steps: list[Callable[[], Any]] = [
        lambda: layer,
        lambda: layer.forward(3),
        lambda: layer.weight,
        lambda: setattr(layer, "weight", [1]),
        lambda: layer.forward(3),
        lambda: layer["x"],
        lambda: (ARRAY * term).text,
        lambda: term == 1,
        lambda: work.odd("generator"),
        lambda: work.refused("float keys"),
        lambda: work.kinds_of_dict(),
        lambda: work.echo([layer, np.float32(1), {(): 1j}]),
        lambda: faults.throw("key"),
        lambda: faults.outer(),
        lambda: faults.throw("stop"),
        lambda: student.broken_name,
        lambda: student.put([1]),
        lambda: student.get(student.put((1, [2]))),
        lambda: work.echo(len),
        lambda: faults.endless(),
        lambda: student.calls,
        lambda: student.last_call,
        lambda: student.sticky,
    ]
    told = []
    for step in steps:
        try:
            told.append(repr(step()))
        except Exception as error:
            told.append(f"{type(error).__mro__[:3]} {error} {getattr(error, 'frames', '')}")
    return told


# A far side that does not keep to the protocol.


class Hostile:
    """A link to somebody who answers whatever he likes."""

    def __init__(self, status: str, reply: Flat) -> None:
        self.status, self.reply = status, reply

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """See ``handles.Link``."""
        return self.status, self.reply


def answered(value: object) -> Flat:
    return flatten(value, lambda far: (0, "object"))


def malformed(kinds: str) -> Flat:
    flat = Flat()
    flat.kinds = list(kinds)
    return flat


HANDLE = object()
INVALID: dict[str, tuple[str, Any]] = {
    "unknown-status": ("fine", 1.0),
    "empty-status": ("", 1.0),
    "refusal-without-a-reason": ("refused", []),
    "refusal-of-two": ("refused", ["a", "b"]),
    "refusal-is-a-number": ("refused", [1]),
    "refusal-is-a-handle": ("refused", HANDLE),
    "refusal-holds-a-handle": ("refused", [HANDLE]),
    "error-is-none": ("error", None),
    "error-is-a-handle": ("error", HANDLE),
    "error-is-short": ("error", ["ValueError", "ValueError", "text"]),
    "error-holds-handles": ("error", [HANDLE, HANDLE, HANDLE, HANDLE]),
    "error-class-is-a-number": ("error", [1, "ValueError", "text", []]),
    "message-is-bytes": ("error", ["ValueError", "ValueError", b"text", []]),
    "frames-are-a-handle": ("error", ["ValueError", "ValueError", "text", HANDLE]),
    "frames-are-text": ("error", ["ValueError", "ValueError", "text", "abc"]),
    "frame-is-short": ("error", ["ValueError", "ValueError", "text", [["file", 1]]]),
    "frame-is-text": ("error", ["ValueError", "ValueError", "text", ["abc"]]),
    "line-is-infinite": ("error", ["ValueError", "ValueError", "text", [["file", math.inf, "f"]]]),
    "line-is-nan": ("error", ["ValueError", "ValueError", "text", [["file", math.nan, "f"]]]),
    "line-is-a-handle": ("error", ["ValueError", "ValueError", "text", [["file", HANDLE, "f"]]]),
    "line-is-text": ("error", ["ValueError", "ValueError", "text", [["file", "1", "f"]]]),
}


@pytest.mark.parametrize(("status", "value"), INVALID.values(), ids=INVALID)
def test_reply_that_breaks_the_protocol_ends_the_test(status: str, value: Any) -> None:
    """A worker that answers nonsense is Ended, sticky, whatever the nonsense; never a fault of ours."""
    student = Student(Hostile(status, answered(value)))
    for ask in (lambda: student.get(None), lambda: student.work):  # type: ignore[arg-type]
        with pytest.raises(Ended, match="invalid reply"):
            ask()
    assert isinstance(student.sticky, Ended)


@pytest.mark.parametrize("value", [None, 1.5, [HANDLE], np.ones(2)], ids=["None", "float", "list", "array"])
def test_value_where_a_handle_must_be_ends_the_test(value: Any) -> None:
    """Modules, ``put``, ``like`` and ``tensor`` give handles, or the far side has broken the protocol."""
    student = Student(Hostile("ok", answered(value)))
    asks: list[Callable[[], Any]] = [
        lambda: student.work,
        lambda: student.torch,
        lambda: student.put(1),
        lambda: student.like(Cache(1)),
        lambda: student.tensor(1.0),
    ]
    for ask in asks:
        with pytest.raises(Ended, match="invalid reply"):
            ask()


@pytest.mark.parametrize("kinds", ["", "l", "vv", "x"], ids=["nothing", "list", "too-many", "unknown"])
@pytest.mark.parametrize("status", ["ok", "refused", "error"])
def test_malformed_reply_ends_the_test(status: str, kinds: str) -> None:
    """A reply that cannot be put together is Ended as well."""
    with pytest.raises(Ended, match="invalid reply"):
        Student(Hostile(status, malformed(kinds))).put(1)


def test_texts_of_the_far_side_are_cut_here() -> None:
    """The far side is not trusted to cut: names, messages and traces have their length on arrival."""
    huge = "x" * 1_000_000
    frames = [["x" * 1000, 1, "x" * 1000]] * 1000
    with pytest.raises(StudentError) as caught:
        Student(Hostile("error", answered(["ValueError", huge, huge, frames]))).put(1)
    error = caught.value
    assert max(map(len, (str(error), error.kind, type(error).__name__, error.frames[0][0], error.frames[0][2]))) <= 200
    assert len(error.frames) <= 6
    with pytest.raises(WrongType) as refused:
        Student(Hostile("refused", answered([huge]))).put(1)
    assert len(str(refused.value)) < 300
    handle = Student(Hostile("ok", flatten(HANDLE, lambda far: (0, huge)))).put(1)
    assert len(repr(handle)) < 300


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(st.sampled_from(["ok", "refused", "error"]), VALUES)
def test_any_reply_is_a_value_or_a_students_error(status: str, value: Any) -> None:
    """Whatever a worker answers, a test gets a value or a StudentError: never a fault of ours."""
    student = Student(Hostile(status, answered(value)))
    for ask in (lambda: student.get(None), lambda: student.put(1), lambda: student.work):  # type: ignore[arg-type]
        try:
            ask()
        except StudentError:
            pass


# The reference behind the same handles.


def test_errors_of_the_reference_are_ours(site: tuple[Pool, Path]) -> None:
    """Where the far side is the reference, whatever goes wrong there is a fault of ours, never the student's."""
    with unchanged_imports():
        reference = Student(InlineLink(site[1], PACKAGE), ours=True)
        layer = reference.work.Layer(1.0)
        asks: list[Callable[[], Any]] = [
            lambda: reference.faults.throw("value"),
            lambda: reference.broken_name,
            lambda: reference.work.refused("float keys"),
            lambda: layer == 1,
            lambda: np.exp(layer),
        ]
        for ask in asks:
            with pytest.raises(GraderError, match="reference"):
                ask()
