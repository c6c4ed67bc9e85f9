"""Where the pages come from: the writeup and the handout's own pages, as students read them, as trees.

What GitHub would show in one way and a browser or a PDF in another is refused, with file and line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..feedback.assignment import Assignment
from ..feedback.errors import InputError
from ..pages import render
from . import pandoc
from .pandoc import Blocks, Node

LANGUAGES = {"": "en", "zh": "zh"}  # by the ending of a page's name: NAME.md, NAME.zh.md

_COMMENT = re.compile(r"\s*(<!--.*?-->\s*)+", re.DOTALL)
_FULL_WIDTH = re.compile(r"[\u3000-\u303f\uff00-\uffef\u2018-\u201d\u2014\u2026]$")

_SEPARATORS = ("·", "|", "•")


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        place: its path in the handout, such as "writeup/1-powers.zh.md".
        stem: the same without language and ending, "writeup/1-powers": what its translations have in common.
        language: "en" or "zh".
        source: its path in the repository.
        text: what stands in that file.
        title: of its first heading.
        blocks: what it says. A heading of an item begins with an empty span whose id is the item's slug.
        ids: what a link can lead to in it.
        sections: id and title of its headings of the second level.
    """

    place: str
    stem: str
    language: str
    source: str
    text: str
    title: str
    blocks: Blocks = field(repr=False)
    ids: frozenset[str]
    sections: tuple[tuple[str, str], ...]

    def at(self, text: str) -> str:
        """File and line where a text stands, to begin a message with."""
        first = next(iter(text.strip().splitlines()), "")
        for number, line in enumerate(self.text.splitlines(), 1):
            if first and first in line:
                return f"{self.source}:{number}"
        return self.source


def read_pages(root: Path, assignment: Assignment) -> list[Page]:
    """All pages: those at the top of the handout first, then the writeup's, by name. Pages of switched-off parts go.

    Raises:
        InputError: with file and line, when a page cannot be read or says something that only GitHub would understand.
    """
    if not (root / "solutions" / "writeup").is_dir():
        raise InputError(f"solutions/writeup: no such folder in {root}")
    pages = []
    for folder, under in (("solutions/kit", ""), ("solutions/writeup", "writeup/")):
        for path in sorted((root / folder).glob("*.md")):
            page = _page(path, f"{folder}/{path.name}", f"{under}{path.name}", assignment)
            if page is not None:
                pages.append(page)
    if not pages:
        raise InputError("solutions/writeup has no pages")
    return pages


def file_of(root: Path, place: str, assignment: Assignment) -> Path | None:
    """The file of the repository that is at this place in the handout, if there is one."""
    top = place.partition("/")[0]
    folders = {"writeup": "solutions", assignment.package: "solutions"}
    path = root / folders.get(top, "solutions/kit") / place
    return path if path.is_file() else None


def _page(path: Path, source: str, place: str, assignment: Assignment) -> Page | None:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{source}: no UTF-8") from None
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}") from None
    shown = render(text, path.name, assignment)
    if not shown.strip():
        return None
    stem, _, ending = PurePosixPath(place).with_suffix("").as_posix().partition(".")
    if ending not in LANGUAGES:
        raise InputError(f"{source}: a page is called NAME.md, or NAME.zh.md in Chinese")
    tree = pandoc.read(shown)
    draft = Page(place, stem, LANGUAGES[ending], source, text, "", tree, frozenset(), ())
    _refuse(draft)
    numbers = {item.number: item.slug for item in assignment.items}
    blocks = [_with_anchor(block, numbers) for block in pandoc.rewrite(tree, _tidied)]
    blocks = _without_switch(blocks, stem)
    if not blocks or blocks[0]["t"] != "Header" or blocks[0]["c"][0] != 1:
        raise InputError(f"{source}: a page begins with its title: # Title")
    headings = [block["c"] for block in blocks if block["t"] == "Header"]
    ids = [identifier for node in pandoc.nodes(blocks) if (identifier := _id(node))]
    sections = tuple((attributes[0], pandoc.plain(title)) for level, attributes, title in headings if level == 2)
    title = pandoc.plain(headings[0][2])
    return Page(place, stem, draft.language, source, text, title, blocks, frozenset(ids), sections)


def _refuse(page: Page) -> None:
    """What would silently look wrong."""
    for node in pandoc.nodes(page.blocks):
        kind = node["t"]
        if kind in ("RawInline", "RawBlock") and not _COMMENT.fullmatch(node["c"][1]):
            tag = node["c"][1].strip().splitlines()[0]
            raise InputError(f"{page.at(tag)}: {tag} is HTML, which the PDF cannot show; in code it would be text")
        if kind == "Str" and "$" in node["c"]:
            raise InputError(f"{page.at(node['c'])}: {node['c']} has a $ that begins or ends no formula")


def _tidied(inner: list[Node]) -> list[Node]:
    """Without comments, and without the space between full-width punctuation and a formula that GitHub needs."""
    kept: list[Node] = []
    for node in inner:
        if node["t"] in ("RawInline", "RawBlock"):
            continue
        if node["t"] == "Math" and len(kept) > 1 and kept[-1]["t"] in ("Space", "SoftBreak"):
            before = kept[-2]
            if before["t"] == "Str" and _FULL_WIDTH.search(before["c"]):
                kept.pop()
        kept.append(node)
    return kept


def _with_anchor(block: Node, numbers: dict[str, str]) -> Node:
    if block["t"] != "Header":
        return block
    level, attributes, title = block["c"]
    number = pandoc.plain(title).partition(" ")[0]
    if number not in numbers:
        return block
    anchor = {"t": "Span", "c": [[numbers[number], [], []], []]}
    return {"t": "Header", "c": [level, attributes, [anchor, *title]]}


def _without_switch(blocks: Blocks, stem: str) -> Blocks:
    """Without the link to the same page in another language that begins the line below the title.

    Web pages have a better place for it, and a PDF has no such page.
    """
    if len(blocks) < 2 or blocks[1]["t"] != "Para" or blocks[1]["c"][0]["t"] != "Link":
        return blocks
    first, *others = blocks[1]["c"]
    target: str = first["c"][2][0]
    if not target.endswith(".md") or target.partition(".")[0] != PurePosixPath(stem).name:
        return blocks
    while others and (others[0]["t"] == "Space" or others[0].get("c") in _SEPARATORS):
        del others[0]
    return [blocks[0], *([{"t": "Para", "c": others}] if others else []), *blocks[2:]]


def _id(node: Node) -> str:
    if node["t"] == "Header":
        return str(node["c"][1][0])
    return str(node["c"][0][0]) if node["t"] in ("Span", "Div") else ""
