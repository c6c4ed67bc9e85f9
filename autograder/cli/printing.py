"""What is seen on a terminal and in a log: consoles, progress, and tables. Student text never passes as markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

COLOURS = {"passed": "green", "not started": "yellow", "not run": "yellow"}


def make_console(stderr: bool = False) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, 120)  # a log has no edge; nothing need be cut off
    return console


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Say what is going on: a spinner on a terminal, plain lines elsewhere. Yields a function that says more."""
    console = make_console(stderr=True)
    if console.is_terminal:
        with console.status(Text(what)) as status:
            yield lambda line: status.update(Text(line))
    else:
        click.echo(f"{what} ...", err=True)
        yield lambda line: click.echo(f"{line} ...", err=True)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; a line every tenth of the way elsewhere."""
    console = make_console(stderr=True)
    if console.is_terminal:
        from rich.progress import Progress

        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        said = 0

        def line(done: int, total: int) -> None:
            nonlocal said
            tenth = done * 10 // total
            if tenth != said:  # less than before: something else has begun
                said = tenth
                click.echo(f"{what}: {done} of {total}", err=True)

        yield line


def print_results(results: dict[str, Any], only: Sequence[str], verbose: bool) -> None:
    """The rows as a table. Student text never passes as markup."""
    table = Table(box=None, pad_edge=False)
    for name, justify in (("item", "left"), ("", "left"), ("score", "right"), ("", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    rows = [row for row in results.get("tests", []) if not only or row.get("extra_data", {}).get("item") in only]
    for row in rows:
        state = str(row.get("extra_data", {}).get("state", row.get("status", "")))
        number, title = str(row.get("number", "")), str(row.get("name", ""))
        score = f"{row.get('score', 0):g}/{row.get('max_score', 0):g}"
        table.add_row(Text(number), Text(title), Text(score), Text(state, style=COLOURS.get(state, "red")))
    console = make_console()
    console.print(table)
    total = sum(row.get("score", 0) for row in rows)
    console.print(Text(f"total {total:g}/{sum(row.get('max_score', 0) for row in rows):g}", style="bold"))
    if results.get("output"):
        console.print(Text(str(results["output"])), style="dim")
    for row in rows:
        state = str(row.get("extra_data", {}).get("state", row.get("status", "")))
        if row.get("output") and (verbose or state not in ("passed", "not started")):
            console.print(Text(f"\n{row.get('number', '')} {row.get('name', '')}", style="bold"))
            console.print(Text(str(row["output"])))


def print_built(built: Any) -> None:
    """What was made, what to know, and what to do with it."""
    same = {True: "as before", False: "changed"}
    points, bonus = built.solved.points, built.solved.score - built.solved.points
    extra = f" and a bonus of {bonus:g}" if bonus else ""
    click.echo(f"assignment  {built.items} items, {points:g} points{extra}, version {built.version}")
    click.echo(f"handout     {built.handout_files} files, {built.stubs} stubs; {same[built.handout_same]}")
    click.echo("            searched: no solution, no hidden test and no known mistake is in it")
    for artifact in (built.handout_zip, built.autograder_zip, built.solved.artifact, built.blank.artifact):
        size = f"{artifact.files} files, {artifact.size / 1000:.0f} kB"
        click.echo(f"{artifact.path.name:20s} {size:20s} sha256 {artifact.sha256[:12]}  {same[artifact.same]}")
    if built.shared:
        click.echo(f"{len(built.shared)} lines of solutions also stand in given code:")
        for line in built.shared:
            click.echo(f"  {line}")
    for note in built.notes:
        click.echo(f"NOTE: {note}")
    for number, step in enumerate(_steps(built, points, bool(bonus)), start=1):
        click.echo(f"{'next:' if number == 1 else '':6s} {number}. {step}")


def _steps(built: Any, points: float, bonus: bool) -> Iterator[str]:
    """What to do on Gradescope, which has no programming interface for it, and after that."""
    top = "; the bonus comes on top" if bonus else ""
    minutes = math.ceil(built.seconds / 60)
    yield f"Gradescope: make a Programming Assignment of {points:g} points{top}"
    yield f"its Settings: let a run take {minutes} minutes or more"
    yield f"its Configure Autograder: upload {built.autograder_zip.path}, and wait until the image is built"
    for sample in (built.solved, built.blank):
        yield f"Test Autograder: upload {sample.artifact.path}, expect {sample.score:g}/{sample.points:g}"
    yield f"see it as students will: autograder preview {built.handout_zip.path}"
    yield f"give {built.handout_zip.path} to students"
