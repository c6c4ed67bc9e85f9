"""New text in files that people write: every other byte stays as it is.

Trusted side; pure; imports ``feedback.errors`` only. What is inserted into TOML is read again and compared.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Any

from ..feedback.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

_TABLE = re.compile(r"\s*\[")
_PART = re.compile(r"\s*\[\[\s*parts\s*\]\]")
_BELOW_PART = re.compile(r"\s*\[\[?\s*parts\s*\.")
_FILES = re.compile(r"\s*\[\s*files\s*\]")
_HEADING = re.compile(r"(#{1,6}) .*?(?:<!-- (part|item) (\w+) -->)?")


def item_in_part(text: str, part: int, item: str) -> str:
    """The text of an assignment.toml with one more ``[[parts.items]]`` table, the last of its part.

    Raises:
        InputError: the file is written in a way that this does not understand.
    """
    wanted = tomllib.loads(text)
    wanted["parts"][part].setdefault("items", []).append(tomllib.loads(f"[[parts]]\n{item}")["parts"][0]["items"][0])
    lines = text.split("\n")
    heads = [number for number, line in enumerate(lines) if _PART.match(line)]
    if len(heads) != len(wanted["parts"]):
        raise InputError("assignment.toml: its parts are not written as [[parts]] tables; add the item by hand")
    return _checked(_into_section(lines, heads[part], item, _BELOW_PART), wanted)


def submission_file(text: str, name: str, kilobytes: int) -> str:
    """The text of an assignment.toml with one more file in ``[files]``.

    Raises:
        InputError: as for :func:`item_in_part`.
    """
    wanted = tomllib.loads(text)
    wanted.setdefault("files", {})[name] = kilobytes
    lines = text.split("\n")
    head = next((number for number, line in enumerate(lines) if _FILES.match(line)), None)
    if head is None:
        raise InputError("assignment.toml: there is no [files] table")
    return _checked(_into_section(lines, head, f'"{name}" = {kilobytes}\n', None), wanted)


def _into_section(lines: list[str], head: int, new: str, inside: re.Pattern[str] | None) -> str:
    """New text behind the last line of a table that says something: comments above the next table are of that."""
    end = head + 1
    while end < len(lines) and (not _TABLE.match(lines[end]) or (inside is not None and inside.match(lines[end]))):
        end += 1
    while end > head + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return "\n".join([*lines[:end], *new.rstrip("\n").split("\n"), *lines[end:]])


def _checked(text: str, wanted: dict[str, Any]) -> str:
    try:
        same = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise InputError("assignment.toml: written in a way that nothing can be added to safely; add it by hand")
    return text


def section(page: str, part: str, slugs: set[str], new: str) -> str | None:
    """The page with a section behind the last one about an item of the part; None when the page is not about it."""
    lines = page.split("\n")
    headings = list(_headings(lines))
    of_part = [place for place, (_, _, kind, slug) in enumerate(headings) if kind == "part" and slug == part]
    if not of_part:
        return None
    last = of_part[0]
    for place, (_, _, kind, slug) in enumerate(headings):
        if kind == "item" and slug in slugs and place > last:
            last = place
    level = headings[last][1] if headings[last][2] == "item" else 2
    below = (number for number, depth, _, _ in headings[last + 1 :] if depth <= level)
    end = next(below, len(lines))
    before, after = "\n".join(lines[:end]).rstrip("\n"), "\n".join(lines[end:])
    return f"{before}\n\n{new}" + (f"\n{after}" if after else "")


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str | None, str | None]]:
    """(line, level, "part" or "item" or None, slug) of each heading outside code."""
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is not None:
            yield number, len(heading[1]), heading[2], heading[3]


def at_end(text: str, block: str) -> str:
    """A program with a definition at its end."""
    return f"{text.rstrip()}\n\n\n{block}"


def imported(text: str, module: str, name: str) -> str:
    """A program that imports a name from a module: as it is if it has the name, else with one more line."""
    tree = ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    if any((alias.asname or alias.name) == name for node in imports for alias in node.names):
        return text
    lines = text.split("\n")
    line = f"from {module} import {name}"
    rank = _rank(module)
    before = [node for node in imports if _rank(_module(node)) <= rank]
    after = [node for node in imports if _rank(_module(node)) > rank]
    if before:
        end = before[-1].end_lineno or 0
        new = [line] if _rank(_module(before[-1])) == rank else ["", line]
    elif after:
        end, new = after[0].lineno - 1, [line, ""]
    else:
        docstring = ast.get_docstring(tree, clean=False) is not None
        end = (tree.body[0].end_lineno or 0) if docstring else 0
        new = ["", line] if docstring else [line]
        if not docstring and lines[0].strip():
            new.append("")
    return "\n".join([*lines[:end], *new, *lines[end:]])


def _module(node: ast.Import | ast.ImportFrom) -> str:
    return (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name


def _rank(module: str) -> int:
    """The group in which a linter wants an import: future, standard library, others, ours."""
    top = module.partition(".")[0]
    if top == "__future__":
        return 0
    return 1 if top in sys.stdlib_module_names else 3 if top == __name__.partition(".")[0] else 2
