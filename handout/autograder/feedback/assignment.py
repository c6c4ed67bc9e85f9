"""assignment.toml as frozen dataclasses. Unknown keys are refused: a misspelt ``points`` would cost a class.

Trusted side and handout; imports ``errors`` only.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from .errors import InputError

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib


LANGUAGES = ("en", "zh")
OFF, PUBLIC, ALL = HINTS = ("off", "public", "all")


@dataclass(frozen=True)
class Item:
    """One graded row.

    Attributes:
        slug: the key everywhere; the number is for display.
        points: the full score; a bonus item's maximum is shown as 0.
        file: the submission file that it is about.
        needs: slugs of items without which this one cannot work.
        waived: full points for everybody.
        tolerance: factor on every relative and absolute tolerance of its checks.
    """

    slug: str
    title: str
    title_zh: str
    points: float
    file: str
    needs: tuple[str, ...] = ()
    bonus: bool = False
    waived: bool = False
    off: bool = False
    tolerance: float = 1.0
    number: str = ""
    part: str = ""
    torch: bool = False


@dataclass(frozen=True)
class Part:
    """Items under one heading.

    Attributes:
        torch: their workers need PyTorch.
        given: given files of the package that only this part needs, of the same kind: without PyTorch, or with it.
    """

    slug: str
    number: str
    title: str
    title_zh: str
    items: tuple[Item, ...]
    given: tuple[str, ...] = ()
    torch: bool = False
    off: bool = False


@dataclass(frozen=True)
class Budgets:
    """Seconds of wall time a call, a test, an item and the run may take, and MiB of address space a worker has.

    ``platform`` is the platform's own limit, at which it overwrites every result: the run must end before it.
    """

    call: float = 5.0
    test: float = 10.0
    item: float = 40.0
    run: float = 420.0
    platform: float = 600.0
    memory: int = 1024
    torch_memory: int = 2048


@dataclass(frozen=True)
class Slots:
    """What ``autograder slots`` goes by: points on top for whoever has more than half in slot A."""

    bonus: float = 0.0


@dataclass(frozen=True)
class Assignment:
    """What assignment.toml says, without the parts and items that are switched off."""

    title: str
    title_zh: str
    version: str
    package: str
    parts: tuple[Part, ...]
    files: dict[str, int]  # submission file -> largest size in bytes
    budgets: Budgets
    dropped: tuple[str, ...] = ()  # slugs of items that are switched off
    parts_off: tuple[str, ...] = ()  # slugs of parts without an item that is switched on
    python: str = "3.10"  # the oldest one that grades: what is handed in must do with it
    language: str = "en"  # of the feedback in grading; on a laptop the student's choice comes first
    hints: str = ALL  # which tests tell the hint of a known mistake: none, public ones, or hidden ones as well
    slots: Slots = field(default_factory=Slots)
    left_out: frozenset[str] = frozenset()  # files of the package that only switched-off items need
    by_slug: dict[str, Item] = field(default_factory=dict, repr=False)

    @property
    def items(self) -> tuple[Item, ...]:
        """All items in the order of the assignment."""
        return tuple(self.by_slug.values())

    @property
    def torch_files(self) -> frozenset[str]:
        """The files of the package that import PyTorch."""
        given = {file for part in self.parts if part.torch for file in part.given}
        return frozenset(given | {item.file for item in self.items if item.torch})

    @property
    def points(self) -> float:
        """The sum of all points that are no bonus."""
        return sum(item.points for item in self.items if not item.bonus)

    def tells_hints(self, hidden: bool) -> bool:
        """Whether a public, or a hidden, test tells the hint of the mistake that it sees."""
        return self.hints == ALL or (self.hints == PUBLIC and not hidden)


def load_assignment(path: Path) -> Assignment:
    """Read and check an assignment.toml.

    Raises:
        InputError: the file is missing, is no TOML, or says something that cannot be meant.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    return read_assignment(text, path)


