"""From solutions to stubs: what stands between the markers goes, everything else stays byte for byte.

::

    def prob(self, word, context):                     def prob(self, word, context):
        '''The docstring stays.'''                         '''The docstring stays.'''
        # BEGIN SOLUTION add_k                             raise NotImplementedError("add_k: AddK.prob")
        return (n + self.k) / (total + self.k * v)
        # END SOLUTION

Trusted side; pure (text in, text out); imports ``regions`` only. What holds:

- A region inside a function becomes one ``raise`` line; one at module or class level, a helper, goes wholly.
- A kept region loses its two marker lines and nothing else.
- An item that is switched off takes its functions with it, docstrings and decorators too, and its classes where nothing
  else in the file uses them. A function that it shares with an item that is on cannot be cut, and is refused.
- The result is valid Python and holds no trace of a marker, not even inside a string.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from .regions import LIKE_A_MARKER, Function, Region, StripError, all_blocks, end, find_regions, indent, parse, start

_STAMP = re.compile(r"# Handout version (\S+)")


def strip(
    source: str,
    module: str,
    keep: Collection[str] | None = (),
    *,
    items: Collection[str] | None = None,
    dropped: Collection[str] = (),
) -> str:
    """The student's version of a solution file.

    Args:
        source: text of the file, with LF line ends.
        module: how errors name the file, such as ``lm/ngram.py``.
        keep: slugs whose solutions stay; None keeps all of them.
        items: slugs that may stand in a marker; None allows any.
        dropped: slugs of items that are switched off; they win over ``keep``.

    Raises:
        StripError: a marker is unbalanced, nested, misplaced or misspelt, names no item, or cuts a statement.
    """
    tree, regions = find_regions(source, module)
    if items is not None:
        for region in regions:
            if region.slug not in items and region.slug not in dropped:
                raise StripError(module, region.first, f"{region.slug!r} is no item of the assignment")
    edits = _Edits(source)
    doomed = _switched_off(tree, regions, dropped, module)
    for region in regions:
        if any(scope in doomed for scope in region.scopes):
            continue
        if region.slug not in dropped and (keep is None or region.slug in keep):
            edits.gone.update((region.first, region.last))
        elif region.function is not None:
            edits.replace(region, f'raise NotImplementedError("{region.slug}: {region.name}")')
        else:
            doomed.update(region.statements)
    edits.cut(tree, doomed, regions)
    return _checked(edits.text(), module)


def without_tests(source: str, module: str, dropped: Collection[str]) -> str:
    """A test file without the functions marked ``@item("slug")`` of switched-off items; empty when no test is left."""
    tree = parse(source, module)
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    doomed: set[ast.stmt] = {function for function in functions if _item_of(function) in dropped}
    if not doomed:
        return source
    if all(function in doomed for function in functions if function.name.startswith("test")):
        return ""
    edits = _Edits(source)
    edits.cut(tree, doomed)
    return _checked(edits.text(), module)


def stamp(source: str, version: str) -> str:
    """The file with the version of its handout as the first line."""
    return f"# Handout version {version}\n{source}"


def stamp_of(source: str) -> str | None:
    """The version that :func:`stamp` wrote, if it still stands among the first ten lines; else None."""
    for line in source.split("\n")[:10]:
        match = _STAMP.match(line)
        if match:
            return match[1]
    return None


def _switched_off(
    tree: ast.Module, regions: Collection[Region], dropped: Collection[str], module: str
) -> set[ast.stmt]:
    """The functions and classes that go because their items are off."""
    doomed: set[ast.stmt] = set()
    for function in {region.function for region in regions} - {None}:
        own = [region for region in regions if region.function is function]
        off = [region for region in own if region.slug in dropped]
        on = [region for region in own if region.slug not in dropped]
        if off and on:
            mix = f"{off[0].slug!r}, which is off, with {on[0].slug!r}, which is on"
            raise StripError(module, off[0].first, f"{off[0].name} mixes {mix}")
        if off and function is not None:
            doomed.add(function)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            inside = [region for region in regions if node in region.scopes]
            if inside and all(region.slug in dropped for region in inside) and not _used(node, tree):
                doomed.add(node)
    return doomed


def _used(cls: ast.ClassDef, tree: ast.Module) -> bool:
    """Whether anything outside of a class names it."""
    within = set(ast.walk(cls))
    return any(isinstance(node, ast.Name) and node.id == cls.name and node not in within for node in ast.walk(tree))


def _item_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """The slug in a test's ``@item("slug")``."""
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).rpartition(".")[2] == "item":
            return next((str(value.value) for value in mark.args if isinstance(value, ast.Constant)), None)
    return None


class _Edits:
    """Lines that go, and lines that stand in their place. Lines are counted from 1."""

    def __init__(self, source: str) -> None:
        self.lines = source.split("\n")
        self.gone: set[int] = set()
        self.instead: dict[int, str] = {}

    def replace(self, region: Region, statement: str) -> None:
        """One statement in place of a region."""
        self.gone.update(range(region.first, region.last + 1))
        self.instead[region.first] = indent(self.lines[region.first - 1]) + statement

    def cut(self, tree: ast.Module, doomed: Collection[ast.stmt], regions: Collection[Region] = ()) -> None:
        """Take statements out, with the comments that belong to them and the blank lines that would be too many."""
        for body in all_blocks(tree):
            for position, statement in enumerate(body):
                if statement in doomed:
                    first, last = self._extent(statement, regions)
                    self.gone.update(range(first, last + 1))
                    if all(later in doomed for later in body[position + 1 :]):
                        self._cut_blank_lines(first - 1, -1)
                    else:
                        self._cut_blank_lines(last + 1, 1)

    def _extent(self, statement: ast.stmt, regions: Collection[Region]) -> tuple[int, int]:
        """First and last line of a statement with its comments and regions, or of the region that it goes with."""
        for region in regions:
            if statement in region.statements:
                return region.first, region.last
        first, last = start(statement), max([end(statement), *(r.last for r in regions if statement in r.scopes)])
        margin = indent(self.lines[first - 1])
        while first > 1 and self.lines[first - 2].startswith(margin + "#"):
            first -= 1
        while last < len(self.lines) and re.match(rf"{margin}\s+#", self.lines[last]):
            last += 1
        return first, last

    def _cut_blank_lines(self, line: int, step: int) -> None:
        while 1 <= line <= len(self.lines) and not self.lines[line - 1].strip():
            self.gone.add(line)
            line += step

    def text(self) -> str:
        """What is left, ending as the source did."""
        kept = []
        for number, line in enumerate(self.lines, 1):
            if number in self.instead:
                kept.append(self.instead[number])
            elif number not in self.gone:
                kept.append(line)
        text = "\n".join(kept)
        return text + "\n" if self.lines[-1] == "" and not text.endswith("\n") else text


def _checked(text: str, module: str) -> str:
    try:
        ast.parse(text)
    except SyntaxError as error:
        raise StripError(module, error.lineno or 1, f"the stub would not be valid Python: {error.msg}") from None
    trace = LIKE_A_MARKER.search(text)
    if trace:
        line = text[: trace.start()].count("\n") + 1
        raise StripError(module, line, f"the stub would still say {trace[0]!r}")
    return text
