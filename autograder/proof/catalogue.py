"""Known mistakes and right solutions written another way, from TOML files. Trusted side; imports ``feedback`` only.

One file an entry, ``<folder>/<item>/<id>.toml``::

    id = "add-k-adds-one"            # = file name
    base = "solutions"               # or the id of an alternative, which is applied first
    function = "ngram.AddK.prob"     # module.qualname in the package, nested functions without <locals>
    old = '''...'''                  # whole lines that occur exactly once in that function; '' is its whole body
    new = '''...'''
    items = ["add_k"]                # mistakes: the items that lose points, and no other may
    hint = "..."                     # mistakes: names the idea, not the fix
    hint_zh = "..."
    source = "..."                   # mistakes: where it is known from

An entry with several changes has, instead of function, old and new, ``[[changes]]`` tables with these three keys,
applied in order. A submission file that is not Python is replaced as a whole, beside changes or instead of them::

    [[files]]
    name = "weights.npz"
    make = "untrained"               # a function of <folder>/make.py: make(solved) -> bytes, given {file name: content}

How text is matched: ``old`` and ``new`` lose their common indentation and the blank lines around them. ``old`` is
compared with runs of whole lines of the function, from its ``def`` line (decorators are never touched) to its last,
without its docstring and without solution markers; spaces at the end of a line do not count. A run matches when all
of its lines are those of ``old`` behind one and the same indentation, and each line of ``new`` is put behind that.
An empty ``old`` stands for everything after the docstring.

Invariants: what is loaded is well formed; what is applied parses, and differs from what it was made of by more than
comments. Everything else is an ``InputError`` that names the file.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..syntax import parse

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

SOLUTIONS = "solutions"
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MARKER = re.compile(r"\s*# (BEGIN|END) SOLUTION\b")
_ONE = ("function", "old", "new")
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Change:
    """Replaces ``old`` by ``new`` in one function, named ``module.qualname``; an empty ``old`` is the whole body."""

    function: str
    old: str
    new: str


@dataclass(frozen=True)
class MadeFile:
    """A submission file that ``maker(solved)`` makes: whole, and not Python."""

    name: str
    maker: Callable[[Mapping[str, bytes]], bytes]


@dataclass(frozen=True)
class Alternative:
    """A right solution written another way, for the item whose folder it lies in."""

    id: str
    file: str  # for messages
    item: str
    changes: tuple[Change, ...]
    base: str = SOLUTIONS
    source: str = ""
    files: tuple[MadeFile, ...] = ()


@dataclass(frozen=True)
class Mistake:
    """A known mistake: every one of ``items`` loses points by it, and no other item does."""

    id: str
    file: str  # for messages
    items: tuple[str, ...]
    hint: str
    hint_zh: str
    source: str
    changes: tuple[Change, ...]
    base: str = SOLUTIONS
    files: tuple[MadeFile, ...] = ()


def load_mistakes(folder: Path, assignment: Assignment) -> list[Mistake]:
    """All mistakes under ``folder``, by item and id, without those whose every item is switched off.

    Raises:
        InputError: an entry is malformed; the message names the file.
    """
    mistakes: list[Mistake] = []
    for file, item, raw in _entries(folder, assignment, ("items", "hint", "hint_zh", "source")):
        items = raw.get("items")
        if not isinstance(items, list) or not items:
            raise InputError(f'{file}: needs items = ["..."]')
        for slug in items:
            _known_item(slug, assignment, file)
        if item not in items or len(set(items)) < len(items):
            raise InputError(f"{file}: items must name {item!r}, the folder, and none twice")
        hint, hint_zh, source = (text_of(raw, key, file) for key in ("hint", "hint_zh", "source"))
        if hint.strip() == hint_zh.strip():
            raise InputError(f"{file}: hint and hint_zh are the same text")
        on = tuple(slug for slug in items if slug in assignment.by_slug)
        if on:
            made = (raw["changes"], raw["base"], raw["files"])
            mistakes.append(Mistake(raw["id"], file, on, hint, hint_zh, source, *made))
    return mistakes


def load_alternatives(folder: Path, assignment: Assignment) -> list[Alternative]:
    """All alternatives under ``folder``, by item and id, without those of items that are switched off.

    Raises:
        InputError: an entry is malformed, or a base is no alternative or leads back to itself.
    """
    found: list[Alternative] = []
    for file, item, raw in _entries(folder, assignment, ("source",)):
        source = text_of(raw, "source", file) if "source" in raw else ""
        found.append(Alternative(raw["id"], file, item, raw["changes"], raw["base"], source, raw["files"]))
    for entry in found:
        _chain(entry, found)
    return [entry for entry in found if entry.item in assignment.by_slug]


def changed_functions(entry: Mistake | Alternative) -> set[str]:
    """The functions that an entry itself changes, as ``"ngram.AddK.prob"``."""
    return {change.function for change in entry.changes}


def apply(
    entry: Mistake | Alternative, package: Mapping[str, bytes], alternatives: Iterable[Alternative] = ()
) -> dict[str, bytes]:
    """The package with an entry's base and changes applied.

    Args:
        entry: what to apply.
        package: "lm/ngram.py" -> source of the solved package, with or without solution markers.
        alternatives: where the entry's base is looked up.

    Returns:
        A copy of the package. Changed files have no solution markers any more.

    Raises:
        InputError: no such module, function or base; ``old`` does not occur exactly once; the result does not parse,
            or nothing has changed.
    """
    result = dict(package)
    for link in _chain(entry, alternatives):
        for change in link.changes:
            where = f"{link.file}: {change.function}"
            module, _, qualname = change.function.partition(".")
            path = next((name for name in result if name.rpartition("/")[2] == f"{module}.py"), None)
            if path is None:
                raise InputError(f"{where}: the package has no {module}.py")
            result[path] = _replace(result[path].decode("utf-8"), qualname, change, where).encode("utf-8")
        for made in link.files:
            paths = {name.rpartition("/")[2]: name for name in result}
            if made.name not in paths:
                raise InputError(f"{link.file}: the package has no {made.name}")
            content = made.maker({name: result[path] for name, path in paths.items()})
            if content == result[paths[made.name]]:
                raise InputError(f"{link.file}: {made.name}: the change changes nothing")
            result[paths[made.name]] = content
    return result


def _chain(entry: Mistake | Alternative, alternatives: Iterable[Alternative]) -> list[Mistake | Alternative]:
    """The entry and what it stands on, lowest first."""
    by_id = {alternative.id: alternative for alternative in alternatives}
    chain = [entry]
    while chain[0].base != SOLUTIONS:
        base = by_id.get(chain[0].base)
        if base is None:
            raise InputError(f"{chain[0].file}: base {chain[0].base!r} is no alternative{_near(chain[0].base, by_id)}")
        if base in chain:
            raise InputError(f"{entry.file}: its base leads back to {base.id!r}")
        chain.insert(0, base)
    return chain


def _entries(folder: Path, assignment: Assignment, more: tuple[str, ...]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(file, item, raw) of each entry, with id, base and changes already checked; in the order of item and id."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    order = {slug: place for place, slug in enumerate(assignment.by_slug)}
    paths = sorted(folder.rglob("*.toml"), key=lambda path: (order.get(path.parent.name, len(order)), path.as_posix()))
    seen: dict[str, str] = {}
    for path in paths:
        file = path.relative_to(folder.parent).as_posix()
        if path.parent.parent != folder:
            raise InputError(f"{file}: entries are <item>/<id>.toml")
        item = path.parent.name
        _known_item(item, assignment, file)
        try:
            raw = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}") from None
        only_known(raw, ("id", "base", *_ONE, "changes", "files", *more), file)
        name = text_of(raw, "id", file)
        if name != path.stem:
            raise InputError(f"{file}: id {name!r} is not the file's name")
        if not _ID.fullmatch(name) or name == SOLUTIONS:
            raise InputError(f"{file}: an id is words of a-z and 0-9 with hyphens between, and not {SOLUTIONS!r}")
        if name in seen:
            raise InputError(f"{file}: {seen[name]} has the same id")
        seen[name] = file
        raw["base"] = text_of(raw, "base", file)
        raw["files"] = _files_of(raw, assignment, file, folder / "make.py")
        changed = not raw["files"] or any(key in raw for key in (*_ONE, "changes"))
        raw["changes"] = changes_of(raw, assignment, file) if changed else ()
        yield file, item, raw


def changes_of(raw: dict[str, Any], assignment: Assignment, file: str) -> tuple[Change, ...]:
    several = "changes" in raw
    if several and any(key in raw for key in _ONE):
        raise InputError(f"{file}: either function, old and new, or [[changes]]")
    tables = raw["changes"] if several else [{key: raw[key] for key in _ONE if key in raw}]
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{file}: changes is a list of [[changes]] tables")
    changes = []
    for table in tables:
        only_known(table, _ONE, file)
        function = text_of(table, "function", file)
        module, _, qualname = function.partition(".")
        if not qualname or not all(part.isidentifier() for part in function.split(".")):
            raise InputError(f"{file}: function {function!r} is not module.qualname")
        if f"{module}.py" not in assignment.files:
            modules = [name.removesuffix(".py") for name in assignment.files]
            raise InputError(f"{file}: {module}.py is not handed in by students{_near(module, modules)}")
        old, new = (_block(text_of(table, key, file, empty=True)) for key in ("old", "new"))
        if old == new:
            raise InputError(f"{file}: old and new are the same text")
        changes.append(Change(function, old, new))
    return tuple(changes)


def _files_of(raw: dict[str, Any], assignment: Assignment, file: str, makers: Path) -> tuple[MadeFile, ...]:
    tables = raw.get("files", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{file}: files is a list of [[files]] tables")
    made = []
    for table in tables:
        only_known(table, ("name", "make"), file)
        name, make = (text_of(table, key, file) for key in ("name", "make"))
        if name not in assignment.files or name.endswith(".py"):
            raise InputError(f"{file}: {name} is no submission file that is not Python; for Python there are changes")
        made.append(MadeFile(name, maker_of(makers, make, file)))
    return tuple(made)


def maker_of(path: Path, name: str, file: str) -> Callable[..., Any]:
    """The function of a make.py that an entry names. The code is ours, as a test is.

    Raises:
        InputError: there is no such file or function.
    """
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_make", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{file}: there is no {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make = getattr(module, name, None)
    if not callable(make):
        raise InputError(f"{file}: {path.name} has no function {name!r}")
    return make  # type: ignore[no-any-return]


def _replace(source: str, qualname: str, change: Change, where: str) -> str:
    """The source with one change made in one function."""
    lines = [line for line in source.replace("\r\n", "\n").split("\n") if not _MARKER.match(line)]
    tree = _parse("\n".join(lines), f"{where}: before the change")
    function = _find(tree, qualname, where)
    head, start, end = function.lineno - 1, function.body[0].lineno - 1, function.end_lineno or 0
    docstring = range(0)
    if ast.get_docstring(function, clean=False) is not None:
        docstring = range(start, function.body[0].end_lineno or 0)
        start = docstring.stop
    old = change.old.split("\n") if change.old else []
    if old:
        runs = [
            (place, indent)
            for place in range(head, end - len(old) + 1)
            if not set(docstring) & set(range(place, place + len(old)))
            and (indent := _indent(lines[place : place + len(old)], old)) is not None
        ]
        if len(runs) != 1:
            raise InputError(f"{where}: old occurs {len(runs)} times, it must occur once")
        ((start, indent),) = runs
        end = start + len(old)
    elif start == head:
        raise InputError(f"{where}: the body stands on the line of def, so it cannot be replaced as a whole")
    else:
        indent = " " * function.body[0].col_offset
    new = textwrap.indent(change.new, indent).split("\n") if change.new else []
    result = "\n".join([*lines[:start], *new, *lines[end:]])
    if ast.dump(_parse(result, f"{where}: the result")) == ast.dump(tree):
        raise InputError(f"{where}: the change changes nothing")
    return result


def _find(tree: ast.Module, qualname: str, where: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The one function of that qualified name; a definition inside an ``if`` or ``with`` counts as well."""
    found: list[ast.AST] = [tree]
    for name in qualname.split("."):
        found = [inner for outer in found for inner in _definitions(outer) if inner.name == name]
    functions = [node for node in found if isinstance(node, _Function)]
    if len(functions) != 1:
        close = _near(qualname, _names(tree)) if not functions else ""
        raise InputError(f"{where}: {len(functions) or 'no'} such function{'s' if functions else ''}{close}")
    return functions[0]


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_Function, ast.ClassDef)):
            yield child
        else:
            yield from _definitions(child)