def read_assignment(text: str, path: Path) -> Assignment:
    """The same for the text of the file; ``path`` is for messages."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    try:
        return _assignment(raw)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _assignment(raw: dict[str, Any]) -> Assignment:
    _known(raw, ("assignment", "files", "budgets", "slots", "parts"), "the file")
    head = _table(raw.get("assignment", {}), "[assignment]")
    _known(head, ("title", "title_zh", "version", "package", "language", "python", "hints"), "[assignment]")
    for key in ("title", "title_zh", "version", "package"):
        if not isinstance(head.get(key), str):
            raise InputError(f'[assignment] needs {key} = "..."')
    if not re.fullmatch(r"3\.\d+", str(head.get("python", "3.10"))):
        raise InputError(f'[assignment]: python = "3.10" or the like, not {head["python"]!r}')
    if head.get("language", "en") not in LANGUAGES:
        raise InputError(f"[assignment]: language is one of {', '.join(LANGUAGES)}, not {head['language']!r}")
    if head.get("hints", ALL) not in HINTS:
        raise InputError(f"[assignment]: hints is one of {', '.join(HINTS)}, not {head['hints']!r}")
    if not head["package"].isidentifier():
        raise InputError(f"[assignment]: {head['package']!r} cannot be the name of a package")
    sizes = _table(raw.get("files", {}), "[files]")
    for name, kilobytes in sizes.items():
        if type(kilobytes) is not int or kilobytes <= 0 or name in ("", ".", "..") or "/" in name or "\\" in name:
            raise InputError(f"[files] {name!r}: a plain name and a size in kB")
    budgets = _struct(Budgets, _table(raw.get("budgets", {}), "[budgets]"), "[budgets]")
    for name, limit in _values(budgets).items():
        if not 0 < limit < math.inf:
            raise InputError(f"[budgets]: {name} must be positive")
    if not budgets.call <= budgets.test <= budgets.item <= budgets.run < budgets.platform:
        raise InputError("[budgets]: call <= test <= item <= run < platform must hold")
    slots = _struct(Slots, _table(raw.get("slots", {}), "[slots]"), "[slots]")
    if not 0 <= slots.bonus < math.inf:
        raise InputError("[slots]: bonus must be 0 or more")
    parts, off, dropped, left_out = _parts(_tables(raw.get("parts", []), "[[parts]]"), sizes)
    by_slug = {item.slug: item for part in parts for item in part.items}
    before = set(dropped)
    for item in by_slug.values():
        for slug in item.needs:
            if slug not in by_slug and slug not in dropped:
                raise InputError(f"item {item.slug!r} needs {slug!r}, which is no item{_near(slug, by_slug)}")
            if slug not in before:
                raise InputError(f"item {item.slug!r} needs {slug!r}, which does not stand before it")
        before.add(item.slug)
    return Assignment(
        **head,
        parts=parts,
        files={name: kilobytes * 1000 for name, kilobytes in sizes.items() if name not in left_out},
        budgets=budgets,
        slots=slots,
        dropped=tuple(dropped),
        parts_off=tuple(off),
        left_out=left_out,
        by_slug=by_slug,
    )


def _parts(
    raw: list[dict[str, Any]], files: dict[str, int]
) -> tuple[tuple[Part, ...], list[str], list[str], frozenset[str]]:
    """The parts with an item that is switched on, the other parts, the items that are off, the files that go."""
    parts: list[Part] = []
    off: list[str] = []
    dropped: list[str] = []
    wanted: set[str] = set()
    unwanted: set[str] = set()
    slugs: set[str] = set()
    seen: set[str] = set()
    for entry in raw:
        where = f"part {entry.get('slug')!r}"
        rows = _tables(entry.get("items", []), f"{where}: items")
        given = _texts(entry.get("given", []), f"{where}: given should be a list of files")
        part = _struct(Part, {**entry, "items": (), "given": given}, where)
        if not {part.slug, part.number}.isdisjoint(slugs):
            raise InputError(f"{where}: another part has this slug or number")
        slugs |= {part.slug, part.number}
        items: list[Item] = []
        for row in rows:
            item = _item(row, files)
            if item.slug in seen:
                raise InputError(f"item {item.slug!r} stands twice")
            seen.add(item.slug)
            if part.off or item.off:
                dropped.append(item.slug)
                unwanted.add(item.file)
            else:
                wanted.add(item.file)
                placed = {"number": f"{part.number}.{len(items) + 1}", "part": part.slug, "torch": part.torch}
                items.append(Item(**{**_values(item), **placed}))
        (wanted if items else unwanted).update(part.given)
        if items:
            parts.append(Part(**{**_values(part), "items": tuple(items)}))
        else:
            off.append(part.slug)
    if not parts:
        raise InputError("no item is switched on")
    return tuple(parts), off, dropped, frozenset(unwanted - wanted)


def _item(row: dict[str, Any], files: dict[str, int]) -> Item:
    where = f"item {row.get('slug')!r}"
    needs = _texts(row.get("needs", []), f"{where}: needs should be a list of slugs")
    item: Item = _struct(Item, {**row, "needs": needs}, where, hidden=("number", "part", "torch"))
    if not item.slug.isidentifier():
        raise InputError(f"{where}: a slug is letters, digits and underscores")
    if not 0 < item.points < math.inf:
        raise InputError(f"{where}: points must be positive")
    if not 0 < item.tolerance < math.inf:
        raise InputError(f"{where}: tolerance must be positive")
    if item.file not in files:
        raise InputError(f"{where}: {item.file!r} is not among [files]{_near(item.file, files)}")
    return item


_WORDS = {"str": "a text", "bool": "true or false", "int": "a whole number", "float": "a number"}


def _struct(cls: Any, raw: dict[str, Any], where: str, hidden: tuple[str, ...] = ()) -> Any:
    """A dataclass from a TOML table, by exact types."""
    known = {f.name: f for f in fields(cls) if f.name not in hidden}
    _known(raw, known, where)
    for name, value in raw.items():
        kind = str(known[name].type)
        right = {
            "str": isinstance(value, str),
            "bool": isinstance(value, bool),
            "int": isinstance(value, int) and not isinstance(value, bool),
            "float": isinstance(value, (int, float)) and not isinstance(value, bool),
        }.get(kind, True)  # the tuples were checked by the caller
        if not right:
            raise InputError(f"{where}: {name} should be {_WORDS[kind]}, not {value!r}")
    missing = [f.name for f in known.values() if f.name not in raw and f.default is MISSING]
    if missing:
        raise InputError(f"{where} needs {', '.join(missing)}")
    return cls(**raw)


def _texts(value: Any, wanted: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InputError(wanted)
    return tuple(value)


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} should be a table")
    return value


def _tables(value: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise InputError(f"{where} should be a list of tables")
    return value


def _values(record: Any) -> dict[str, Any]:
    return {f.name: getattr(record, f.name) for f in fields(record)}


def _known(raw: dict[str, Any], known: Iterable[str], where: str) -> None:
    for name in raw:
        if name not in known:
            raise InputError(f"{where}: unknown key {name!r}{_near(name, known)}")


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
