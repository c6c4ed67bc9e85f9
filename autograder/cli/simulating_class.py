"""``autograder class``: an invented class, to try regrading and reports on."""

from __future__ import annotations

from pathlib import Path

import click

from .common import home_of
from .printing import progress


@click.command("class")
@click.argument("count", type=click.IntRange(min=0), metavar="N")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The export: a new folder.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same bytes.")
@click.option(
    "--submissions", type=click.IntRange(min=1), default=3, show_default=True, help="The most that a student makes."
)
@click.option(
    "--hostile", type=click.FloatRange(0, 1), default=0.02, show_default=True, help="Share of students who mean harm."
)
@click.option(
    "--all-submissions", "every", is_flag=True, help="Folders for earlier submissions too, not only the last."
)
@click.pass_obj
def simulate_a_class(
    home: Path | None, count: int, out: Path, seed: int, submissions: int, hostile: float, every: bool
) -> None:
    """Write the export of an invented class of N students, as Gradescope writes it.

    Their files are the solutions with mistakes, alternatives and blanks of the repository's catalogue, by a model of
    ability. What is true of each submission stands beside the export, in DIR.truth.jsonl. A few are hostile: grade
    them in isolation only.

    \b
    Example:
      autograder class 300 --out class/export --submissions 5
    """
    from ..classroom.simulator import simulate_class, truth_beside

    root = home_of(home)
    with progress("students") as tell:
        truths = simulate_class(
            root, count, out, seed=seed, submissions=submissions, hostile=hostile, every=every, tell=tell
        )
    hostile_ones = sum(bool(truth.hostile) for truth in truths)
    nothing = sum(truth.nothing for truth in truths)
    click.echo(f"wrote {out}: {len(truths)} submissions, {hostile_ones} of them hostile, {nothing} without a file")
    click.echo(f"the truth about them: {truth_beside(out)}")
