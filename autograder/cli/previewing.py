"""``autograder preview``: what students will see, before they do."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..feedback.assignment import LANGUAGES
from ..feedback.errors import InputError
from .common import GRADER_FAILED, home_of
from .printing import print_results, working

if TYPE_CHECKING:
    from ..authoring.preview import View

NAMES = ("blank", "half-done", "done")


@click.command()
@click.argument("handout", type=click.Path(path_type=Path), required=False)
@click.option("--view", "views", multiple=True, type=click.Choice(NAMES), help="Only this view (default: all three).")
@click.option("--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of check.py.")
@click.option("--secret", type=click.Path(path_type=Path), help="File with the term's secret.")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Work in this new folder, and leave it.")
@click.pass_obj
def preview(
    home: Path | None, handout: Path | None, views: Sequence[str], lang: str, secret: Path | None, keep: Path | None
) -> None:
    """Show what a student sees: with nothing done, half-way, and with everything done.

    Unpacks the handout (the zip that is given, else one made from the sources) in a clean folder for each, runs
    check.py there, hands in what check.py submit makes, and shows the table that comes back from grading.

    \b
    Examples:
      autograder preview
      autograder preview dist/handout.zip --view half-done --lang zh --keep seen
    """
    from ..authoring import preview as authoring
    from ..secret import read_secret

    root = home_of(home)
    key = read_secret(secret) if secret is not None else None
    failed = False
    with tempfile.TemporaryDirectory(prefix="autograder-preview-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) if keep is None else _new_folder(keep)
        with working("looking through a student's eyes") as tell:
            seen = authoring.preview(
                root, folder, handout=handout, lang=lang, only=views or NAMES, secret=key, tell=tell
            )
            for view in seen:
                _print(view)
                failed = failed or view.graded.failed
    if keep is not None:
        click.echo(f"kept in {keep}: for each view the handout, check.txt, check.svg, submit.txt and results.json")
    if failed:
        click.echo("autograder: the grader itself failed in part", err=True)
        sys.exit(GRADER_FAILED)


def _new_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise InputError(f"{path} is not empty")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    return path.resolve()


def _print(view: View) -> None:
    click.echo(f"{'=' * 100}\n{view.name}: {view.about}")
    click.echo(f"\n$ python check.py\n{view.checked.rstrip()}")
    click.echo(f"\n$ python check.py submit\n{view.submitted.rstrip()}")
    click.echo("\nGradescope then shows (of each state, what the first row says):")
    print_results(_shortened(view.graded.results), (), verbose=False)
    click.echo()


def _shortened(results: dict[str, Any]) -> dict[str, Any]:
    """The same rows; of several in the same state, only the first with its text."""
    rows, states = [], set()
    for row in results["tests"]:
        state = row["extra_data"]["state"]
        rows.append({**row, "output": ""} if state in states else row)
        states.add(state)
    return {**results, "tests": rows}
