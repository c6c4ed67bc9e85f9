"""Web pages: MathML, one small stylesheet inside each page, no JavaScript, and nothing that is fetched.

A page of the handout becomes a page at the same place: ``writeup/1-powers.zh.md`` is ``writeup/1-powers.zh.html``.
README is ``index.html`` and has a list of all pages. The same sources give the same bytes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Protocol

from ..feedback.errors import InputError
from . import pandoc
from .links import Links
from .pandoc import Node
from .reading import Page

GENERATOR = '<meta name="generator" content="autograder docs">'
_STYLE = Path(__file__).with_name("style.css")
_HOME = "README"

_LANG = {"en": "en", "zh": "zh-CN"}
_NAMES = {"en": "English", "zh": "中文"}
_WORDS = {
    "en": {"pages": "Pages", "here": "On this page", "previous": "Previous", "next": "Next", "all": "All in one PDF"},
    "zh": {"pages": "各页", "here": "本页内容", "previous": "上一页", "next": "下一页", "all": "全部内容的 PDF"},
}
# Pandoc numbers every line of code, and links each to itself.
_LINE = re.compile(r'<span id="cb[\d-]+"><a href="#cb[\d-]+" aria-hidden="true" tabindex="-1"></a>')
_BLOCK = re.compile(r'<div class="sourceCode" id="cb\d+">')
# "log x" has a thin space that "log(x)" has not.
_APPLIED = re.compile(r'<mo>&#8289;</mo></mrow>(?!<mo stretchy="false" form="prefix">|<mo fence|<mrow><mo)')
# A browser without a font for mathematics shows primes far too small.
_PRIME = re.compile(r"<mo>([′″‴⁗])</mo>")
_RELATIONS = frozenset(
    ("=", "<", ">", *(rf"\{name}" for name in "approx le leq ge geq sim equiv propto to Rightarrow".split()))
)
_TEX = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
_SILENT = frozenset("{}^_ \n")
_LONG = 24  # signs: about a phone's width


class Link(Protocol):
    """A link of the page at hand to a place, with a label."""

    def __call__(self, place: str, label: str, more: str = "") -> str: ...


@dataclass(frozen=True)
class Book:
    """The pages of one language in order, those that are not translated in English."""

    language: str
    title: str
    pages: tuple[Page, ...]
    pdf: str = ""


def books(pages: Sequence[Page], titles: Mapping[str, str]) -> list[Book]:
    """One for each language that has a page; ``titles`` are those of the whole, by language."""
    stems = list(dict.fromkeys(page.stem for page in pages))
    found = []
    for language in dict.fromkeys(page.language for page in pages):
        chosen = []
        for stem in stems:
            versions = {page.language: page for page in pages if page.stem == stem}
            page = versions.get(language) or versions.get("en")
            if page is not None:
                chosen.append(page)
        found.append(Book(language, titles[language], tuple(chosen)))
    return sorted(found, key=lambda book: list(_NAMES).index(book.language))


def web_pages(shelf: Sequence[Book], links: Links) -> dict[str, bytes]:
    """The pages and their pictures, by their place in the folder.

    Raises:
        InputError: with file and line, for a link that leads nowhere or a formula that cannot be converted.
    """
    pages = list({page.place: page for book in shelf for page in book.pages}.values())
    files = {}
    bodies = dict(zip([page.place for page in pages], _bodies(pages, links), strict=True))
    for book in shelf:
        own = [page for page in book.pages if page.language == book.language]
        for page in own:
            files[_place(page)] = _framed(page, book, shelf, bodies[page.place])
        if not any(page.stem == _HOME for page in own):
            files[_index(book)] = _framed(None, book, shelf, f"<h1>{escape(book.title)}</h1>\n")
    return {**{name: text.encode("utf-8") for name, text in files.items()}, **links.pictures}


def _bodies(pages: Sequence[Page], links: Links) -> Iterator[str]:
    """What the pages say, as HTML. Pandoc starts slowly, so it writes all of them at once."""
    rule = "<!-- page -->"
    blocks: list[Node] = []
    for page in pages:
        linked = links.linked(page, _address, lambda page, place: posixpath.relpath(place, _folder(page)))
        blocks += [{"t": "RawBlock", "c": ["html", rule]}, *pandoc.rewrite(linked, _boxed)]
    try:
        text = pandoc.write(blocks, "--to", "html5", "--mathml")
    except pandoc.FormulaError as error:
        page = next((page for page in pages if error.formula in page.text), pages[0])
        line = page.at(error.formula)
        raise InputError(f"{line}: this formula cannot be converted: {error.formula} ({error.reason})") from None
    text = _BLOCK.sub('<div class="sourceCode">', _LINE.sub("<span>", text))
    text = _APPLIED.sub('<mo rspace="0.167em">&#8289;</mo></mrow>', _PRIME.sub(r'<mo class="prime">\1</mo>', text))
    return (body.strip() + "\n" for body in text.split(rule)[1:])


def _boxed(inner: list[Node]) -> list[Node]:
    """What can be wider than a phone scrolls in a box of its own: tables, and formulas in a line of their own.

    A long formula in the middle of a line may go on in the next, at a relation, as in print.
    """
    fitting: list[Node] = []
    for node in inner:
        if node["t"] == "Math" and node["c"][0]["t"] == "InlineMath":
            for number, piece in enumerate(_pieces(node["c"][1])):
                fitting += [{"t": "RawInline", "c": ["html", "<wbr>"]}] if number else []
                fitting.append({"t": "Math", "c": [node["c"][0], piece]})
        else:
            fitting.append(_box(node) if _is_wide(node) else node)
    return fitting


def _pieces(tex: str) -> list[str]:
    """A long formula, cut before each relation that stands in no group."""
    tokens = _TEX.findall(tex)
    if len([token for token in tokens if token not in _SILENT]) <= _LONG or r"\begin" in tokens:
        return [tex]
    pieces, depth = [""], 0
    for token in tokens:
        depth += (token in ("{", r"\left")) - (token in ("}", r"\right"))
        if depth == 0 and token in _RELATIONS and pieces[-1].strip():
            pieces.append("")
        pieces[-1] += token
    return pieces


def _is_wide(node: Node) -> bool:
    if node["t"] == "Table":
        return True
    if node["t"] != "Para":
        return False
    said = [inline for inline in node["c"] if inline["t"] not in ("Space", "SoftBreak")]
    return len(said) == 1 and said[0]["t"] == "Math" and said[0]["c"][0]["t"] == "DisplayMath"


def _box(node: Node) -> Node:
    return {"t": "Div", "c": [["", ["wide"], [["tabindex", "0"]]], [node]]}


# Addresses.


def _place(page: Page) -> str:
    place = page.place.removesuffix(".md") + ".html"
    return place.replace(_HOME, "index") if page.stem == _HOME else place


def _index(book: Book) -> str:
    return "index.html" if book.language == "en" else f"index.{book.language}.html"


def _folder(page: Page) -> str:
    return posixpath.dirname(page.place) or "."


def _address(page: Page, to: Page, identifier: str) -> str:
    path = "" if page == to and identifier else posixpath.relpath(_place(to), _folder(page))
    return f"{path}#{identifier}" if identifier else path


# What stands around a page.


def _framed(page: Page | None, book: Book, shelf: Sequence[Book], body: str) -> str:
    """A whole page; None is a list of pages in a language that has no README."""
    is_home = page is None or page.stem == _HOME
    here = _place(page) if page is not None else _index(book)
    folder = posixpath.dirname(here) or "."
    words = _WORDS[book.language]
    title = book.title if is_home or page is None else f"{page.title} · {book.title}"
    alternates = [(other, _counterpart(page, other)) for other in shelf if other != book]

    def to(place: str) -> str:
        return escape(posixpath.relpath(place, folder))

    def link(place: str, label: str, more: str = "") -> str:
        current = ' aria-current="page"' if place == here else ""
        return f'<a href="{to(place)}"{current}{more}>{escape(label)}</a>'

    def language(other: Book, place: str) -> str:
        lang = _LANG[other.language]
        return link(place, _NAMES[other.language], f' lang="{lang}" hreflang="{lang}"')

    inner = [other for other in book.pages if other.stem != _HOME]
    bar = [link(_index(book), book.title, ' class="home"')]
    bar += [link(_place(other), _short(other), f' title="{escape(other.title)}"') for other in inner]
    bar += ['<span class="language">', *(language(other, place) for other, place in alternates), "</span>"]
    head = [
        f'<!DOCTYPE html>\n<html lang="{_LANG[book.language]}">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        GENERATOR,
        f"<title>{escape(title)}</title>",
        *(f'<link rel="alternate" hreflang="{_LANG[o.language]}" href="{to(place)}">' for o, place in alternates),
        f"<style>\n{_STYLE.read_text(encoding='utf-8').strip()}\n</style>\n</head>\n<body>",
    ]
    around = _list_of_pages(inner, book, link, words) if is_home else _sections(page, words)
    first, heading_end, rest = body.partition("</h1>\n")
    lines = [
        *head,
        f'<nav class="bar" aria-label="{words["pages"]}">\n' + "\n".join(bar) + "\n</nav>",
        f"<main>\n{first}{heading_end}{around}{rest.strip()}\n</main>",
        *([] if is_home or page is None else [_neighbours(inner, page, link, words)]),
        "</body>\n</html>\n",
    ]
    return "\n".join(lines)


def _counterpart(page: Page | None, other: Book) -> str:
    """The same page in another language, or that language's first page."""
    for candidate in other.pages:
        if page is not None and candidate.stem == page.stem and candidate.language == other.language:
            return _place(candidate)
    return _index(other)


