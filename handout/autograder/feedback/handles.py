"""The test's side: ``student``, and handles on the objects that stay with the student's code.

Trusted. Neither knows whether the student's code runs in this process or another one: both speak to a ``Link``.

A handle allows what a test needs, attribute, call, ``[]`` and ``+ - * / @ **``, each a request; whatever would let
an object judge itself (comparison, truth, length, iteration, conversion, numpy functions) raises WrongType, since an
object whose ``==`` is always true would otherwise pass every test.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from .errors import Ended, GraderError, NotSendable, StudentError, WrongType, student_error
from .values import Flat, Refused, flatten, unflatten

LONGEST_TEXT = 200  # of the far side's names and messages; it cuts them too, but it is the student's process
LONGEST_TRACE = 6


class Link(Protocol):
    """One request, one answer: the only seam between a test and the student's code."""

    def ask(self, request: str, arguments: Flat) -> tuple[str, Flat]:
        """Send a request of ``server`` and wait for its status and value. Raises Ended or Late."""
        ...


class Student:
    """The student's package, and what a test may do on its side.

    ``student.ngram`` is the module ``ngram`` of the package, as a handle. ``sticky`` is the first error that fails
    the test even when the test swallows it. ``last_call`` is the student's function that was called last, as far as
    it is in one of ``own_modules``: a double in a given file is none of theirs. A diagnosis goes by ``sent``, all that
    the test has asked, and ``answered``, the last answer that was no handle, in a tuple of one.

    Args:
        link: to the far side.
        ours: the far side is the reference: whatever goes wrong there is a GraderError, never the student's fault.
    """

    def __init__(self, link: Link, ours: bool = False) -> None:
        self._link, self._ours = link, ours
        self._modules: dict[str, Handle] = {}
        self._paths: dict[int, str] = {}  # number of an object -> by which name it came first
        self.sticky: StudentError | None = None
        self.calls = 0
        self.last_call = ""
        self.own_modules: frozenset[str] | None = None  # None: every one
        self.sent: list[tuple[object, ...]] = []
        self.answered: tuple[object, ...] = ()

    def __getattr__(self, name: str) -> Handle:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._modules:
            try:
                request = ("torch",) if name == "torch" else ("module", name)
                self._modules[name] = self._ask_handle(*request)
            except StudentError as error:
                error.importing = name
                self.sticky = self.sticky or error  # a ValueError at import passes no test that wants a ValueError
                raise
            object.__setattr__(self._modules[name], "_path", name)
        return self._modules[name]

    def put(self, value: object) -> Handle:
        """A copy of ``value`` on the student's side. The handle passed twice is the same object there."""
        return self._ask_handle("put", value)

    def get(self, handle: Handle) -> Any:
        """What the object behind a handle is now, as a copy."""
        return self._ask("fetch", handle)

    def like(self, record: Any) -> Handle:
        """A reference's dataclass instance, rebuilt from the student's module of the same name."""
        if not dataclasses.is_dataclass(record) or isinstance(record, type):
            raise NotSendable(f"student.like takes a dataclass instance, not a {type(record).__name__}")
        fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
        return self._ask_handle("like", type(record).__module__.rpartition(".")[2], type(record).__name__, fields)

    def tensor(self, value: object) -> Handle:
        """A torch tensor with these numbers, on the student's side."""
        return self._ask_handle("tensor", value)

    def _ask_handle(self, request: str, *arguments: object) -> Handle:
        """Send a request that is answered by a handle."""
        __tracebackhide__ = True
        return self._ask(request, *arguments, kind=Handle)  # type: ignore[no-any-return]

    def _ask(self, request: str, *arguments: object, kind: type | None = None) -> Any:
        """Send a request; raise in the test what the student's code raised."""
        __tracebackhide__ = True
        try:
            flat = flatten(arguments, self._refer)
        except Refused as refused:
            raise NotSendable(str(refused)) from None
        self.calls += 1
        self.sent.append((request, *arguments))
        try:
            status, reply = self._link.ask(request, flat)
            value = self._open(status, reply, kind)
            if type(value) is not Handle:
                self.answered = (value,)
            return value
        except StudentError as error:
            if self._ours:
                raise GraderError(f"the reference: {error.kind}: {error}") from error
            if error.sticky and self.sticky is None:
                self.sticky = error
            raise

    def _open(self, status: str, reply: Flat, kind: type | None) -> Any:
        """The answer in a reply, or the error. Nothing in a reply is trusted."""
        __tracebackhide__ = True
        try:
            value = unflatten(reply, self._resolve, writeable=False)
            if status == "ok":
                return value if kind is None else _exactly(kind, value)
            error = self._error(status, _exactly(list, value))
        except (Refused, ValueError) as problem:
            error = Ended(f"your code sent an invalid reply ({type(problem).__name__})")
        raise error from getattr(self._link, "cause", None)  # inline: the student's own traceback

    def _error(self, status: str, parts: list[Any]) -> StudentError:
        if status == "refused":
            (what,) = parts
            return WrongType(f"{self.last_call or 'your code'}: returned {_text(what)}")
        if status == "error":
            base, kind, message, frames = parts
            places = []
            for frame in _exactly(list, frames)[-LONGEST_TRACE:]:
                file, line, function = _exactly(list, frame)
                places.append((_text(file), _exactly(int, line), _text(function)))
            return student_error(_text(base), _text(kind), _text(message), tuple(places))
        raise ValueError(status)

    def _note_call(self, path: str) -> None:
        if path and (self.own_modules is None or path.partition(".")[0] in self.own_modules):
            self.last_call = path

    def _refer(self, value: object) -> tuple[int, str]:
        if type(value) is not Handle:
            raise Refused(f"a test cannot send a {type(value).__name__}")
        if value._student is not self:
            raise Refused("a handle belongs to another student")
        return value._number, value._type

    def _resolve(self, number: int, name: str) -> Handle:
        # type() takes any text for a name: a made-up one is not repeated to anybody
        return Handle(self, number, name[:LONGEST_TEXT] if name.isidentifier() else "object")


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{kind.__name__} expected")
    return value


