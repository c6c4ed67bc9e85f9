"""The writeup's pages: numbers and points are put in, sections of switched-off items are left out.

A page says what its headings are about, and nothing about points or numbers, which follow from assignment.toml::

    # N-gram language models <!-- part ngrams -->      ->   # 1 N-gram language models (20 points)
    ## Add-k smoothing <!-- item add_k -->             ->   ## 1.5 Add-k smoothing (3 points)

A line that ends with ``<!-- with torch -->`` is there only where the part or item of that slug is switched on.

Trusted side; pure; imports ``feedback`` only. A page whose name ends in ``.zh.md`` is Chinese.
"""

from __future__ import annotations

import re

from .feedback.assignment import Assignment, Item, Part
from .feedback.errors import InputError

_HEADING = re.compile(r"(#{1,6}) (.*?)(?: *<!-- (part|item) (\w+) -->)?")
_MARK = re.compile(r"<!--\s*(?:part|item|with)\b")
_WITH = re.compile(r"(.*?) *<!-- with (\w+) -->")


def render(page: str, name: str, assignment: Assignment) -> str:
    """The page as students read it; empty when it is about a part that is switched off.

    Raises:
        InputError: with file and line, when a heading names no part or item, or a mark stands elsewhere.
    """
    chinese = name.endswith(".zh.md")
    parts = {part.slug: part for part in assignment.parts}
    off = {*assignment.dropped, *assignment.parts_off}
    lines: list[str] = []
    left_out = 7  # level of the heading whose section is being left out; 7 is none
    fenced = False
    for number, line in enumerate(page.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is None:
            only = _WITH.fullmatch(line)
            if only is not None:
                line, slug = only.groups()
                if slug in off:
                    continue
                if slug not in parts and slug not in assignment.by_slug:
                    raise InputError(f"{name}:{number}: {slug!r} is no part or item of the assignment")
            if _MARK.search(line):
                raise InputError(f"{name}:{number}: a mark stands at the end of a heading")
            if left_out == 7:
                lines.append(line)
            continue
        hashes, title, kind, slug = heading.groups()
        if len(hashes) > left_out:
            continue
        left_out = 7
        if kind == "item" and slug in assignment.dropped:
            left_out = len(hashes)
        elif kind == "part" and slug in assignment.parts_off:
            return ""
        elif kind is not None:
            found = (parts if kind == "part" else assignment.by_slug).get(slug)
            if found is None:
                raise InputError(f"{name}:{number}: {slug!r} is no {kind} of the assignment")
            lines.append(f"{hashes} {found.number} {title}{_points(found, chinese)}")
        else:
            lines.append(line)
    return "\n".join(lines).rstrip("\n") + "\n"


def _points(found: Part | Item, chinese: bool) -> str:
    items = found.items if isinstance(found, Part) else (found,)
    points = sum(item.points for item in items if not item.bonus)
    bonus = sum(item.points for item in items if item.bonus)
    said = []
    if points:
        said.append(f"{points:g} 分" if chinese else f"{points:g} point{'' if points == 1 else 's'}")
    if bonus:
        said.append(f"附加 {bonus:g} 分" if chinese else f"{bonus:g} bonus point{'' if bonus == 1 else 's'}")
    return f"（{'，'.join(said)}）" if chinese else f" ({', '.join(said)})"
