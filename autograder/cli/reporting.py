"""``autograder report``: one page about a graded class."""

from __future__ import annotations

from pathlib import Path

import click

from .common import require_writable
from .printing import working


@click.command()
@click.argument("grades", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The page (default: report.html in GRADES).")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="Its language (default: the assignment's).")
@click.option("--names", is_flag=True, help="With names and addresses: not for publication.")
def report(grades: Path, out: Path | None, lang: str | None, names: bool) -> None:
    """Make one HTML page about a graded class: what is broken, what was hard, which mistakes were made.

    GRADES is a folder that `autograder regrade` has written. The page opens offline and prints; students have numbers
    in place of names unless you say --names.

    \b
    Example:
      autograder report grades --lang zh --out report.html
    """
    from ..archive import write_file
    from ..classroom.records import read_grades
    from ..classroom.report.page import page_of

    with working(f"reading {grades}"):
        found = read_grades(grades)
        out = out or grades / "report.html"
        require_writable(out)
        page = page_of(found, lang or found.outline.language, names)
    write_file(out, page)
    click.echo(f"wrote {out}: {len(page) / 1000:.0f} kB, {len(found.handed)} submissions")
