"""A Python file as bytes: where its nodes and tokens stand, and what it is after a replacement.

Syntax trees count columns in bytes of UTF-8, tokens count them in characters; here everything is bytes of the file.
Trusted side; pure; imports nothing of ours.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple


class Edit(NamedTuple):
    """Text in place of the bytes from ``start`` to ``end``. ``name`` is the change as the mutant's id says it."""

    operator: str
    name: str
    start: int
    end: int
    text: str


class _Token(NamedTuple):
    start: int
    end: int
    text: str


_NO_TEXT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


class Source:
    """A file as bytes, with the places of its nodes and tokens."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path = path
        self.module = path.rpartition("/")[2].removesuffix(".py")
        self.tree = tree
        self.bytes = text.encode("utf-8")
        lines = [f"{line}\n" for line in text.split("\n")]
        self.starts = [0, *accumulate(len(line.encode("utf-8")) for line in lines)]
        self.tokens: list[_Token] = []
        self.comments: list[_Token] = []
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _NO_TEXT:
                kind = self.comments if token.type == tokenize.COMMENT else self.tokens
                kind.append(_Token(self._at(lines, *token.start), self._at(lines, *token.end), token.string))
        self._ends = [token.end for token in self.tokens]

    def _at(self, lines: list[str], line: int, column: int) -> int:
        return self.starts[line - 1] + len(lines[line - 1][:column].encode("utf-8"))

    def span(self, node: Any) -> tuple[int, int]:
        """First byte of a node, and the one after its last."""
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, first: int, last: int) -> str:
        return self.bytes[first:last].decode("utf-8")

    def of(self, node: ast.AST) -> str:
        return self.text(*self.span(node))

    def between(self, first: int, last: int) -> list[_Token]:
        """The tokens from one byte to another, without comments."""
        return self.tokens[bisect_right(self._ends, first) : bisect_right(self._ends, last)]

    def sign(self, left: ast.AST, right: ast.AST) -> _Token:
        """The operator between two operands; it may be two words."""
        words = [t for t in self.between(self.span(left)[1], self.span(right)[0]) if t.text not in ("(", ")")]
        return _Token(words[0].start, words[-1].end, " ".join(word.text for word in words))

    def before(self, node: ast.AST, place: int) -> str:
        """What an expression has before a place, with its parentheses."""
        first = self.span(node)[0]
        return self.text(first, self.between(first, place)[-1].end)

    def after(self, node: ast.AST, place: int) -> str:
        """What an expression has after a place, with its parentheses."""
        last = self.span(node)[1]
        return self.text(self.between(place, last)[0].start, last)

    def apart(self, edit: Edit) -> Edit:
        """The edit with spaces where words would grow together."""
        text, (before, after) = (
            edit.text,
            (self.bytes[edit.start - 1 : edit.start], self.bytes[edit.end : edit.end + 1]),
        )
        if _wordlike(before) and _wordlike(text[:1].encode("utf-8")):
            text = f" {text}"
        if _wordlike(after) and _wordlike(text[-1:].encode("utf-8")):
            text = f"{text} "
        return edit._replace(text=text)

    def changed(self, edit: Edit) -> bytes:
        """The file after a change."""
        return self.bytes[: edit.start] + edit.text.encode("utf-8") + self.bytes[edit.end :]

    def code(self, first: int, last: int) -> str:
        """The text from one byte to another without comments and spaces at the ends of lines."""
        parts, place = [], first
        for comment in self.comments:
            if first <= comment.start and comment.end <= last:
                parts.append(self.text(place, comment.start).rstrip(" "))
                place = comment.end
        return "".join([*parts, self.text(place, last)])


def _wordlike(text: bytes) -> bool:
    return text.isalnum() or text[:1] == b"_" or text[:1] > b"\x7f"
