"""``check.*``: the only way a graded test looks at a value.

Trusted. Every check first refuses a handle, then looks at shape, kind of number and finiteness, then at values; it
never calls student code to judge student code. A failure raises ``CheckFailed``: its text is for the student (on
hidden inputs: what is wrong, never what was expected), its ``detail`` for staff.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from .errors import CheckFailed, GraderError, StudentError
from .handles import Handle, Student, _wrong_type

EXACT = 1e-10  # right float64 code agrees to about 1e-14; differences of one's own forward to about 1e-9
TINY = 1e-12
STEP = 1e-6  # central differences in float64: error about 1e-9
BY_DIFFERENCES = 1e-5
SHOWN = 80  # characters of a value in a message


class Check:
    """The checks of one test.

    Args:
        hidden: its inputs are hidden, so messages show no values.
        tolerance: factor on every tolerance (assignment.toml may override it for an item).
        student: to name the function that was called last.
        rng: for random upstream gradients.
    """

    def __init__(
        self,
        hidden: bool,
        tolerance: float = 1.0,
        student: Callable[[], Student | None] = lambda: None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._hidden, self._tolerance, self._student = hidden, tolerance, student
        self._rng = rng if rng is not None else np.random.Generator(np.random.PCG64(0))
        self.done = 0  # checks that were made: a test without any cannot fail

    def close(self, got: Any, expected: Any, what: str = "the result", *, rtol: float = EXACT, atol: float = TINY) -> None:
        """``got`` is a number or an array equal to ``expected`` up to rounding.

        Allowed is ``atol + rtol * max|expected|`` for every entry. Infinities must be the same; NaN is never right.
        A scalar may be a float, an int, a numpy scalar or a 0-d array.
        """
        __tracebackhide__ = True
        self.done += 1
        want = np.asarray(expected)
        if want.dtype.kind not in "biufc" or np.isnan(want).any():
            raise GraderError(f"{what}: the expected value is no number")
        have = self._numeric(got, what)
        self._same_shape(have, want, what)
        self._same_kind(got, have, want, what)
        finite = np.isfinite(want)
        if np.isnan(have).any():
            self._fail(what, f"is NaN{_at(np.isnan(have))}", have, want)
        if (np.isfinite(have) != finite).any() or (have[~finite] != want[~finite]).any():
            bad = (np.isfinite(have) != finite) | ~finite & (have != want)
            self._fail(what, f"is {_infinite(have, bad)}{_at(bad)}", have, want)
        error = np.abs(have[finite].astype(_wide(have)) - want[finite].astype(_wide(want)))
        scale = float(np.max(np.abs(want[finite]), initial=0.0))
        allowed = (atol + rtol * scale) * self._tolerance
        if error.size and not error.max() <= allowed:
            self._wrong_values(have, want, finite, allowed, scale, rtol * self._tolerance, what)

    def equal(self, got: Any, expected: Any, what: str = "the result") -> None:
        """``got`` is exactly ``expected``, types included: a list is no tuple, True is not 1.

        Goes through lists, tuples, sets and dicts; numpy integers and booleans count as Python's.
        """
        __tracebackhide__ = True
        self.done += 1
        self._refuse_handles(got, what, _kind_name(expected))
        problem = _difference(got, expected, "")
        if problem is not None:
            place, text, secret = problem
            shown = secret if not self._hidden else ""
            message = f"{what}{place} {text}{shown}"
            raise CheckFailed(self._name(message), f"got {_short(got)}, expected {_short(expected)}")

    def that(self, condition: Any, message: str) -> None:
        """A property that the test computed itself from values that were checked before."""
        __tracebackhide__ = True
        self.done += 1
        if type(condition) not in (bool, np.bool_):
            raise GraderError(f"check.that takes True or False, not a {type(condition).__name__}")
        if not condition:
            raise CheckFailed(self._name(message))

    def number(self, got: Any, what: str = "the result") -> float:
        """``got`` as a float to compute with: a real scalar that is not NaN."""
        __tracebackhide__ = True
        self.done += 1
        have = self._numeric(got, what)
        self._same_shape(have, np.asarray(0.0), what)
        if have.dtype.kind not in "iuf":
            raise CheckFailed(self._name(f"{what} should be a real number, not a {_kind_name(got)}"))
        if np.isnan(have):
            raise CheckFailed(self._name(f"{what} is NaN"))
        return float(have)

    def array(self, got: Any, what: str = "the result", shape: tuple[int, ...] | None = None) -> np.ndarray:
        """``got`` as an array to compute with: numbers, none of them NaN, of the given shape."""
        __tracebackhide__ = True
        self.done += 1
        have = self._numeric(got, what)
        if shape is not None:
            self._same_shape(have, np.empty(shape), what)
        if np.isnan(have).any():
            raise CheckFailed(self._name(f"{what} is NaN{_at(np.isnan(have))}"))
        return have

    def unpack(self, got: Any, count: int, what: str = "the result") -> tuple[Any, ...]:
        """The parts of a tuple or list of ``count`` values."""
        __tracebackhide__ = True
        self.done += 1
        self._refuse_handles(got, what, f"a tuple of {count}", deep=False)
        if type(got) not in (tuple, list):
            raise CheckFailed(self._name(f"{what} should be a tuple of {count} values, not a {_kind_name(got)}"))
        if len(got) != count:
            raise CheckFailed(self._name(f"{what} should be a tuple of {count} values, not of {len(got)}"))
        return tuple(got)

    def fields(self, got: Any, names: Sequence[str], what: str = "the result") -> dict[str, Any]:
        """The named attributes of an object of the student's."""
        __tracebackhide__ = True
        self.done += 1
        if type(got) is not Handle:
            raise CheckFailed(self._name(f"{what} should have the fields {', '.join(names)}; it is a {_kind_name(got)}"))
        values = {}
        for name in names:
            try:
                values[name] = getattr(got, name)
            except AttributeError as error:
                if isinstance(error, StudentError):
                    raise CheckFailed(self._name(f"{what} has no field {name!r}")) from None
                raise
        return values

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

    def _refuse_handles(self, got: Any, what: str, wanted: str, deep: bool = True) -> None:
        __tracebackhide__ = True
        for handle in _handles(got) if deep else [got] if type(got) is Handle else []:
            try:
                _wrong_type(handle, f"{wanted} for {what}")
            except StudentError as error:
                # the function that was called says more than the object's own path
                error.args = (self._name(f"{what} should be {wanted}, not a {handle._type}"),)
                raise

    def _numeric(self, got: Any, what: str) -> np.ndarray:
        __tracebackhide__ = True
        self._refuse_handles(got, what, "a number or an array", deep=False)
        if type(got) in (int, float, complex) or isinstance(got, (np.ndarray, np.generic)):
            try:
                return np.asarray(got, dtype=float) if type(got) is int else np.asarray(got)
            except OverflowError:
                return np.asarray(math.copysign(math.inf, got))
        raise CheckFailed(self._name(f"{what} should be a number or an array, not {_article(got)}"), f"got {_short(got)}")

    def _same_shape(self, have: np.ndarray, want: np.ndarray, what: str) -> None:
        __tracebackhide__ = True
        if have.shape == want.shape:
            return
        if want.shape == () and have.size == 1:
            text = f"{what} should be a number, not an array of shape {have.shape}: take the one entry out of it"
        elif want.shape == ():
            text = f"{what} should be a number, not an array of shape {have.shape}"
        elif self._hidden:
            text = f"{what} has the wrong shape"
            if have.ndim != want.ndim:
                text += f": it has {have.ndim} axes, {want.ndim} are expected"
        else:
            text = f"{what} has shape {have.shape}, expected {want.shape}"
        raise CheckFailed(self._name(text), f"shape {have.shape}, expected {want.shape}")

    def _same_kind(self, got: Any, have: np.ndarray, want: np.ndarray, what: str) -> None:
        __tracebackhide__ = True
        kinds = {"b": "booleans", "i": "integers", "u": "integers", "f": "floats", "c": "complex numbers"}
        kind, wanted = kinds[have.dtype.kind], kinds[want.dtype.kind]
        if kind == wanted or (have.ndim == 0 and wanted == "floats" and kind == "integers"):
            if have.dtype.str[1:] in ("f2", "f4") and want.dtype.str[1:] == "f8":
                raise CheckFailed(self._name(f"{what} is {have.dtype}; compute in float64"))
            return
        raise CheckFailed(self._name(f"{what} should hold {wanted}, not {kind}"))

    def _fail(self, what: str, problem: str, have: np.ndarray, want: np.ndarray) -> NoReturn:
        __tracebackhide__ = True
        shown = "" if self._hidden else f"; expected {_short(want)}"
        raise CheckFailed(self._name(f"{what} {problem}{shown}"), f"got {_short(have)}, expected {_short(want)}")

    def _wrong_values(
        self, have: np.ndarray, want: np.ndarray, finite: np.ndarray, allowed: float, scale: float, rtol: float, what: str
    ) -> NoReturn:
        __tracebackhide__ = True
        error = np.where(finite, np.abs(np.where(finite, have, 0) - np.where(finite, want, 0)), 0.0)
        worst = np.unravel_index(int(np.argmax(error)), error.shape) if error.shape else ()
        count = int((~(error <= allowed)).sum())
        relative = float(error[worst]) / scale if scale else math.inf
        detail = f"worst at {_index(worst)}: got {have[worst]:.9g}, expected {want[worst]:.9g}, error {error[worst]:.3g}"
        if error.shape:
            lines = [f"{what} is wrong: {count} of {error.size} entries differ"]
        else:
            lines = [f"{what} is wrong"]
        if not self._hidden:
            place = f"worst at {_index(worst)}    " if error.shape else ""
            lines.append(f"  {place}got {_number(have[worst])}    expected {_number(want[worst])}")
            lines.append(f"  relative error {relative:.1e}, allowed {rtol:.0e}")
        else:
            lines.append(f"  relative error about {relative:.0e}, allowed {rtol:.0e}")
        raise CheckFailed(self._name("\n".join(lines)), detail)


