"""``check.*``: the only way a graded test looks at a value.

Trusted. Every check first refuses a handle, then looks at shape, kind of number and finiteness, then at values; it
never calls student code to judge student code. A failure raises ``CheckFailed``: its text is for the student (on
hidden inputs: what is wrong, never what was expected), its ``detail`` for staff.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from .comparing import difference
from .errors import CheckFailed, GraderError, StudentError
from .handles import Handle, Student, _wrong_type
from .wording import article, count, short

EXACT = 1e-10  # right float64 code agrees to about 1e-14; differences of one's own forward to about 1e-9
TINY = 1e-12
STEP = 1e-6  # central differences in float64: error about 1e-9
BY_DIFFERENCES = 1e-5


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _counted(method: _Method) -> _Method:
    """A check that says of its failure which one of the test it was, and what it was given."""

    @functools.wraps(method)
    def check(self: Check, got: Any, *arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        self.count += 1
        place = f"{method.__name__} {self.count}"
        try:
            return method(self, got, *arguments, **keywords)
        except CheckFailed as failure:
            if not failure.place:  # the innermost of nested checks knows best
                failure.place, failure.got = place, (got,)
            raise

    return cast(_Method, check)


class Check:
    """The checks of one test.

    Args:
        hidden: its inputs are hidden, so messages show no values.
        tolerance: factor on every tolerance (assignment.toml may override it for an item).
        student: to name the function that was called last.
        rng: for random upstream gradients.

    ``measured``, when set, is told of every comparison of numbers: (what, largest error / what is allowed).
    """

    measured: Callable[[str, float], None] | None = None

    def __init__(
        self,
        hidden: bool,
        tolerance: float = 1.0,
        student: Callable[[], Student | None] = lambda: None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._hidden, self._tolerance, self._student = hidden, tolerance, student
        self._rng = rng if rng is not None else np.random.Generator(np.random.PCG64(0))
        self.count = 0  # of the checks so far

    @_counted
    def close(
        self, got: Any, expected: Any, what: str = "the result", *, rtol: float = EXACT, atol: float = TINY
    ) -> None:
        """``got`` is a number or an array equal to ``expected`` up to rounding.

        Allowed is ``atol + rtol * max|expected|`` for every entry. Infinities must be the same; NaN is never right.
        A scalar may be a float, an int, a Fraction, a numpy scalar or a 0-d array; an array must have the shape and the
        kind of number (integers, floats) that is expected, and double precision where that is expected.
        """
        __tracebackhide__ = True
        want = _expected(expected, what)
        have = self._numeric(got, what, "an array" if want.ndim else "a number")
        self._same_shape(have, want.shape, what)
        self._same_kind(have, want, what)
        self._not_nan(have, what, want)
        finite = np.isfinite(want)
        strange = np.where(finite, ~np.isfinite(have), have != want)
        if strange.any():
            self._fail(f"{what} should {_infinity(have, want, strange)}{_at(strange)}", have, want)
        error = _error(np.where(finite, have, 0), np.where(finite, want, 0))
        scale = float(np.max(np.abs(want[finite]), initial=0.0))
        allowed = (atol + rtol * scale) * self._tolerance
        if self.measured is not None and error.size:
            self.measured(what, float(error.max()) / allowed if allowed else math.inf if error.any() else 0.0)
        if error.size and not error.max() <= allowed:
            self._wrong_values(have, want, error, what, allowed, scale if rtol * scale >= atol else 0.0)

    @_counted
    def equal(self, got: Any, expected: Any, what: str = "the result") -> None:
        """``got`` is exactly ``expected``, types included: a list is no tuple, True is not 1, 1.0 is not 1.

        Goes through lists, tuples, sets and dicts; numpy scalars count as Python's, 0.0 is -0.0, NaN is never right.
        """
        __tracebackhide__ = True
        self._refuse_handles(got, what, article(expected))
        found = difference(got, expected)
        if found is not None:
            place = "".join(step.hidden if self._hidden else step.public for step in found.path)
            where = f"{what} at {place}" if place else what
            values = "" if self._hidden else found.values
            told = f"{found.problem}{found.values}".strip(" :")
            detail = f"{told}; got {short(got)}, expected {short(expected)}"
            raise CheckFailed(self._name(f"{where}{found.problem}{values}"), detail)

    def that(self, condition: Any, message: str) -> None:
        """A property that the test computed itself from values that were checked before."""
        __tracebackhide__ = True
        self.count += 1
        self._refuse_handles(condition, "the result", "True or False")
        if type(condition) not in (bool, np.bool_):
            raise GraderError(f"check.that takes True or False, not {article(condition)}: {message}")
        if not condition:
            failure = CheckFailed(self._name(message))
            student = self._student()
            failure.place = f"that {self.count}"
            failure.got = student.answered if student is not None else ()
            raise failure

    @_counted
    def number(self, got: Any, what: str = "the result") -> float:
        """``got`` as a float to compute with: a real scalar that is not NaN."""
        __tracebackhide__ = True
        have = self._numeric(got, what, "a number")
        self._same_shape(have, (), what)
        if have.dtype.kind not in "iuf":
            raise CheckFailed(self._name(f"{what} should be a real number, not {_KINDS[have.dtype.kind][0]}"))
        self._not_nan(have, what)
        return float(have)

    @_counted
    def array(self, got: Any, what: str = "the result", shape: tuple[int, ...] | None = None) -> np.ndarray:
        """``got`` as an array to compute with: numbers, none of them NaN, of the given shape."""
        __tracebackhide__ = True
        have = self._numeric(got, what, "a number" if shape == () else "an array")
        if shape is not None:
            self._same_shape(have, shape, what)
        self._not_nan(have, what)
        return have

    @_counted
    def unpack(self, got: Any, count: int, what: str = "the result") -> tuple[Any, ...]:
        """The parts of a tuple or list of ``count`` values."""
        __tracebackhide__ = True
        wanted = f"a tuple or list of {count} values"
        if type(got) not in (tuple, list):
            self._refuse_handles(got, what, wanted)
            raise CheckFailed(self._name(f"{what} should be {wanted}, not {article(got)}"), f"got {short(got)}")
        if len(got) != count:
            raise CheckFailed(self._name(f"{what} should be {wanted}, not of {len(got)}"), f"got {short(got)}")
        return tuple(got)

    @_counted
    def fields(self, got: Any, names: Sequence[str], what: str = "the result") -> dict[str, Any]:
        """The named attributes of an object of the student's."""
        __tracebackhide__ = True
        if type(got) is not Handle:
            wanted = f"an object with the fields {', '.join(names)}"
            raise CheckFailed(self._name(f"{what} should be {wanted}, not {article(got)}"), f"got {short(got)}")
        values = {}
        for name in names:
            try:
                values[name] = getattr(got, name)
            except AttributeError as error:
                if isinstance(error, StudentError):
                    raise CheckFailed(self._name(f"{what} has no field {name!r}")) from None
                raise
        return values

    @_counted
    def gradient(
        self,
        got: Any,
        function: Callable[[np.ndarray], Any],
        at: np.ndarray,
        upstream: Any = 1.0,
        what: str = "the gradient",
        *,
        rtol: float = BY_DIFFERENCES,
        atol: float = 1e-8,
    ) -> None:
        """``got`` is the gradient of ``sum(upstream * function(x))`` at ``at``, by central differences.

        ``function`` must be trusted: a forward of the reference or a closed form.
        """
        __tracebackhide__ = True
        self.close(got, differences(function, at, upstream), what, rtol=rtol, atol=atol)

    def module_gradient(self, module: Handle, forward: Callable[[np.ndarray], np.ndarray], inputs: Any) -> None:
        """``module.backward(a, b, g_b)`` is the gradient of a trusted ``forward``, for a random upstream ``g_b``."""
        __tracebackhide__ = True
        a = np.asarray(inputs, dtype=float)
        b = np.asarray(forward(a))
        upstream = self._rng.normal(size=b.shape)
        got = module.backward(a, b, upstream)
        self.gradient(got, forward, a, upstream, f"the gradient of {module._type}.backward")

    # What the checks are made of.

    def _name(self, message: str) -> str:
        student = self._student()
        where = f"{student.last_call}: " if student is not None and student.last_call else ""
        return where + message

    def _refuse_handles(self, got: Any, what: str, wanted: str) -> None:
        __tracebackhide__ = True
        for handle in _handles(got):
            should = f"be {wanted}" if handle is got else "hold plain values only"
            try:
                _wrong_type(handle, wanted)
            except StudentError as error:
                # the function that was called says more than the object's own path
                error.args = (self._name(f"{what} should {should}, not {article(handle)}"),)
                raise

    def _numeric(self, got: Any, what: str, wanted: str) -> np.ndarray:
        __tracebackhide__ = True
        if type(got) in (int, Fraction):
            return np.asarray(_as_float(got))
        if type(got) in (float, complex) or isinstance(got, (np.ndarray, np.generic)):
            return np.asarray(got)
        if type(got) is Handle:
            self._refuse_handles(got, what, wanted)
        raise CheckFailed(self._name(f"{what} should be {wanted}, not {article(got)}"), f"got {short(got)}")

    def _same_shape(self, have: np.ndarray, want: tuple[int, ...], what: str) -> None:
        __tracebackhide__ = True
        if have.shape == want:
            return
        if want == ():
            text = f"{what} should be a number, not an array of shape {have.shape}"
            text += ": take the one entry out of it" if have.size == 1 else ""
        elif have.shape == ():
            text = f"{what} should be an array{'' if self._hidden else f' of shape {want}'}, not a single number"
        elif not self._hidden:
            text = f"{what} should have shape {want}, not {have.shape}"
        elif have.ndim != len(want):
            text = f"{what} should have {count(len(want), 'axis', 'axes')}, not {have.ndim}"
        else:
            text = f"{what} has the wrong shape, {have.shape}"
        if have.ndim > 1 and have.shape == want[::-1]:
            text += ": it is transposed"
        raise CheckFailed(self._name(text), f"shape {have.shape}, expected {want}")

    def _same_kind(self, have: np.ndarray, want: np.ndarray, what: str) -> None:
        __tracebackhide__ = True
        kind, wanted = _KINDS[have.dtype.kind], _KINDS[want.dtype.kind]
        integer_for_float = have.ndim == 0 and kind is _KINDS["i"] and wanted is _KINDS["f"]
        if kind is not wanted and not integer_for_float:
            text = f"hold {wanted[1]}, not {kind[1]}" if want.ndim else f"be {wanted[0]}, not {kind[0]}"
            raise CheckFailed(self._name(f"{what} should {text}"))
        if have.dtype.str[1:] in ("f2", "f4", "c8") and want.dtype.str[1:] in ("f8", "c16"):
            text = f"should be {want.dtype}, not {have.dtype}: compute in double precision"
            raise CheckFailed(self._name(f"{what} {text}"))

    def _not_nan(self, have: np.ndarray, what: str, want: np.ndarray | None = None) -> None:
        __tracebackhide__ = True
        nan = np.isnan(have)
        if nan.any():
            self._fail(f"{what} should not be NaN{_at(nan)}", have, want)

    def _fail(self, text: str, have: np.ndarray, want: np.ndarray | None) -> NoReturn:
        __tracebackhide__ = True
        expected = "" if want is None else f"expected {short(want)}"
        shown = f" ({expected})" if expected and not self._hidden else ""
        raise CheckFailed(self._name(text + shown), f"got {short(have)}, {expected}")

    def _wrong_values(
        self, have: np.ndarray, want: np.ndarray, error: np.ndarray, what: str, allowed: float, scale: float
    ) -> NoReturn:
        """``scale`` is 0 where an absolute error says more than a relative one."""
        __tracebackhide__ = True
        worst = _first(error == error.max())
        bad = int((~(error <= allowed)).sum())
        entries = f"{bad} of {count(error.size, 'entry', 'entries')} {'is' if bad == 1 else 'are'} wrong"
        place = f"worst at {_index(worst)}    " if want.ndim else ""
        size, limit, kind = float(error[worst]), allowed, "error"
        if scale:
            size, limit, kind = size / scale, allowed / scale, "relative error"
        of = " of the largest entry" if scale and error.size > 1 else ""
        kind = "error" if of else kind
        lines = [f"{what}: {entries}" if want.ndim else f"{what} is wrong"]
        if self._hidden:
            lines.append(f"  {kind} about {size:.0e}{of}, allowed {limit:.0e}")
        else:
            if want.ndim:
                lines.append(f"  shape {have.shape} {have.dtype}, as expected")
            lines.append(f"  {place}got {_number(have[worst], 7)}    expected {_number(want[worst], 7)}")
            lines.append(f"  {kind} {size:.1e}{of}, allowed {limit:.0e}")
        factor = _common_factor(have, want)
        if factor == -1:
            lines.append("  every entry has the wrong sign")
        elif factor is not None:
            lines.append(f"  every entry is {factor:.4g} times what is expected")
        detail = f"{place}got {_number(have[worst], 9)}, expected {_number(want[worst], 9)}, error {error[worst]:.3g}"
        raise CheckFailed(self._name("\n".join(lines)), detail)


