"""The first difference between two plain values, types included."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .errors import GraderError
from .wording import article, count, short


class Step(NamedTuple):
    """One step into a container; the keys of a dict are inputs, and hidden with them."""

    public: str
    hidden: str


class Difference(NamedTuple):
    """``problem`` is for everybody, ``values`` where values may be shown."""

    path: tuple[Step, ...]
    problem: str
    values: str = ""


_SIMPLE = (type(None), bool, int, float, complex, str, bytes, slice, type(...), Fraction)


def difference(got: Any, want: Any) -> Difference | None:
    """The first difference, or None."""
    got, want = (value.item() if isinstance(value, np.generic) else value for value in (got, want))
    if type(want) not in (*_SIMPLE, list, tuple, set, dict):
        raise GraderError(f"check.equal does not compare with {article(want)}; use check.close for arrays")
    if type(got) is not type(want):
        return Difference((), f" should be {article(want)}, not {article(got)}")
    if type(want) in (list, tuple):
        return _difference_of_sequences(got, want)
    if type(want) in (set, dict):
        return _difference_of_keys(got, want)
    if want != want:
        raise GraderError("the expected value is NaN")
    return None if got == want else Difference((), ": wrong value", f" (got {short(got)}, expected {short(want)})")


def _difference_of_sequences(got: Any, want: Any) -> Difference | None:
    if len(got) != len(want):
        few = "few" if len(got) < len(want) else "many"
        return Difference((), f": too {few} entries", f" ({len(got)}, expected {len(want)})")
    for index, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        found = difference(mine, theirs)
        if found is not None:
            return _under(Step(f"[{index}]", f"[{index}]"), found)
    return None


def _difference_of_keys(got: Any, want: Any) -> Difference | None:
    words = ("key", "keys") if type(want) is dict else ("member", "members")
    missing = [key for key in want if key not in got]
    extra = [key for key in got if key not in want]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return Difference((), f": {count(len(missing), *words)} {verb} missing", f", such as {short(missing[0])}")
    if extra:
        return Difference((), f": {count(len(extra), *words)} too many", f", such as {short(extra[0])}")
    for key, theirs in want.items() if type(want) is dict else ():
        found = difference(got[key], theirs)
        if found is not None:
            return _under(Step(f"[{short(key)}]", "[...]"), found)
    return None


def _under(step: Step, found: Difference) -> Difference:
    return found._replace(path=(step, *found.path))