def differences(function: Callable[[np.ndarray], Any], at: np.ndarray, upstream: Any = 1.0) -> np.ndarray:
    """Central differences of ``sum(upstream * function(x))`` at ``at``, in float64."""
    x = np.array(at, dtype=float)
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        old = x[index]
        x[index] = old + STEP
        above = np.sum(np.asarray(function(x)) * upstream)
        x[index] = old - STEP
        below = np.sum(np.asarray(function(x)) * upstream)
        x[index] = old
        gradient[index] = (above - below) / (2 * STEP)
    return gradient


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


def _difference(got: Any, want: Any, place: str) -> tuple[str, str, str] | None:
    """The first difference as (where, what is wrong, the values), or None."""
    if isinstance(got, (np.bool_, np.integer)):
        got = got.item()
    if isinstance(got, np.ndarray) or isinstance(want, np.ndarray):
        raise GraderError("check.equal does not compare arrays; use check.close")
    if isinstance(got, np.floating):
        got = float(got)
    if type(got) is not type(want):
        return place, f"should be {_article(want)}, not {_article(got)}", ""
    if type(want) in (list, tuple):
        if len(got) != len(want):
            return place, f"has {len(got)} entries", f", expected {len(want)}: got {_short(got)}, expected {_short(want)}"
        for index, (mine, theirs) in enumerate(zip(got, want)):
            found = _difference(mine, theirs, f"{place}[{index}]")
            if found is not None:
                return found
        return None
    if type(want) is dict:
        missing = [key for key in want if key not in got]
        extra = [key for key in got if key not in want]
        if missing:
            return place, f"lacks {len(missing)} of its keys", f", such as {missing[0]!r}"
        if extra:
            return place, f"has {len(extra)} keys too many", f", such as {_short(extra[0])}"
        for key, theirs in want.items():
            found = _difference(got[key], theirs, f"{place}[{_short(key)}]" if not place else f"{place}[...]")
            if found is not None:
                return found
        return None
    if got != want:
        return place, "is wrong", f": got {_short(got)}, expected {_short(want)}"
    return None


def _kind_name(value: Any) -> str:
    if isinstance(value, Handle):
        return value._type
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return "None" if value is None else type(value).__name__


def _article(value: Any) -> str:
    name = _kind_name(value)
    return name if name == "None" else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _short(value: Any) -> str:
    """A value for a message, cut."""
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"an array of shape {value.shape}"
    text = repr(value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _number(value: Any) -> str:
    return f"{value.item():.7g}" if not isinstance(value.item(), bool) else str(value.item())


def _index(index: tuple[Any, ...]) -> str:
    return "[" + ", ".join(str(int(part)) for part in index) + "]"


def _at(mask: np.ndarray) -> str:
    if mask.shape == ():
        return ""
    first = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return f" at {_index(first)} ({int(mask.sum())} of {mask.size} entries)"


def _infinite(have: np.ndarray, bad: np.ndarray) -> str:
    value = have[np.unravel_index(int(np.argmax(bad)), bad.shape)] if bad.shape else have[()]
    return "infinite" if np.isinf(value) else "finite, where infinity is right"


def _wide(array: np.ndarray) -> type:
    return complex if array.dtype.kind == "c" else float
