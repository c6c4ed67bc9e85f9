"""``autograder regrade``: a whole class."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from ..feedback.errors import InputError
from .common import GRADER_FAILED, home_of, legal
from .printing import make_console, progress

_MOST_NAMED = 10


@click.command()
@click.argument("export", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder of grades (default: EXPORT-grades beside it).")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("--jobs", type=click.IntRange(min=1), help="Submissions at once (default: one a core).")
@click.option("--scheduler", metavar="ADDRESS", default="", help="A Dask scheduler in place of this machine's cores.")
@click.option("--shard", metavar="I/N", default="1/1", help="Only the I-th of N parts, for a job array.")
@click.option("--against", type=click.Path(path_type=Path), help="Folder of earlier grades to compare with.")
@click.pass_obj
def regrade(
    home: Path | None,
    export: Path,
    out: Path | None,
    secret: Path | None,
    jobs: int | None,
    scheduler: str,
    shard: str,
    against: Path | None,
) -> None:
    """Grade a whole class, and say whose points change.

    EXPORT is what Gradescope gives (Review Grades, Export Submissions), as a zip or unpacked, or any folder of
    submissions. What was graded stays: a run that was killed goes on where it was, and after a change of one hidden
    test only the items in its file are run again.

    \b
    Example:
      autograder regrade assignment_1234_export.zip --out grades
      autograder report grades
    """
    from ..classroom.changes import compare, summary
    from ..classroom.records import read_grades
    from ..classroom.regrade import regrade as regrade_class

    part = re.fullmatch(r"(\d+)/(\d+)", shard)
    if part is None:
        raise InputError(f"--shard is I/N, such as 3/8, not {shard!r}")
    if out is None:
        out = export.with_name(f"{export.name.removesuffix('.zip')}-grades")
    root = home_of(home)
    with progress("reading") as reading, _rate() as tell:
        done = regrade_class(
            export,
            root,
            out,
            secret=secret,
            jobs=jobs or 0,
            scheduler=scheduler,
            shard=(int(part[1]), int(part[2])),
            reading=reading,
            tell=tell,
        )
    for note in done.notes[:_MOST_NAMED]:
        click.echo(f"note: {legal(note)}")
    click.echo(f"{done.submissions} submissions: {done.graded} graded now, {done.known} known from the journal")
    if done.elsewhere:
        click.echo(f"{done.elsewhere} belong to other shards")
    click.echo(f"ended: {_ends(done.ends) or 'nothing was left to grade'}")
    for name, why in done.failed[:_MOST_NAMED]:
        click.echo(f"NO VERDICT: {legal(name)}: {legal(why)[:200]}; run it again")
    if not done.elsewhere:
        for line in summary(compare(read_grades(out), None if against is None else read_grades(against))):
            click.echo(legal(line))
    click.echo(f"wrote {out}; see: autograder report {out}")
    if done.failed:
        click.echo(f"autograder: the grader failed on {len(done.failed)} submissions", err=True)
        sys.exit(GRADER_FAILED)


def _ends(ends: Mapping[str, int]) -> str:
    return " ".join(f"{name} {ends[name]}" for name in ("ok", "timeout", "cannot import", "failed") if ends.get(name))


@contextmanager
def _rate() -> Iterator[Callable[[int, int, Mapping[str, int]], None]]:
    """Progress with the rate, the time left and how submissions ended; a line every tenth of the way off a terminal."""
    console = make_console(stderr=True)
    began, said = time.monotonic(), 0

    def words(done: int, total: int, ends: Mapping[str, int]) -> str:
        rate = done / max(1e-9, time.monotonic() - began)
        left = int((total - done) / rate) if done else 0
        return f"{done} of {total}  {rate:.2f}/s  left {left // 60}:{left % 60:02d}  {_ends(ends)}"

    if console.is_terminal:
        with console.status("grading") as status:
            yield lambda done, total, ends: status.update(f"grading {words(done, total, ends)}")
    else:

        def line(done: int, total: int, ends: Mapping[str, int]) -> None:
            nonlocal began, said
            if not done:
                began = time.monotonic()
            if done * 10 // total != said:
                said = done * 10 // total
                click.echo(words(done, total, ends), err=True)

        yield line