def differences(function: Callable[[np.ndarray], Any], at: np.ndarray, upstream: Any = 1.0) -> np.ndarray:
    """Central differences of ``sum(upstream * function(x))`` at ``at``, in float64."""
    x = np.array(at, dtype=float)

    def slope(number: int) -> float:
        step = np.where(np.arange(x.size) == number, STEP, 0.0).reshape(x.shape)
        above, below = (np.sum(np.asarray(function(near)) * upstream) for near in (x + step, x - step))
        return float(above - below) / (2 * STEP)

    return np.array([slope(number) for number in range(x.size)]).reshape(x.shape)


def _handles(value: Any) -> Iterator[Handle]:
    """Every handle in a value: a list of liars is a liar."""
    if type(value) is Handle:
        yield value
    elif type(value) in (list, tuple):
        for member in value:
            yield from _handles(member)
    elif type(value) is dict:
        for member in value.values():
            yield from _handles(member)


_KINDS = {
    "b": ("a boolean", "booleans"),
    "i": ("an integer", "integers"),
    "f": ("a float", "floats"),
    "c": ("a complex number", "complex numbers"),
}
_KINDS["u"] = _KINDS["i"]


def _expected(expected: Any, what: str) -> np.ndarray:
    """What a test expects, as an array. A whole number is a number like others: 2 for 2.0."""
    try:
        want = np.asarray(float(expected) if type(expected) is Fraction else expected)
    except ValueError as error:  # rows of different lengths
        raise GraderError(f"{what}: {error}") from None
    if want.dtype.kind not in _KINDS or np.isnan(want).any() or (want.ndim == 0 and want.dtype.kind == "b"):
        raise GraderError(f"{what}: the expected value is no number")
    return want.astype(float) if want.ndim == 0 and want.dtype.kind in "iu" else want


