"""``autograder grade`` and ``autograder debug``: one submission."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from .common import GRADER_FAILED, home_of, legal, require_writable
from .printing import print_results, working


@click.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--results", type=click.Path(path_type=Path), help="Write results.json here.")
@click.option("--item", "items", multiple=True, metavar="ITEM", help="Only this item, by slug or number.")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("-v", "--verbose", is_flag=True, help="Show what each row says, and what only staff see.")
@click.pass_obj
def grade(
    home: Path | None, submission: Path, results: Path | None, items: Sequence[str], secret: Path | None, verbose: bool
) -> None:
    """Grade a folder or a zip in isolation and print the table.

    \b
    Example:
      autograder grade submission.zip --item 1.2 -v
    """
    from ..feedback.assignment import load_assignment
    from ..feedback.plugin import find_item
    from ..grade import grade as grade_one
    from ..secret import read_secret

    root = home_of(home)
    assignment = load_assignment(root / "assignment.toml")
    slugs = [find_item(assignment, name).slug for name in items]
    key = read_secret(secret) if secret is not None else None
    if results is not None:
        require_writable(results)
    with working(f"grading {legal(submission.name or submission)}"):
        graded = grade_one(submission, root, results=results, secret=key, items=slugs)
    print_results(graded.results, slugs, verbose)
    if verbose:
        click.echo(f"\nfor staff:\n{graded.staff.rstrip()}")
    if results is not None:
        click.echo(f"wrote {results}")
    if graded.failed:
        click.echo("autograder: the grader itself failed in part; see -v", err=True)
        sys.exit(GRADER_FAILED)


@click.command()
@click.argument("submission", type=click.Path(path_type=Path))
@click.option("--item", required=True, metavar="ITEM", help="The item, by slug or number.")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.pass_obj
def debug(home: Path | None, submission: Path, item: str, secret: Path | None) -> None:
    """Run one item in this process with everything shown, and a debugger at the failure.

    The student's code runs with your rights: read it first.

    \b
    Example:
      autograder debug submission.zip --item perplexity
    """
    from ..debug import debug as debug_one
    from ..secret import read_secret

    key = read_secret(secret) if secret is not None else None
    code = debug_one(submission, home_of(home), item, secret=key, interactive=sys.stdin.isatty())
    sys.exit(0 if code in (0, 1) else GRADER_FAILED)
