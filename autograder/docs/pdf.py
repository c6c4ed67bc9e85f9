"""One PDF a language, typeset by typst from the wheel: no LaTeX, no network.

Letters and maths are set in fonts that typst brings, so that the English PDF has the same bytes everywhere. Chinese
needs a font of the machine; which one was found decides how that PDF looks.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ..feedback.errors import InputError
from . import pandoc
from .html import Book
from .links import Links
from .pandoc import Node
from .reading import Page

# For Chinese text, the better ones first: Linux, macOS, Windows.
CHINESE = (
    *("Noto Serif CJK SC", "Noto Serif SC", "Source Han Serif SC", "Noto Sans CJK SC", "Noto Sans SC"),
    *("Source Han Sans SC", "Songti SC", "PingFang SC", "Microsoft YaHei", "SimSun"),
    *("WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "AR PL UMing CN", "Droid Sans Fallback"),
)
_NO_FONT = (
    "the Chinese PDF needs a font with Chinese letters, and none of {known} is here (Debian and Ubuntu: apt-get install"
    " -y fonts-noto-cjk); --font FAMILY takes another one, --no-pdf makes web pages only"
)

# Typst's own commands. What pandoc writes needs the first two; typst 0.15 calls its `sect` differently.
_PREAMBLE = """\
#let horizontalrule = line(start: (25%, 0%), end: (75%, 0%))
#let sect = sym.inter
#let fonts(..own) = own.pos() + (CJK,)
#set document(title: TITLE, date: none)
#set page(paper: "a4", margin: (x: 2.2cm, y: 2.4cm), numbering: "1")
#set text(font: fonts("Libertinus Serif"), size: 11pt, lang: "LANG")
#set par(justify: true, leading: 0.68em)
#set heading(numbering: none)
#set table(inset: 5pt, stroke: (x, y) => if y == 0 { (bottom: 0.8pt) } else { (bottom: 0.3pt + luma(180)) })
#show math.equation: set text(font: fonts("New Computer Modern Math"))
#show raw: set text(font: fonts("DejaVu Sans Mono"), size: 8.8pt)
#show link: set text(fill: rgb("#0a58b8"))
#show heading.where(level: 1): it => { pagebreak(weak: true); it; v(0.4em) }
#show heading.where(level: 2): set block(above: 1.6em, below: 0.9em)
#show figure: set block(breakable: true)
#show table: set par(justify: false)
#show table: set text(size: 10pt)
#show table: set align(left)
#show table.cell.where(y: 0): strong
// What is wider than the page is made smaller, never cut off.
#let fitted(it) = layout(size => {
  let width = measure(it).width
  if width <= size.width { it } else { scale(size.width / width * 100%, reflow: true, it) }
})
#show math.equation.where(block: true): it => block(width: 100%, align(center, fitted(it)))
#show raw.where(block: true): it => block(width: 100%, fill: luma(246), inset: 8pt, radius: 3pt, fitted(it))
#align(center + horizon, par(justify: false, text(24pt, weight: "bold", hyphenate: false, TITLE)))
#pagebreak()
#outline(depth: 2)
"""
_CIRCLED = re.compile(r"\b(dash|dot|minus|plus|times)\.circle\b")  # and this one: what pandoc writes for \odot
_EMPHASIS = '#show emph: it => text(style: "normal", weight: "bold", it.body)\n'  # Chinese has no italics


def choose_font(families: Collection[str], wanted: str | None = None) -> str:
    """The font for Chinese text, out of those that there are.

    Raises:
        InputError: the one that is wanted is not there, or none is known.
    """
    if wanted is not None:
        if wanted not in families:
            raise InputError(f"--font {wanted}: no such font family here")
        return wanted
    found = next((family for family in CHINESE if family in families), None)
    if found is None:
        raise InputError(_NO_FONT.format(known=", ".join(CHINESE)))
    return found


def font_for(book: Book, wanted: str | None = None) -> str:
    """The machine's font that a PDF needs; nothing for one that needs none.

    Raises:
        InputError: typst is not installed, or there is no such font.
    """
    typst = _typst()
    return choose_font(typst.Fonts().families(), wanted) if book.language == "zh" else ""


def pdf(book: Book, links: Links, font: str) -> bytes:
    """All pages of a language in one file.

    Raises:
        InputError: with file and line, for a link that leads nowhere or a formula that cannot be converted; with what
            typst says, when it cannot set what pandoc wrote.
    """
    typst = _typst()

    def address(_: Page, to: Page, identifier: str) -> str | None:
        return f"#{_label(to, _heading(to, identifier))}" if to in book.pages else None

    blocks = [block for page in book.pages for block in links.linked(page, address, lambda _, place: f"/{place}")]
    stems = [page for page in book.pages for _ in page.blocks]
    try:
        text = pandoc.write(_labelled(blocks, stems), "--to", "typst", "--syntax-highlighting", "idiomatic")
        text = _CIRCLED.sub(r"\1.o", text)
    except pandoc.FormulaError as error:
        page = next((page for page in book.pages if error.formula in page.text), book.pages[0])
        line = page.at(error.formula)
        raise InputError(f"{line}: this formula cannot be converted: {error.formula} ({error.reason})") from None
    title = '"' + book.title.replace("\\", "\\\\").replace('"', '\\"') + '"'
    quoted = f'"{font}"' if font else ""
    preamble = _PREAMBLE.replace("(CJK,)", f"({quoted},)" if font else "()").replace("LANG", book.language)
    preamble = preamble.replace("TITLE", title)
    with tempfile.TemporaryDirectory(prefix="docs-") as name:
        folder = Path(name)
        main = folder / "main.typ"
        main.write_text(preamble + (_EMPHASIS if book.language == "zh" else "") + text, encoding="utf-8")
        for place, content in links.pictures.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(content)
        try:
            made: bytes = typst.compile(
                main, root=folder, format="pdf", ignore_system_fonts=not font, package_path=folder
            )
        except typst.TypstError as error:
            raise InputError(_complaint(error, book)) from None
    return made


def _complaint(error: Any, book: Book) -> str:
    """What typst says, on one line, with what it is about."""
    about = re.search(r"^\s*\d+ │ (.*)$", error.diagnostic, re.MULTILINE)
    where = f", here: {about[1].strip()}" if about else ""
    return f"typst cannot set the {book.language} pages: {error.message}{where}"


def _labelled(blocks: Sequence[Node], pages: Sequence[Page]) -> list[Node]:
    """Two pages may have a heading of one name, so a heading's label begins with its page."""
    labelled = []
    for block, page in zip(blocks, pages, strict=True):
        if block["t"] == "Header":
            level, (identifier, classes, rest), title = block["c"]
            words = [node for node in title if not (node["t"] == "Span" and not node["c"][1])]
            block = {"t": "Header", "c": [level, [_label(page, identifier), classes, rest], words]}
        labelled.append(block)
    return labelled


def _heading(page: Page, identifier: str) -> str:
    """The id of the heading that an id of a page belongs to: an item's slug stands in a heading."""
    headings = [block["c"] for block in page.blocks if block["t"] == "Header"]
    for _, (own, *_), title in headings:
        if identifier in (own, *(node["c"][0][0] for node in title if node["t"] == "Span")):
            return str(own)
    return str(headings[0][1][0])


def _label(page: Page, identifier: str) -> str:
    return f"{page.stem.replace('/', '-')}--{identifier}"


def _typst() -> Any:
    try:
        import typst
    except ImportError:
        raise InputError(f"pages need pandoc and typst: {pandoc.INSTALL}") from None
    return typst
