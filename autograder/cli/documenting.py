"""``autograder docs``: the writeup as web pages and as PDF."""

from __future__ import annotations

from pathlib import Path

import click

from .common import home_of, legal
from .printing import working


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the pages (default: dist/docs).")
@click.option("--no-pdf", is_flag=True, help="Web pages only.")
@click.option("--font", metavar="FAMILY", help="Font for Chinese text in the PDF (default: the first known one here).")
@click.pass_obj
def docs(home: Path | None, out: Path | None, no_pdf: bool, font: str | None) -> None:
    """Make web pages and a PDF a language from the writeup.

    \b
    Example:
      autograder docs --out ../course-site
    """
    from ..docs.making import make

    root = home_of(home)
    folder = out or root / "dist" / "docs"
    with working("making pages") as tell:
        made = make(root, folder, with_pdf=not no_pdf, font=font, tell=tell)
    for name, size in made.sizes.items():
        if "/" not in name:
            click.echo(f"{name:20s} {size / 1000:6.0f} kB")
    click.echo(f"{made.pages} pages in {made.languages} languages; open {legal(folder / 'index.html')}")