def _text(value: object) -> str:
    return str(_exactly(str, value)[:LONGEST_TEXT])


def _wrong_type(handle: Handle, wanted: str) -> NoReturn:
    __tracebackhide__ = True
    where = f"{handle._path}: " if handle._path else ""
    error = WrongType(f"{where}returned a {handle._type}, expected {wanted}")
    if handle._student._ours:
        raise GraderError(f"the reference: {error}")
    if handle._student.sticky is None:
        handle._student.sticky = error
    raise error


class Handle:
    """Stands for an object on the student's side. ``repr`` and ``hash`` are local; nothing else is."""

    __slots__ = ("_number", "_path", "_student", "_type")
    _number: int
    _path: str
    _student: Student
    _type: str

    def __init__(self, student: Student, number: int, type_name: str, path: str = "") -> None:
        for name, value in (("_student", student), ("_number", number), ("_type", type_name), ("_path", path)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<the student's {self._path or self._type}>"

    def __hash__(self) -> int:
        return hash((id(self._student), self._number))

    def __getattr__(self, name: str) -> Any:
        __tracebackhide__ = True
        if name.startswith(("__", "_pytest", "pytest_")) or name in _TEST_TOOLS:
            raise AttributeError(name)
        return _called(self._student._ask("get", self, name), f"{self._path}.{name}" if self._path else name)

    def __setattr__(self, name: str, value: object) -> None:
        __tracebackhide__ = True
        self._student._ask("set", self, name, value)

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        __tracebackhide__ = True
        self._student._note_call(self._path)
        return _called(self._student._ask("call", self, list(arguments), keywords), self._path)

    def __getitem__(self, index: object) -> Any:
        __tracebackhide__ = True
        return _called(self._student._ask("item", self, index), self._path)

    def __setitem__(self, index: object, value: object) -> None:
        __tracebackhide__ = True
        self._student._ask("setitem", self, index, value)

    def __neg__(self) -> Any:
        __tracebackhide__ = True
        return self._student._ask("math", "neg", self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """``array + handle`` arrives here: numpy asks before it would loop over the array."""
        __tracebackhide__ = True
        name = _UFUNCS.get(ufunc)
        if name is None or method != "__call__" or keywords:
            _wrong_type(self, "an array")
        return self._student._ask("math", name, *inputs)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a handle cannot be copied or pickled: use student.get(handle)")


def _called(value: Any, path: str) -> Any:
    """Remember by which of the student's names a handle came: messages name the function.

    An object that a method of its own returns, such as ``model.double()``, keeps its name.
    """
    if type(value) is Handle and not value._path:
        object.__setattr__(value, "_path", value._student._paths.setdefault(value._number, path))
    return value


_TEST_TOOLS = frozenset({"pytestmark", "_mock_methods", "_fixturefunc", "_pytestfixturefunction"})
_UFUNCS = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.matmul: "matmul",
    np.power: "pow",
    np.negative: "neg",
}
# What would let the object speak for itself, and what the test wanted when it tried.
_REFUSED = {
    **dict.fromkeys(("__lt__", "__le__", "__gt__", "__ge__", "__abs__", "__round__", "__complex__"), "a number"),
    **dict.fromkeys(("__trunc__", "__floor__", "__ceil__", "__divmod__", "__rdivmod__"), "a number"),
    **dict.fromkeys(("__mod__", "__rmod__", "__floordiv__", "__rfloordiv__", "__pos__"), "a number"),
    **dict.fromkeys(("__and__", "__or__", "__xor__", "__invert__", "__lshift__", "__rshift__"), "a number"),
    **dict.fromkeys(("__rand__", "__ror__", "__rxor__", "__rlshift__", "__rrshift__"), "a number"),
    **dict.fromkeys(("__len__", "__iter__", "__next__", "__reversed__", "__contains__"), "a list or an array"),
    **dict.fromkeys(("__array__", "__array_function__"), "an array"),
    **dict.fromkeys(("__eq__", "__ne__", "__format__", "__enter__", "__exit__", "__delattr__"), "a plain value"),
    **dict.fromkeys(("__delitem__", "__bytes__", "__fspath__", "__await__", "__aiter__"), "a plain value"),
    "__bool__": "True or False",
    "__int__": "an integer",
    "__index__": "an integer",
    "__float__": "a number",
}


def _refusing(wanted: str) -> Callable[..., NoReturn]:
    def refuse(self: Handle, *arguments: object, **keywords: object) -> NoReturn:
        __tracebackhide__ = True
        _wrong_type(self, wanted)

    return refuse


def _operator(name: str, reflected: bool) -> Callable[..., Any]:
    def apply(self: Handle, other: object) -> Any:
        __tracebackhide__ = True
        return self._student._ask("math", name, *((other, self) if reflected else (self, other)))

    return apply


def _in_place(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Handle, other: object) -> NoReturn:
        raise TypeError(f"in-place {name} on a handle would not change the student's object: write h.x = h.x + y")

    return refuse


for _name in ("add", "sub", "mul", "truediv", "matmul", "pow"):
    setattr(Handle, f"__{_name}__", _operator(_name, reflected=False))
    setattr(Handle, f"__r{_name}__", _operator(_name, reflected=True))
for _name in "add sub mul truediv matmul pow floordiv mod and or xor lshift rshift".split():
    setattr(Handle, f"__i{_name}__", _in_place(_name))
for _method, _wanted in _REFUSED.items():
    setattr(Handle, _method, _refusing(_wanted))