def _names(node: ast.AST, prefix: str = "") -> Iterator[str]:
    for inner in _definitions(node):
        yield prefix + inner.name
        yield from _names(inner, f"{prefix}{inner.name}.")


def _indent(run: list[str], old: list[str]) -> str | None:
    """The indentation behind which all lines of ``run`` are those of ``old``; None if there is none."""
    # the first line of a dedented block may itself be indented, so the indentation is what precedes it
    indent = run[0].rstrip().removesuffix(old[0])
    same = all(line.rstrip() == (indent + wanted if wanted else "") for line, wanted in zip(run, old, strict=True))
    return indent if same and not indent.strip() else None


def _block(text: str) -> str:
    """Text without common indentation, spaces at the ends of lines, and blank lines around it."""
    return "\n".join(line.rstrip() for line in textwrap.dedent(text).split("\n")).strip("\n")


def _parse(source: str, where: str) -> ast.Module:
    try:
        compile(source, "<package>", "exec", dont_inherit=True)  # also refuses a return outside a function
        return parse(source)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{where} does not parse: {error}") from None


def text_of(raw: dict[str, Any], key: str, file: str, empty: bool = False) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not (empty or value.strip()):
        raise InputError(f'{file}: needs {key} = "..."')
    return value


def _known_item(slug: object, assignment: Assignment, file: str) -> None:
    slugs = [*assignment.by_slug, *assignment.dropped]
    if slug not in slugs:
        raise InputError(f"{file}: {slug!r} is no item{_near(str(slug), slugs)}")


def only_known(raw: dict[str, Any], known: Collection[str], file: str) -> None:
    for name in raw:
        if name not in known:
            raise InputError(f"{file}: unknown key {name!r}{_near(name, known)}")


def _near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