def _short(page: Page) -> str:
    """Its number, where it has one."""
    number = page.title.partition(" ")[0]
    return number if len(number) <= 3 and number.isascii() else page.title


def _list_of_pages(pages: Sequence[Page], book: Book, link: Link, words: Mapping[str, str]) -> str:
    rows = [f"<li>{link(_place(page), page.title)}</li>" for page in pages]
    if book.pdf:
        rows.append(f"<li>{link(book.pdf, words['all'])}</li>")
    listed = "\n".join(rows)
    return f'<nav class="contents" aria-label="{words["pages"]}">\n<ul>\n{listed}\n</ul>\n</nav>\n' if rows else ""


def _sections(page: Page | None, words: Mapping[str, str]) -> str:
    if page is None or len(page.sections) < 2:
        return ""
    rows = "\n".join(f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in page.sections)
    return f'<details class="contents">\n<summary>{words["here"]}</summary>\n<ul>\n{rows}\n</ul>\n</details>\n'


def _neighbours(pages: Sequence[Page], page: Page, link: Link, words: Mapping[str, str]) -> str:
    at = pages.index(page)
    found = []
    if at > 0:
        found.append(f"<span>{words['previous']}: {link(_place(pages[at - 1]), pages[at - 1].title)}</span>")
    if at + 1 < len(pages):
        found.append(f"<span>{words['next']}: {link(_place(pages[at + 1]), pages[at + 1].title)}</span>")
    return "<footer>\n" + "\n".join(found) + "\n</footer>"
