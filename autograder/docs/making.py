"""All of it: pages in, a folder of web pages and PDFs out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ..archive import Member, write_tree
from ..feedback.assignment import load_assignment
from ..feedback.errors import InputError
from . import html, pdf
from .links import Links
from .reading import read_pages


@dataclass(frozen=True)
class Made:
    """What was made: how many pages there are, in how many languages, and the size of each file in bytes."""

    pages: int
    languages: int
    sizes: dict[str, int]


def make(
    root: Path, out: Path, *, with_pdf: bool = True, font: str | None = None, tell: Callable[[str], None] = print
) -> Made:
    """Read the writeup of a repository and write ``out`` anew; a folder that holds anything else is left alone.

    Args:
        root: the repository.
        out: the folder; what an earlier run left in it goes.
        with_pdf: also one PDF a language.
        font: the font family for Chinese text in the PDF; None looks for one.
        tell: is told what is going on.

    Raises:
        InputError: in one line, with nothing written: a page, link or formula is wrong, ``out`` is not ours, the font
            or a package is missing.
    """
    _require_ours(out)
    assignment = load_assignment(root / "assignment.toml")
    tell("reading the pages")
    pages = read_pages(root, assignment)
    links = Links(root, assignment, pages)
    shelf = html.books(pages, {"en": assignment.title, "zh": assignment.title_zh})
    fonts = {book.language: pdf.font_for(book, font) for book in shelf} if with_pdf else {}
    shelf = [replace(book, pdf=_pdf_name(book) if with_pdf else "") for book in shelf]
    tell("writing the web pages")
    files = html.web_pages(shelf, links)
    for book in shelf:
        if with_pdf:
            tell(f"typesetting {book.pdf}")
            files[book.pdf] = pdf.pdf(book, links, fonts[book.language])
    write_tree(out, {name: Member(content) for name, content in files.items()})
    return Made(len(pages), len(shelf), {name: len(content) for name, content in sorted(files.items())})


def _pdf_name(book: html.Book) -> str:
    return "writeup.pdf" if book.language == "en" else f"writeup.{book.language}.pdf"


def _require_ours(out: Path) -> None:
    """A wrong --out must not cost anybody a folder."""
    try:
        if not out.is_dir() or not any(out.iterdir()):
            return
        ours = any(html.GENERATOR in path.read_text(encoding="utf-8") for path in out.glob("index*.html"))
    except (OSError, UnicodeDecodeError):
        ours = False
    if not ours:
        raise InputError(f"{out} holds other things: give --out a new folder, or one that autograder docs made")
