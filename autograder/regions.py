"""Where the solutions stand in a file: the regions between ``# BEGIN SOLUTION slug`` and ``# END SOLUTION``.

Trusted side; pure; imports ``feedback.errors`` only. What holds for every region that is found:

- It holds whole statements of one block, at the indentation of its markers, and no docstring.
- Its markers are comments on lines of their own. Anything that looks like a marker and is none is an error.
- At class level, something is left of the class without it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from . import syntax
from .feedback.errors import InputError

_BEGIN = re.compile(r"# BEGIN SOLUTION ([a-z][a-z0-9_]*)")
_END = "# END SOLUTION"
LIKE_A_MARKER = re.compile(r"\b(?:begin|end)[\s_-]*solutions?\b", re.IGNORECASE)

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Scope = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class StripError(InputError):
    """The markers of a solution file are wrong. The text begins with ``file:line:``."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}")
        self.file = file
        self.line = line


@dataclass(frozen=True)
class Region:
    """What stands between two markers.

    Attributes:
        slug: the item that it solves.
        first: line of the BEGIN marker, counted from 1.
        last: line of the END marker.
        scopes: the classes and functions around it, outermost first.
        statements: what it holds.
    """

    slug: str
    first: int
    last: int
    scopes: tuple[ast.stmt, ...]
    statements: tuple[ast.stmt, ...]

    @property
    def function(self) -> ast.stmt | None:
        """The innermost function around the region; None at module or class level."""
        return next((node for node in reversed(self.scopes) if isinstance(node, Function)), None)

    @property
    def name(self) -> str:
        """Qualified name of what surrounds the region, such as ``AddK.prob``; empty at module level."""
        return ".".join(node.name for node in self.scopes if isinstance(node, Scope))


def find_regions(source: str, module: str) -> tuple[ast.Module, list[Region]]:
    """The syntax tree of a file and its regions in their order.

    Args:
        source: text of the file, with LF line ends.
        module: how errors name the file, such as ``lm/ngram.py``.

    Raises:
        StripError: no valid Python, or a marker is unbalanced, nested, misplaced or misspelt, or cuts a statement.
    """
    tree = parse(source, module)
    lines = source.split("\n")
    regions = []
    begin: tuple[str, int] | None = None
    for number, slug in _markers(source, lines, module):
        if slug is not None:
            if begin is not None:
                raise StripError(module, number, f"BEGIN inside the region that begins at line {begin[1]}")
            begin = slug, number
        elif begin is None:
            raise StripError(module, number, "END without a BEGIN")
        else:
            regions.append(_region(tree, lines, begin[0], begin[1], number, module))
            begin = None
    if begin is not None:
        raise StripError(module, begin[1], "BEGIN without an END")
    return tree, regions


def parse(source: str, module: str) -> ast.Module:
    if "\r" in source:
        raise StripError(module, source[: source.index("\r")].count("\n") + 1, "carriage return: line ends must be LF")
    try:
        return syntax.parse(source)
    except SyntaxError as error:
        raise StripError(module, error.lineno or 1, f"not valid Python: {error.msg}") from None
    except ValueError as error:  # a NUL character, before Python 3.12
        raise StripError(module, 1, f"not valid Python: {error}") from None


def _markers(source: str, lines: list[str], module: str) -> Iterator[tuple[int, str | None]]:
    """(line, slug of a BEGIN or None for an END) of every marker."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or not LIKE_A_MARKER.search(token.string):
            continue
        line = token.start[0]
        begin = _BEGIN.fullmatch(token.string)
        if begin is None and token.string != _END:
            raise StripError(module, line, f"write '# BEGIN SOLUTION slug' or '{_END}', not {token.string!r}")
        if lines[line - 1].strip() != token.string:
            raise StripError(module, line, "a marker stands on a line of its own")
        yield line, begin[1] if begin else None


def _region(tree: ast.Module, lines: list[str], slug: str, first: int, last: int, module: str) -> Region:
    blocks = list(_blocks_inside(tree, first, last, module))
    if not blocks:
        raise StripError(module, first, "the region holds no whole statement")
    if len(blocks) > 1:
        raise StripError(module, first, "the region cuts across blocks: it must hold whole statements of one")
    scopes, body, inside = blocks[0]
    indents = {indent(lines[first - 1]), indent(lines[last - 1]), *(indent(lines[start(s) - 1]) for s in inside)}
    if len(indents) > 1:
        raise StripError(module, first, "markers and statements must have the same indentation")
    region = Region(slug, first, last, scopes, tuple(inside))
    if inside[0] is body[0] and _is_docstring(inside[0]):
        raise StripError(module, first, "the docstring must stand before the region")
    if region.function is None and len(inside) == len(body) and indents != {""}:
        raise StripError(module, first, f"nothing would be left of {region.name or 'the block'}")
    return region


_Block = tuple[tuple[ast.stmt, ...], list[ast.stmt], list[ast.stmt]]


def _blocks_inside(
    node: ast.AST, first: int, last: int, module: str, scopes: tuple[ast.stmt, ...] = ()
) -> Iterator[_Block]:
    """(scopes, block, its statements between the two lines), for the outermost blocks that have any."""
    for body in blocks(node):
        inside = [s for s in body if first < start(s) and end(s) < last]
        if inside:
            yield scopes, body, inside
        for statement in body:
            if first < start(statement) < last < end(statement):
                raise StripError(module, last, "END stands inside a statement that began in the region")
            if start(statement) < first < end(statement):
                around = (*scopes, statement) if isinstance(statement, Scope) else scopes
                yield from _blocks_inside(statement, first, last, module, around)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks directly under a node: body, else, handlers, cases."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value:
            if isinstance(value[0], ast.stmt):
                yield value
            else:
                for child in value:
                    if isinstance(child, (ast.ExceptHandler, ast.match_case)):
                        yield from blocks(child)


def all_blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for body in blocks(node):
        yield body
        for child in body:
            yield from all_blocks(child)


def start(node: ast.stmt) -> int:
    """First line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
