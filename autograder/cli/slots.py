"""``autograder slots``: the better of two gradings of one assignment."""

from __future__ import annotations

from pathlib import Path

import click

from .common import home_of, legal, require_writable
from .printing import working


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write everybody's scores as a CSV file.")
@click.option(
    "--without-verdict-as",
    type=click.Choice(["previous"]),
    help="Whoever has no verdict in a folder keeps the platform's previous result.",
)
@click.pass_obj
def slots(home: Path | None, a: Path, b: Path, out: Path | None, without_verdict_as: str | None) -> None:
    """Take the better of two slots for each item: A alone, B with help and after feedback.

    A and B are folders of grades, or CSV files of `autograder export`. What is right in A stays. The bonus is
    `bonus` in [slots] of assignment.toml; a folder A knows its own.

    \b
    Example:
      autograder slots slot-a.csv slot-b.csv --out slots.csv
    """
    from ..classroom import slots as classroom
    from ..classroom.records import ItemFacts
    from ..classroom.tables import csv_bytes, write_whole
    from ..feedback.assignment import load_assignment

    if out is not None:
        require_writable(out)
    with working("comparing slots"):
        previous = without_verdict_as is not None
        first, second = classroom.read_slot(a, previous=previous), classroom.read_slot(b, previous=previous)
        given: list[ItemFacts] = []
        if first.outline is not None:
            bonus = first.outline.slot_bonus
        else:
            assignment = load_assignment(home_of(home) / "assignment.toml")
            bonus = assignment.slots.bonus
            given = [
                ItemFacts(
                    item.slug, item.number, item.part, item.title, item.title_zh, item.points, item.file, item.bonus
                )
                for item in assignment.items
            ]
        both = classroom.combine(first, second, classroom.facts_of(first, given), bonus)
    for line in classroom.summary(both):
        click.echo(line[: len(line) - len(line.lstrip(" "))] + legal(line.lstrip(" ")))
    if out is not None:
        write_whole(out, [csv_bytes(classroom.rows(both))])
        click.echo(f"wrote {out}")
