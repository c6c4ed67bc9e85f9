"""``autograder similar``: submissions that are more alike than the handout explains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from .common import home_of, legal, require_writable
from .printing import progress

_SHOWN = 20


@click.command()
@click.argument("export", type=click.Path(path_type=Path))
@click.option("--against", type=click.Path(path_type=Path), multiple=True, help="Export or folder of an earlier term.")
@click.option("--out", type=click.Path(path_type=Path), help="A page (.html), or the pairs as .csv.")
@click.pass_obj
def similar(home: Path | None, export: Path, against: Sequence[Path], out: Path | None) -> None:
    """List submissions that are more alike than the handout explains. For staff: a place to look, not a verdict.

    EXPORT is a Gradescope export or any folder of submissions. Code is read as text and never run.

    \b
    Example:
      autograder similar export.zip --against spring-export.zip --out similar.html
    """
    from ..archive import write_file
    from ..classroom.similarity.comparing import compare
    from ..classroom.similarity.page import NOTICE

    if out is not None:
        require_writable(out)
    with progress("reading") as tell:
        found = compare(export, home_of(home), against, tell)
    click.echo(f"{len(found.works)} submissions, {len(found.pairs)} pairs. {NOTICE}")
    for pair in found.pairs[:_SHOWN]:
        first, second = found.works[pair.first], found.works[pair.second]
        shares = f"{pair.shares[0]:.0%} / {pair.shares[1]:.0%}"
        click.echo(f"  {pair.shared:5d} {shares:>12s}  {legal(first.who)} | {legal(second.who)}")
    for file, places in found.binaries:
        click.echo(f"  the same {file}: {', '.join(legal(found.works[at].who) for at in places)}")
    if out is not None:
        write_file(out, found.csv() if out.suffix == ".csv" else found.page())
        click.echo(f"wrote {out}")
