"""autograder/docs: the PDFs, their fonts, and what pandoc and typst do not agree about."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.docs import html, pdf
from autograder.docs.links import Links
from autograder.docs.making import make
from autograder.docs.reading import read_pages
from autograder.feedback.assignment import load_assignment
from autograder.feedback.errors import InputError
from tests.staff import toy
from tests.staff.test_docs_pages import PAGES

TITLES = {"en": 'Powers "squared"', "zh": "幂"}


def typeset(root: Path, language: str, font: str) -> bytes:
    """The PDF of a language, in a font that typst brings."""
    assignment = load_assignment(root / "assignment.toml")
    pages = read_pages(root, assignment)
    (book,) = (book for book in html.books(pages, TITLES) if book.language == language)
    return pdf.pdf(book, Links(root, assignment, pages), font)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The toy assignment with pages that link to each other, in two languages."""
    return toy.write(tmp_path, {**toy.FILES, **PAGES})


def test_the_same_sources_give_the_same_pdf(root: Path) -> None:
    """Two runs, the same bytes; neither the time of day nor fonts of the machine have a part in it."""
    first = typeset(root, "en", "")
    assert b"CreationDate" not in first
    assert b"CreateDate" not in first
    assert first.startswith(b"%PDF-")
    assert typeset(root, "en", "") == first


def test_both_languages_are_typeset(root: Path) -> None:
    """Links between pages, into pages and to English pages in the Chinese file; two headings of one name."""
    toy.edit(
        root,
        "solutions/writeup/2-roots.md",
        "## The root",
        "## The root\n\n## 1.2 Cubes (1.5 points)\n\n[a](#the-root)",
    )
    assert len(typeset(root, "en", "")) > 10_000
    assert len(typeset(root, "zh", "DejaVu Sans Mono")) > 10_000


@pytest.mark.parametrize(
    "formula",
    [r"a \odot b \otimes c \ominus d", r"\bigotimes_i a_i", r"A \cap B", r"\bigcap_i A_i", r"A \sqcap B"],
    ids=["circled", "big circled", "cap", "big cap", "square cap"],
)
def test_typst_knows_the_signs_that_pandoc_writes(formula: str, root: Path) -> None:
    """Names that typst has given up since."""
    toy.edit(root, "solutions/writeup/2-roots.md", "Back", f"${formula}$ Back")
    assert typeset(root, "en", "").startswith(b"%PDF-")


def test_a_formula_that_cannot_be_converted_is_named(root: Path) -> None:
    """With file and line, as for the web pages."""
    toy.edit(root, "solutions/writeup/2-roots.md", "Back", r"$\foo$ Back")
    with pytest.raises(InputError, match=r"^solutions/writeup/2-roots\.md:5: this formula cannot be converted: \\foo "):
        typeset(root, "en", "")


def test_what_typst_says_is_one_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the text that it is about."""
    monkeypatch.setattr(pdf, "_PREAMBLE", "#no-such-thing\n")
    with pytest.raises(
        InputError, match=r"^typst cannot set the en pages: unknown variable: no-such-thing, here: #no-"
    ):
        typeset(root, "en", "")


def test_the_best_chinese_font_is_taken() -> None:
    """The first known one that is here; another one when asked."""
    families = ["Arial", "SimSun", "Noto Sans CJK SC", "Mine"]
    assert pdf.choose_font(families) == "Noto Sans CJK SC"
    assert pdf.choose_font(families, "Mine") == "Mine"
    with pytest.raises(InputError, match=r"^--font Nobody's: no such font family here$"):
        pdf.choose_font(families, "Nobody's")


def test_a_missing_font_is_one_line_and_nothing_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the package that has one, and the way without."""
    monkeypatch.setattr(pdf, "CHINESE", ("No Such Font",))
    with pytest.raises(InputError) as refused:
        make(root, root / "out", tell=lambda _: None)
    assert str(refused.value) == (
        "the Chinese PDF needs a font with Chinese letters, and none of No Such Font is here (Debian and Ubuntu:"
        " apt-get install -y fonts-noto-cjk); --font FAMILY takes another one, --no-pdf makes web pages only"
    )
    assert not (root / "out").exists()


def test_the_index_leads_to_the_pdf_of_its_language(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both files are there."""
    monkeypatch.setattr(pdf, "CHINESE", ("DejaVu Sans Mono",))
    made = make(root, root / "out", tell=lambda _: None)
    assert '<a href="writeup.pdf">All in one PDF</a>' in (root / "out/index.html").read_text(encoding="utf-8")
    assert '<a href="writeup.zh.pdf">' in (root / "out/index.zh.html").read_text(encoding="utf-8")
    assert {"writeup.pdf", "writeup.zh.pdf"} < set(made.sizes)
