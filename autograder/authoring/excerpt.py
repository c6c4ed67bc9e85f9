"""One function out of a file's text: for an entry of the catalogue to start from, and for people to read.

Trusted side; pure; imports ``feedback.errors`` and ``regions`` only. Solution markers never show.
"""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from ..feedback.errors import InputError
from ..regions import LIKE_A_MARKER, Function, Scope, blocks, parse, start


@dataclass(frozen=True)
class Excerpt:
    """A function, without its common indentation.

    Attributes:
        head: its lines up to the docstring or the first statement, decorators included.
        doc: the docstring's first line; empty when there is none.
        body: the lines after the docstring.
    """

    head: tuple[str, ...]
    doc: str
    body: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """What a reader needs of it: head, the docstring's first line, body; without comments."""
        indent = next((line[: len(line) - len(line.lstrip())] for line in self.body if line.strip()), "    ")
        doc = (f'{indent}"""{self.doc}"""',) if self.doc else ()
        return without_comments((*self.head, *doc, *self.body))


def excerpt(source: str, qualname: str, where: str) -> Excerpt:
    """Cut a function out.

    Args:
        source: text of the file, with or without solution markers.
        qualname: such as ``AddK.prob``; nested functions without ``<locals>``.
        where: what errors begin with.

    Raises:
        InputError: the file does not parse, or has no such function, or several.
    """
    tree = parse(source, where)
    found: list[ast.AST] = [tree]
    for name in qualname.split("."):
        found = [inner for outer in found for inner in _definitions(outer) if getattr(inner, "name", "") == name]
    functions = [node for node in found if isinstance(node, Function)]
    if len(functions) != 1:
        raise InputError(f"{where}: {len(functions) or 'no'} function{'s' if functions else ''} {qualname!r}")
    return _cut(functions[0], source.split("\n"))


def without_comments(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a whole function without comments; a line that was nothing else is gone."""
    kept: list[str | None] = list(lines)
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            kept[row - 1] = lines[row - 1][:column].rstrip() or None
    return tuple(line for line in kept if line is not None)


def _cut(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Excerpt:
    first, last = start(function) - 1, function.end_lineno or 0
    body = function.body[0].lineno - 1
    after = body
    doc = ast.get_docstring(function)
    if doc is not None:
        after = function.body[0].end_lineno or 0
    elif isinstance(function.body[0], Scope):
        body = after = start(function.body[0]) - 1
    if body <= function.lineno - 1:  # def f(x): return x
        body = after = last
    cut = lines[first:body]
    rest = [line for line in lines[after:last] if not _is_marker(line)]
    text = textwrap.dedent("\n".join(cut + rest)).split("\n")
    return Excerpt(tuple(text[: len(cut)]), (doc or "").partition("\n")[0], tuple(text[len(cut) :]))


def _is_marker(line: str) -> bool:
    return line.lstrip().startswith("#") and LIKE_A_MARKER.search(line) is not None


def _definitions(node: ast.AST) -> Iterator[ast.stmt]:
    """The functions and classes directly inside, also in an ``if`` or ``with``."""
    for body in blocks(node):
        for child in body:
            if isinstance(child, Scope):
                yield child
            else:
                yield from _definitions(child)
