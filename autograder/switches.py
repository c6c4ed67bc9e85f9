"""What is left of the files that travel when parts or items are switched off: no trace of what nobody has to do.

Trusted side; pure; imports ``feedback`` only. Python files and pages are cut by ``strip`` and ``pages``, this cuts the
rest: assignment.toml itself, the pins, the words of tests, marked lines of given programs, and of setup.sh what
installs PyTorch where none needs it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from .feedback.assignment import Assignment, read_assignment
from .feedback.errors import InputError
from .feedback.language import pieces_of

if sys.version_info >= (3, 11):
    import tomllib  # novm
else:
    import tomli as tomllib

_TABLE = re.compile(r"\[+\s*([\w.]+)\s*\]+\s*(?:#.*)?")
_KEY = re.compile(r"""\s*["']?([^"'=]+?)["']?\s*=""")
_SLUG = re.compile(r"""^slug\s*=\s*["'](\w+)["']""", re.MULTILINE)
_HEAD = "# The versions that this was tested with. It only pins: what is needed stands elsewhere."
_MARK = re.compile(r"(.*?) *# with (\w+)\n")
_BEGIN, _END = "# BEGIN PYTORCH", "# END PYTORCH"


def needs_torch(assignment: Assignment) -> bool:
    """Whether a part that is switched on does."""
    return any(part.torch for part in assignment.parts)


def assignment_text(text: str, assignment: Assignment) -> str:
    """assignment.toml without the parts, items and files that are switched off, and what only they need.

    An item that another one names in ``needs`` stays, switched off. So does everything in a file whose parts are not
    written as ``[[parts]]`` and ``[[parts.items]]``.
    """
    needed = {slug for item in assignment.items for slug in item.needs}
    gone = set(assignment.dropped) - needed
    if not gone:
        return text
    kept = []
    for name, block in _blocks(text):
        slug = _SLUG.search(block)
        if name == "parts.items" and slug and slug[1] in gone:
            continue
        kept.append((name, _without_keys(block, _unused(name, assignment))))
    lines = [block for index, (name, block) in enumerate(kept) if not _is_empty_part(kept, index)]
    short = "".join(lines)
    try:
        same = replace(read_assignment(short, Path("assignment.toml")), dropped=(), parts_off=(), left_out=frozenset())
    except InputError:
        return text
    return short if same == _as_copied(assignment) else text


def pins(text: str, assignment: Assignment) -> str:
    """constraints.txt as it travels: without what is said to staff, and without PyTorch where nothing needs it."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if not needs_torch(assignment):
        lines = [line for line in lines if not line.startswith("torch==")]
    return "\n".join([_HEAD, *lines, ""])


def setup_text(text: str, assignment: Assignment) -> str:
    """setup.sh, without the lines between its PyTorch marks where nothing needs it.

    Raises:
        InputError: a mark is not closed, or not opened.
    """
    kept: list[str] = []
    inside = False
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.strip() in (_BEGIN, _END):
            if inside != (line.strip() == _END):
                raise InputError(f"setup.sh:{number}: {line.strip()} inside another, or without a beginning")
            inside = not inside
        elif not inside or needs_torch(assignment):
            kept.append(line)
    if inside:
        raise InputError(f"setup.sh: no {_END} at the end")
    return "".join(kept)


def marked_text(text: str, name: str, assignment: Assignment) -> str:
    """A program that is given, without the lines that end with ``# with SLUG``, where that part or item is off.

    Empty when one of its first lines is nothing but such a mark: that is about all of the file. Marks do not travel.

    Raises:
        InputError: a mark names no part or item; says file and line.
    """
    on, off = {part.slug for part in assignment.parts}, {*assignment.dropped, *assignment.parts_off}
    kept: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        mark = _MARK.fullmatch(line)
        if mark is None:
            kept.append(line)
            continue
        before, slug = mark.groups()
        if slug not in on | off | assignment.by_slug.keys():
            raise InputError(f"{name}:{number}: {slug!r} is no part or item of the assignment")
        if before.strip():
            kept += [] if slug in off else [f"{before}\n"]
        elif kept:
            raise InputError(f"{name}:{number}: a mark about a whole file stands above all other lines")
        elif slug in off:
            return ""
    return "".join(kept)


def words_text(text: str, tests: Mapping[str, str]) -> str:
    """A file of words without the entries, a line each, whose English stands in none of these tests.

    What is raised is said by the package, and stays.

    Args:
        text: the file.
        tests: the test files that are left, name -> text.
    """
    said = "\n".join(tests.values())

    def stays(line: str) -> bool:
        if line.startswith("# test_"):
            return line[2:].strip() in tests
        if not line.startswith(('"', "'")) or line.startswith('"{error}'):
            return True
        return all(piece in said for key in tomllib.loads(line) for piece in pieces_of(key))

    return "".join(line for line in text.splitlines(keepends=True) if stays(line))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The tables of a TOML file as they are written: (name, text), the first one being what stands before them."""
    name = ""
    lines: list[str] = []
    for line in text.splitlines(keepends=True):
        header = _TABLE.fullmatch(line.strip())
        if header is not None:
            yield name, "".join(lines)
            name, lines = header[1], []
        lines.append(line)
    yield name, "".join(lines)


def _unused(table: str, assignment: Assignment) -> frozenset[str]:
    if table == "files":
        return assignment.left_out
    return frozenset() if table != "budgets" or needs_torch(assignment) else frozenset(["torch_memory"])


def _without_keys(block: str, keys: frozenset[str]) -> str:
    lines = block.splitlines(keepends=True)
    return "".join(line for line in lines if (found := _KEY.match(line)) is None or found[1] not in keys)


def _is_empty_part(blocks: list[tuple[str, str]], index: int) -> bool:
    following = blocks[index + 1][0] if index + 1 < len(blocks) else ""
    return blocks[index][0] == "parts" and following != "parts.items"


def _as_copied(assignment: Assignment) -> Assignment:
    """What the copy must say: the same, but for what is gone."""
    budgets = assignment.budgets
    if not needs_torch(assignment):
        budgets = replace(budgets, torch_memory=type(budgets).torch_memory)
    return replace(assignment, dropped=(), parts_off=(), left_out=frozenset(), budgets=budgets)