def _error(have: np.ndarray, want: np.ndarray) -> np.ndarray:
    wide = complex if "c" in (have.dtype.kind, want.dtype.kind) else float
    with np.errstate(over="ignore"):  # 1e308 for -1e308 is infinitely wrong
        error: np.ndarray = np.asarray(np.abs(have.astype(wide) - want.astype(wide)))
    return error


def _as_float(value: int | Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _common_factor(have: np.ndarray, want: np.ndarray) -> float | None:
    """The number of which every entry is that multiple of what is expected; None where there is none to speak of."""
    usable = have.size > 1 and have.dtype.kind == "f" and np.isfinite(have).all() and np.isfinite(want).all()
    if not usable or not want.all():
        return None
    ratios = have / want
    factor = float(ratios.flat[0])
    constant = np.allclose(ratios, factor, rtol=1e-6, atol=0)
    return round(factor, 9) if constant and factor and abs(factor - 1) > 1e-3 else None


def _number(value: Any, digits: int) -> str:
    plain = value.item()
    return str(plain) if isinstance(plain, bool) else f"{plain:.{digits}g}"


def _index(index: tuple[Any, ...]) -> str:
    return "[" + ", ".join(str(int(part)) for part in index) + "]"


def _first(mask: np.ndarray) -> tuple[Any, ...]:
    """The index of the first True."""
    return np.unravel_index(int(np.argmax(mask)), mask.shape) if mask.ndim else ()


def _at(mask: np.ndarray) -> str:
    return (
        f" at {_index(_first(mask))} ({int(mask.sum())} of {count(mask.size, 'entry', 'entries')})" if mask.ndim else ""
    )


def _infinity(have: np.ndarray, want: np.ndarray, strange: np.ndarray) -> str:
    """What the first strange entry should be."""
    index = _first(strange)
    if np.isfinite(want[index]):
        return "be finite"
    return "be infinite" if np.isfinite(have[index]) else "be infinite with the other sign"
