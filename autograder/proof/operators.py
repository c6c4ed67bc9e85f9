"""Mechanical mutants of the solutions: each differs from them by one small change inside the solution markers.

The catalogue holds the mistakes that people make; these are those that nobody thought of (``edits`` lists the kinds).
A mutant that passes all graded tests either shows what no test looks at, or is *equivalent*: it does what the original
does. Which ones are, and why, stands in a TOML file, by text and not by number, so that an edit elsewhere leaves it::

    [[equivalent]]
    function = "rnn.rnn_forward"        # these three as in Mutant
    before = "h = np.zeros(n + 0)"
    after = "h = np.zeros(n - 0)"
    reason = "..."

Trusted side; pure; imports ``catalogue``, ``edits``, ``regions``, ``spans`` and ``feedback``. What holds:

- Nothing outside the markers changes, and every byte of the file beside the change stays, markers included.
- Every mutant compiles, and has another syntax tree than the original and than any other mutant.
- No two mutants have the same function, lines before and lines after.

Why no library: mutmut (29 MB) writes all mutants of a file into it behind switches, cosmic-ray (41 MB) rewrites files
in place and keeps a database; both mutate whole files, on disk, for runners of their own.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..regions import Region, end, find_regions, start
from .catalogue import only_known, text_of
from .edits import edits
from .spans import Edit, Source

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Mutant:
    """The solutions with one small change.

    Attributes:
        id: ``rnn.rnn_backward/3-add-sub``: the function, the mutant's number in it, the change. An edit of another
            function leaves it as it is.
        function: ``module.qualname``, nested functions without <locals>; outside of functions what is around it.
        operator: the kind of change, as in the table of ``edits``.
        before: the changed line without indentation and comments; with lines ahead where it would not be unique.
        after: the same lines afterwards.
        path: the changed file, such as ``lm/rnn.py``.
        source: all of that file after the change.
        item: the item whose solution it changes.
    """

    id: str
    function: str
    operator: str
    before: str
    after: str
    path: str
    source: bytes
    item: str


@dataclass(frozen=True)
class Equivalent:
    """A mutant that does what the original does, and why."""

    function: str
    before: str
    after: str
    reason: str


def mutants(package: Mapping[str, bytes], assignment: Assignment) -> list[Mutant]:
    """Every mutant, in the order of files, items and lines.

    Args:
        package: ``lm/ngram.py`` -> source, with its solution markers.
        assignment: says what is handed in, and which items are switched on.

    Raises:
        InputError: markers are wrong, or there are none in the whole package, since it was stripped of them.
    """
    found: list[Mutant] = []
    marked = False
    for file in assignment.files:
        path = f"{assignment.package}/{file}"
        if file.endswith(".py") and path in package:
            text = package[path].decode("utf-8")
            tree, regions = find_regions(text, path)
            marked |= bool(regions)
            on = [region for region in regions if region.slug in assignment.by_slug]
            found += _mutants_of(Source(path, text, tree), on)
    if not marked:
        raise InputError("no solution markers in the package: mutants are made of the sources that have them")
    return found


def load_equivalents(path: Path, assignment: Assignment) -> list[Equivalent]:
    """The mutants that are known to be equivalent.

    Raises:
        InputError: the file is missing or no TOML, or an entry is malformed or stands twice.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: {error}") from None
    only_known(raw, ("equivalent",), path.name)
    tables = raw.get("equivalent", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path.name}: equivalent is a list of [[equivalent]] tables")
    found: dict[tuple[str, str, str], Equivalent] = {}
    keys = ("function", "before", "after", "reason")
    for number, table in enumerate(tables, 1):
        where = f"{path.name}: entry {number}"
        only_known(table, keys, where)
        function, before, after, reason = (_dedented(text_of(table, key, where)) for key in keys)
        if f"{function.partition('.')[0]}.py" not in assignment.files:
            raise InputError(f"{where}: {function!r} is in no file that students hand in")
        if before == after:
            raise InputError(f"{where}: before and after are the same text")
        entry = Equivalent(function, before, after, reason)
        if _key(entry) in found:
            raise InputError(f"{where}: stands twice")
        found[_key(entry)] = entry
    return list(found.values())


def explained(found: Iterable[Mutant], equivalents: Iterable[Equivalent]) -> dict[str, Equivalent]:
    """Mutant id -> the entry that says that it is equivalent. Of all mutants of a package, not of a selection.

    Raises:
        InputError: an entry is stale: no mutant is like that any more.
    """
    ids = {_key(mutant): mutant.id for mutant in found}
    result = {}
    for entry in equivalents:
        if _key(entry) not in ids:
            raise InputError(f"{entry.function}: no mutant is like this equivalent one any more: {entry.after}")
        result[ids[_key(entry)]] = entry
    return result


def _key(entry: Mutant | Equivalent) -> tuple[str, str, str]:
    return entry.function, entry.before, entry.after


def _dedented(text: str) -> str:
    return textwrap.dedent(text).strip()


def _mutants_of(source: Source, regions: Iterable[Region]) -> Iterator[Mutant]:
    counts: Counter[str] = Counter()
    for region in regions:
        unit = _Unit(source, region)
        seen = {None, unit.tree(source.bytes)}
        for function, edit in sorted(edits(source, region), key=lambda found: (found[1].start, found[1].end)):
            content = source.changed(edit)
            tree = unit.tree(content)
            if tree not in seen:
                seen.add(tree)
                counts[function] += 1
                name = f"{function}/{counts[function]}-{edit.name}"
                before, after = unit.lines(edit)
                yield Mutant(name, function, edit.operator, before, after, source.path, content, region.slug)


class _Unit:
    """The innermost function around a region, or the region itself: what is compiled to check a mutant."""

    def __init__(self, source: Source, region: Region) -> None:
        whole = region.function
        self.source = source
        self.first, self.last = (start(whole), end(whole)) if whole is not None else (region.first, region.last)

    def tree(self, content: bytes) -> str | None:
        """The syntax tree of this part of a changed file, as text; None if it does not compile."""
        after = len(self.source.bytes) - self.source.starts[self.last]
        text = content[self.source.starts[self.first - 1] : len(content) - after]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(b"if True:\n" + text if text.startswith(b" ") else text)
                compile(tree, "<mutant>", "exec", dont_inherit=True)
        except SyntaxError:
            return None
        return ast.dump(tree)

    def lines(self, edit: Edit) -> tuple[str, str]:
        """The lines that a change touches, before and after it, with as many of those ahead as make them unique."""
        starts = self.source.starts
        first, last = (bisect_right(starts, place) for place in (edit.start, edit.end))
        own = [
            self.source.text(starts[number - 1], starts[number]).strip() for number in range(self.first, self.last + 1)
        ]
        while first > self.first and _often(own[first - self.first : last - self.first + 1], own) > 1:
            first -= 1
        ahead = self.source.code(starts[first - 1], edit.start)
        behind = self.source.code(edit.end, starts[last])
        before, after = (ahead + text + behind for text in (self.source.code(edit.start, edit.end), edit.text))
        return _dedented(before), _dedented(after)


def _often(run: list[str], lines: list[str]) -> int:
    """How often lines follow each other like this; indentation does not count."""
    return sum(lines[place : place + len(run)] == run for place in range(len(lines)))
