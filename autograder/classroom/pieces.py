"""Several entries of the catalogue in one package: each is applied once, kept as edits of lines, and combined as asked.

``proof.catalogue.apply`` parses a file three times for each change; a class of a thousand would do that twenty thousand
times. Here an entry is applied once to the solved package, and what it changed is remembered as runs of lines; a blank
item likewise. A student's file is the solved one with the edits of the pieces that he has.

Two pieces fit together when they change other functions, other lines and other files, and when no right solution calls
what another piece has broken, blanked or rewritten. The last is judged by names alone and errs towards "does not fit".
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..build import package_members, source_members
from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..proof.catalogue import Alternative, Mistake, apply, changed_functions, load_alternatives, load_mistakes
from ..regions import Scope, find_regions
from ..secret import DEVELOPMENT
from ..strip import stamp, strip

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Edit:
    """Lines ``start`` to ``stop`` (0-based, exclusive) of a solved file become ``lines``."""

    file: str
    start: int
    stop: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Piece:
    """A mistake, an alternative or a blank item, as what it does to the solved package.

    Attributes:
        functions: what it changes, as "ngram.AddK.prob".
        called: the names by which others call that.
        words: the names that its own code uses; of alternatives only.
        made: files that are replaced as a whole; None for one that is not handed in.
    """

    edits: tuple[Edit, ...]
    functions: frozenset[str]
    called: frozenset[str]
    words: frozenset[str] = frozenset()
    made: dict[str, bytes | None] = field(default_factory=dict)

    def fits(self, others: Iterable[Piece]) -> bool:
        """Whether it can stand beside all of these."""
        return all(self._fits(other) for other in others)

    def _fits(self, other: Piece) -> bool:
        if self.functions & other.functions or self.made.keys() & other.made.keys():
            return False
        if self.words & other.called or other.words & self.called:
            return False
        return not any(
            a.file == b.file and a.start < max(b.stop, b.start + 1) and b.start < max(a.stop, a.start + 1)
            for a in self.edits
            for b in other.edits
        )


class Pieces:
    """What a class is made of.

    Args:
        home: the repository; it must have a catalogue.
        assignment: of that home.

    Raises:
        InputError: there is no catalogue here, or an entry of it is malformed.
    """

    def __init__(self, home: Path, assignment: Assignment) -> None:
        for name in ("mistakes", "alternatives"):
            if not (home / "tests" / name).is_dir():
                raise InputError(f"{home} has no tests/{name}: a class is made from the repository's catalogue")
        self.home, self.assignment = home, assignment
        self.alternatives = load_alternatives(home / "tests" / "alternatives", assignment)
        self.mistakes = load_mistakes(home / "tests" / "mistakes", assignment)
        solved = package_members(home, assignment, None)
        self.package = {path: member.content for path, member in solved.items()}
        self.solved = self._handed_in(self.package)
        self.stubs = self._handed_in({p: m.content for p, m in package_members(home, assignment).items()})
        self.given = {p: content for p, content in self.package.items() if p.rpartition("/")[2] not in assignment.files}
        written = source_members(home, assignment, DEVELOPMENT)
        self._written = self._handed_in({path: member.content for path, member in written.items()})
        self._lines = {name: _lines(text) for name, text in self.solved.items() if name.endswith(".py")}
        self._slugs = [*assignment.by_slug, *assignment.dropped]

    def _handed_in(self, package: dict[str, bytes]) -> dict[str, bytes]:
        names = {path.rpartition("/")[2]: content for path, content in package.items()}
        return {name: names[name] for name in self.assignment.files if name in names}

    @cache  # noqa: B019 - one object a class, and as many pieces as the catalogue has entries
    def blank(self, slug: str) -> Piece:
        """An item that nobody has begun."""
        file = self.assignment.by_slug[slug].file
        if not file.endswith(".py"):
            return Piece((), frozenset(), frozenset(), made={file: None})
        source = self._written[file].decode("utf-8")
        others = set(self._slugs) - {slug}
        text = strip(source, file, others, items=self._slugs, dropped=self.assignment.dropped)
        after = stamp(text, self.assignment.version).encode("utf-8")
        module = file.removesuffix(".py")
        functions: set[str] = set()
        for region in find_regions(source, file)[1]:
            if region.slug == slug:
                helpers = [node.name for node in region.statements if isinstance(node, Scope)]
                names = [region.name] if region.function is not None else [f"{region.name}.{h}" for h in helpers]
                functions.update(f"{module}.{name.lstrip('.')}" for name in names)
        return Piece(tuple(_edits(file, self._lines[file], _lines(after))), frozenset(functions), _called(functions))

    @cache  # noqa: B019 - as above
    def entry(self, ident: str) -> Piece | None:
        """An entry of the catalogue by its id; None for one that cannot be applied to the solved package."""
        entry = self.entries[ident]
        try:
            package = self._handed_in(apply(entry, self.package, self.alternatives))
        except InputError:
            return None
        edits: list[Edit] = []
        made: dict[str, bytes | None] = {}
        for name, content in package.items():
            if content != self.solved[name]:
                if name.endswith(".py"):
                    edits += _edits(name, self._lines[name], _lines(content))
                else:
                    made[name] = content
        functions: set[str] = set()
        words: set[str] = set()
        link: Mistake | Alternative | None = entry
        while link is not None:
            functions |= changed_functions(link)
            if isinstance(entry, Alternative):
                words.update(word for change in link.changes for word in _WORD.findall(change.new))
            link = self.entries.get(link.base)
        called = _called(functions)
        return Piece(tuple(edits), frozenset(functions), called, frozenset(words) - called, made)

    @property
    def entries(self) -> dict[str, Mistake | Alternative]:
        """All entries by id."""
        if not hasattr(self, "_entries"):
            self._entries: dict[str, Mistake | Alternative] = {}
            self._entries.update({entry.id: entry for entry in self.mistakes})
            self._entries.update({entry.id: entry for entry in self.alternatives})
        return self._entries

    def files(self, pieces: Iterable[Piece], blank: Iterable[str]) -> dict[str, bytes]:
        """The submission files with these pieces, those of blank items among them.

        A file all of whose items are blank is the handout's, byte for byte.
        """
        blank = set(blank)
        edits: dict[str, list[Edit]] = {}
        made: dict[str, bytes | None] = {}
        for piece in pieces:
            made.update(piece.made)
            for edit in piece.edits:
                edits.setdefault(edit.file, []).append(edit)
        found: dict[str, bytes] = {}
        for name, content in self.solved.items():
            about = {item.slug for item in self.assignment.items if item.file == name}
            if name in made:
                content = made[name] or b""
            elif about <= blank and name in self.stubs:
                content = self.stubs[name]
            elif name in edits:
                lines = list(self._lines[name])
                for edit in sorted(edits[name], key=lambda edit: edit.start, reverse=True):
                    lines[edit.start : edit.stop] = edit.lines
                content = "".join(lines).encode("utf-8")
            if content:
                found[name] = content
        return found


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8").splitlines(keepends=True)


def _edits(file: str, before: list[str], after: list[str]) -> list[Edit]:
    """What makes one text of the other; compared only between the first line that differs and the last."""
    head, most = 0, min(len(before), len(after))
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Edit(file, head + a, head + b, tuple(new[c:d])) for tag, a, b, c, d in codes if tag != "equal"]


def _called(functions: Iterable[str]) -> frozenset[str]:
    """By which names others reach these: the last part, or for special methods such as __init__ the class."""
    names = set()
    for function in functions:
        parts = function.split(".")
        special = parts[-1].startswith("__") and len(parts) > 2
        names.add(parts[-2] if special else parts[-1])
    return frozenset(names)
