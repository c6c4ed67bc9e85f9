"""Names the mistake: a wrong answer that a known mistake gives on the same inputs is told that mistake's hint.

What a failing check saw is a ``Trace``: which check of which test it was, what the test had sent to the student's code
until then, and what was got. The file ``hints.json`` beside the tests says for a trace which hint it has. Made by the
engine from its catalogue; read here, in the handout as in grading.

Never a guess:

* equal means equal: numbers up to ``DIGITS`` of the largest beside them, all else exactly
* a degenerate answer (``degenerate``), which many mistakes give, is told nothing
* where mistakes with different hints give the same answer the file has no entry

Nothing is given away: a trace is in the file as a hash, and a hint is locked with the trace's own hash. Who has not
given that answer on those inputs reads neither.
"""

from __future__ import annotations

import hashlib
import json
import math
from base64 import b85decode, b85encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError
from .handles import Handle

FILE = "hints.json"
DIGITS = 1e8  # two numbers are the same when they agree to about this part of the largest beside them
FEW = 1000  # a whole number below it is an answer that anything may give
MOST = 100_000  # entries of an answer: a student chooses its size, and looking at it takes time that no deadline counts
# Numbers fall into cells. Decimal and binary fractions are what answers are made of: no edge of a cell is one.
_OFFSET = math.sqrt(2) - 1


@dataclass(frozen=True)
class Trace:
    """What a failing check saw.

    Attributes:
        place: which check of which test.
        key: hash of place, inputs and answer; empty where the answer says nothing.
        reason: why it says nothing.
    """

    place: str
    key: bytes = b""
    reason: str = ""


@dataclass(frozen=True)
class Hint:
    """What is said of a trace: the mistakes' ids are for staff."""

    ids: tuple[str, ...]
    text: str
    text_zh: str


def trace(place: str, sent: Iterable[object], got: object) -> Trace:
    """The trace of a failing check.

    Args:
        place: which check of which test.
        sent: what the test has sent to the student's code so far, request by request.
        got: the wrong answer.
    """
    inputs = list(sent)
    reason = degenerate(got, inputs)
    if reason:
        return Trace(place, reason=reason)
    key = hashlib.blake2b(place.encode(), digest_size=32)
    for value in (inputs, got):
        key.update(fingerprint(value))
    return Trace(place, key.digest())


def degenerate(got: object, sent: Iterable[object] = ()) -> str:
    """Why an answer tells no mistake from another; empty where it does."""
    leaves = list(islice(_leaves(got), MOST + 1))
    if len(leaves) > MOST:
        return "too large"
    numbers = [leaf for leaf in leaves if not isinstance(leaf, (str, bytes))]
    if any(isinstance(leaf, Handle) for leaf in leaves):
        return "no plain value"
    if not leaves or all(leaf is None for leaf in leaves):
        return "nothing"
    if any(leaf is None or leaf is ... or isinstance(leaf, slice) for leaf in leaves):
        return "no answer in part"
    if any(leaf != leaf for leaf in numbers):
        return "NaN"
    if all(isinstance(leaf, float) and math.isinf(leaf) for leaf in leaves):
        return "infinite"
    if len(numbers) == len(leaves):
        if all(leaf == 0 for leaf in numbers):
            return "all zeros"
        if all(leaf == 1 for leaf in numbers):
            return "all ones"
        if len(numbers) == 1 and _is_few(numbers[0]):
            return "a small whole number"
    mine = fingerprint(got)
    if any(_may_be(value, got) and fingerprint(value) == mine for value in _values(sent)):
        return "an input itself"
    return ""


def fingerprint(value: object) -> bytes:
    """A hash of a value's type and contents; floats in cells of 1/DIGITS of the largest of their array."""
    hasher = hashlib.blake2b(digest_size=16)
    _feed(hasher.update, value)
    return hasher.digest()


class Hints:
    """The hints of one folder of tests."""

    def __init__(self, entries: Mapping[str, str], texts: Mapping[str, str], made_from: str = "") -> None:
        self._entries, self._texts, self.made_from = entries, texts, made_from

    def __len__(self) -> int:
        return len(self._entries)

    def named(self, trace_key: bytes) -> Hint | None:
        """The hint of the trace with this key, or None."""
        entry = self._entries.get(_name(trace_key)) if trace_key else None
        if entry is None:
            return None
        key = _lock(b85decode(entry), trace_key)
        plain = _lock(b85decode(self._texts[_name(key)]), key)
        ids, text, text_zh = json.loads(plain)
        return Hint(tuple(ids), text, text_zh)

    @classmethod
    def make(cls, hints: Mapping[bytes, Hint], made_from: str = "") -> Hints:
        """From the hint of each trace's key. The same hints make the same file."""
        entries: dict[str, str] = {}
        texts: dict[str, str] = {}
        for trace_key, hint in hints.items():
            plain = json.dumps([hint.ids, hint.text, hint.text_zh], ensure_ascii=False).encode()
            key = hashlib.blake2b(plain, digest_size=16, person=b"hint").digest()
            texts[_name(key)] = b85encode(_lock(plain, key)).decode()
            entries[_name(trace_key)] = b85encode(_lock(key, trace_key)).decode()
        return cls(dict(sorted(entries.items())), dict(sorted(texts.items())), made_from)

    @classmethod
    def read(cls, file: Path) -> Hints:
        """Those in a file; none where there is no file.

        Raises:
            InputError: it is not such a file.
        """
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
            return cls(raw["entries"], raw["texts"], raw["made_from"])
        except FileNotFoundError:
            return cls({}, {})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file}: no file of hints ({type(error).__name__}); take it from the handout") from None

    def as_text(self) -> str:
        """The file's contents."""
        content = {"made_from": self.made_from, "entries": self._entries, "texts": self._texts}
        return json.dumps(content, indent=0) + "\n"


