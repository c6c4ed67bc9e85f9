"""The same code in another hand: local variables renamed, results named before they are returned, remarks, blank lines.

What a program does stays the same. Only what is certain is touched: a name is renamed where it is assigned in the
function itself and nowhere an argument, a nested definition, an import, a global name or part of an f-string. What can
be changed in a function is found once and kept, since a class holds few different functions.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..syntax import parse

_DEF = re.compile(r"( *)(?:async )?def ")
_NAMING: tuple[Callable[[str], str], ...] = (
    lambda name: f"{name}_",
    lambda name: f"my_{name}",
    lambda name: f"{name}_value",
    lambda name: f"the_{name}",
    lambda name: f"cur_{name}",
    lambda name: f"{name}_now",
    lambda name: f"tmp_{name}" if len(name) < 4 else name[:3],
    lambda name: "".join(part.capitalize() if k else part for k, part in enumerate(name.split("_"))) + "X",
)
_RESULTS = ("result", "out", "answer", "res", "value", "ret")
_REMARKS = ("see the writeup", "checked by hand", "TODO ask in the tutorial", "as in the lecture", "注意", "shapes!")
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_NOISE = 1e-5  # relative, on weights: what another seed would do, small enough to cost nothing


@dataclass(frozen=True)
class _Sites:
    """What can be changed in a function. Lines count from 0, columns are bytes.

    Attributes:
        names: local variable -> where it stands.
        returns: (first line, column, last line) of statements that return an expression.
        before: (line, column) of statements before which a remark may stand.
        taken: names that may not be given.
    """

    names: dict[str, tuple[tuple[int, int], ...]]
    returns: tuple[tuple[int, int, int], ...]
    before: tuple[tuple[int, int], ...]
    taken: frozenset[str]


class Hand:
    """One student's way of writing, the same for all files and submissions.

    Args:
        seed: whose hand it is.
        owner: stands in a comment of each file, so that no two students' files are the same.
    """

    def __init__(self, seed: str, owner: str) -> None:
        rng = random.Random(f"{seed} hand")
        self._seed, self._owner = seed, owner
        self._renames = rng.uniform(0.1, 0.9)
        self._names_results = rng.uniform(0.0, 0.6)
        self._remarks = rng.uniform(0.0, 0.15)
        self._spaces = rng.uniform(0.0, 0.2)
        self._naming = rng.sample(_NAMING, 3)
        self._result = rng.choice(_RESULTS)

    def write(self, name: str, content: bytes) -> bytes:
        """A file in this hand."""
        if name.endswith(".npz"):
            return self._weights(name, content)
        if not name.endswith(".py"):
            return content
        text = content.decode("utf-8")
        first, newline, rest = text.partition("\n")
        parts = [first, newline, f"# {self._owner}\n"]
        for chunk, is_function in _chunks(rest):
            parts.append(self._function(chunk, f"{self._seed} {name}") if is_function else chunk)
        return "".join(parts).encode("utf-8")

    def _function(self, chunk: str, seed: str) -> str:
        sites = _sites(chunk)
        if sites is None:
            return chunk
        # keyed by the name of the function, so that a change elsewhere in the file changes nothing here
        rng = random.Random(f"{seed} {chunk.partition('(')[0]}")
        lines = [line.encode("utf-8") for line in chunk.split("\n")]
        above: dict[int, list[bytes]] = {}
        below: dict[int, bytes] = {}
        places: list[tuple[int, int, str, str]] = []
        given: set[str] = set()
        for name, where in sites.names.items():
            chosen = rng.random() < self._renames
            new = rng.choice(self._naming)(name)
            if chosen and new not in sites.taken | given and new.isidentifier() and not keyword.iskeyword(new):
                given.add(new)
                places += [(line, column, name, new) for line, column in where]
        for line, column, last in sites.returns:
            if rng.random() < self._names_results and self._result not in sites.taken | given:
                places.append((line, column, "return", f"{self._result} ="))
                below[last] = b" " * column + f"return {self._result}".encode()
        for line, column in sites.before:
            draw = rng.random()
            if draw < self._remarks:
                above[line] = [b" " * column + b"# " + rng.choice(_REMARKS).encode("utf-8")]
            elif draw < self._remarks + self._spaces:
                above[line] = [b""]
        for line, column, old, new in sorted(places, reverse=True):
            lines[line] = lines[line][:column] + new.encode() + lines[line][column + len(old.encode()) :]
        written: list[bytes] = []
        for number, content in enumerate(lines):
            written += [*above.get(number, []), content, *([below[number]] if number in below else [])]
        return b"\n".join(written).decode("utf-8")

    def _weights(self, name: str, content: bytes) -> bytes:
        """The arrays with a little noise; where that changes nothing, a note in the archive."""
        rng = np.random.default_rng(random.Random(f"{self._seed} {name}").getrandbits(64))
        file = io.BytesIO()
        try:
            with np.load(io.BytesIO(content)) as archive:  # noqa: TID251 - ours, and by default nothing is unpickled
                arrays = {key: archive[key] for key in archive.files}
            noisy = {
                key: (a * (1 + _NOISE * rng.standard_normal(a.shape))).astype(a.dtype) if a.dtype.kind == "f" else a
                for key, a in arrays.items()
            }
            np.savez_compressed(file, **noisy)
        except (ValueError, zipfile.BadZipFile, KeyError, OSError):
            file = io.BytesIO(content)
        with zipfile.ZipFile(file, "a") as archive:
            archive.comment = self._owner.encode("utf-8")
        return file.getvalue()


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """A file as its outermost functions and methods, and what stands between them."""
    gathered: list[str] = []
    indent: int | None = None
    for line in text.splitlines(keepends=True):
        depth = len(line) - len(line.lstrip(" "))
        if indent is not None and line.strip() and depth <= indent and not line.lstrip().startswith(")"):
            yield "".join(gathered), True
            gathered, indent = [], None
        match = _DEF.match(line) if indent is None else None
        if match:
            yield "".join(gathered), False
            gathered, indent = [], len(match[1])
        gathered.append(line)
    yield "".join(gathered), indent is not None


@lru_cache(maxsize=65_536)
def _sites(chunk: str) -> _Sites | None:
    """None where a function cannot be read by itself."""
    try:
        function = parse(f"if 1:\n{chunk}" if chunk[:1] == " " else f"\n{chunk}").body[0]
    except (SyntaxError, ValueError):
        return None
    function = function.body[0] if isinstance(function, ast.If) else function
    if not isinstance(function, ast.FunctionDef):
        return None
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.ClassDef) for node in nodes):
        return None
    where: dict[str, list[tuple[int, int]]] = {}
    unsafe: set[str] = set()
    taken = set(dir(builtins)) | {"self", "np"}
    for node in nodes:
        if isinstance(node, ast.Name):
            where.setdefault(node.id, []).append((node.lineno - 2, node.col_offset))
        elif isinstance(node, ast.JoinedStr):  # before Python 3.12 the places of names in it are wrong
            unsafe.update(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
        elif isinstance(node, ast.arg):
            unsafe.add(node.arg)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            unsafe.update(node.names)
        elif isinstance(node, ast.alias):
            unsafe.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            unsafe.add(node.name)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            unsafe.add(node.name or "")
        elif isinstance(node, ast.Attribute):
            taken.add(node.attr)
    own = list(_own(function))
    stored = {n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id[0] != "_"}
    lines = [line.encode("utf-8") for line in chunk.split("\n")]
    statements = [s for s in own if isinstance(s, ast.stmt) and not lines[s.lineno - 2][: s.col_offset].strip()]
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    before = [(s.lineno - 2, s.col_offset) for s in statements if s in body]
    returns = [
        (s.lineno - 2, s.col_offset, (s.end_lineno or s.lineno) - 2)
        for s in statements
        if isinstance(s, ast.Return)
        and s.value is not None
        and not isinstance(s.value, (ast.Name, ast.Constant))
        and lines[(s.end_lineno or s.lineno) - 2][s.end_col_offset or 0 :].strip() == b""
    ]
    names = {name: tuple(where[name]) for name in sorted(stored - unsafe)}
    return _Sites(names, tuple(returns), tuple(before), frozenset(taken | unsafe | set(where)))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and comprehensions inside, which have names of their own."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, *_COMPREHENSIONS)):
            yield child
            yield from _own(child)
