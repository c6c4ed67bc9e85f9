"""``autograder changes`` and ``autograder export``: what a regrade changes, and grades for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from ..feedback.errors import InputError
from .common import legal, require_writable
from .printing import working

FORMATS = ("csv", "canvas", "parquet", "json")


@click.command()
@click.argument("grades", type=click.Path(path_type=Path))
@click.option("--against", type=click.Path(path_type=Path), help="Folder of earlier grades (default: the platform's).")
@click.option("--out", type=click.Path(path_type=Path), help="Write every change as a CSV file.")
def changes(grades: Path, against: Path | None, out: Path | None) -> None:
    """Say who has other points than before, and why.

    Drops come first, with names. The exit code is 0 even then: it is `autograder export` that stops.

    \b
    Example:
      autograder changes grades --against grades-of-monday --out changes.csv
    """
    from ..classroom import changes as classroom
    from ..classroom.records import read_grades
    from ..classroom.tables import csv_bytes, write_whole

    if out is not None:
        require_writable(out)
    with working("comparing"):
        now = read_grades(grades)
        comparison = classroom.compare(now, None if against is None else read_grades(against))
    for line in classroom.summary(comparison):
        click.echo(_clean(line))
    if out is not None:
        write_whole(out, [csv_bytes(classroom.rows(comparison))])
        click.echo(f"wrote {out}")


@click.command()
@click.argument("grades", type=click.Path(path_type=Path))
@click.option("--format", "kind", type=click.Choice(FORMATS), required=True, help="Of the file.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file.")
@click.option("--against", type=click.Path(path_type=Path), help="Folder of earlier grades that none may fall below.")
@click.option("--accept-drops", is_flag=True, help="Go on though somebody loses points.")
@click.option(
    "--without-verdict-as",
    type=click.Choice(["previous"]),
    help="Whoever has no verdict keeps the platform's previous result.",
)
@click.option("--canvas-gradebook", type=click.Path(path_type=Path), help="Canvas's own export, to be filled.")
@click.option("--canvas-assignment", metavar="NAME", help="The assignment's name in Canvas (default: its title).")
@click.option("--anonymise", is_flag=True, help="Numbers in place of students (Parquet only).")
def export(
    grades: Path,
    kind: str,
    out: Path,
    against: Path | None,
    accept_drops: bool,
    without_verdict_as: str | None,
    canvas_gradebook: Path | None,
    canvas_assignment: str | None,
    anonymise: bool,
) -> None:
    """Write grades for other programs.

    csv: a row a student, a column an item. canvas: for import into Canvas's gradebook. json: everything, for programs.
    parquet: every outcome of every test; no grades, so nothing is refused.

    \b
    Examples:
      autograder export grades --format csv --out grades.csv
      autograder export grades --format canvas --canvas-gradebook from-canvas.csv --out to-canvas.csv
    """
    from ..classroom import canvas, exports
    from ..classroom.parquet import write_parquet
    from ..classroom.records import read_grades
    from ..classroom.tables import write_whole

    if anonymise and kind != "parquet":
        raise InputError("--anonymise is for --format parquet: the others are grades of somebody")
    if (canvas_gradebook or canvas_assignment) and kind != "canvas":
        raise InputError("--canvas-gradebook and --canvas-assignment are for --format canvas")
    require_writable(out)
    if kind == "parquet":
        with working("writing outcomes"):
            count = write_parquet(grades, out, anonymise=anonymise)
        click.echo(f"wrote {out}: {count} outcomes")
        return
    with working("reading grades"):
        now = read_grades(grades, outcomes=kind == "json")
        earlier = None if against is None else read_grades(against, outcomes=False)
        everybody = exports.marks(
            now, earlier, previous=without_verdict_as == exports.PREVIOUS, accept_drops=accept_drops
        )
    if kind == "csv":
        write_whole(out, [exports.as_csv(now.outline, everybody)])
    elif kind == "json":
        write_whole(out, exports.as_json(now, everybody))
    else:
        name, points = canvas_assignment or now.outline.title, now.outline.points
        if canvas_gradebook is None:
            write_whole(out, [canvas.minimal(everybody, name, points)])
        else:
            filled = canvas.fill(canvas.read_gradebook(canvas_gradebook), everybody, name, points)
            write_whole(out, [filled.content])
            click.echo(f"{filled.matched} grades in the column {_clean(filled.column)}")
            for what, labels in (("not in Canvas", filled.unmatched), ("in Canvas without a grade", filled.others)):
                if labels:
                    click.echo(f"{len(labels)} {what}: {_clean(', '.join(labels))}")
            for note in filled.notes:
                click.echo(f"NOTE: {_clean(note)}")
    nothing = sum(mark.total is None for mark in everybody)
    click.echo(f"wrote {out}: {len(everybody) - nothing} grades; {nothing} handed in nothing")
    for status, what in (("refused", "0 points, as nothing could be taken"), ("previous", "their previous result")):
        named = [mark.person.name or mark.submission for mark in everybody if mark.status == status]
        if named:
            click.echo(f"{len(named)} with {what}: {_clean(', '.join(named))}")


def _clean(line: str) -> str:
    """Harmless, with its indent, and whole: a list of who loses points is not cut."""
    return line[: len(line) - len(line.lstrip(" "))] + legal(line.lstrip(" "))