@lru_cache(maxsize=8)
def hints_in(folder: Path) -> Hints:
    """The hints that lie beside the tests in a folder, read once. A broken file costs its hints and nothing else."""
    try:
        return Hints.read(folder / FILE)
    except InputError:
        return Hints({}, {})


def _name(key: bytes) -> str:
    """Under which a key's entry stands; says nothing of the key."""
    return hashlib.blake2b(key, digest_size=9, person=b"name").hexdigest()


def _lock(data: bytes, key: bytes) -> bytes:
    """Locks, and unlocks again. A key locks one text only."""
    stream = hashlib.shake_256(b"lock" + key).digest(len(data))
    return bytes(a ^ b for a, b in zip(data, stream, strict=True))


def _feed(update: Any, value: object) -> None:
    """Hash one value. What is inside of what is told by the lengths, so no two values feed the same bytes."""
    kind = type(value)
    if isinstance(value, Handle):
        update(b"h%s;" % value._type.encode())
    elif isinstance(value, (np.ndarray, np.generic)) or kind is float:
        _feed_array(update, np.asarray(value))
    elif kind in (list, tuple):
        update(b"%s%d;" % (kind.__name__.encode(), len(value)))  # type: ignore[arg-type]
        for member in value:  # type: ignore[attr-defined]
            _feed(update, member)
    elif isinstance(value, (set, frozenset)):
        update(b"set%d;" % len(value))
        for print_ in sorted(map(fingerprint, value)):
            update(print_)
    elif isinstance(value, dict):
        update(b"dict%d;" % len(value))
        for pair in sorted(fingerprint(key) + fingerprint(member) for key, member in value.items()):
            update(pair)
    else:
        text = repr(value).encode("utf-8", "replace")
        update(b"%s%d;" % (kind.__name__.encode(), len(text)))
        update(text)


def _feed_array(update: Any, array: np.ndarray) -> None:
    update(f"a{array.dtype.kind}{array.shape};".encode())
    if array.dtype.kind in "biu":
        update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    elif array.dtype.kind == "c":
        _feed_array(update, array.real)
        _feed_array(update, array.imag)
    else:
        wide = np.asarray(array, dtype=np.float64)
        finite = np.isfinite(wide)
        largest = float(np.abs(wide[finite]).max(initial=0.0))
        # the largest itself in cells of its own size, whose edges are no powers of two or ten
        power = math.floor(math.log2(largest) + _OFFSET) if largest else 0
        size = math.ldexp(1.0, power) if -1000 < power < 1000 else largest or 1.0
        cells = np.floor(np.where(finite, wide, 0.0) / size * DIGITS + _OFFSET).astype(np.int64)
        update(b"%d;" % power)
        update(np.where(finite, cells, np.where(np.isnan(wide), 1, np.where(wide > 0, 2, 3)) << 40).tobytes())


def _leaves(value: object) -> Iterator[Any]:
    """What a value is made of, arrays entry by entry; of a dict the values."""
    if isinstance(value, (np.ndarray, np.generic)):
        yield from np.asarray(value).ravel()[: MOST + 1].tolist()
    elif isinstance(value, (list, tuple, set, frozenset)):
        for member in value:
            yield from _leaves(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from _leaves(member)
    else:
        yield value


def _values(value: object) -> Iterator[object]:
    """A value and, as far as it is a container, what is in it."""
    yield value
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _values(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from _values(member)


def _may_be(value: object, got: object) -> bool:
    """Whether two values have one type and size: a look, before the work of a hash."""
    if type(value) is not type(got):
        return False
    if isinstance(got, np.ndarray):
        return np.shape(value) == got.shape  # type: ignore[call-overload,no-any-return]
    return not isinstance(got, (list, tuple, set, dict, str, bytes)) or len(value) == len(got)  # type: ignore[arg-type]


def _is_few(number: Any) -> bool:
    whole = number.is_integer() if isinstance(number, float) else isinstance(number, (int, Fraction))
    return whole and bool(abs(number) < FEW and number == int(number))
